//! Comparison of acknowledged or observed changes with the file after a kill.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use duroxide::providers::WorkItem;
use duroxide::{Event, EventKind};

/// Changes that a process reported as durable.
#[derive(Debug, Default)]
pub struct Told {
    started: BTreeSet<String>,
    /// Instance and event ID.
    events: BTreeSet<(String, u64)>,
    /// Instance and activity.
    executed: BTreeSet<(String, u64)>,
    completed: BTreeSet<String>,
}

impl Told {
    /// Parses a line of the child. Lines of the test harness are ignored.
    pub fn hear(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["told", "started", instance, "."] => drop(self.started.insert((*instance).into())),
            ["told", "completed", instance, "."] => drop(self.completed.insert((*instance).into())),
            ["told", "turn", instance, events @ .., "."] => {
                let events = events.iter().map(|event| event.parse().expect("a number"));
                self.events.extend(events.map(|event| ((*instance).to_owned(), event)));
            }
            ["told", "executed", instance, activity, "."] => {
                self.executed.insert(((*instance).into(), activity.parse().expect("a number")));
            }
            _ => {}
        }
    }

    /// Adds the report of another process.
    pub fn add(&mut self, other: Self) {
        self.started.extend(other.started);
        self.events.extend(other.events);
        self.executed.extend(other.executed);
        self.completed.extend(other.completed);
    }

    /// Number of reported steps.
    pub fn steps(&self) -> usize {
        self.started.len() + self.events.len() + self.executed.len() + self.completed.len()
    }
}

/// Contents of the file.
#[derive(Debug, Default)]
pub struct Kept {
    histories: BTreeMap<String, Vec<Event>>,
    status: BTreeMap<String, String>,
    messages: Vec<WorkItem>,
    work: Vec<WorkItem>,
    headless: i64,
}

impl Kept {
    /// Reads the file after its process has ended.
    pub fn read(path: &Path) -> Self {
        let connection = rusqlite::Connection::open(path).unwrap();
        let texts = |sql: &str| -> Vec<(String, String)> {
            let mut statement = connection.prepare(sql).unwrap();
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
            rows.map(Result::unwrap).collect()
        };
        let mut kept = Self::default();
        let events =
            "SELECT name, data FROM history JOIN instance ON id = instance ORDER BY instance, execution, event";
        for (instance, data) in texts(events) {
            kept.histories.entry(instance).or_default().push(serde_json::from_str(&data).unwrap());
        }
        let items = |table: &str| -> Vec<WorkItem> {
            let rows = texts(&format!("SELECT CAST(id AS TEXT), item FROM {table}"));
            rows.iter().map(|(_, item)| serde_json::from_str(item).unwrap()).collect()
        };
        kept.status = texts("SELECT name, status FROM execution JOIN instance ON id = instance").into_iter().collect();
        (kept.messages, kept.work) = (items("message"), items("work"));
        let headless = "SELECT (SELECT count(*) FROM history h WHERE NOT EXISTS
                (SELECT 1 FROM execution e WHERE e.instance = h.instance AND e.execution = h.execution))
            + (SELECT count(*) FROM execution WHERE instance NOT IN (SELECT id FROM instance))";
        kept.headless = connection.query_row(headless, [], |row| row.get(0)).unwrap();
        kept
    }

    /// Returns every started instance.
    pub fn instances(&self) -> Vec<String> {
        let waiting = self.messages.iter().filter_map(|message| match message {
            WorkItem::StartOrchestration { instance, .. } => Some(instance.clone()),
            _ => None,
        });
        let all: BTreeSet<String> = self.histories.keys().cloned().chain(waiting).collect();
        all.into_iter().collect()
    }

    /// Numbers of waiting messages and activities.
    pub fn left(&self) -> (usize, usize) {
        (self.messages.len(), self.work.len())
    }

    /// Returns the inconsistencies, given the reported changes.
    pub fn compare(&self, told: &Told) -> Vec<String> {
        let mut wrong = Vec::new();
        let instances: BTreeSet<String> = self.instances().into_iter().collect();
        for instance in told.started.difference(&instances) {
            wrong.push(format!("{instance}: its start was acknowledged and is not there"));
        }
        for (instance, event) in &told.events {
            let history = self.histories.get(instance);
            if !history.is_some_and(|history| history.iter().any(|e| e.event_id() == *event)) {
                wrong.push(format!("{instance}: event {event} was acknowledged and is not there"));
            }
        }
        for (instance, activity) in &told.executed {
            if self.completions(instance, *activity) == 0 {
                wrong
                    .push(format!("{instance}: activity {activity} was acknowledged and what it came to is not there"));
            }
        }
        for instance in &told.completed {
            if self.status.get(instance).is_none_or(|status| status != "Completed") {
                wrong.push(format!("{instance}: its completion was acknowledged and is not there"));
            }
        }
        if self.headless > 0 {
            wrong.push(format!("{} rows by half: a history or an execution without its heading", self.headless));
        }
        for (instance, history) in &self.histories {
            self.check_whole(instance, history, &mut wrong);
        }
        wrong
    }

    /// Number of completions of an activity, in the history or in a waiting message.
    fn completions(&self, instance: &str, activity: u64) -> usize {
        let messages = self.messages.iter().filter(|message| {
            matches!(message, WorkItem::ActivityCompleted { instance: of, id, .. } if of == instance && *id == activity)
        });
        let history = self.histories.get(instance).into_iter().flatten().filter(|event| {
            matches!(event.kind, EventKind::ActivityCompleted { .. }) && event.source_event_id == Some(activity)
        });
        messages.count() + history.count()
    }

    /// Checks that an instance is in a state that some turn has left: each turn adds events, work, messages and a
    /// status atomically.
    fn check_whole(&self, instance: &str, history: &[Event], wrong: &mut Vec<String>) {
        let numbers: Vec<u64> = history.iter().map(Event::event_id).collect();
        if !numbers.iter().copied().eq(1..=numbers.len() as u64) {
            wrong.push(format!("{instance}: a history by half, {numbers:?}"));
        }
        let is_over = history.iter().any(|e| matches!(e.kind, EventKind::OrchestrationCompleted { .. }));
        let status = self.status.get(instance).map_or("none", String::as_str);
        if (status == "Completed") != is_over {
            wrong.push(format!("{instance}: by half, its execution is {status} and its history says otherwise"));
        }
        for event in history {
            let id = event.event_id();
            let places = match &event.kind {
                EventKind::ActivityScheduled { .. } => {
                    let work = self.work.iter().filter(|work| {
                        matches!(work, WorkItem::ActivityExecute { instance: of, id: n, .. } if of == instance && *n == id)
                    });
                    work.count() + self.completions(instance, id)
                }
                EventKind::TimerCreated { .. } => {
                    let fired = history
                        .iter()
                        .filter(|e| matches!(e.kind, EventKind::TimerFired { .. }) && e.source_event_id == Some(id));
                    let messages = self.messages.iter().filter(|message| {
                        matches!(message, WorkItem::TimerFired { instance: of, id: n, .. } if of == instance && *n == id)
                    });
                    fired.count() + messages.count()
                }
                _ => continue,
            };
            if places != 1 {
                wrong.push(format!("{instance}: by half, event {id} has {places} traces where one is to be"));
            }
        }
    }
}
