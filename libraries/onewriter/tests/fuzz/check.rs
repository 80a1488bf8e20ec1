//! Compares the answers of the callers with the file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use onewriter::Error;
use rusqlite::Connection;

use crate::call::{Answer, Call};
use crate::plan::{Content, End, Plan, Record};

/// What the closures of a round explain in the answers of others.
struct Round {
    is_closed: bool,
    /// A closure has rolled back the whole transaction.
    has_lost: bool,
}

/// Returns what is wrong in the answers or in the file.
pub fn check(path: &Path, calls: &[Call], is_closed: bool) -> Vec<String> {
    let records: Vec<_> = calls.iter().map(|call| call.record.lock().expect("no panic under it")).collect();
    let all = || calls.iter().zip(&records).map(|(call, record)| (&*call.plan, &**record, &call.answer));
    let round = Round { is_closed, has_lost: records.iter().any(|record| record.is_lost) };
    let file = match File::read(path) {
        Ok(file) => file,
        Err(error) => return vec![format!("the file cannot be read: {error}")],
    };
    let mut wrong = file.wrong.clone();
    let mut tally = 0;
    for (plan, record, answer) in all() {
        let mut say = |what: String| wrong.push(format!("{what}: {answer:?} to {plan:?}, which left {record:?}"));
        record.wrong.iter().for_each(|what| say(format!("inside, {what}")));
        if record.runs > if plan.is_repeatable { 2 } else { 1 } {
            say("runs too often".into());
        }
        let there = file.content(plan.id);
        let is_there = file.marks.contains_key(&plan.id) || there != Content::default();
        if !is_explained(answer, plan, record, &round) {
            say("an answer without a reason".into());
        }
        let must = match answer {
            Answer::Ok => Some(!plan.is_early),
            Answer::Own | Answer::Layer(_) | Answer::Panicked => Some(false),
            Answer::Dropped => None,
        };
        if must.is_some_and(|must| must != is_there) {
            say(format!("{} in the file", if is_there { "is" } else { "is not" }));
        }
        if is_there {
            tally += there.tally;
            if !may_be_kept(plan, record) {
                say("must not be in the file".into());
            }
            if there != record.content {
                say(format!("not as it was left, but {there:?}"));
            }
        }
    }
    if tally != file.tally {
        wrong.push(format!("the tally is {}, and {tally} by what is there", file.tally));
    }
    let known: BTreeSet<i64> = calls.iter().map(|call| call.plan.id).collect();
    let plans = file.marks.keys().chain(file.items.keys()).chain(file.large.keys()).chain(file.tables.keys());
    wrong.extend(plans.filter(|id| !known.contains(id)).map(|id| format!("{id} is of nobody")));
    wrong
}

/// Whether the closure succeeded by itself.
fn is_ok(plan: &Plan, record: &Record) -> bool {
    record.returned == Some(End::Ok) && !plan.drop_panics && !record.content.is_violated
}

fn may_be_kept(plan: &Plan, record: &Record) -> bool {
    record.runs > 0 && is_ok(plan, record) && !record.is_lost
}

fn is_explained(answer: &Answer, plan: &Plan, record: &Record, round: &Round) -> bool {
    let has_returned = record.returned.is_some() && record.runs > 0;
    match answer {
        Answer::Dropped => true,
        Answer::Ok => may_be_kept(plan, record),
        Answer::Own => has_returned && record.returned == Some(End::Err) && !plan.drop_panics,
        Answer::Layer(Error::Panicked(text)) => {
            has_returned && text.contains("on purpose") && (plan.drop_panics || record.returned == Some(End::Panic))
        }
        // A violated reference is not looked for after a rollback.
        Answer::Layer(Error::RolledBack(_)) => {
            let ended = record.returned == Some(End::Ok) && !plan.drop_panics;
            has_returned && ended && (record.is_lost || (round.has_lost && !record.content.is_violated))
        }
        Answer::Layer(Error::ForeignKey) => {
            has_returned && record.content.is_violated && record.returned == Some(End::Ok) && !record.is_lost
        }
        Answer::Layer(Error::Closed) => record.runs == 0 && round.is_closed,
        Answer::Layer(Error::QueueFull) => record.runs == 0,
        Answer::Layer(Error::Timeout) => record.runs == 0 && plan.patience.is_some(),
        Answer::Layer(_) => false,
        Answer::Panicked => {
            let is_refused = record.is_lost || round.has_lost;
            match plan.conversion_panics {
                true => !has_returned || is_refused || round.is_closed || !is_ok(plan, record),
                // A refused result is dropped in the call itself if its closure has run there.
                false => plan.result_panics && (is_refused || record.content.is_violated),
            }
        }
    }
}

/// Content of the file.
struct File {
    wrong: Vec<String>,
    marks: BTreeMap<i64, i64>,
    items: BTreeMap<i64, BTreeMap<i64, i64>>,
    large: BTreeMap<i64, Vec<u8>>,
    /// Rows and columns of the tables that closures have made.
    tables: BTreeMap<i64, (i64, usize)>,
    tally: i64,
}

impl File {
    fn read(path: &Path) -> rusqlite::Result<Self> {
        let c = Connection::open(path)?;
        let number = |sql: &str| c.query_row(sql, [], |row| row.get::<_, i64>(0));
        let mut wrong = Vec::new();
        let integrity: String = c.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
        if integrity != "ok" {
            wrong.push(integrity);
        }
        if number("SELECT (SELECT count(*) FROM strict) + (SELECT count(*) FROM late)")? > 0 {
            wrong.push("rows violate a reference".into());
        }
        let mut items = BTreeMap::<i64, BTreeMap<i64, i64>>::new();
        let mut select = c.prepare("SELECT plan, key, value FROM item")?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            items.entry(row.get(0)?).or_default().insert(row.get(1)?, row.get(2)?);
        }
        let mut select = c.prepare("SELECT plan, amount FROM mark")?;
        let marks = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
        let mut select = c.prepare("SELECT plan, data FROM large")?;
        let large = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
        let mut tables = BTreeMap::new();
        let mut select =
            c.prepare("SELECT CAST(substr(name, 5) AS INTEGER) FROM sqlite_schema WHERE name GLOB 'made*'")?;
        for id in select.query_map([], |row| row.get::<_, i64>(0))? {
            let id = id?;
            let columns = c.prepare(&format!("SELECT * FROM made{id}"))?.column_count();
            tables.insert(id, (number(&format!("SELECT count(*) FROM made{id}"))?, columns));
        }
        let tally = number("SELECT n FROM tally")?;
        drop(select);
        Ok(Self { wrong, marks, items, large, tables, tally })
    }

    fn content(&self, id: i64) -> Content {
        Content {
            items: self.items.get(&id).cloned().unwrap_or_default(),
            large: self.large.get(&id).cloned(),
            tally: self.marks.get(&id).copied().unwrap_or_default(),
            table: self.tables.get(&id).copied(),
            is_violated: false,
        }
    }
}
