//! Check that settings held for the whole trial: compares each connection at its opening and after the last worker's
//! end.

use litelab_protocol::ConnectionSettings;

/// Compares the settings of all connections at the end of a trial with those at its start. Connections with the same
/// database and label are interchangeable, so that a runner need not track the connections of a pool. `complete` is
/// `false` if some connections were not queried, because a process or server was killed or a transaction was still in
/// progress.
///
/// # Errors
/// The first setting that changed, with both values and the connection.
pub fn kept(started: &[ConnectionSettings], ended: &[ConnectionSettings], complete: bool) -> Result<(), String> {
    if complete && ended.len() != started.len() {
        return Err(format!(
            "the runner reported the settings of {} connections at the start and of {} at the end",
            started.len(),
            ended.len()
        ));
    }
    let mut left: Vec<(usize, &ConnectionSettings)> = started.iter().enumerate().collect();
    let mut others = Vec::new();
    for end in ended {
        match left.iter().position(|(_, start)| *start == end) {
            Some(at) => drop(left.remove(at)),
            None => others.push(end),
        }
    }
    for end in others {
        let same =
            |(_, start): &(usize, &ConnectionSettings)| (start.database, &start.label) == (end.database, &end.label);
        let Some((i, start)) = left.iter().position(same).map(|at| left.remove(at)) else {
            return Err(format!("connection `{}` of database {} is there at the end alone", end.label, end.database));
        };
        let here = format!("connection {i} ({})", start.label);
        match start.settings.iter().find(|(name, value)| end.settings.get(*name) != Some(value)) {
            None => {}
            Some(_) if end.settings.is_empty() && !complete => {}
            Some(_) if end.settings.is_empty() => {
                return Err(format!("{here}: its settings could not be read at the end of the trial"));
            }
            Some((name, value)) => {
                let now = end.settings.get(name).map_or("not reported".into(), ToString::to_string);
                return Err(format!(
                    "{here}: `{name}` was {value} when the trial began and is {now} at its end: a statement or \
                     the driver changed it, so its numbers are of neither"
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(label: &str, synchronous: i64) -> ConnectionSettings {
        let settings = [("journal_mode".to_owned(), "wal".into()), ("synchronous".to_owned(), synchronous.into())];
        ConnectionSettings { database: 0, label: label.into(), settings: settings.into() }
    }

    #[test]
    fn a_setting_that_moved_is_named_with_both_values_and_the_connection() {
        let started = [connection("writer", 2), connection("reader", 1), connection("reader", 2)];
        let swapped = [connection("writer", 2), connection("reader", 2), connection("reader", 1)];
        assert_eq!(kept(&started, &started, true), Ok(()));
        assert_eq!(kept(&started, &swapped, true), Ok(()), "a pool has no order");
        let moved = [connection("writer", 2), connection("reader", 2), connection("reader", 0)];
        let said = kept(&started, &moved, true).expect_err("one is off");
        assert!(said.starts_with("connection 1 (reader): `synchronous` was 1 when"), "{said}");
        assert!(said.contains("is 0 at its end"), "{said}");
    }

    #[test]
    fn connections_that_were_not_asked_are_missed_unless_they_could_not_be() {
        let started = [connection("w", 2), connection("w", 2)];
        let unread = ConnectionSettings { settings: Default::default(), ..connection("w", 2) };
        for (ended, what) in [
            (&[][..], "of 2 connections at the start and of 0"),
            (&[connection("w", 2), unread][..], "could not be read"),
        ] {
            assert!(kept(&started, ended, true).is_err_and(|e| e.contains(what)), "{what}");
            assert_eq!(kept(&started, ended, false), Ok(()));
        }
        assert!(kept(&started, &[connection("x", 2)], false).is_err_and(|e| e.contains("at the end alone")));
        assert!(kept(&started, &[connection("w", 0)], false).is_err());
    }
}
