//! Random closures: what they run, and what must be in the database if they are kept.

use std::collections::BTreeMap;
use std::mem::forget;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use onewriter::Error;
use rusqlite::Connection;

use crate::call::{World, awaits, blocks};

/// Tables of each database. `mark` has one row for each closure that was kept.
pub const SCHEMA: &str = "
    CREATE TABLE mark(plan INTEGER PRIMARY KEY, amount INTEGER);
    CREATE TABLE item(plan INTEGER, key INTEGER, value INTEGER CHECK (value >= 0), PRIMARY KEY (plan, key));
    CREATE TABLE tally(id INTEGER PRIMARY KEY, n INTEGER);
    CREATE TABLE parent(id INTEGER PRIMARY KEY);
    CREATE TABLE strict(plan INTEGER, parent INTEGER REFERENCES parent(id));
    CREATE TABLE late(plan INTEGER, parent INTEGER REFERENCES parent(id) DEFERRABLE INITIALLY DEFERRED);
    CREATE TABLE large(plan INTEGER PRIMARY KEY, data BLOB);
    CREATE TRIGGER ends BEFORE INSERT ON item WHEN new.value = 1000001 BEGIN SELECT raise(ROLLBACK, 'ends'); END;
    CREATE TRIGGER fails BEFORE INSERT ON item WHEN new.value = 1000002 BEGIN SELECT raise(ABORT, 'fails'); END;
    INSERT INTO tally VALUES (1, 0);";

/// Statements that no closure may run.
const DENIED: [&str; 10] = [
    "COMMIT",
    "END",
    "ROLLBACK",
    "BEGIN",
    "BEGIN IMMEDIATE",
    "PRAGMA query_only = ON",
    "PRAGMA Locking_Mode = EXCLUSIVE",
    "PRAGMA wal_checkpoint(TRUNCATE)",
    "ATTACH ':memory:' AS other",
    "DETACH main",
];

/// Name of the savepoints that closures leave open.
const LEFT: &str = "left_open";

/// A closure.
#[derive(Debug)]
pub struct Plan {
    pub id: i64,
    /// Database that it writes to.
    pub database: usize,
    pub is_repeatable: bool,
    /// Time within which it must begin.
    pub patience: Option<Duration>,
    pub steps: Vec<Step>,
    pub end: End,
    /// Fails before its first change.
    pub is_early: bool,
    /// The drop of a captured value panics.
    pub drop_panics: bool,
    /// The drop of the result panics, unless the caller has received it.
    pub result_panics: bool,
    /// The conversion from an error of the layer panics.
    pub conversion_panics: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Ok,
    Err,
    Panic,
}

#[derive(Debug)]
pub enum Step {
    Insert,
    Cached,
    Returning,
    Upsert,
    Replace,
    Ignore,
    Update,
    Delete,
    /// A statement that fails at its second row, and keeps the first one if `.0`.
    Fails(bool),
    Check,
    Foreign,
    RaiseAbort,
    /// Leaves a deferred foreign key violated, and repairs it if `.0`.
    Late(bool),
    Tally(i64),
    Large,
    Huge(i64),
    Table,
    Column,
    DropTable,
    Savepoint {
        steps: Vec<Step>,
        back: bool,
        open: bool,
    },
    /// Ends the savepoint that a neighbour may have left open.
    EndOther(bool),
    /// SQLite rolls back the whole transaction, by a trigger if `.0`.
    RollBack(bool),
    Denied(usize),
    /// Leaves a statement running.
    Leave(u8),
    Sleep(u64),
    /// Calls the same database.
    Nested(u8),
    /// Writes to the other database.
    Other {
        plan: Arc<Plan>,
        is_async: bool,
    },
    /// Calls the database whose closure waits for this one.
    Circle,
}

/// What the closures of a round may do.
#[derive(Debug, Clone, Copy)]
pub struct Allowed {
    /// Roll back the whole transaction.
    pub rollbacks: bool,
}

impl Plan {
    pub fn random(rng: &mut fastrand::Rng, id: i64, database: usize, allowed: Allowed) -> Self {
        Self::nested(rng, id, database, allowed, false)
    }

