//! Host environment of a result: its properties, and conditions that impair measurements.
//!
//! The captured data is stored in files that users publish. It therefore contains no host, user or volume name, no
//! serial number, and no path except the mount point. Every value may be absent: most are available on Linux only.

pub mod cpu;
pub mod disk;
pub mod filesystem;
pub mod fsync;
pub mod kernel;
pub mod load;
pub mod memory;
mod mount;
pub mod warning;

#[cfg(test)]
mod testkit;

use std::path::Path;

use serde::{Deserialize, Serialize};

pub use cpu::Cpu;
pub use disk::{DeviceKind, Disk};
pub use filesystem::Filesystem;
pub use fsync::{FsyncConfig, FsyncProbe, SyncLatency};
pub use kernel::Kernel;
pub use load::{LoadProbe, LoadWindow};
pub use memory::Memory;
pub use warning::{Warning, WarningCode};

/// Host environment, as far as it affects measurements in one directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// Latency of synchronous writes in the directory; `None` if it was not writable.
    pub fsync: Option<FsyncProbe>,
    /// Load of the machine during the capture, while only the probe of litelab runs.
    pub load: LoadWindow,
    /// Conditions of this environment that impair measurements, worst first.
    pub warnings: Vec<Warning>,
}

impl Environment {
    /// Captures the environment, and probes `dir`, the directory of the databases, with scratch files. Takes as long as
    /// [`FsyncProbe::run`]: at most about a second. Never fails; unavailable values are absent.
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
            // A host called "vm" or "linux" cannot be distinguished from words of the capture.
            if host.trim().len() > 6 {
                assert!(!json.contains(host.trim()), "{json}");
            }
        }
        assert!(environment.fsync.is_some());
        let back: Environment = serde_json::from_str(&json).unwrap();
        // Floating-point values are not compared: serde_json may change the last bit.
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
