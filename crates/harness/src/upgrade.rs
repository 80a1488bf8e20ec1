//! The trial of an upgrade: what becomes of a transaction that first reads and then writes, while another connection
//! writes.

use litelab_protocol::Upgrade;

use crate::fault::Fault;

/// The two connections of the trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It reads in a transaction, and then writes.
    Reader,
    /// It writes meanwhile.
    Writer,
}

use Side::{Reader, Writer};

const TABLE: &str = "CREATE TABLE litelab_upgrade(a CHECK (a <> ''))";
/// Violates the constraint in a database in memory, which has no file.
const FILE: &str = "INSERT INTO litelab_upgrade SELECT file FROM pragma_database_list WHERE name = 'main'";
const READ: &str = "SELECT count(*) FROM litelab_upgrade";
const WRITE: &str = "INSERT INTO litelab_upgrade VALUES (1)";
const DROP: &str = "DROP TABLE litelab_upgrade";

/// Primary result codes.
const BUSY: i32 = 5;
const LOCKED: i32 = 6;
const READONLY: i32 = 8;
const CONSTRAINT: i32 = 19;

/// Tries it, with a function that runs one statement to its end on one of the connections. `None` for a database that is
/// read-only or in memory.
///
/// # Errors
/// A statement that fails for another reason than the other connection.
pub async fn run(
    mut script: impl AsyncFnMut(Side, &'static str) -> Result<(), Fault>,
) -> Result<Option<Upgrade>, Fault> {
    if refused(script(Writer, TABLE).await, &[READONLY])? {
        return Ok(None);
    }
    let tried = match refused(script(Writer, FILE).await, &[CONSTRAINT]) {
        Ok(true) => Ok(None),
        Ok(false) => upgrade(&mut script).await.map(Some),
        Err(fault) => Err(fault),
    };
    // The first error is the cause of the others.
    let dropped = script(Writer, DROP).await;
    tried.and_then(|outcome| dropped.map(|()| outcome))
}

async fn upgrade(script: &mut impl AsyncFnMut(Side, &'static str) -> Result<(), Fault>) -> Result<Upgrade, Fault> {
    // SQLite calls no busy handler for an upgrade; a write that is none waits for at most a second.
    script(Reader, "PRAGMA busy_timeout = 1000").await?;
    script(Writer, "PRAGMA busy_timeout = 0").await?;
    script(Reader, "BEGIN").await?;
    let outcome = in_transaction(script).await;
    let rolled_back = script(Reader, "ROLLBACK").await;
    outcome.and_then(|outcome| rolled_back.map(|()| outcome))
}

async fn in_transaction(
    script: &mut impl AsyncFnMut(Side, &'static str) -> Result<(), Fault>,
) -> Result<Upgrade, Fault> {
    script(Reader, READ).await?;
    if refused(script(Writer, "BEGIN IMMEDIATE").await, &[BUSY, LOCKED])? {
        return Ok(Upgrade::Immediate);
    }
    let committed = match script(Writer, WRITE).await {
        Ok(()) => script(Writer, "COMMIT").await,
        refused => refused,
    };
    let upgraded = script(Reader, WRITE).await;
    // With a rollback journal the commit is refused while the other connection reads, and the transaction stays open.
    let rolled_back = if committed.is_err() { script(Writer, "ROLLBACK").await } else { Ok(()) };
    refused(committed, &[BUSY, LOCKED])?;
    rolled_back?;
    Ok(if refused(upgraded, &[BUSY, LOCKED])? { Upgrade::Fails } else { Upgrade::Succeeds })
}

/// Whether SQLite refused a statement with one of these primary codes.
fn refused(done: Result<(), Fault>, codes: &[i32]) -> Result<bool, Fault> {
    match done {
        Ok(()) => Ok(false),
        Err(Fault::Sqlite { code, .. }) if codes.contains(&(code & 0xFF)) => Ok(true),
        Err(fault) => Err(fault),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Outcome = Result<Option<Upgrade>, Fault>;

    /// The outcome, and the statements that ran, where these statements fail with these codes.
    fn tried(failing: &[(Side, &str, i32)]) -> (Outcome, Vec<(Side, &'static str)>) {
        let mut ran = Vec::new();
        let outcome = crate::runtime::waiting().expect("a runtime").block_on(run(async |side, sql| {
            ran.push((side, sql));
            match failing.iter().find(|failing| (failing.0, failing.1) == (side, sql)) {
                None => Ok(()),
                Some(&(.., code)) => Err(Fault::Sqlite { code, message: sql.into() }),
            }
        }));
        (outcome, ran)
    }

    #[test]
    fn the_outcome_follows_from_what_is_refused() {
        const SNAPSHOT: i32 = 517;
        for (failing, outcome) in [
            (&[][..], Some(Upgrade::Succeeds)),
            (&[(Writer, "BEGIN IMMEDIATE", BUSY)], Some(Upgrade::Immediate)),
            (&[(Reader, WRITE, SNAPSHOT)], Some(Upgrade::Fails)),
            (&[(Writer, "COMMIT", BUSY), (Reader, WRITE, BUSY)], Some(Upgrade::Fails)),
            (&[(Writer, WRITE, 262), (Reader, WRITE, 262)], Some(Upgrade::Fails)),
            (&[(Writer, TABLE, 264)], None),
            (&[(Writer, FILE, 275)], None),
        ] {
            assert_eq!(tried(failing).0.expect("an outcome"), outcome, "{failing:?}");
        }
    }

    #[test]
    fn everything_is_rolled_back_and_another_error_is_one() {
        let end = [(Writer, "ROLLBACK"), (Reader, "ROLLBACK"), (Writer, DROP)];
        let (_, ran) = tried(&[(Writer, "COMMIT", BUSY)]);
        assert!(ran.ends_with(&end), "{ran:?}");
        // After SQLITE_FULL SQLite has rolled back by itself.
        let (failed, ran) = tried(&[(Writer, "COMMIT", 13), (Writer, "ROLLBACK", 1)]);
        assert!(failed.is_err_and(|fault| fault.to_string() == "SQLITE_FULL: COMMIT"));
        assert!(ran.ends_with(&end), "{ran:?}");
        let (failed, ran) = tried(&[(Reader, WRITE, 13)]);
        assert!(failed.is_err() && ran.ends_with(&end[1..]), "{ran:?}");
    }
}