    fn nested(rng: &mut fastrand::Rng, id: i64, database: usize, allowed: Allowed, is_inner: bool) -> Self {
        let is_repeatable = rng.bool();
        let count = [1, 3, 8][rng.usize(0..3)];
        let mut steps: Vec<Step> = (0..count).map(|_| step(rng, allowed, 0)).collect();
        if is_inner && rng.u8(0..4) == 0 {
            steps.push(Step::Circle);
        }
        if !is_inner && !is_repeatable && database == 0 && rng.u8(0..8) == 0 {
            let plan = Arc::new(Self::nested(rng, id + 500_000, 1, allowed, true));
            steps.insert(rng.usize(0..=steps.len()), Step::Other { plan, is_async: rng.bool() });
        }
        let end = match rng.u8(0..8) {
            0 => End::Panic,
            1 | 2 if !is_repeatable || rng.bool() => End::Err,
            _ => End::Ok,
        };
        Self {
            id,
            database,
            is_repeatable,
            patience: (rng.u8(0..16) == 0).then(|| Duration::from_micros(rng.u64(0..2_000))),
            steps,
            end,
            is_early: rng.u8(0..16) == 0,
            drop_panics: rng.u8(0..16) == 0,
            result_panics: rng.u8(0..16) == 0,
            conversion_panics: rng.u8(0..16) == 0,
        }
    }
}

fn step(rng: &mut fastrand::Rng, allowed: Allowed, depth: u8) -> Step {
    match rng.u8(0..40) {
        0..=4 => Step::Insert,
        5 | 6 => Step::Cached,
        7 | 8 => Step::Returning,
        9 => Step::Upsert,
        10 => Step::Replace,
        11 => Step::Ignore,
        12 | 13 => Step::Update,
        14 => Step::Delete,
        16 => Step::Fails(rng.bool()),
        17 => Step::Check,
        18 => Step::Foreign,
        19 => Step::RaiseAbort,
        20 => Step::Late(rng.u8(0..4) > 0),
        21..=23 => Step::Tally(rng.i64(1..9)),
        24 | 25 => Step::Large,
        26 if rng.u8(0..4) == 0 => Step::Huge(rng.i64(1..3_000)),
        27 if rng.bool() => Step::Table,
        28 => Step::Column,
        29 => Step::DropTable,
        30 | 31 if depth < 3 => {
            let steps = (0..rng.usize(0..4)).map(|_| step(rng, allowed, depth + 1)).collect();
            Step::Savepoint { steps, back: rng.bool(), open: rng.bool() }
        }
        15 if depth == 0 => Step::EndOther(rng.bool()),
        32 if allowed.rollbacks && rng.bool() => Step::RollBack(rng.bool()),
        33 => Step::Denied(rng.usize(0..DENIED.len())),
        34..=36 => Step::Leave(rng.u8(0..6)),
        37 if rng.u8(0..3) == 0 => Step::Sleep(rng.u64(0..4_000)),
        38 => Step::Nested(rng.u8(0..4)),
        _ => Step::Insert,
    }
}

/// Content of the database that belongs to a closure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Content {
    pub items: BTreeMap<i64, i64>,
    pub large: Option<Vec<u8>>,
    pub tally: i64,
    /// Rows of the table that the closure has made, and its columns.
    pub table: Option<(i64, usize)>,
    /// Whether a deferred foreign key is violated.
    pub is_violated: bool,
}

/// What a closure has done.
#[derive(Debug, Default)]
pub struct Record {
    pub runs: u32,
    pub content: Content,
    pub returned: Option<End>,
    /// Whether SQLite has rolled back the whole transaction.
    pub is_lost: bool,
    /// What was wrong inside the closure.
    pub wrong: Vec<String>,
}

/// A running closure.
struct Run<'a> {
    id: i64,
    database: usize,
    connection: &'a Connection,
    world: &'a Arc<World>,
    content: Content,
    is_lost: bool,
    /// Whether it has left a savepoint open.
    has_left: bool,
    next: i64,
    wrong: Vec<String>,
}

