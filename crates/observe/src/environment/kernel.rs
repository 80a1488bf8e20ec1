//! Operating system of the host.

use serde::{Deserialize, Serialize};

use crate::proc_file;

/// Name and version of kernel and distribution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// Operating system: `linux`, `macos`, `windows`, …
    pub os: String,
    /// Architecture: `x86_64`, `aarch64`, …
    pub architecture: String,
    /// Kernel release, as `uname -r` prints it.
    pub release: Option<String>,
    /// Distribution, from `os-release`.
    pub distribution: Option<String>,
}

impl Kernel {
    /// Reads the properties from the system.
    #[must_use]
    pub fn capture() -> Self {
        // Not read: uname's node name is the host name, and its version may name the machine that built the kernel.
        let release = rustix::system::uname().release().to_string_lossy().into_owned();
        Kernel {
            os: std::env::consts::OS.to_owned(),
            architecture: std::env::consts::ARCH.to_owned(),
            release: Some(release),
            distribution: ["/etc/os-release", "/usr/lib/os-release"]
                .iter()
                .find_map(|path| pretty_name(&proc_file(path)?)),
        }
    }
}

fn pretty_name(os_release: &str) -> Option<String> {
    let value = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim_matches(['"', '\'']).to_owned()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distribution_with_and_without_quotes() {
        assert_eq!(pretty_name("ID=debian\nPRETTY_NAME=\"Debian 12\"\n").as_deref(), Some("Debian 12"));
        assert_eq!(pretty_name("PRETTY_NAME=Alpine\n").as_deref(), Some("Alpine"));
        assert_eq!(pretty_name("NAME=x\nPRETTY_NAME=\"\"\n"), None);
    }

    #[test]
    fn release_is_what_uname_prints() {
        let uname = std::process::Command::new("uname").arg("-r").output().unwrap();
        assert_eq!(Kernel::capture().release.as_deref(), Some(String::from_utf8_lossy(&uname.stdout).trim()));
    }
}
