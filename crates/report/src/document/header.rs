//! Header of a run: study, time, machine and warnings.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use litelab_model::Server;
use litelab_model::advisory::{self, Advisory, Version};
use litelab_model::metric::Unit;
use litelab_record::RunInfo;
use litelab_record::ServerRecord;
use litelab_record::environment::{Environment, LoadWindow, SyncLatency};
use sha2::{Digest, Sha256};

use super::{Document, Element, Marked, calibration, drivers};
use crate::analysis::{Analysis, ProblemKind};
use crate::style::Tone;
use crate::{driver, number};

/// Adds the title and the facts.
pub(crate) fn add(document: &mut Document, analysis: &Analysis, info: &RunInfo) {
    document.elements.push(Element::Title(title(info)));
    facts(document, analysis, info);
}

/// Name and question of the study.
pub(super) fn title(info: &RunInfo) -> String {
    format!("{}: {}", info.plan.study, info.plan.title)
}

/// Adds the run, the study, the machine, the builds, and the warnings.
pub(crate) fn facts(document: &mut Document, analysis: &Analysis, info: &RunInfo) {
    document.facts([
        ("run", run(info)),
        ("study", study(info)),
        ("rounds", rounds(analysis, info)),
        ("machine", machine(&info.environment)),
        ("storage", storage(&info.environment)),
        ("load", load(info)),
        ("calibrated", calibrated(info)),
        ("SQLite", builds(info)),
        ("servers", servers(info)),
        ("source", info.plan.source.clone()),
    ]);
    document.marked(idle(analysis));
    document.marked(warnings(info));
    document.marked(defects(info));
    document.marked(beyond(info));
    document.marked(skipped(info));
}

/// Adds the title, one line on rounds, machine and disk, and the warnings.
pub(super) fn brief(document: &mut Document, info: &RunInfo) {
    document.elements.push(Element::Title(title(info)));
    let quick = if info.plan.quick { " · quick scale" } else { "" };
    document.text(Tone::Dim, host(info) + quick);
    document.marked(warnings(info));
    document.marked(defects(info));
}

/// Processor, number of processors and storage in a few words.
pub(crate) fn host(info: &RunInfo) -> String {
    let (machine, storage) = (machine(&info.environment), storage(&info.environment));
    machine.split(" · ").take(2).chain(storage.split(" · ").take(1)).collect::<Vec<_>>().join(" · ")
}

fn run(info: &RunInfo) -> String {
    let ended = match &info.finished {
        Some(finished) => format!("to {finished}"),
        None => "not finished".into(),
    };
    format!("{} · {} {ended} · litelab {}", info.file_name(), info.created, info.litelab)
}

/// The command, and the first 8 bytes of the hash of the study's text.
fn study(info: &RunInfo) -> String {
    let hash: String = Sha256::digest(&info.study_toml).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{} · SHA-256 {hash}…", crate::command::whole(info))
}

fn rounds(analysis: &Analysis, info: &RunInfo) -> String {
    let planned = info.plan.scenarios.iter().map(|s| s.rounds).max().unwrap_or(0);
    let failed: u64 = analysis.variants.iter().map(|a| a.failed()).sum();
    let measured: u64 = analysis.variants.iter().map(|a| a.measured).sum();
    let mut text = format!("{} of {planned} · {} measured", info.rounds(), number::counted(measured, "trial"));
    if failed > 0 {
        text.push_str(&format!(", {failed} failed"));
    }
    text.push_str(&format!(" · seed {}", info.plan.seed));
    if info.plan.quick {
        text.push_str(" · quick");
    }
    text
}

fn machine(environment: &Environment) -> String {
    let (cpu, kernel) = (&environment.cpu, &environment.kernel);
    let mut parts = vec![cpu.model.clone().unwrap_or_else(|| format!("unknown {} CPU", kernel.architecture))];
    match (cpu.usable, cpu.logical) {
        (Some(usable), Some(logical)) if usable != logical => {
            parts.push(format!("{usable} of {}", number::counted(logical as u64, "processor")));
        }
        (Some(n), _) | (None, Some(n)) => parts.push(number::counted(n as u64, "processor")),
        (None, None) => {}
    }
    if cpu.virtualised == Some(true) {
        parts.push("virtual".into());
    }
    if let Some(bytes) = environment.memory.limit_bytes.or(environment.memory.total_bytes) {
        parts.push(number::value(bytes as f64, Unit::Bytes));
    }
    parts.push(match &kernel.release {
        Some(release) => format!("{} {release}", kernel.os),
        None => kernel.os.clone(),
    });
    parts.join(" · ")
}

fn storage(environment: &Environment) -> String {
    let kind = environment.filesystem.as_ref().and_then(|f| f.kind.as_deref()).unwrap_or("unknown file system");
    let device = environment.disk.as_ref().map(|disk| {
        let word = serde_json::to_value(disk.kind).ok();
        format!(" on a {} device", word.as_ref().and_then(|w| w.as_str()).unwrap_or("unknown"))
    });
    let mut text = format!("{kind}{}", device.unwrap_or_default());
    if let Some(fsync) = &environment.fsync {
        let ns = |n: u64| number::value(n as f64, Unit::Nanos);
        let both = |l: &SyncLatency| format!("p50 {} p99 {}", ns(l.p50_ns), ns(l.p99_ns));
        text.push_str(&format!(
            " · 4 KiB write and fsync: in place {}, appended {}",
            both(&fsync.overwrite),
            both(&fsync.append)
        ));
    }
    text
}

