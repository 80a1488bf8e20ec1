//! Conditions of an environment that impair measurements, with their remedies. Contains all such messages.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::filesystem::class;
use super::{Cpu, Disk, Environment, Filesystem, FsyncProbe, LoadWindow};

/// Share of steal above which figures depend on other guests of the machine.
const STEAL_LIMIT: f64 = 0.02;
/// Minimum number of ticks of a window for judging its steal: with fewer, one tick could exceed the limit.
const TICKS_TO_JUDGE: u64 = 100;
/// Free space in bytes below which a growing log may fill the disk.
const FREE_LIMIT: u64 = 2 << 30;
/// Median of synchronous writes in nanoseconds below which they are too fast for a disk: the fastest flash needs about
/// this long.
const SYNC_FLOOR_NS: u64 = 10_000;

/// Condition of a warning, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WarningCode {
    /// The database is on a network or shared file system.
    NetworkFilesystem,
    /// The database is in memory.
    MemoryFilesystem,
    /// The database is on the overlay file system of a container.
    OverlayFilesystem,
    /// A program uploads changed files of the directory.
    SyncedFolder,
    /// Syncs complete faster than a disk can respond.
    SyncTooFast,
    /// The disk has little free space.
    LowSpace,
    /// The hypervisor gives CPU time to other guests.
    Steal,
    /// Other programs keep the processors busy.
    Busy,
    /// The frequency governor limits the clock.
    Powersave,
}

/// A condition and its remedy, one sentence each. Contains no path and no name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Kind of the condition.
    pub code: WarningCode,
    /// The condition and its effect on results.
    pub message: String,
    /// The remedy.
    pub remedy: String,
}

impl Warning {
    fn new(code: WarningCode, message: impl Into<String>, remedy: &str) -> Self {
        Warning { code, message: message.into(), remedy: remedy.to_owned() }
    }
}

/// All warnings for an environment with databases in `dir`, worst first.
#[must_use]
pub fn warnings(environment: &Environment, dir: &Path) -> Vec<Warning> {
    let filesystem = environment.filesystem.as_ref();
    let mut found: Vec<Warning> = [
        filesystem.and_then(storage),
        synced_folder(dir),
        environment.fsync.as_ref().zip(environment.disk.as_ref()).and_then(|(fsync, disk)| sync_too_fast(fsync, disk)),
        filesystem.and_then(low_space),
        powersave(&environment.cpu),
        steal(&environment.load),
        busy(&environment.load, environment.cpu.usable),
    ]
    .into_iter()
    .flatten()
    .collect();
    found.sort_by_key(|warning| warning.code);
    found
}

/// The warning about steal only, for windows in which litelab itself loads the machine.
#[must_use]
pub fn steal(load: &LoadWindow) -> Option<Warning> {
    let share = load.steal_share.filter(|_| load.ticks >= Some(TICKS_TO_JUDGE))?;
    (share > STEAL_LIMIT).then(|| {
        Warning::new(
            WarningCode::Steal,
            format!("the hypervisor gave {:.1} % of this machine's CPU time to others", share * 100.0),
            "use a machine with dedicated processors, or measure at a quieter time and with more rounds",
        )
    })
}

fn busy(load: &LoadWindow, processors: Option<usize>) -> Option<Warning> {
    let ([one, ..], processors) = load.load_average.zip(processors)?;
    (one > processors as f64).then(|| {
        Warning::new(
            WarningCode::Busy,
            format!("the load average is {one:.1} on {processors} processors before anything was measured"),
            "stop what else runs here, or wait until it is done",
        )
    })
}

fn storage(filesystem: &Filesystem) -> Option<Warning> {
    let kind = filesystem.kind.as_deref()?;
    match class(kind) {
        "memory" => Some(Warning::new(
            WarningCode::MemoryFilesystem,
            format!("the databases are in memory ({kind}): syncs cost nothing and nothing survives power loss"),
            "choose a directory on the disk that the application will use",
        )),
        "overlay" => Some(Warning::new(
            WarningCode::OverlayFilesystem,
            format!("the databases are on a container's {kind}: the first write to a file copies it"),
            "put the databases on a mounted volume",
        )),
        "network" | "shared" | "fuse" => Some(Warning::new(
            WarningCode::NetworkFilesystem,
            format!("{kind} is a network or shared file system: locks and shared memory may not work, WAL is unsafe"),
            "choose a directory on a local file system such as ext4, XFS, APFS or NTFS",
        )),
        _ => None,
    }
}

fn synced_folder(dir: &Path) -> Option<Warning> {
    let by = synced_by(dir)?;
    Some(Warning::new(
        WarningCode::SyncedFolder,
        format!("the directory is synchronised by {by}, which reads, locks and replaces files behind SQLite's back"),
        "choose a directory that is not synchronised",
    ))
}

