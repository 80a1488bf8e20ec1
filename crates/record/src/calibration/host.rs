//! Host and disk of a calibration.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use litelab_observe::environment::Environment;

/// Identity of a host and the disk below a directory, by the properties that affect noise. Two directories on one disk
/// are equal; another processor or another disk gives another identity. Contains no host name, because none is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Operating system and architecture.
    pub system: String,
    /// Model of the CPU.
    pub cpu: Option<String>,
    /// Number of usable CPUs.
    pub processors: Option<usize>,
    /// Type of the file system.
    pub filesystem: Option<String>,
    /// Mount point, with the name of a person replaced.
    pub mount_point: Option<String>,
    /// Kernel name of the device.
    pub device: Option<String>,
    /// Model of the device.
    pub disk: Option<String>,
}

impl Host {
    /// Extracts the identity from an environment.
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

    /// Key of 16 hex digits.
    #[must_use]
    pub fn key(&self) -> String {
        // Serialisation of text and numbers cannot fail.
        let text = serde_json::to_string(self).unwrap_or_default();
        litelab_protocol::draw::hex(&Sha256::digest(text))[..16].to_owned()
    }
}
