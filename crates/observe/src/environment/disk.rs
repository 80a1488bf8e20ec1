//! The block device below a file system, from `/sys`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::filesystem::mount_of;
use super::mount::Mount;
use crate::proc_file;

/// Kind of a block device, as far as the kernel shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceKind {
    /// Hard disk.
    Rotational,
    /// Solid-state disk behind SATA, SAS or MMC.
    Ssd,
    /// Local NVMe disk.
    Nvme,
    /// Disk provided by a hypervisor (virtio, Xen and similar). The physical device is unknown, and the `rotational`
    /// flag is meaningless.
    Virtual,
    /// Regular file used as a device.
    Loop,
    /// Disk of another machine (NBD, RBD, DRBD, iSCSI, NVMe over a network, Amazon EBS).
    Network,
    /// RAM disk.
    Ram,
    /// Any other device, or several devices of different kinds.
    Unknown,
}

impl DeviceKind {
    /// Whether a synced write should take the time of a physical device.
    #[must_use]
    pub fn claims_to_be_disk(self) -> bool {
        matches!(self, Self::Rotational | Self::Ssd | Self::Nvme | Self::Virtual | Self::Network)
    }
}

/// Treatment of the device's own write cache by the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteCache {
    /// Volatile cache: a sync sends a flush to the device.
    WriteBack,
    /// No cache, or one protected against power loss: a sync sends no flush, and is fast and still durable.
    WriteThrough,
}

/// A block device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    /// Kernel name: `sda`, `nvme0n1`, `dm-0`. Names of volume groups are not used, because they often are host names.
    pub device: String,
    /// Kind of the device below partitions and mappings.
    pub kind: DeviceKind,
    /// Model reported by the device; `None` for mappings of several devices.
    pub model: Option<String>,
    /// Treatment of the device's write cache.
    pub write_cache: Option<WriteCache>,
}

impl Disk {
    /// The device below an existing path; `None` for file systems without a device (memory, network, overlay) and on
    /// systems without `/sys`.
    #[must_use]
    pub fn below(path: &Path) -> Option<Self> {
        let mount = mount_of(path)?;
        Self::from_sysfs(Path::new("/sys"), &mount.device).or_else(|| Self::from_source(&mount))
    }

    /// The device named as the mount's source. btrfs and others have an anonymous device number.
    fn from_source(mount: &Mount) -> Option<Self> {
        use std::os::unix::fs::{FileTypeExt, MetadataExt};
        if !mount.source.starts_with("/dev/") {
            return None;
        }
        let node = std::fs::metadata(&mount.source).ok().filter(|node| node.file_type().is_block_device())?;
        let (major, minor) = (rustix::fs::major(node.rdev()), rustix::fs::minor(node.rdev()));
        Self::from_sysfs(Path::new("/sys"), &format!("{major}:{minor}"))
    }

    fn from_sysfs(sys: &Path, number: &str) -> Option<Self> {
        let node = whole(sys.join("dev/block").join(number).canonicalize().ok()?);
        let mut leaves = vec![];
        collect_leaves(&node, &mut leaves, 8);
        let mut kinds = leaves.iter().map(|leaf| kind(leaf));
        let first = kinds.next()?;
        let model = match leaves.as_slice() {
            [one] => attribute(one, "device/model"),
            _ => None,
        };
        Some(Disk {
            device: name(&node).to_owned(),
            kind: if kinds.all(|kind| kind == first) { first } else { DeviceKind::Unknown },
            model,
            write_cache: attribute(&node, "queue/write_cache").and_then(|cache| match cache.as_str() {
                "write back" => Some(WriteCache::WriteBack),
                "write through" => Some(WriteCache::WriteThrough),
                _ => None,
            }),
        })
    }
}

/// The disk that contains a partition.
fn whole(node: PathBuf) -> PathBuf {
    let part = node.join("partition").exists();
    node.parent().filter(|_| part).map(Path::to_owned).unwrap_or(node)
}

/// Collects the devices below a mapping (LVM, LUKS, RAID), through at most `depth` levels.
fn collect_leaves(node: &Path, leaves: &mut Vec<PathBuf>, depth: usize) {
    let below = std::fs::read_dir(node.join("slaves")).into_iter().flatten().flatten();
    let below: Vec<PathBuf> = below.filter_map(|entry| Some(whole(entry.path().canonicalize().ok()?))).collect();
    if below.is_empty() || depth == 0 {
        leaves.push(node.to_owned());
    }
    if depth > 0 {
        below.iter().for_each(|node| collect_leaves(node, leaves, depth - 1));
    }
}

