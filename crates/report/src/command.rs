//! Commands that repeat parts of a run.

use litelab_model::library::Kind;
use litelab_model::plan::{Plan, ScenarioPlan};
use litelab_model::text::clean;
use litelab_record::RunInfo;

use crate::analysis::ScenarioAnalysis;

/// The command that runs one scenario again with the same seed, and so with the same values; for a plan that combines two
/// runs, that of the whole run.
pub(crate) fn scenario(scenario: &ScenarioAnalysis, info: &RunInfo) -> String {
    if info.plan.given.combined {
        return whole(info);
    }
    format!("{} --only {} --rounds {} --seed {}", run(info), quoted(&scenario.name), scenario.planned, info.plan.seed)
}

/// Name of the run's file, quoted for a shell.
pub(crate) fn file(info: &RunInfo) -> String {
    let name = info.path.file_name().map_or_else(|| "RUN".into(), |name| name.to_string_lossy().into_owned());
    quoted(&name)
}

/// The command that does the whole run again with the same seed.
pub(crate) fn whole(info: &RunInfo) -> String {
    if info.plan.given.combined {
        return format!("litelab repeat {}", file(info));
    }
    let mut command = run(info);
    if !info.plan.given.only.is_empty() {
        command += &format!(" --only {}", quoted(&info.plan.given.only.join(",")));
    }
    if let Some(rounds) = info.plan.given.rounds.or_else(|| short_rounds(&info.plan)) {
        command += &format!(" --rounds {rounds}");
    }
    format!("{command} --seed {}", info.plan.seed)
}

/// The number of rounds of a plan with too few for an interval: only `--rounds` sets so few. Older run files do not say
/// that it was given.
fn short_rounds(plan: &Plan) -> Option<u32> {
    let is_short = |(index, scenario): (usize, &ScenarioPlan)| scenario.rounds < plan.least_rounds(index);
    plan.scenarios.iter().enumerate().any(is_short).then(|| plan.scenarios.iter().map(|s| s.rounds).max())?
}

/// The command with the options that change all scenarios alike, except the number of rounds and the seed.
fn run(info: &RunInfo) -> String {
    let mut command = format!("litelab run {}", study(info));
    if info.plan.quick {
        command.push_str(" --quick");
    }
    for driver in &info.plan.drivers {
        command += &format!(" --driver {}", quoted(driver));
    }
    for (name, value) in &info.plan.given.vars {
        command += &format!(" --set {}", quoted(&format!("{name}={value}")));
    }
    if info.plan.given.aa {
        command.push_str(" --aa");
    }
    command
}

/// Name of the study, or of a file with its text in the reader's directory.
fn study(info: &RunInfo) -> String {
    let name = &info.plan.study;
    quoted(&if is_built_in(info) { name.clone() } else { format!("{name}.toml") })
}

/// Whether the study is built into litelab; the text of any other study is in the run file.
pub(crate) fn is_built_in(info: &RunInfo) -> bool {
    Kind::Study.built_in().contains(&info.plan.study.as_str())
}

/// A text as one word of a shell, without control characters.
pub(crate) fn quoted(word: &str) -> String {
    let word = &clean(word);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,".contains(c);
    if !word.is_empty() && !word.starts_with('-') && word.chars().all(plain) {
        return word.clone();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_word_of_a_shell() {
        assert_eq!(quoted("claim-form"), "claim-form");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("x'; rm -rf ~ #"), r"'x'\''; rm -rf ~ #'");
        assert_eq!((quoted(""), quoted("-o")), ("''".into(), "'-o'".into()));
    }
}
