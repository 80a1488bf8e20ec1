//! Processor of the host.

use std::io::BufReader;
use std::path::Path;

use procfs_core::{CpuInfo, FromBufRead};
use serde::{Deserialize, Serialize};

use crate::proc_file;

/// Model and number of the processors, and what governs their frequency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpu {
    /// Model name reported by the processor.
    pub model: Option<String>,
    /// Number of logical processors of the machine.
    pub logical: Option<usize>,
    /// Number of processors available to this process: after affinity and the quota of a container.
    pub usable: Option<usize>,
    /// Frequency governor of the first processor, such as `performance` or `powersave`.
    pub governor: Option<String>,
    /// Whether this is a virtual machine.
    pub virtualised: Option<bool>,
}

impl Cpu {
    /// Reads the properties from the system.
    #[must_use]
    pub fn capture() -> Self {
        let cpuinfo = proc_file("/proc/cpuinfo").unwrap_or_default();
        Self::from_parts(&cpuinfo, Path::new("/sys/devices/system/cpu/cpu0/cpufreq"))
    }

    fn from_parts(cpuinfo: &str, cpufreq: &Path) -> Self {
        // The parser reports one processor for an empty text.
        let text = Some(cpuinfo).filter(|text| !text.trim().is_empty());
        let info = text.and_then(|text| CpuInfo::from_buf_read(BufReader::new(text.as_bytes())).ok());
        let first = info.as_ref().and_then(|info| info.get_info(0)).unwrap_or_default();
        // The hypervisor bit of CPUID. Other architectures have no "flags", so the result is unknown there.
        let flags = first.get("flags").map(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"));
        Cpu {
            model: first.get("model name").map(|model| (*model).to_owned()),
            logical: info.as_ref().map(CpuInfo::num_cores),
            usable: std::thread::available_parallelism().ok().map(usize::from),
            governor: proc_file(cpufreq.join("scaling_governor")).map(|governor| governor.trim().to_owned()),
            virtualised: flags,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const X86: &str = "processor\t: 0\nmodel name\t: A CPU @ 2.00GHz\nflags\t\t: fpu vme hypervisor sse\n\n\
                       processor\t: 1\nmodel name\t: A CPU @ 2.00GHz\nflags\t\t: fpu vme hypervisor sse\n\n";

    #[test]
    fn model_count_and_hypervisor_bit() {
        let cpu = Cpu::from_parts(X86, Path::new("/nonexistent"));
        assert_eq!((cpu.model.as_deref(), cpu.logical), (Some("A CPU @ 2.00GHz"), Some(2)));
        assert_eq!((cpu.virtualised, cpu.governor), (Some(true), None));
        let bare = Cpu::from_parts(&X86.replace(" hypervisor", ""), Path::new("/nonexistent"));
        assert_eq!(bare.virtualised, Some(false));
    }

    #[test]
    fn arm_has_no_model_and_no_flags() {
        let variant = "processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd\n\n";
        let cpu = Cpu::from_parts(variant, Path::new("/nonexistent"));
        assert_eq!((cpu.model, cpu.logical, cpu.virtualised), (None, Some(1), None));
        assert_eq!(Cpu::from_parts("", Path::new("/nonexistent")).logical, None);
    }

    #[test]
    fn governor_from_its_file() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("scaling_governor"), "powersave\n").unwrap();
        assert_eq!(Cpu::from_parts("", dir.path()).governor.as_deref(), Some("powersave"));
    }
}
