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
/// Galera's script for a full state transfer reports of the daemon that it starts that its port was taken, or that it
/// terminated unexpectedly.
pub(super) fn taken(log: &str) -> bool {
    log.contains("Address already in use") || log.contains("rsync or stunnel daemon")
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

    #[test]
    fn a_port_that_another_program_took_is_recognised_in_a_log() {
        let said = |what: &str| format!("2026-11-29 9:28:18 2 [Note] WSREP: Running: 'wsrep_sst_rsync'\n{what}\n");
        for what in [
            "[ERROR] Can't start server: Bind on TCP/IP port. Got error: 98: Address already in use",
            "WSREP_SST: [ERROR] rsync or stunnel daemon port '41234' has been taken by another program (20261129)",
            "WSREP_SST: [ERROR] the rsync or stunnel daemon (PID: 77) terminated unexpectedly. (20261129)",
        ] {
            assert!(taken(&said(what)), "{what}");
        }
        assert!(!taken(&said("[ERROR] WSREP: Failed to read uuid:seqno from joiner script.")));
    }
}
