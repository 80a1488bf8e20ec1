//! Builder for the trials of checks.

use litelab_protocol::{
    Begin, Connection, Dialect, Fetch, Load, Order, Param, Prepare, Retry, Role, Setting, Source, Statement, Step,
    Transaction, Trial, Until, Work,
};

use crate::database::CheckDatabase;
use crate::dialect;
use crate::subject::Subject;

/// Schema for checks that are not about values.
pub const TABLE: &str = "CREATE TABLE t(id INTEGER PRIMARY KEY, worker INTEGER, value TEXT)";

/// A trial under construction. Its fields may be changed.
pub struct Draft {
    dialect: Dialect,
    /// Complete except for the numbering of workers and steps.
    pub trial: Trial,
}

impl Draft {
    /// Default: statements prepared once, no sync at commit, five seconds of waiting for a lock, no retry.
    pub fn new(subject: &Subject<'_>) -> Self {
        let usual = dialect::usual(subject.dialect()).iter();
        let settings = usual.map(|(name, value)| setting(subject.dialect(), name, value)).collect();
        Self {
            dialect: subject.dialect(),
            trial: Trial {
                protocol: litelab_protocol::VERSION,
                id: "conformance".into(),
                driver: subject.driver.name.clone(),
                executor: subject.executor,
                sharing: subject.sharing,
                databases: Vec::new(),
                connection: Connection { settings, ..Connection::default() },
                prepare: Prepare::Once,
                retry: Retry { attempts: 1, backoff_us: 0, multiplier: 1.0, max_backoff_us: 0, on: Vec::new() },
                seed: 1,
                transactions: Vec::new(),
                roles: Vec::new(),
                warmup_ms: 0,
                drain_ms: 10_000,
                tick_ms: 50,
                probe_ms: 10,
                runtime_threads: None,
            },
        }
    }

    /// Adds a database.
    pub fn on(mut self, database: &dyn CheckDatabase) -> Self {
        self.trial.databases.push(database.database());
        self
    }

    /// Adds a transaction, whose statements use the parameters `?1`, `?2`, …
    pub fn transaction(mut self, mut transaction: Transaction) -> Self {
        let written = std::mem::take(&mut transaction.statements);
        transaction.statements = written.into_iter().map(|s| dialect::placed(self.dialect, s)).collect();
        self.trial.transactions.push(transaction);
        self
    }

    /// Adds a role whose workers run these transactions in turn, as fast as possible.
    pub fn role(mut self, name: &str, workers: u32, steps: &[&str], until: Until) -> Self {
        let step = |name: &&str| Step {
            transaction: self.trial.transactions.iter().position(|t| t.name == **name).unwrap_or_default() as u32,
            weight: 1,
            stride: 0,
            offset: 0,
        };
        let first_worker = self.trial.roles.iter().map(|r| r.workers).sum();
        let role = Role {
            name: name.into(),
            workers,
            first_worker,
            first_in_role: 0,
            workers_in_role: workers,
            order: Order::Cycle,
            steps: steps.iter().map(step).collect(),
            load: Load::Closed { think_us: 0 },
            until,
        };
        self.trial.roles.push(role);
        self
    }

    /// The trial in which the workers of one role run the first transaction.
    pub fn only(self, workers: u32, until: Until) -> Trial {
        let name = self.trial.transactions.first().map(|t| t.name.clone()).unwrap_or_default();
        self.role("w", workers, &[&name], until).build()
    }

    /// Sets these settings in place of the default ones, and reads them back.
    pub fn profile(mut self, settings: &[(&str, &str)]) -> Self {
        let connection = &mut self.trial.connection;
        connection.settings = settings.iter().map(|(name, value)| setting(self.dialect, name, value)).collect();
        connection.read_back = settings.iter().map(|(name, _)| (*name).to_owned()).collect();
        self
    }