/// Program that synchronises a directory: by the name of a directory on its path, or by a marker file of the program
/// beside or above it.
#[must_use]
pub fn synced_by(dir: &Path) -> Option<&'static str> {
    let real = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    real.ancestors().find_map(|dir| {
        let name = dir.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        owner_of_name(name).or_else(|| owner_of_marker(dir))
    })
}

/// The program whose marker lies in a directory.
fn owner_of_marker(dir: &Path) -> Option<&'static str> {
    let marker = |name: &str| dir.join(name);
    if marker(".stfolder").exists() {
        Some("Syncthing")
    } else if marker(".dropbox").is_file() {
        // A directory of this name, as in a home directory, has Dropbox's own data; nothing beside it is synchronised.
        Some("Dropbox")
    } else if marker(".nextcloudsync.log").exists() {
        Some("Nextcloud")
    } else {
        None
    }
}

/// The program whose default folder has this name, with or without an account name after it.
fn owner_of_name(name: &str) -> Option<&'static str> {
    let named = |base: &str| {
        let rest = name.get(..base.len()).filter(|start| start.eq_ignore_ascii_case(base)).map(|_| &name[base.len()..]);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(" (") || rest.starts_with(" - "))
    };
    const FOLDERS: &[(&str, &str)] = &[
        ("Dropbox", "Dropbox"),
        ("OneDrive", "OneDrive"),
        ("Mobile Documents", "iCloud"),
        ("iCloudDrive", "iCloud"),
        ("iCloud Drive", "iCloud"),
        ("Google Drive", "Google Drive"),
        ("GoogleDrive", "Google Drive"),
        ("CloudStorage", "a cloud storage provider"),
        ("Nextcloud", "Nextcloud"),
        ("ownCloud", "ownCloud"),
    ];
    FOLDERS.iter().find(|(base, _)| named(base)).map(|(_, by)| *by)
}

fn sync_too_fast(fsync: &FsyncProbe, disk: &Disk) -> Option<Warning> {
    let p50 = fsync.overwrite.p50_ns;
    (disk.kind.claims_to_be_disk() && p50 < SYNC_FLOOR_NS).then(|| {
        Warning::new(
            WarningCode::SyncTooFast,
            format!("a synced 4 KiB write takes {:.1} µs: syncs are not reaching a device", p50 as f64 / 1000.0),
            "look for a disabled write barrier, a host that ignores flushes, or a preloaded libeatmydata",
        )
    })
}

fn low_space(filesystem: &Filesystem) -> Option<Warning> {
    let free = filesystem.free_bytes.filter(|free| *free < FREE_LIMIT)?;
    Some(Warning::new(
        WarningCode::LowSpace,
        format!("only {} MiB are free: a log that grows may fill the disk", free >> 20),
        "free some space, or choose a directory on another disk",
    ))
}

