//! The machine a result was measured on: what has to stand beside it, and what is wrong with it.
//!
//! What is captured here ends up in files that people publish. So it holds no host, user or volume name, no serial
//! number, and no path but the mount point. Everything may be absent: most of it is known on Linux only.

pub mod cpu;
pub mod disk;
pub mod filesystem;
pub mod fsync;
pub mod kernel;
pub mod load;
pub mod memory;
mod mount;
pub mod reflink;
pub mod warning;

#[cfg(test)]
mod testkit;

use std::path::Path;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use cpu::Cpu;
pub use disk::{DeviceKind, Disk};
pub use filesystem::Filesystem;
pub use fsync::{FsyncConfig, FsyncProbe, SyncLatency};
pub use kernel::Kernel;
pub use load::{LoadProbe, LoadWindow};
pub use memory::Memory;
pub use warning::{Warning, WarningCode};

/// The machine, as far as it bears on measurements in one directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Environment {
    /// Operating system.
    pub kernel: Kernel,
    /// Processor.
    pub cpu: Cpu,
    /// Memory.
    pub memory: Memory,
    /// File system of the database directory.
    pub filesystem: Option<Filesystem>,
    /// Device below that file system.
    pub disk: Option<Disk>,
    /// What a synchronous write costs in the directory; `None` where nothing could be written.
    pub fsync: Option<FsyncProbe>,
    /// How busy the machine was while the environment was captured, with nothing of litelab's running but the probe.
    pub load: LoadWindow,
    /// What in this environment spoils measurements, worst first.
    pub warnings: Vec<Warning>,
}

impl Environment {
    /// Looks at the machine and probes `dir`, the directory databases will be in, with a scratch file. Takes as long
    /// as [`FsyncProbe::run`]: about a second at most. Never fails; what cannot be had is absent.
    #[must_use]
    pub fn capture(dir: &Path) -> Self {
        let load = LoadProbe::start();
        let filesystem = Filesystem::of(dir);
        let mut environment = Environment {
            kernel: Kernel::capture(),
            cpu: Cpu::capture(),
            memory: Memory::capture(),
            disk: Disk::below(dir),
            filesystem,
            fsync: FsyncProbe::run(dir, FsyncConfig::default()).ok(),
            load: load.finish(),
            warnings: vec![],
        };
        environment.warnings = warning::warnings(&environment, dir);
        environment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capture_reveals_nobody() {
        let dir = tempfile::Builder::new().prefix("secret-directory-name").tempdir().unwrap();
        let environment = Environment::capture(dir.path());
        let json = serde_json::to_string(&environment).unwrap();
        assert!(!json.contains("secret-directory-name"), "{json}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "scratch files are left behind");
        if cfg!(target_os = "linux") {
            assert!(environment.filesystem.is_some() && environment.cpu.model.is_some(), "{environment:#?}");
            let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
            // A host called "vm" or "linux" is not told from the words of a capture.
            if host.trim().len() > 6 {
                assert!(!json.contains(host.trim()), "{json}");
            }
        }
        assert!(environment.fsync.is_some());
        let back: Environment = serde_json::from_str(&json).unwrap();
        // Not the floating-point figures: serde_json may read one back with another last bit.
        assert_eq!((back.kernel, back.cpu, back.memory), (environment.kernel, environment.cpu, environment.memory));
        assert_eq!(
            (back.filesystem, back.disk, back.warnings),
            (environment.filesystem, environment.disk, environment.warnings)
        );
    }

    #[test]
    fn an_absent_directory_is_no_panic() {
        let environment = Environment::capture(Path::new("/nonexistent/for/sure"));
        assert_eq!(environment.fsync, None);
    }
}