    /// Makes this number of attempts, and retries after these errors.
    pub fn retries(mut self, attempts: u32, on: &[&str]) -> Self {
        self.trial.retry.attempts = attempts;
        self.trial.retry.on = on.iter().map(|code| (*code).to_owned()).collect();
        self
    }

    /// Replaces the setting of that name, or appends it.
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        let settings = &mut self.trial.connection.settings;
        let new = setting(self.dialect, name, value);
        match settings.iter_mut().find(|s| s.name == name) {
            Some(old) => *old = new,
            None => settings.push(new),
        }
        self
    }

    /// Numbers the operations so that no two workers draw the same row.
    pub fn build(mut self) -> Trial {
        for t in 0..self.trial.transactions.len() as u32 {
            let mut total = 0;
            for role in &mut self.trial.roles {
                for step in role.steps.iter_mut().filter(|s| s.transaction == t) {
                    step.offset = total;
                    total += role.workers_in_role;
                }
            }
            let steps = self.trial.roles.iter_mut().flat_map(|r| &mut r.steps);
            steps.filter(|s| s.transaction == t).for_each(|s| s.stride = total);
        }
        self.trial
    }
}

/// Ends a role after the given number of transactions.
pub fn count(transactions: u64) -> Until {
    Until::Count { transactions }
}

/// A setting of a session.
pub fn setting(dialect: Dialect, name: &str, value: &str) -> Setting {
    let set = if dialect.is_sqlite() { "PRAGMA" } else { "SET SESSION" };
    Setting { name: name.into(), sql: format!("{set} {name} = {value}") }
}

/// A transaction. It is marked as a writer unless all its statements begin with `SELECT` or `WITH`.
pub fn transaction(name: &str, begin: Begin, params: Vec<(&str, Source)>, statements: Vec<Statement>) -> Transaction {
    let reads = |s: &Statement| s.sql.starts_with("SELECT") || s.sql.starts_with("WITH");
    Transaction {
        name: name.into(),
        begin,
        writes: !statements.iter().all(reads),
        hold_us: 0,
        timed_rows: true,
        params: params.into_iter().map(|(name, source)| Param { name: name.into(), source }).collect(),
        statements,
    }
}

/// A statement that is executed once and whose rows are not fetched.
pub fn statement(sql: &str, bind: &[u32]) -> Statement {
    Statement::new(sql, bind)
}

/// A query whose rows are fetched and read.
pub fn query(sql: &str, bind: &[u32], fetch: Fetch) -> Statement {
    Statement { fetch, work: Work::Read, ..statement(sql, bind) }
}

/// A statement that must return a row; `names` are the names of the yielded columns.
pub fn yielding(sql: &str, bind: &[u32], names: &[&str]) -> Statement {
    let yields = names.iter().map(|n| (*n).to_owned()).collect();
    Statement { yields, required: true, ..query(sql, bind, Fetch::First) }
}

/// Parameters of a row of [`TABLE`]: row number, worker, random text.
pub fn row_params() -> Vec<(&'static str, Source)> {
    vec![
        ("id", Source::Sequence { start: 0, step: 1 }),
        ("worker", Source::Worker),
        ("value", Source::Hex { bytes: 8 }),
    ]
}

/// Inserts one row into [`TABLE`], in autocommit mode.
pub fn insert() -> Transaction {
    transaction("insert", Begin::None, row_params(), vec![statement("INSERT INTO t VALUES (?1, ?2, ?3)", &[0, 1, 2])])
}

/// As [`insert`], between `BEGIN IMMEDIATE` and `COMMIT`, with a pause of `hold_us` microseconds while the lock is
/// held.
pub fn slow_insert(hold_us: u64) -> Transaction {
    Transaction { hold_us, begin: Begin::Immediate, ..insert() }
}

/// Counts the rows of [`TABLE`].
pub fn read() -> Transaction {
    transaction("read", Begin::None, vec![], vec![query("SELECT count(*) FROM t", &[], Fetch::All)])
}
