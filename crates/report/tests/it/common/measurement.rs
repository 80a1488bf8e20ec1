//! Measurements of trials, from the few numbers that a test sets.

use std::collections::BTreeMap;

use litelab_model::Variant;
use litelab_protocol::histogram::Histogram;
use litelab_protocol::{ConnectionSettings, ErrorCount, TransactionResult, TrialResult, WorkerResult};
use litelab_record::Summary;
use litelab_record::outcome::{Flag, Measurement, Probe, ResponseTimes, SearchOutcome, Series};

/// Numbers of a trial with one role and one transaction, measured for one second.
#[derive(Clone, Debug)]
pub struct Numbers {
    pub committed: u64,
    pub p50_ns: u64,
    pub p99_ns: u64,
    /// Number of latencies, of which one in twenty is `p99_ns`.
    pub observations: u64,
    /// CPU time per committed transaction.
    pub cpu_ns: u64,
    pub wal_peak: u64,
    pub flags: Vec<Flag>,
    /// Further transactions: name, number of commits, and latency.
    pub others: Vec<(&'static str, u64, u64)>,
    /// Number of transactions that were given up.
    pub failed: u64,
    /// Number of busy errors.
    pub busy: u64,
    /// Whether the first of two workers ends a fortieth of the transactions.
    pub starving: bool,
    /// Table and hash of its content.
    pub content: Vec<(&'static str, &'static str)>,
    /// `journal_mode` and `synchronous` of each connection.
    pub settings: Vec<(&'static str, i64)>,
    /// Whether a search sustained the second of three rates.
    pub searched: bool,
    /// Whether the database is a server's.
    pub on_server: bool,
    /// Time series of the trial.
    pub series: Series,
}

impl Default for Numbers {
    fn default() -> Self {
        Self {
            committed: 1000,
            p50_ns: 1000,
            p99_ns: 2000,
            observations: 1000,
            cpu_ns: 500,
            wal_peak: 4 << 20,
            flags: vec![],
            others: vec![],
            failed: 0,
            busy: 0,
            starving: false,
            content: vec![],
            settings: vec![("wal", 1), ("wal", 1)],
            searched: false,
            on_server: false,
            series: Series::default(),
        }
    }
}

impl Numbers {
    pub fn measurement(&self, variant: &Variant) -> Measurement {
        let mut service = Histogram::new();
        let late = |i: u64| i * 20 >= self.observations * 19;
        (0..self.observations).for_each(|i| service.record(if late(i) { self.p99_ns } else { self.p50_ns }));
        let role = variant.trial.roles.first().map_or("writers", |r| r.name.as_str());
        let busy = ErrorCount { seen: self.busy, cured: self.busy, message: None };
        let busy = (self.busy > 0).then(|| ("SQLITE_BUSY".to_owned(), busy)).into_iter();
        let operation = TransactionResult {
            committed: self.committed,
            failed: self.failed,
            ended: self.committed,
            measured: self.committed,
            rows: self.committed,
            errors: busy.collect(),
            ..operation(role, "insert", service)
        };
        let others = self.others.iter().map(|(name, committed, nanos)| {
            let mut service = Histogram::new();
            (0..*committed).for_each(|_| service.record(*nanos));
            TransactionResult {
                committed: *committed,
                ended: *committed,
                measured: *committed,
                rows: *committed,
                ..self::operation(role, name, service)
            }
        });
        let least = self.committed / if self.starving { 40 } else { 2 };
        let workers = (0..)
            .zip([least, if self.starving { self.committed - least } else { least }])
            .map(|(worker, ended)| WorkerResult {
                role: role.into(),
                worker,
                committed: ended,
                ended,
                inside_ns: 1_000_000_000,
                stall_ns: if self.starving && worker == 0 { 800_000_000 } else { self.p99_ns },
                ..WorkerResult::default()
            })
            .collect();
        let result = TrialResult {
            elapsed_ns: 1_000_000_000,
            measured_ns: 1_000_000_000,
            operations: std::iter::once(operation).chain(others).collect(),
            workers,
            ..TrialResult::default()
        };
        let summary = Summary {
            wal_peak_bytes: self.wal_peak,
            rss_peak_bytes: Some(32 << 20),
            written_bytes: Some(self.committed.saturating_mul(4096)),
            ..Summary::default()
        };
        Measurement {
            result,
            settings: self.settings.iter().map(|(journal, level)| connection(journal, *level)).collect(),
            summary,
            cpu_ns: self.cpu_ns.saturating_mul(self.committed),
            database_bytes: 8 << 20,
            content: self.content.iter().map(|(t, h)| ((*t).to_owned(), (*h).to_owned())).collect(),
            flags: self.flags.clone(),
            search: self.searched.then(search),
            on_server: self.on_server,
            ..Measurement::default()
        }
    }
}

/// A search that did not sustain the third of three rates.
fn search() -> SearchOutcome {
    let probe = |rate: f64, kept: u32| Probe {
        rate,
        kept,
        broken: 1 - kept,
        response: Some(ResponseTimes { p50: rate * 1e3, p95: rate * 2e4, p99: rate * 5e4 }),
        ..Probe::default()
    };
    SearchOutcome { sustainable: 200.0, probes: vec![probe(100.0, 1), probe(200.0, 1), probe(400.0, 0)] }
}

pub fn connection(journal_mode: &str, synchronous: i64) -> ConnectionSettings {
    ConnectionSettings {
        database: 0,
        label: "writers".into(),
        settings: BTreeMap::from([
            ("journal_mode".to_owned(), journal_mode.into()),
            ("synchronous".to_owned(), synchronous.into()),
            ("cache_size".to_owned(), (-2000).into()),
        ]),
    }
}

pub fn operation(role: &str, transaction: &str, service: Histogram) -> TransactionResult {
    TransactionResult { role: role.into(), transaction: transaction.into(), service, ..TransactionResult::default() }
}

/// 400 ns inside and 100 ns outside each of 1000 transactions.
pub fn noop() -> TrialResult {
    let mut service = Histogram::new();
    (0..1000).for_each(|_| service.record(400));
    let operation =
        TransactionResult { committed: 1000, ended: 1000, measured: 1000, ..operation("writers", "insert", service) };
    let worker = WorkerResult {
        role: "writers".into(),
        committed: 1000,
        ended: 1000,
        outside_ns: 100_000,
        ..WorkerResult::default()
    };
    TrialResult {
        elapsed_ns: 1_000_000,
        measured_ns: 1_000_000,
        operations: vec![operation],
        workers: vec![worker],
        ..TrialResult::default()
    }
}