fn kind(node: &Path) -> DeviceKind {
    let name = name(node);
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    // Position of the device in the machine, as in /sys/devices/pci0000:00/0000:00:05.0/virtio2/block/vda.
    let bus = |prefix: &str| node.iter().any(|part| part.to_str().is_some_and(|part| part.starts_with(prefix)));
    let model = attribute(node, "device/model").unwrap_or_default();
    let remote = attribute(node, "device/transport").is_some_and(|transport| transport != "pcie");
    if begins(&["nbd", "rbd", "drbd"]) || bus("session") || remote || model.starts_with("Amazon Elastic Block Store") {
        DeviceKind::Network
    } else if begins(&["loop"]) {
        DeviceKind::Loop
    } else if begins(&["ram", "zram", "brd"]) {
        DeviceKind::Ram
    } else if begins(&["vd", "xvd"]) || bus("virtio") || bus("vbd-") || bus("VMBUS:") {
        DeviceKind::Virtual
    } else if begins(&["nvme"]) {
        DeviceKind::Nvme
    } else if ["QEMU", "VMware", "VBOX"].iter().any(|maker| model.starts_with(maker)) {
        DeviceKind::Virtual
    } else if begins(&["sd", "hd", "mmcblk"]) {
        match attribute(node, "queue/rotational").as_deref() {
            Some("1") => DeviceKind::Rotational,
            Some("0") => DeviceKind::Ssd,
            _ => DeviceKind::Unknown,
        }
    } else {
        DeviceKind::Unknown
    }
}

fn name(node: &Path) -> &str {
    node.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn attribute(node: &Path, name: &str) -> Option<String> {
    Some(proc_file(node.join(name))?.trim().to_owned()).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::testkit::Sysfs;

    fn disk(sysfs: &Sysfs, number: &str) -> Disk {
        Disk::from_sysfs(sysfs.root(), number).unwrap()
    }

    #[test]
    fn kinds_by_name_bus_and_flag() {
        let sysfs = Sysfs::new();
        let cases = [
            ("8:0", "pci0/ata1/block/sda", "1", DeviceKind::Rotational),
            ("8:16", "pci0/ata2/block/sdb", "0", DeviceKind::Ssd),
            ("259:0", "pci0/nvme/nvme0/nvme0n1", "0", DeviceKind::Nvme),
            ("253:0", "pci0/virtio1/block/vda", "1", DeviceKind::Virtual),
            ("8:32", "pci0/virtio3/host0/block/sdc", "1", DeviceKind::Virtual),
            ("8:48", "platform/host7/session1/block/sdd", "0", DeviceKind::Network),
            ("43:0", "virtual/block/nbd0", "0", DeviceKind::Network),
            ("7:0", "virtual/block/loop0", "0", DeviceKind::Loop),
            ("1:0", "virtual/block/ram0", "0", DeviceKind::Ram),
            ("251:0", "virtual/block/zram0", "0", DeviceKind::Ram),
            ("9:9", "virtual/block/strange", "0", DeviceKind::Unknown),
        ];
        for (number, path, rotational, expected) in cases {
            sysfs.device(number, path, &[("queue/rotational", rotational)]);
            assert_eq!(disk(&sysfs, number).kind, expected, "{path}");
        }
    }

    #[test]
    fn partition_and_mapping_lead_to_the_disk() {
        let sysfs = Sysfs::new();
        let settings =
            [("queue/rotational", "0"), ("device/model", "Fast One  "), ("queue/write_cache", "write through")];
        sysfs.device("259:0", "pci0/nvme/nvme0/nvme0n1", &settings);
        sysfs.device("259:1", "pci0/nvme/nvme0/nvme0n1/nvme0n1p1", &[("partition", "1")]);
        let partition = disk(&sysfs, "259:1");
        assert_eq!((partition.device.as_str(), partition.kind), ("nvme0n1", DeviceKind::Nvme));
        assert_eq!(partition.model.as_deref(), Some("Fast One"));
        assert_eq!(partition.write_cache, Some(WriteCache::WriteThrough));

        sysfs.device("252:0", "virtual/block/dm-0", &[("queue/write_cache", "write back")]);
        sysfs.below("virtual/block/dm-0", "pci0/nvme/nvme0/nvme0n1/nvme0n1p1");
        let mapping = disk(&sysfs, "252:0");
        assert_eq!((mapping.device.as_str(), mapping.kind), ("dm-0", DeviceKind::Nvme));
        assert_eq!(mapping.write_cache, Some(WriteCache::WriteBack));

        sysfs.device("8:0", "pci0/ata1/block/sda", &[("queue/rotational", "1")]);
        sysfs.below("virtual/block/dm-0", "pci0/ata1/block/sda");
        let mixed = disk(&sysfs, "252:0");
        assert_eq!((mixed.kind, mixed.model), (DeviceKind::Unknown, None));
    }

    #[test]
    fn network_disks_that_look_local() {
        let sysfs = Sysfs::new();
        sysfs.device("259:0", "pci0/nvme/nvme0/nvme0n1", &[("device/model", "Amazon Elastic Block Store")]);
        sysfs.device("259:2", "fabrics/nvme1/nvme1n1", &[("device/transport", "tcp")]);
        sysfs.device("259:4", "pci0/nvme/nvme2/nvme2n1", &[("device/transport", "pcie")]);
        let kinds = ["259:0", "259:2", "259:4"].map(|number| disk(&sysfs, number).kind);
        assert_eq!(kinds, [DeviceKind::Network, DeviceKind::Network, DeviceKind::Nvme]);
    }

    #[test]
    fn no_device_no_disk() {
        assert_eq!(Disk::from_sysfs(Sysfs::new().root(), "0:42"), None);
    }
}
