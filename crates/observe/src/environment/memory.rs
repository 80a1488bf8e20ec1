//! Memory of the host, which bounds the part of a database that the page cache can hold.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{number, proc_file};

/// Sizes of memory in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Memory of the machine.
    pub total_bytes: Option<u64>,
    /// Smallest limit of the control groups of this process; `None` without a limit. It includes the page cache.
    pub limit_bytes: Option<u64>,
}

impl Memory {
    /// Reads the sizes from the system.
    #[must_use]
    pub fn capture() -> Self {
        let meminfo = proc_file("/proc/meminfo").unwrap_or_default();
        let cgroup = proc_file("/proc/self/cgroup").unwrap_or_default();
        Self::from_parts(&meminfo, &cgroup, Path::new("/sys/fs/cgroup"))
    }

    fn from_parts(meminfo: &str, cgroup: &str, cgroups: &Path) -> Self {
        Memory { total_bytes: number(meminfo, "MemTotal"), limit_bytes: limit(cgroup, cgroups) }
    }
}

/// Memory limit of a control group of version 2: `0::/path`. The limits of all parent groups apply too.
fn limit(cgroup: &str, cgroups: &Path) -> Option<u64> {
    let own = cgroup.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let groups = Path::new(own).ancestors().filter_map(|group| proc_file(cgroups.join(group).join("memory.max")));
    // "max" is not a number and means no limit.
    groups.filter_map(|limit| limit.trim().parse().ok()).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_limit_of_the_groups_holds() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("outer/inner");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::write(inner.join("memory.max"), "max\n").unwrap();
        std::fs::write(dir.path().join("outer/memory.max"), "1048576\n").unwrap();
        let meminfo = "MemTotal:  2000 kB\nMemAvailable: 1000 kB\n";
        let memory = Memory::from_parts(meminfo, "1:name=x:/other\n0::/outer/inner\n", dir.path());
        assert_eq!(memory.limit_bytes, Some(1_048_576));
        assert_eq!(memory.total_bytes, Some(2_048_000));
        assert_eq!(Memory::from_parts("", "0::/\n", dir.path()).limit_bytes, None);
        assert_eq!(Memory::from_parts("", "", dir.path()).total_bytes, None);
    }
}