fn powersave(cpu: &Cpu) -> Option<Warning> {
    (cpu.governor.as_deref() == Some("powersave")).then(|| {
        Warning::new(
            WarningCode::Powersave,
            "the frequency governor is powersave: the clock is low when work begins, so short trials look slow",
            "set it to performance while measuring: cpupower frequency-set -g performance",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::mount::Mount;
    use crate::environment::{DeviceKind, Kernel, Memory, SyncLatency};

    /// An environment without warnings.
    fn quiet() -> Environment {
        let latency = SyncLatency { writes: 100, p50_ns: 900_000, ..SyncLatency::default() };
        Environment {
            kernel: Kernel { os: "linux".into(), architecture: "x86_64".into(), release: None, distribution: None },
            cpu: Cpu {
                model: None,
                logical: Some(4),
                usable: Some(4),
                governor: Some("performance".into()),
                virtualised: Some(false),
            },
            memory: Memory { total_bytes: None, limit_bytes: None },
            filesystem: Some(mounted("ext4")),
            disk: Some(disk(DeviceKind::Nvme)),
            fsync: Some(FsyncProbe { overwrite: latency, append: latency }),
            load: LoadWindow {
                seconds: 1.0,
                ticks: Some(400),
                busy_share: Some(0.1),
                steal_share: Some(0.02),
                load_average: Some([4.0, 9.0, 9.0]),
            },
            warnings: vec![],
        }
    }

    fn mounted(kind: &str) -> Filesystem {
        let line = format!("36 22 0:50 / /data rw,relatime shared:1 - {kind} somewhere rw");
        let mount = Mount::of(Path::new("/data/run"), &line).unwrap();
        Filesystem { free_bytes: Some(FREE_LIMIT), ..Filesystem::from_mount(Some(&mount)) }
    }

    fn disk(kind: DeviceKind) -> Disk {
        Disk { device: "x".into(), kind, model: None, write_cache: None }
    }

    fn codes(change: impl FnOnce(&mut Environment)) -> Vec<WarningCode> {
        let mut environment = quiet();
        change(&mut environment);
        let found = warnings(&environment, Path::new("/data/run"));
        assert!(found.iter().all(|warning| !warning.message.is_empty() && !warning.remedy.is_empty()));
        found.iter().map(|warning| warning.code).collect()
    }

    #[test]
    fn a_quiet_machine_has_none() {
        assert_eq!(codes(|_| {}), []);
        assert_eq!(codes(|e| e.filesystem = Some(mounted("fuseblk"))), []);
    }

    #[test]
    fn every_unsuitable_file_system_has_its_own() {
        for (code, kinds) in [
            (WarningCode::MemoryFilesystem, "tmpfs"),
            (WarningCode::OverlayFilesystem, "overlay"),
            // One of each class: network, shared, fuse.
            (WarningCode::NetworkFilesystem, "nfs4 9p fuse"),
        ] {
            for kind in kinds.split(' ') {
                assert_eq!(codes(|e| e.filesystem = Some(mounted(kind))), [code], "{kind}");
            }
        }
    }

    #[test]
    fn steal_only_with_enough_ticks() {
        let stolen = |share, ticks| codes(|e| (e.load.steal_share, e.load.ticks) = (Some(share), Some(ticks)));
        assert_eq!(stolen(0.021, 400), [WarningCode::Steal]);
        assert_eq!(stolen(0.5, 99), []);
    }

    #[test]
    fn load_governor_and_space() {
        assert_eq!(codes(|e| e.load.load_average = Some([4.1, 0.0, 0.0])), [WarningCode::Busy]);
        assert_eq!(codes(|e| e.cpu.governor = Some("powersave".into())), [WarningCode::Powersave]);
        let full = Filesystem { free_bytes: Some(FREE_LIMIT - 1), ..mounted("ext4") };
        assert_eq!(codes(|e| e.filesystem = Some(full)), [WarningCode::LowSpace]);
    }

    #[test]
    fn a_sync_that_is_too_fast_for_a_disk() {
        let with = |kind, p50_ns| {
            codes(|e| {
                e.disk = Some(disk(kind));
                e.fsync.as_mut().unwrap().overwrite.p50_ns = p50_ns;
            })
        };
        assert_eq!(with(DeviceKind::Nvme, 9_999), [WarningCode::SyncTooFast]);
        assert_eq!(with(DeviceKind::Virtual, 2_000), [WarningCode::SyncTooFast]);
        assert_eq!(with(DeviceKind::Nvme, 10_000), []);
        assert_eq!(with(DeviceKind::Ram, 2_000), []);
    }

    #[test]
    fn synced_folders_by_name_and_by_marker() {
        let home = tempfile::tempdir().unwrap();
        let warned = |path: &str| {
            let dir = home.path().join(path);
            std::fs::create_dir_all(&dir).unwrap();
            synced_folder(&dir).is_some()
        };
        let folders = [
            "Dropbox/app",
            "Dropbox (Personal)/x",
            "OneDrive - Example Ltd/x",
            "Library/Mobile Documents/x",
            "Library/CloudStorage/Anything/x",
            "Google Drive/x",
            "Nextcloud/x",
            "nextcloud",
        ];
        folders.iter().for_each(|folder| assert!(warned(folder), "{folder}"));
        for folder in ["app", "dropbox-clone/x", "OneDriver", "Nextcloudy/x", "documents"] {
            assert!(!warned(folder), "{folder}");
        }
        assert!(!warned("shared/inner"));
        std::fs::create_dir(home.path().join("shared/.stfolder")).unwrap();
        assert!(warned("shared/inner"));
        for (marker, by) in [(".dropbox", "Dropbox"), (".nextcloudsync.log", "Nextcloud")] {
            assert!(!warned(&format!("{by} of Eve/inner")));
            let folder = home.path().join(format!("{by} of Eve"));
            std::fs::write(folder.join(marker), "").unwrap();
            assert_eq!(synced_by(&folder.join("inner/not/there")), Some(by));
        }
        // As in the home directory of a user of Dropbox.
        assert!(!warned("home/.dropbox") && !warned("home/app"));
    }

    #[test]
    fn the_worst_comes_first() {
        let found = codes(|e| {
            e.cpu.governor = Some("powersave".into());
            e.filesystem = Some(Filesystem { free_bytes: Some(0), ..mounted("nfs4") });
            e.load.steal_share = Some(1.0);
        });
        let worst_first =
            [WarningCode::NetworkFilesystem, WarningCode::LowSpace, WarningCode::Steal, WarningCode::Powersave];
        assert_eq!(found, worst_first);
    }
}