/// Runs the closure. Panics if its end is a panic.
pub fn run(plan: &Plan, connection: &Connection, world: &Arc<World>, record: &Mutex<Record>) -> End {
    record.lock().expect("no panic under it").runs += 1;
    let mut run = Run {
        id: plan.id,
        database: plan.database,
        connection,
        world,
        content: Content::default(),
        is_lost: false,
        has_left: false,
        next: 0,
        wrong: Vec::new(),
    };
    run.begins();
    let mut end = End::Err;
    if !plan.is_early {
        run.ok("the mark", connection.execute("INSERT INTO mark VALUES (?1, 0)", [plan.id]));
        run.steps(&plan.steps);
        end = plan.end;
    }
    let mut record = record.lock().expect("no panic under it");
    record.content = run.content;
    record.is_lost = run.is_lost;
    record.wrong.append(&mut run.wrong);
    record.returned = Some(end);
    drop(record);
    assert!(end != End::Panic, "on purpose");
    end
}

impl Run<'_> {
    fn begins(&mut self) {
        if self.connection.last_insert_rowid() != 0 {
            self.wrong.push("the row number of a neighbour is visible".into());
        }
        if self.connection.is_busy() {
            self.wrong.push("a statement of a neighbour runs".into());
        }
        if self.connection.is_autocommit() {
            self.wrong.push("there is no transaction".into());
        }
    }

    /// A statement that succeeds, unless the transaction is lost. Returns whether its changes count.
    fn ok<T>(&mut self, what: &str, result: rusqlite::Result<T>) -> bool {
        if self.is_lost {
            return false;
        }
        if let Err(error) = &result {
            self.wrong.push(format!("{what}: {error}"));
        }
        result.is_ok()
    }

    /// A statement that fails in any case.
    fn fails<T>(&mut self, what: &str, result: rusqlite::Result<T>) {
        if !self.is_lost && result.is_ok() {
            self.wrong.push(format!("{what} has succeeded"));
        }
    }

    fn key(&mut self) -> i64 {
        self.next += 1;
        self.next
    }

    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            self.step(step);
        }
    }

    fn step(&mut self, step: &Step) {
        let (c, id) = (self.connection, self.id);
        let known = self.content.items.keys().next().copied();
        match step {
            Step::Insert => {
                let key = self.key();
                let sql = format!("INSERT INTO item VALUES ({id}, {key}, 1)");
                if self.ok("insert", c.execute(&sql, [])) {
                    self.content.items.insert(key, 1);
                }
            }
            Step::Cached => {
                let key = self.key();
                let insert = c.prepare_cached("INSERT INTO item VALUES (?1, ?2, ?3)");
                if self.ok("cached", insert.and_then(|mut insert| insert.execute((id, key, 2)))) {
                    self.content.items.insert(key, 2);
                }
            }
            Step::Returning => {
                let key = self.key();
                let sql = "INSERT INTO item VALUES (?1, ?2, 3) RETURNING key";
                let returned = c.query_row(sql, (id, key), |row| row.get::<_, i64>(0));
                if self.ok("returning", returned) {
                    self.content.items.insert(key, 3);
                }
            }
            Step::Upsert => {
                let key = known.unwrap_or_else(|| self.key());
                let sql = "INSERT INTO item VALUES (?1, ?2, 4) ON CONFLICT DO UPDATE SET value = value + 10";
                if self.ok("upsert", c.execute(sql, (id, key))) {
                    self.content.items.entry(key).and_modify(|value| *value += 10).or_insert(4);
                }
            }
            Step::Replace => {
                let key = known.unwrap_or_else(|| self.key());
                if self.ok("replace", c.execute("INSERT OR REPLACE INTO item VALUES (?1, ?2, 5)", (id, key))) {
                    self.content.items.insert(key, 5);
                }
            }
            Step::Ignore => {
                let key = known.unwrap_or_else(|| self.key());
                if self.ok("ignore", c.execute("INSERT OR IGNORE INTO item VALUES (?1, ?2, 6)", (id, key))) {
                    self.content.items.entry(key).or_insert(6);
                }
            }
            Step::Update => {
                if self.ok("update", c.execute("UPDATE item SET value = value + 1 WHERE plan = ?1", [id])) {
                    self.content.items.values_mut().for_each(|value| *value += 1);
                }
            }
            Step::Delete => {
                let key = known.unwrap_or_default();
                if self.ok("delete", c.execute("DELETE FROM item WHERE plan = ?1 AND key = ?2", (id, key))) {
                    self.content.items.remove(&key);
                }
            }
            Step::Fails(keeps) => {
                let key = self.key();
                let sql = format!(
                    "INSERT OR {} INTO item VALUES ({id}, {key}, 7), ({id}, {key}, 7)",
                    if *keeps { "FAIL" } else { "ABORT" }
                );
                self.fails("a violated key", c.execute(&sql, []));
                if *keeps && !self.is_lost {
                    self.content.items.insert(key, 7);
                }
            }
            Step::Check => self.fails("a violated check", c.execute("INSERT INTO item VALUES (?1, -1, -1)", [id])),
            Step::Foreign => self.fails("a violated reference", c.execute("INSERT INTO strict VALUES (?1, 77)", [id])),
            Step::RaiseAbort => {
                self.fails("a raised error", c.execute("INSERT INTO item VALUES (?1, -1, 1000002)", [id]));
            }
            Step::Late(repairs) => {
                if self.ok("late", c.execute("INSERT INTO late VALUES (?1, 77)", [id])) {
                    self.content.is_violated = true;
                }
                if *repairs && self.ok("repair", c.execute("DELETE FROM late WHERE plan = ?1", [id])) {
                    self.content.is_violated = false;
                }
            }
            Step::Tally(n) => {
                let all = c.execute("UPDATE tally SET n = n + ?1", [n]);
                let own = c.execute("UPDATE mark SET amount = amount + ?1 WHERE plan = ?2", (n, id));
                if self.ok("tally", all.and(own)) {
                    self.content.tally += n;
                }
            }
            Step::Large => self.large(),
            Step::Huge(count) => {
                let first = self.next + 1;
                self.next += count;
                let sql = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?3)
                           INSERT INTO item SELECT ?1, ?2 + i, i FROM n";
                if self.ok("huge", c.execute(sql, (id, first, count))) {
                    self.content.items.extend((0..*count).map(|i| (first + i, i)));
                }
            }
            Step::Table if self.content.table.is_none() => {
                let sql = format!("CREATE TABLE made{id}(x); INSERT INTO made{id} VALUES (1), (2)");
                if self.ok("a table", c.execute_batch(&sql)) {
                    self.content.table = Some((2, 1));
                }
            }
            // A statement that was left running locks the table.
            Step::Column => {
                let altered = c.execute(&format!("ALTER TABLE made{id} ADD COLUMN y{}", self.next), []);
                self.key();
                if let (false, Ok(_), Some((_, columns))) = (self.is_lost, altered, &mut self.content.table) {
                    *columns += 1;
                }
            }
            Step::DropTable => {
                let dropped = c.execute(&format!("DROP TABLE made{id}"), []);
                if !self.is_lost && dropped.is_ok() {
                    self.content.table = None;
                }
            }
            Step::Table => {}
            Step::Savepoint { steps, back, open } => self.savepoint(steps, *back, *open),
            Step::EndOther(_) if self.has_left => {}
            Step::EndOther(back) => {
                let ends = format!("{} {LEFT}", if *back { "ROLLBACK TO" } else { "RELEASE" });
                self.fails("the end of another savepoint", c.execute_batch(&ends));
            }
            Step::RollBack(by_trigger) => {
                let ends = match by_trigger {
                    true => format!("INSERT INTO item VALUES ({id}, -1, 1000001)"),
                    false => format!("INSERT OR ROLLBACK INTO mark VALUES ({id}, 0)"),
                };
                self.fails("a rollback", c.execute(&ends, []));
                self.is_lost = true;
            }
            Step::Denied(at) => {
                self.fails(DENIED[*at], c.execute_batch(DENIED[*at]));
                self.fails(DENIED[*at], c.prepare_cached(DENIED[*at]));
            }
            Step::Leave(kind) => self.leave(*kind),
            Step::Sleep(micros) => thread::sleep(Duration::from_micros(*micros)),
            Step::Nested(kind) => self.call_again(*kind),
            Step::Other { plan, is_async: true } => pollster::block_on(awaits(self.world, plan.clone())),
            Step::Other { plan, is_async: false } => blocks(self.world, plan.clone()),
            Step::Circle => self.is_nested("a circle", self.world.layers[0].db.write_with(|_| Ok::<_, Error>(()))),
        }
    }

    fn savepoint(&mut self, steps: &[Step], back: bool, open: bool) {
        let c = self.connection;
        let name = if open && !self.has_left { LEFT.into() } else { format!("s{}", self.key()) };
        // Refused without a guard, and while a statement that writes was left running.
        if c.execute_batch(&format!("SAVEPOINT {name}")).is_err() {
            return;
        }
        self.has_left |= open;
        let before = self.content.clone();
        self.steps(steps);
        if back && c.execute_batch(&format!("ROLLBACK TO {name}")).is_ok() && !self.is_lost {
            self.content = before;
        }
        if !open {
            // Refused while a statement that writes was left running.
            let _stays_open = c.execute_batch(&format!("RELEASE {name}"));
        }
    }

    fn large(&mut self) {
        if self.content.large.is_some() {
            return;
        }
        let (c, id) = (self.connection, self.id);
        if !self.ok("large", c.execute("INSERT INTO large VALUES (?1, zeroblob(64))", [id])) {
            return;
        }
        self.content.large = Some(vec![0; 64]);
        let data = [self.next as u8 | 1; 32];
        let written = c.blob_open("main", "large", "data", id, false).and_then(|mut blob| {
            blob.write_all_at(&data, 16)?;
            if self.next % 2 == 0 {
                forget(blob);
            }
            Ok(())
        });
        if self.ok("a blob", written) {
            self.content.large.as_mut().expect("inserted")[16..48].copy_from_slice(&data);
        }
    }

    /// Leaves a statement running, in the cache or nowhere.
    fn leave(&mut self, kind: u8) {
        let (c, id, key) = (self.connection, self.id, self.key());
        let two = "SELECT plan FROM mark UNION ALL SELECT 1 UNION ALL SELECT 2";
        let insert = "INSERT INTO item VALUES (?1, ?2, 8) RETURNING plan";
        // A statement of the cache may run already, by an earlier step of this closure.
        let left = match kind {
            0 => c.prepare(two).and_then(|statement| first(statement, [])),
            1 => c.prepare_cached(two).and_then(|mut statement| {
                let mut rows = statement.query([])?;
                let row = rows.next().map(drop);
                forget(rows);
                row
            }),
            2 => c.prepare(insert).and_then(|statement| first(statement, (id, key))),
            3 => c.prepare_cached(insert).and_then(|mut statement| {
                let mut rows = statement.query((id, key))?;
                let row = rows.next().map(drop);
                forget(rows);
                row
            }),
            4 => {
                let sql = "UPDATE item SET value = value + 1 WHERE plan = ?1 RETURNING key";
                c.prepare(sql).and_then(|statement| first(statement, [id]))
            }
            _ => c.blob_open("main", "mark", "amount", id, true).map(forget).or(Ok(())),
        };
        if self.is_lost || left.is_err() {
            return;
        }
        match kind {
            2 | 3 => _ = self.content.items.insert(key, 8),
            4 => self.content.items.values_mut().for_each(|value| *value += 1),
            _ => {}
        }
    }

    fn is_nested<T>(&mut self, what: &str, answer: Result<T, Error>) {
        match answer {
            Err(Error::Nested) => {}
            Err(error) => self.wrong.push(format!("{what}: {error}")),
            Ok(_) => self.wrong.push(format!("{what} has succeeded")),
        }
    }

    fn call_again(&mut self, kind: u8) {
        let db = &self.world.layers[self.database].db;
        let count = |c: &Connection| Ok::<i64, Error>(c.query_row("SELECT count(*) FROM mark", [], |row| row.get(0))?);
        match kind {
            0 => self.is_nested("a write", db.write_with(|c| count(c))),
            1 => self.is_nested("an awaited write", pollster::block_on(db.write_with_async(move |c| count(c)))),
            2 => self.is_nested("a close", db.clone().close()),
            _ => match db.read_with(count) {
                Ok(_) | Err(Error::Closed) => {}
                Err(error) => self.wrong.push(format!("a read: {error}")),
            },
        }
    }
}

/// Runs the statement to its first row and leaves it there.
fn first(mut statement: rusqlite::Statement<'_>, values: impl rusqlite::Params) -> rusqlite::Result<()> {
    let mut rows = statement.query(values)?;
    let row = rows.next().map(drop);
    forget(rows);
    forget(statement);
    row
}
