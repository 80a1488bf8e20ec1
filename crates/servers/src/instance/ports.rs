//! Free ports on loopback.

use std::net::{Ipv4Addr, TcpListener};

use crate::ServersError;

/// Returns different ports that are free at the moment. Another program may take one before the server does; the server
/// is then started again on other ports.
pub(super) fn free(count: usize, first: Option<u16>) -> Result<Vec<u16>, ServersError> {
    let failed = |e: std::io::Error| ServersError::Failed(format!("no free port on 127.0.0.1: {e}"));
    // All ports are held until the last one is found, so that none is returned twice.
    let mut held = Vec::with_capacity(count);
    while held.len() < count {
        held.push(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?);
    }
    let mut ports =
        held.iter().map(|l| l.local_addr().map(|a| a.port())).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    if let (Some(wanted), Some(port)) = (first.filter(|wanted| !ports.contains(wanted)), ports.first_mut()) {
        *port = wanted;
    }
    Ok(ports)
}

/// Whether a server's log reports that a port is in use. PostgreSQL and MariaDB both print the text of the C library.
pub(super) fn taken(log: &str) -> bool {
    log.contains("Address already in use")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_free_and_different() {
        let ports = free(12, Some(4711)).unwrap();
        assert_eq!(ports[0], 4711);
        let distinct: std::collections::BTreeSet<_> = ports.iter().collect();
        assert_eq!(distinct.len(), 12);
    }
}
