//! The findings of `litelab doctor` for a terminal.

use anstyle::Style;
use litelab_doctor::facts::App;
use litelab_doctor::{Facts, Finding, Rule, Severity, judge};
use litelab_report::number;

use crate::{output, style};

/// Width of severity and rule id.
const HEAD: usize = 13;
/// Most findings of one rule that are shown.
const SHOWN: usize = 5;

/// Prints what was examined, the findings by rule, the settings asked for, and what could not be seen.
pub fn print(facts: &Facts, findings: &[Finding], rules: &[Rule]) {
    output::lines(&format!("{}\n", textwrap::fill(&summary(facts), style::width())));
    for same in findings.chunk_by(|one, other| one.rule == other.rule) {
        output::line("");
        let title = rules.iter().find(|rule| rule.id == same[0].rule).map_or("", |rule| &rule.title);
        of_rule(same, title);
    }
    output::line("");
    if let Some(app) = &facts.app {
        asked_for(app);
    }
    for limit in limits(facts, findings) {
        output::entry("not seen:", 9, &limit);
    }
    let count = |severity: Severity| {
        let count = findings.iter().filter(|finding| finding.severity == severity).count();
        number::counted(count as u64, severity.name())
    };
    let counts = Severity::ALL.map(count).join(", ");
    let more = if findings.is_empty() { "" } else { "; `litelab doctor --explain ID` explains a rule" };
    output::line(format_args!("{counts}{more}"));
}

/// The findings of one rule: what, the consequence, the fix. Several have their title and consequence in common.
fn of_rule(findings: &[Finding], title: &str) {
    let first = &findings[0];
    let colour = match first.severity {
        Severity::Error => style::ERROR,
        Severity::Warning => style::WARNING,
        Severity::Note => style::STRONG,
    };
    let head = format!("{:7} {}", first.severity.name(), first.rule);
    if let [only] = findings {
        output::entry_in(colour, &head, HEAD, &what(only));
        output::entry("", HEAD, &only.because);
        output::entry("", HEAD, &format!("fix: {}", only.fix));
        return;
    }
    output::entry_in(colour, &head, HEAD, &format!("{} × {title}", findings.len()));
    output::entry("", HEAD, &first.because);
    let common = findings.iter().all(|finding| finding.fix == first.fix);
    for finding in findings.iter().take(SHOWN) {
        output::entry_in(Style::new(), "", HEAD, &format!("· {}", what(finding)));
        if !common {
            output::entry("", HEAD + 2, &format!("fix: {}", finding.fix));
        }
    }
    if common {
        output::entry("", HEAD, &format!("fix: {}", first.fix));
    }
    if findings.len() > SHOWN {
        output::entry("", HEAD, &format!("and {} more; `--format json` has all", findings.len() - SHOWN));
    }
}

/// The message, behind the name of its subject where it does not contain it.
fn what(finding: &Finding) -> String {
    let (kind, name) = finding.about.split_once(' ').unwrap_or(("", &finding.about));
    match (kind, name) {
        ("process", name) => {
            let pid = name.split(' ').next().unwrap_or_default();
            format!("process {pid}: {}", finding.message)
        }
        ("", "host") => finding.message.clone(),
        (_, name) if finding.message.contains(name) => finding.message.clone(),
        _ => format!("{}: {}", finding.about, finding.message),
    }
}

/// What was examined.
fn summary(facts: &Facts) -> String {
    let file = &facts.file;
    let mut parts = Vec::new();
    if file.state != "unknown" {
        let mut own = vec![judge::bytes_in_words(file.bytes as f64)];
        own.extend(file.wal.map(|wal| if wal { "WAL mode" } else { "rollback mode" }.to_owned()));
        own.extend(file.written_by.as_ref().map(|version| format!("written by SQLite {version}")));
        parts.push(own.join(", "));
        let disk = facts.host.disk.as_ref().map(|disk| format!(" on {disk} disk"));
        parts.extend(facts.host.filesystem.as_ref().map(|kind| format!("{kind}{}", disk.unwrap_or_default())));
        let holders: Vec<String> = facts.processes.iter().map(|p| format!("{} ({})", p.name, p.pid)).collect();
        parts.push(if holders.is_empty() {
            "open in no process".into()
        } else {
            format!("open in {}", holders.join(", "))
        });
    }
    if let Some(app) = &facts.app {
        let sqlite = app.sqlite.as_ref().map(|version| format!(" with SQLite {version}"));
        parts.push(format!("{} {}{}", app.driver, app.driver_version, sqlite.unwrap_or_default()));
    }
    format!("{}: {}", file.name, parts.join("; "))
}

/// The settings that the application asks for, beside those in effect.
fn asked_for(app: &App) {
    let asked: Vec<_> = app.keys.iter().filter(|key| key.setting.is_some()).collect();
    if app.refused.is_some() || asked.is_empty() {
        return;
    }
    output::headed(style::STRONG, format_args!("{:24} {:24} in effect", "setting", "asked for"), "");
    for key in asked {
        let setting = key.setting.as_deref().unwrap_or_default();
        let requested = key.requested.as_deref().unwrap_or_default();
        output::line(format_args!("{setting:24} {requested:24} {}", key.effective.as_deref().unwrap_or("unknown")));
    }
    output::line("");
}

/// What could not be observed.
fn limits(facts: &Facts, findings: &[Finding]) -> Vec<String> {
    let mut limits = Vec::new();
    // What is no database has a finding of its own, and so has a schema that cannot be read at any time.
    let told = facts.file.wal.is_none() || findings.iter().any(|finding| finding.rule == "LL201");
    if let Some(reason) = facts.schema.unread.as_ref().filter(|_| !told) {
        limits.push(format!("the schema: {reason}"));
    }
    if facts.schema.behind {
        limits.push("the newest changes of the schema: they lie in the log, which no checkpoint has copied yet".into());
    }
    limits.extend(facts.file.unchecked.iter().cloned());
    if facts.host.container.is_some() {
        limits.push("processes outside this container".into());
    } else if !facts.host.sees_all_processes {
        limits.push("processes of other users: run as root, or with CAP_SYS_PTRACE".into());
    }
    for statement in &facts.statements {
        if let Some(reason) = &statement.untried {
            limits.push(format!("an index for the statement of line {}: {reason}", statement.line));
        }
    }
    limits
}
