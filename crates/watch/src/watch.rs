//! All watched databases over time: looks in, views and events out.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use litelab_doctor::{Judge, Rule, RuleError, process};
use litelab_observe::ProcessUsage;
use litelab_observe::live::{Look, Seen};
use minijinja::Value;

use crate::detect::{Condition, Detector};
use crate::event::{DatabaseFacts, Facts, Kind, ProcessFacts};
use crate::limits;
use crate::tracker::Tracker;
use litelab_record::recording::{DatabaseView, Event, Own, Phase, ProcessView, View};

/// State between looks.
pub struct Watch {
    databases: Vec<(Tracker, Detector, BTreeMap<Kind, Active>)>,
    processes: BTreeMap<u32, Known>,
    explain: Explain,
    next: u64,
    interval: Duration,
    last: Option<Instant>,
    late: u64,
    begin: Instant,
}

/// An event that lasts.
#[derive(Debug, Clone)]
struct Active {
    event: Event,
    since: Instant,
    pid: Option<u32>,
}

/// A process at the last reading of its usage.
#[derive(Debug, Default)]
struct Known {
    started: Option<u64>,
    shown: String,
    read: Option<(Instant, ProcessUsage)>,
    /// Use of CPU in cores, and bytes read and written per second, as far as they are known.
    rates: [Option<f64>; 3],
}

impl Watch {
    /// Starts with the databases at these paths, looked at every `interval`.
    ///
    /// # Errors
    /// If a built-in rule is invalid.
    pub fn new(paths: &[String], interval: Duration) -> Result<Self, RuleError> {
        let databases = paths.iter().map(|path| (Tracker::new(path.clone()), Detector::default(), BTreeMap::new()));
        Ok(Self {
            databases: databases.collect(),
            processes: BTreeMap::new(),
            explain: Explain::new()?,
            next: 1,
            interval,
            last: None,
            late: 0,
            begin: Instant::now(),
        })
    }

    /// Takes over a look, made at `unix` seconds since 1970. Returns the view and the events that began, ended or
    /// happened.
    ///
    /// # Errors
    /// If a message of a built-in rule is invalid.
    pub fn update(&mut self, look: &Look, unix: f64) -> Result<(View, Vec<Event>), minijinja::Error> {
        let now = Instant::now();
        self.late += u64::from(self.last.is_some_and(|last| now - last > self.interval * 3 / 2));
        self.last = Some(now);
        let mut view = View { at: unix, processes: self.look_at_processes(look), ..View::default() };
        let mut events = Vec::new();
        for (moment, (tracker, detector, active)) in look.databases.iter().zip(&mut self.databases) {
            let database = tracker.update(moment);
            let known = &self.processes;
            let shown = |pid| known.get(&pid).map_or_else(|| format!("{pid}"), |known| known.shown.clone());
            let found = detector.detect(moment, &database, &shown);
            for (kind, condition) in found.once {
                let mut event = self.explain.event(kind, &condition, &database, &view)?;
                (event.number, event.at) = (self.next, unix);
                self.next += 1;
                events.push(event);
            }
            let over = |kind: &Kind, is: &Active| found.lasting.get(kind).is_none_or(|now| now.pid != is.pid);
            let ended: Vec<Kind> = active.iter().filter(|(kind, is)| over(kind, is)).map(|(kind, _)| *kind).collect();
            for kind in ended {
                if let Some(is) = active.remove(&kind) {
                    events.push(Event { phase: Phase::End, seconds: seconds(&is, now), ..is.event });
                }
            }
            for (kind, condition) in found.lasting {
                if let Some(is) = active.get_mut(&kind) {
                    is.event.seconds = seconds(is, now);
                    continue;
                }
                let mut event = self.explain.event(kind, &condition, &database, &view)?;
                let began = condition.facts.seconds;
                (event.number, event.at, event.phase) = (self.next, unix - began, Phase::Begin);
                event.seconds = began;
                self.next += 1;
                let since = now.checked_sub(Duration::try_from_secs_f64(began).unwrap_or_default()).unwrap_or(now);
                events.push(event.clone());
                active.insert(kind, Active { event, since, pid: condition.pid });
            }
            view.databases.push(database);
        }
        view.limits = limits::of(look);
        view.watch = self.own();
        let alive: Vec<u32> = look.processes.iter().map(|process| process.pid).collect();
        self.processes.retain(|pid, _| alive.contains(pid));
        Ok((view, events))
    }

    /// Events that last, with their duration so far.
    pub fn active(&self) -> impl Iterator<Item = &Event> {
        self.databases.iter().flat_map(|(_, _, active)| active.values().map(|active| &active.event))
    }

    fn own(&self) -> Own {
        let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let cpu = used.tv_sec as f64 + used.tv_nsec as f64 / 1e9;
        Own {
            interval_seconds: self.interval.as_secs_f64(),
            late: self.late,
            cpu_seconds: cpu,
            cpu_share: cpu / self.begin.elapsed().as_secs_f64().max(1.0),
        }
    }

