//! Applies rules to facts.

use minijinja::{Environment, Error as TemplateError, UndefinedBehavior, Value, context};
use serde::Serialize;

use crate::facts::Facts;
use crate::rule::{Rule, Severity, Subject};

/// A rule that applies, with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Id of the rule.
    pub rule: String,
    /// Severity of the rule.
    pub severity: Severity,
    /// What it is about: `app.db`, `table note`, `process 812 node`, `go:modernc`.
    pub about: String,
    /// One line with the evidence.
    pub message: String,
    /// Consequence in one sentence.
    pub because: String,
    /// What to do, for the driver or language in question.
    pub fix: String,
    /// Page that shows why.
    pub source: String,
    /// Line of the file of statements, for a finding about one of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

/// Evaluator of conditions and messages.
pub struct Judge {
    environment: Environment<'static>,
}

impl Default for Judge {
    /// Beside minijinja's own filters rules have `bytes`, `name` (as SQL), `percent`, `time` and `version`.
    fn default() -> Self {
        let mut environment = Environment::new();
        // A misspelt fact is an error of the rule; the tests evaluate every condition.
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.add_filter("bytes", bytes_in_words);
        environment.add_filter("name", litelab_database::plain);
        environment.add_filter("percent", |share: f64| format!("{:.0} %", share * 100.0));
        environment.add_filter("time", time_in_words);
        environment.add_filter("version", |text: &str| version(text));
        Self { environment }
    }
}

impl Judge {
    /// Findings of all rules, the most severe first and then by rule.
    ///
    /// # Errors
    /// If a condition or a template of a rule is invalid.
    pub fn findings(&self, rules: &[Rule], facts: &Facts) -> Result<Vec<Finding>, TemplateError> {
        let mut findings = Vec::new();
        let app = facts.app.as_ref();
        let language = app.map(|app| app.language.to_lowercase()).unwrap_or_default();
        let names = [app.map_or("", |app| app.driver.as_str()), language.as_str()];
        for rule in rules {
            for (about, item, line) in subjects(rule.about, facts) {
                let context = context(facts, rule.about, item);
                if let Some(finding) = self.apply(rule, &context, about, names, line)? {
                    findings.push(finding);
                }
            }
        }
        findings.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.rule.cmp(&b.rule)));
        Ok(findings)
    }

    /// The finding of one rule on one subject, if its condition is true. `context` holds the variables of the condition,
    /// `names` are those of driver and language under which the fix is looked up.
    ///
    /// # Errors
    /// If the condition or a template of the rule is invalid.
    pub fn apply(
        &self,
        rule: &Rule,
        context: &Value,
        about: String,
        names: [&str; 2],
        line: Option<usize>,
    ) -> Result<Option<Finding>, TemplateError> {
        if !self.environment.compile_expression(&rule.when)?.eval(context)?.is_true() {
            return Ok(None);
        }
        let fix = names.into_iter().chain(["any"]).find_map(|name| rule.fix.get(name));
        Ok(Some(Finding {
            rule: rule.id.clone(),
            severity: rule.severity,
            about,
            message: self.environment.render_str(&rule.message, context)?,
            because: rule.because.clone(),
            fix: self.environment.render_str(fix.map_or("", String::as_str), context)?,
            source: rule.source.clone(),
            line,
        }))
    }
}

/// Seconds with two digits or more: `40 µs`, `12 ms`, `2.3 s`.
fn time_in_words(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s >= 0.9995 => (s, "s"),
        s if s >= 0.000_999_5 => (s * 1e3, "ms"),
        s => (s * 1e6, "µs"),
    };
    if value < 9.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

/// Variables of a condition.
pub(crate) fn context(facts: &Facts, about: Subject, item: Value) -> Value {
    let name = match about {
        Subject::Table => "table",
        Subject::Index => "index",
        Subject::ForeignKey => "foreign_key",
        Subject::Process => "process",
        Subject::Key => "key",
        Subject::Statement => "statement",
        Subject::File | Subject::Host | Subject::Schema | Subject::App | Subject::Event => "item",
    };
    let item = Value::from_iter([(name, item)]);
    let shared = context! {
        file => Value::from_serialize(&facts.file),
        host => Value::from_serialize(&facts.host),
        schema => Value::from_serialize(&facts.schema),
        processes => Value::from_serialize(&facts.processes),
        app => Value::from_serialize(&facts.app),
    };
    context! { ..item, ..shared }
}

/// Subjects of a kind: what a finding is about, the item, and the line of a statement.
fn subjects(about: Subject, facts: &Facts) -> Vec<(String, Value, Option<usize>)> {
    fn each<T: Serialize>(items: &[T], name: impl Fn(&T) -> String) -> Vec<(String, Value, Option<usize>)> {
        items.iter().map(|item| (name(item), Value::from_serialize(item), None)).collect()
    }
    let one = |name: &str| vec![(name.to_owned(), Value::from(()), None)];
    let app = facts.app.as_ref();
    match about {
        Subject::File | Subject::Schema => one(&facts.file.name),
        Subject::Host => one("host"),
        Subject::App => app.map_or_else(Vec::new, |app| one(&app.driver)),
        Subject::Event => Vec::new(),
        Subject::Table => each(&facts.schema.tables, |table| format!("table {}", table.name)),
        Subject::Index => each(&facts.schema.indexes, |index| format!("index {}", index.name)),
        Subject::ForeignKey => each(&facts.schema.foreign_keys, |key| format!("table {}", key.table)),
        Subject::Process => each(&facts.processes, |process| format!("process {} {}", process.pid, process.name)),
        Subject::Key => app.map_or_else(Vec::new, |app| each(&app.keys, |key| format!("{} {}", app.driver, key.name))),
        Subject::Statement => facts
            .statements
            .iter()
            .map(|statement| {
                let about = format!("line {}", statement.line);
                (about, Value::from_serialize(statement), Some(statement.line))
            })
            .collect(),
    }
}

/// A size in the unit in which it is readable: `33 MB`.
#[must_use]
pub fn bytes_in_words(bytes: f64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let mut value = bytes;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    if value < 10.0 && unit > 0 { format!("{value:.1} {}", units[unit]) } else { format!("{value:.0} {}", units[unit]) }
}

/// A version as a number for comparison: `3.51.3` is 3051003, as SQLite counts them. 0 for any other text.
fn version(text: &str) -> i64 {
    let parts: Option<Vec<i64>> = text.split('.').map(|part| part.parse().ok()).collect();
    match parts.as_deref() {
        Some([major, minor, patch, ..]) => major * 1_000_000 + minor * 1000 + patch,
        Some([major, minor]) => major * 1_000_000 + minor * 1000,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (seconds, text) in [
            (0.0000004, "0.4 µs"),
            (0.00004, "40 µs"),
            (0.00999, "10 ms"),
            (0.9999, "1.0 s"),
            (5.0, "5.0 s"),
            (71.0, "71 s"),
        ] {
            assert_eq!(time_in_words(seconds), text);
        }
    }
}
