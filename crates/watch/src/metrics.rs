//! A view in the OpenMetrics format (<https://prometheus.io/docs/specs/om/open_metrics_spec/>).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Metric, Registry, Unit};

use litelab_record::recording::{DatabaseView, Event, Phase, View};

use crate::tracker::is_write_lock;

/// Content type of the text.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type Labels = Vec<(&'static str, String)>;

/// Counts of events since the start, by database, kind and rule.
#[derive(Clone, Debug, Default)]
pub struct Counts(BTreeMap<[String; 3], u64>);

impl Counts {
    /// Counts an event, once.
    pub fn add(&mut self, event: &Event) {
        if event.phase != Phase::End {
            let key = [event.database.clone(), event.kind.clone(), event.rule.clone()];
            *self.0.entry(key).or_default() += 1;
        }
    }
}

/// The metrics of a view. `active` are the events that last.
///
/// # Errors
/// None in practice: text is written to memory.
pub fn exposition<'a>(
    view: &View,
    active: impl Iterator<Item = &'a Event>,
    counts: &Counts,
) -> Result<String, fmt::Error> {
    let mut out = Exposition(Registry::with_prefix("sqlite"));
    for (name, help, unit, value) in GAUGES {
        out.gauge(name, help, unit.clone(), view.databases.iter().filter_map(|d| Some((of(d), value(d)?))));
    }
    for (name, help, unit, value) in COUNTERS {
        out.counter(name, help, unit.clone(), view.databases.iter().map(|d| (of(d), value(d))));
    }
    let locks = || view.databases.iter().flat_map(|database| database.locks.iter().map(move |lock| (database, lock)));
    out.gauge("lock_held", "Time for which a transaction has held a lock", Some(Unit::Seconds), {
        locks().map(|(d, lock)| {
            ([of(d), holder(view, lock.pid), vec![("lock", lock.lock.clone())]].concat(), lock.seconds)
        })
    });
    let readers = || view.databases.iter().flat_map(|database| database.readers.iter().map(move |r| (database, r)));
    let slot = |slot: Option<u8>| vec![("slot", slot.map_or_else(String::new, |slot| slot.to_string()))];
    out.gauge("reader_age", "Time for which a process has held a read mark", Some(Unit::Seconds), {
        readers().map(|(d, r)| ([of(d), holder(view, r.pid), slot(r.slot)].concat(), r.seconds))
    });
    out.gauge("reader_pinned", "Log that no checkpoint can copy because of a reader", Some(Unit::Bytes), {
        readers().map(|(d, r)| ([of(d), holder(view, r.pid), slot(r.slot)].concat(), r.pins_bytes as f64))
    });
    let process = |pid: u32| holder(view, Some(pid));
    let versions = view.processes.iter().flat_map(|process| process.sqlite.iter().map(move |v| (process.pid, v)));
    out.gauge("process_sqlite", "Copies of SQLite in a process, by version", None, {
        versions.map(|(pid, version)| ([process(pid), vec![("version", version.clone())]].concat(), 1.0))
    });
    out.gauge("process_deleted_files", "Open files of a database that have no name any more", None, {
        view.processes.iter().map(|p| (process(p.pid), p.deleted.len() as f64))
    });
    let event = |event: &Event| {
        vec![("database", event.database.clone()), ("kind", event.kind.clone()), ("rule", event.rule.clone())]
    };
    out.gauge("event_active", "Time for which an event has lasted", Some(Unit::Seconds), {
        active.map(|active| (event(active), active.seconds))
    });
    out.counter("events", "Events since the start of the observation", None, {
        counts.0.iter().map(|([database, kind, rule], count)| {
            let labels = vec![("database", database.clone()), ("kind", kind.clone()), ("rule", rule.clone())];
            (labels, *count as f64)
        })
    });
    out.gauge("watch_blind", "What the observer cannot see", None, {
        view.limits.iter().map(|limit| (vec![("limit", limit.name.clone())], 1.0))
    });
    let own = &view.watch;
    let once = |value: f64| std::iter::once((Labels::new(), value));
    out.gauge("watch_interval", "Time between two looks", Some(Unit::Seconds), once(own.interval_seconds));
    out.counter("watch_late_looks", "Looks more than half an interval late", None, once(own.late as f64));
    out.counter("watch_cpu", "CPU time of the observer", Some(Unit::Seconds), once(own.cpu_seconds));
    let mut text = String::new();
    text::encode(&mut text, &out.0)?;
    Ok(text)
}

type Row<T> = (&'static str, &'static str, Option<Unit>, fn(&DatabaseView) -> T);