fn load(info: &RunInfo) -> String {
    let before = &info.environment.load;
    let mut parts = Vec::new();
    if let Some([one, ..]) = before.load_average {
        parts.push(format!("load average {one:.2} before"));
    }
    if let Some((mean, worst)) = shares(info, |l| l.busy_share) {
        parts.push(format!("{} busy while it ran, at most {}", number::percent(mean), number::percent(worst)));
    }
    if let Some((mean, worst)) = shares(info, |l| l.steal_share) {
        parts.push(format!("{} stolen, at most {} in a round", number::percent(mean), number::percent(worst)));
    }
    parts.join(" · ")
}

/// Mean and largest share of the rounds; `None` if none is known.
pub(crate) fn shares(info: &RunInfo, of: fn(&LoadWindow) -> Option<f64>) -> Option<(f64, f64)> {
    let shares: Vec<f64> = info.loads.iter().filter_map(of).filter(|s| s.is_finite()).collect();
    let worst = shares.iter().copied().max_by(f64::total_cmp)?;
    Some((shares.iter().sum::<f64>() / shares.len() as f64, worst))
}

fn servers(info: &RunInfo) -> String {
    let one = |(name, server): (&Server, &ServerRecord)| {
        let whose = if server.own { "your own" } else { "started for the run, on loopback" };
        format!("{name}: {} ({whose})", server.version)
    };
    info.servers.iter().map(one).collect::<Vec<_>>().join(" · ")
}

fn calibrated(info: &RunInfo) -> String {
    info.host.as_ref().map_or_else(String::new, |h| calibration::brief(&h.calibration, h.age_seconds))
}

/// Scenarios that require more than the calibration of the host showed: the first three, and the number of the others.
fn beyond(info: &RunInfo) -> Vec<Marked> {
    const SHOWN: usize = 3;
    let all = crate::calibration::forecasts(info);
    let mut lines: Vec<Marked> =
        all.iter().take(SHOWN).map(|f| Marked::new("!", Tone::Warn, format!("{}: {f}", f.scenario))).collect();
    if all.len() > SHOWN {
        let more = number::counted((all.len() - SHOWN) as u64, "further scenario");
        lines.push(Marked::new(
            "!",
            Tone::Warn,
            format!("{more} as well asks for more than this host shows in its rounds"),
        ));
    }
    lines
}

/// Driver of the plan with its SQLite; empty for several drivers, which have a table.
pub(crate) fn builds(info: &RunInfo) -> String {
    let used = drivers::used(info);
    let [name] = used.as_slice() else { return String::new() };
    match info.driver(name) {
        None => (*name).to_owned(),
        Some((_, driver)) => match &driver.sqlite {
            Some(build) => format!("{name} {}: SQLite {}", driver.version, build.version),
            None if driver.dialect.is_sqlite() => format!("{name} {}", driver.version),
            // The server has a line of its own.
            None => String::new(),
        },
    }
}

/// Known defects of the SQLite versions that ran: one line for each version, with its drivers.
fn defects(info: &RunInfo) -> Vec<Marked> {
    // A defect whose file is invalid is a mistake of this program, which a test of the model finds.
    let mut advisories = advisory::of_sqlite().unwrap_or_default();
    advisories.retain(Advisory::concerns_all);
    let mut versions: BTreeMap<Version, Vec<&str>> = BTreeMap::new();
    for name in drivers::used(info) {
        if let Some(Ok(version)) = driver::sqlite(info, name).map(|build| build.parse()) {
            versions.entry(version).or_default().push(name);
        }
    }
    let line = |(version, names): (Version, Vec<&str>)| {
        let (found, sound) = advisory::defects(&advisories, version)?;
        let defects: Vec<String> = found.iter().map(|defect| format!("{}: {}", defect.name, defect.effect)).collect();
        let text = format!("SQLite {version} of {}: {}; use {sound}", names.join(", "), defects.join("; "));
        Some(Marked::new("!", Tone::Warn, text))
    };
    versions.into_iter().filter_map(line).collect()
}

/// Transactions that did nothing: one line for each, with all variants of the same text.
fn idle(analysis: &Analysis) -> Vec<Marked> {
    let mut lines: IndexMap<&str, Vec<&str>> = IndexMap::new();
    for variant in &analysis.variants {
        for (_, line) in variant.problems.iter().filter(|(kind, _)| *kind == ProblemKind::Empty) {
            lines.entry(line).or_default().push(&variant.name);
        }
    }
    let marked = |(line, variants): (&str, Vec<&str>)| {
        let others = match variants.len() {
            1 => String::new(),
            n => format!(" and {}", number::counted(n as u64 - 1, "other variant")),
        };
        Marked::new("!", Tone::Bad, format!("{}{others}: {line}", variants[0]))
    };
    lines.into_iter().map(marked).collect()
}

/// One line for each reason for which variants were skipped.
pub(super) fn skipped(info: &RunInfo) -> Vec<Marked> {
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    for reason in info.plan.variants.iter().filter_map(|variant| variant.skipped.as_deref()) {
        *reasons.entry(reason).or_default() += 1;
    }
    let line = |(reason, n): (&str, u64)| {
        Marked::new("–", Tone::Warn, format!("{} skipped: {reason}", number::counted(n, "variant")))
    };
    reasons.into_iter().map(line).collect()
}

fn warnings(info: &RunInfo) -> Vec<Marked> {
    let steal = |load: &LoadWindow| load.steal_share.unwrap_or(0.0);
    let worst = info.loads.iter().max_by(|a, b| steal(a).total_cmp(&steal(b)));
    let during = worst.and_then(litelab_record::environment::warning::steal);
    let seen = |code| info.environment.warnings.iter().any(|w| w.code == code);
    let during = during.filter(|w| !seen(w.code)).map(|mut w| {
        w.message = format!("in one round {}", w.message);
        w
    });
    let all = info.environment.warnings.iter().cloned().chain(during);
    all.map(|w| Marked::new("!", Tone::Warn, format!("{}; {}", w.message, w.remedy))).collect()
}
