//! What a calibration holds for.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use litelab_observe::environment::Environment;

/// A host and the disk below a directory, by what bears on noise: two directories on one disk are the same, a machine
/// that got another processor or moved its data to another disk is another. No name of the machine, for none is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Operating system and architecture.
    pub system: String,
    /// Model of the processor.
    pub cpu: Option<String>,
    /// Processors that may be used.
    pub processors: Option<usize>,
    /// Type of the file system.
    pub filesystem: Option<String>,
    /// Mount point, with a person's name in it replaced.
    pub mount_point: Option<String>,
    /// The kernel's name of the device.
    pub device: Option<String>,
    /// Model of the device.
    pub disk: Option<String>,
}

impl Host {
    /// Of an environment.
    #[must_use]
    pub fn of(environment: &Environment) -> Self {
        let (cpu, kernel, disk) = (&environment.cpu, &environment.kernel, environment.disk.as_ref());
        let filesystem = environment.filesystem.as_ref();
        Self {
            system: format!("{} {}", kernel.os, kernel.architecture),
            cpu: cpu.model.clone(),
            processors: cpu.usable,
            filesystem: filesystem.and_then(|f| f.kind.clone()),
            mount_point: filesystem.and_then(|f| f.mount_point.clone()),
            device: disk.map(|d| d.device.clone()),
            disk: disk.and_then(|d| d.model.clone()),
        }
    }

    /// 16 hex digits that name it.
    #[must_use]
    pub fn key(&self) -> String {
        // A struct of texts and numbers is always written.
        let text = serde_json::to_string(self).unwrap_or_default();
        litelab_protocol::draw::hex(&Sha256::digest(text))[..16].to_owned()
    }
}