const GAUGES: [Row<Option<f64>>; 17] = [
    ("wal_frames", "Frames of the log in use (mxFrame)", None, |d| Some(d.frames?.into())),
    ("wal_backfilled_frames", "Frames copied into the database (nBackfill)", None, |d| Some(d.backfilled?.into())),
    ("wal_backlog_frames", "Frames that no checkpoint has copied yet", None, |d| Some(d.backlog_frames?.into())),
    ("wal_backlog", "Log that no checkpoint has copied yet", Some(Unit::Bytes), |d| Some(d.backlog_bytes? as f64)),
    ("wal", "Size of the log file, which is recycled", Some(Unit::Bytes), |d| Some(d.wal_bytes? as f64)),
    ("checkpoint_stuck", "Time without progress of a checkpoint while there is a backlog", Some(Unit::Seconds), |d| {
        d.backlog_frames?;
        Some(d.stuck_seconds.unwrap_or(0.0))
    }),
    ("oldest_reader", "Greatest age of a read mark that is behind the log", Some(Unit::Seconds), |d| {
        let behind = d.readers.iter().filter(|reader| reader.behind_seconds.is_some());
        Some(behind.map(|reader| reader.seconds).fold(0.0, f64::max))
    }),
    ("pinned", "Greatest part of the log that a reader keeps from being copied", Some(Unit::Bytes), |d| {
        Some(d.readers.iter().map(|reader| reader.pins_bytes).max().unwrap_or(0) as f64)
    }),
    ("write_lock_held", "Time for which the present transaction has held the write lock", Some(Unit::Seconds), |d| {
        let writing = d.locks.iter().filter(|lock| is_write_lock(d.mode == "wal", &lock.lock));
        Some(writing.map(|lock| lock.seconds).fold(0.0, f64::max))
    }),
    ("readers", "Processes that hold a read mark, by slot", None, |d| Some(d.readers.len() as f64)),
    ("waiters", "Processes that the kernel shows waiting for a lock", None, |d| Some(d.waiters.len() as f64)),
    ("processes", "Processes that have the database open", None, |d| Some(d.open_by.len() as f64)),
    ("database", "Size of the database file", Some(Unit::Bytes), |d| Some(d.database_bytes? as f64)),
    ("freelist_pages", "Pages on the free list, as of the last checkpoint", None, |d| Some(d.free_pages?.into())),
    ("journal", "Size of the rollback journal", Some(Unit::Bytes), |d| Some(d.journal_bytes.unwrap_or(0) as f64)),
    ("disk_free", "Free space of the file system", Some(Unit::Bytes), |d| Some(d.free_bytes? as f64)),
    ("disk_full_in", "Time until the file system is full, at the rate of the last minute", Some(Unit::Seconds), |d| {
        d.full_in_seconds
    }),
];

const COUNTERS: [Row<f64>; 7] = [
    ("commits", "Commits", None, |d| d.totals.commits as f64),
    ("wal_frames_written", "Frames written to the log", None, |d| d.totals.frames as f64),
    ("wal_frames_checkpointed", "Frames copied into the database", None, |d| d.totals.checkpointed as f64),
    ("wal_resets", "Resets of the log", None, |d| d.totals.resets as f64),
    ("write_locked", "Time with the write lock held, by the share of looks", Some(Unit::Seconds), |d| {
        d.totals.write_locked_seconds
    }),
    ("watch_torn_reads", "Reads of the wal-index during a write, all repeated", None, |d| d.totals.torn as f64),
    ("watch_looks", "Looks at the database", None, |d| d.totals.looks as f64),
];

fn of(database: &DatabaseView) -> Labels {
    vec![("database", database.path.clone())]
}

fn holder(view: &View, pid: Option<u32>) -> Labels {
    let name = pid.and_then(|pid| view.process(pid)).map_or_else(String::new, |process| process.name.clone());
    vec![("pid", pid.map_or_else(String::new, |pid| pid.to_string())), ("process", name)]
}

struct Exposition(Registry);

impl Exposition {
    fn gauge(&mut self, name: &str, help: &str, unit: Option<Unit>, values: impl Iterator<Item = (Labels, f64)>) {
        let family = Family::<Labels, Gauge<f64, AtomicU64>>::default();
        values.for_each(|(labels, value)| {
            family.get_or_create(&labels).set(value);
        });
        self.register(name, help, unit, family);
    }

    fn counter(&mut self, name: &str, help: &str, unit: Option<Unit>, values: impl Iterator<Item = (Labels, f64)>) {
        let family = Family::<Labels, Counter<f64, AtomicU64>>::default();
        values.for_each(|(labels, value)| {
            family.get_or_create(&labels).inc_by(value);
        });
        self.register(name, help, unit, family);
    }

    fn register(&mut self, name: &str, help: &str, unit: Option<Unit>, metric: impl Metric) {
        match unit {
            Some(unit) => self.0.register_with_unit(name, help, unit, metric),
            None => self.0.register(name, help, metric),
        }
    }
}