    fn look_at_processes(&mut self, look: &Look) -> Vec<ProcessView> {
        let deleted = |pid: u32| {
            let all = look.databases.iter().zip(&self.databases).flat_map(|(moment, (tracker, ..))| {
                let name = tracker.name().to_owned();
                let openers = moment.openers.iter().filter(move |opener| opener.pid == pid);
                openers.flat_map(move |o| o.deleted.iter().map(|s| format!("{name}{s}")).collect::<Vec<_>>())
            });
            all.collect::<Vec<_>>()
        };
        let deleted: Vec<Vec<String>> = look.processes.iter().map(|process| deleted(process.pid)).collect();
        let views = look.processes.iter().zip(deleted);
        views.map(|(process, deleted)| self.processes.entry(process.pid).or_default().view(process, deleted)).collect()
    }
}

fn seconds(active: &Active, now: Instant) -> f64 {
    (now - active.since).as_secs_f64()
}

impl Known {
    fn view(&mut self, seen: &Seen, deleted: Vec<String>) -> ProcessView {
        if self.started != seen.started {
            *self = Self { started: seen.started, ..Self::default() };
        }
        if let (Some((before, first)), Some((now, last))) = (self.read, seen.usage)
            && now > before
        {
            let seconds = (now - before).as_secs_f64();
            let per = |after: u64, before: u64| after.saturating_sub(before) as f64 / seconds;
            // The I/O of another user's process is unknown.
            let io = |of: fn(&ProcessUsage) -> Option<u64>| Some(per(of(&last)?, of(&first)?));
            let cpu = per(last.cpu_ns(), first.cpu_ns()) / 1e9;
            self.rates = [Some(cpu), io(|usage| usage.read_bytes), io(|usage| usage.write_bytes)];
        }
        self.read = seen.usage;
        let program = &seen.program;
        let mut sqlite: Vec<String> = Vec::new();
        for found in &program.sqlite {
            let version = process::version(&found.source_id);
            let version = version.unwrap_or_else(|| found.source_id.chars().take(10).collect());
            if !sqlite.contains(&version) {
                sqlite.push(version);
            }
        }
        let [cpu, read_per_second, written_per_second] = self.rates;
        let view = ProcessView {
            pid: seen.pid,
            name: program.name.clone(),
            command: program.command.clone(),
            language: program.language.clone(),
            companion: process::companion(&program.name, &program.command).map(str::to_owned),
            sqlite,
            threads: seen.usage.and_then(|(_, usage)| usage.threads),
            cpu,
            read_per_second,
            written_per_second,
            other_namespace: program.other_namespace,
            readable: seen.readable,
            deleted,
        };
        self.shown = view.shown();
        view
    }
}

/// Explanations of events, from `rules/watch.toml`.
pub struct Explain {
    judge: Judge,
    rules: Vec<Rule>,
}

impl Explain {
    /// Reads the built-in rules.
    ///
    /// # Errors
    /// If they are invalid.
    pub fn new() -> Result<Self, RuleError> {
        Ok(Self { judge: Judge::default(), rules: litelab_doctor::rule::events()? })
    }

    /// The rules, in the order in which they are tried.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The explanation by the first rule whose condition is true; `None` if no rule applies. `names` are the companion
    /// and the language under which the fix is looked up.
    ///
    /// # Errors
    /// If a condition or a message is invalid.
    pub fn apply(&self, facts: &Value, names: [&str; 2]) -> Result<Option<Event>, minijinja::Error> {
        for rule in &self.rules {
            if let Some(found) = self.judge.apply(rule, facts, String::new(), names, None)? {
                return Ok(Some(Event {
                    rule: found.rule,
                    severity: found.severity.name().to_owned(),
                    message: found.message,
                    because: found.because,
                    fix: found.fix,
                    source: found.source,
                    ..Event::default()
                }));
            }
        }
        Ok(None)
    }

    fn event(
        &self,
        kind: Kind,
        condition: &Condition,
        database: &DatabaseView,
        view: &View,
    ) -> Result<Event, minijinja::Error> {
        let known = condition.pid.and_then(|pid| view.process(pid));
        let process = known.cloned().unwrap_or_default();
        let facts = Facts {
            event: condition.facts.clone(),
            process: ProcessFacts {
                known: known.is_some(),
                pid: condition.pid.unwrap_or(0),
                shown: view.holder(condition.pid),
                companion: process.companion,
                language: process.language,
                cpu: process.cpu,
                written: process.written_per_second,
            },
            database: DatabaseFacts {
                name: database.path.rsplit('/').next().unwrap_or_default().to_owned(),
                backlog: database.backlog_bytes.unwrap_or(0),
                log: database.wal_bytes.unwrap_or(0),
                free: database.free_bytes.unwrap_or(0),
                // A writer that waits for readers is one of them.
                readers: database.readers.iter().filter(|r| r.pid.is_none() || r.pid != condition.pid).count(),
                processes: database.open_by.len(),
            },
        };
        let (companion, language) = (facts.process.companion.as_deref(), facts.process.language.as_deref());
        let names = [companion.unwrap_or_default(), language.unwrap_or_default()];
        let event = self.apply(&Value::from_serialize(&facts), names)?.unwrap_or_default();
        Ok(Event {
            kind: kind.name().to_owned(),
            database: database.path.clone(),
            pid: condition.pid,
            seconds: condition.facts.seconds,
            ..event
        })
    }
}
