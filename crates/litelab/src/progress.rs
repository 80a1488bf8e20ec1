//! Progress display of a run: the plan, then a bar with running medians; plain lines where output is not a terminal.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use litelab_engine::event::RunEvent;
use litelab_model::{Plan, ScenarioPlan};
use litelab_record::measure::Meter;
use litelab_record::outcome::Outcome;
use litelab_report::analysis::alike;
use litelab_report::number;

use crate::{output, style};

/// Estimated cost of a trial besides its work (copy, process start, checks). Used only for the estimate of the plan.
const OVERHEAD_SECONDS: f64 = 0.15;
/// Estimated duration of a trial that ends by count.
const UNKNOWN_SECONDS: f64 = 1.0;
/// Estimated number of rates that a search tries.
const SEARCH_RATES: f64 = 10.0;
/// Longest time between two lines where output is not a terminal, so that a log shows activity.
pub const HEARTBEAT: Duration = Duration::from_secs(10);

/// Progress display.
pub struct Progress {
    bar: ProgressBar,
    /// One line per variant above the bar; empty if they do not fit on the screen.
    lines: Vec<ProgressBar>,
    redraws: bool,
    plan: Option<Plan>,
    /// Values of each variant's first metric, sorted.
    values: BTreeMap<usize, Vec<f64>>,
    total: usize,
    trials: usize,
    begun: Instant,
    last_line: Instant,
    failed: u32,
    /// Failures by scenario and reason (without figures): text of the first one, and count.
    failures: BTreeMap<(usize, String), (String, u32)>,
}

impl Progress {
    /// Creates a display on standard error.
    pub fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let now = Instant::now();
        Self {
            bar,
            lines: Vec::new(),
            redraws: style::redraws(),
            plan: None,
            values: BTreeMap::new(),
            total: 0,
            trials: 0,
            begun: now,
            last_line: now,
            failed: 0,
            failures: BTreeMap::new(),
        }
    }

    /// Renders one event.
    pub fn on(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Started { plan, environment, file, done } => {
                describe(plan).iter().for_each(output::log);
                skipped(plan);
                for warning in &environment.warnings {
                    let text = format_args!("{}; {}", warning.message, warning.remedy);
                    output::note(style::WARNING, "warning", text);
                }
                output::log(format_args!("run file: {}", file.display()));
                self.start(plan, done);
            }
            RunEvent::Preparing { variant, rows, of } => {
                self.line_or_message(&format!("preparing {}: {rows} of {of} rows", self.name(*variant)), rows == of);
            }
            RunEvent::Calibrating { scenario } => {
                let text = format!("measuring the harness itself: {}", self.scenario_name(*scenario));
                self.line_or_message(&text, false);
            }
            RunEvent::TrialStarted { round, variant } => {
                let round = self.round(self.scenario_of(*variant), *round);
                output::message(&self.bar, &format!("{round} · {}", self.name(*variant)));
            }
            RunEvent::Probed { variant, probe } => {
                let outcome = if probe.held() { "kept".to_owned() } else { format!("not kept: {}", probe.reason) };
                let rate = number::value(probe.rate, litelab_model::metric::Unit::PerSecond);
                self.line_or_message(&format!("{}: {rate} {outcome}", self.name(*variant)), false);
            }
            RunEvent::TrialEnded { record, .. } => self.ended(record),
            RunEvent::Sampling { variant } => {
                self.line_or_message(&format!("sampling call stacks: {}", self.name(*variant)), true);
            }
            RunEvent::NotSampled { variant, reason } => {
                let of = variant.map_or_else(String::new, |variant| format!(" of {}", self.name(variant)));
                self.last_line = Instant::now();
                self.bar.suspend(|| output::note(style::WARNING, format_args!("no call stacks{of}"), reason));
            }
            RunEvent::FileHeld { file, seconds } => {
                let text = format!(
                    "{}: another program reads it, and nothing can be stored until it has ended: waiting, {seconds} s",
                    file.display()
                );
                self.line_or_message(&text, *seconds < HEARTBEAT.as_secs());
            }
            RunEvent::ScenarioEnded { scenario, reason } => {
                let name = self.scenario_name(*scenario);
                let left = self.scenario(*scenario).map_or(0, |s| s.rounds).saturating_sub(1);
                if left > 0 {
                    let rounds = number::counted(left, "round");
                    let text =
                        format!("all trials of its first round failed, so {rounds} more would; the first: {reason}");
                    self.last_line = Instant::now();
                    self.bar.suspend(|| output::note(style::WARNING, format_args!("{name} ended"), text));
                }
            }
            RunEvent::RoundStored { scenario, round } => {
                if !self.redraws {
                    let (name, round) = (self.scenario_name(*scenario), self.round(*scenario, *round));
                    let (trials, failed, seconds) = (self.trials, self.failed, self.begun.elapsed().as_secs_f64());
                    self.print(&format!("{name}: {round} stored: {trials} trials, {failed} failed, {seconds:.0} s"));
                }
            }
        }
    }

    fn start(&mut self, plan: &Plan, done: &[u32]) {
        let of = |a: &litelab_model::Variant| plan.rounds_of(a).min(done.get(a.scenario).copied().unwrap_or_default());
        let before: usize = plan.variants.iter().map(|a| of(a) as usize).sum();
        self.total = plan.trials();
        self.trials = before;
        self.begun = Instant::now();
        self.plan = Some(plan.clone());
        if self.redraws {
            let screen = MultiProgress::new();
            self.lines = variant_lines(&screen, plan);
            self.bar = screen.add(ProgressBar::new(self.total as u64));
            self.bar.set_position(before as u64);
            self.bar.reset_eta();
            let template = "{bar:30.cyan/dim} {pos}/{len} trials, {eta} left · {wide_msg}";
            // The template is a constant; an error in it would only affect the appearance.
            if let Ok(style) = ProgressStyle::with_template(template) {
                self.bar.set_style(style.progress_chars("━╸─"));
            }
            self.bar.enable_steady_tick(Duration::from_millis(200));
        }
    }

    fn ended(&mut self, record: &litelab_record::outcome::TrialRecord) {
        self.trials += 1;
        self.bar.inc(1);
        let name = self.name(record.variant);
        match &record.outcome {
            Outcome::Failed(failure) => {
                self.failed += 1;
                let scenario = self.scenario_of(record.variant);
                let first = format!("round {}, {name}", record.round + 1);
                let (_, count) = self.failures.entry((scenario, alike(&failure.reason))).or_insert((first.clone(), 0));
                *count += 1;
                // Failures that differ only in figures are counted here and reported at the end.
                if *count == 1 {
                    self.print(&format!("failed: {first}: {}", failure.reason));
                }
            }
            Outcome::Measured(measurement) => {
                let scenario = self.scenario(self.scenario_of(record.variant));
                let Some(metric) = scenario.and_then(|scenario| scenario.metrics.first().cloned()) else { return };
                let Some(value) = Meter::new(measurement).value(&metric) else { return };
                let values = self.values.entry(record.variant).or_default();
                values.push(value);
                values.sort_by(f64::total_cmp);
                let (median, n) = (values[values.len() / 2], values.len());
                let text = format!("{name}: {metric} {} (median of {n})", number::value(median, metric.unit()));
                match self.lines.get(record.variant) {
                    Some(line) => output::message(line, &text),
                    None => self.line_or_message(&text, false),
                }
            }
        }
    }

    fn name(&self, variant: usize) -> String {
        self.plan.as_ref().map_or_else(String::new, |p| p.variant_name(variant))
    }

    fn scenario(&self, index: usize) -> Option<&ScenarioPlan> {
        self.plan.as_ref()?.scenarios.get(index)
    }

    fn scenario_name(&self, index: usize) -> String {
        self.scenario(index).map_or_else(|| "?".to_owned(), |s| s.name.clone())
    }

    fn scenario_of(&self, variant: usize) -> usize {
        self.plan.as_ref().and_then(|p| p.variants.get(variant)).map_or(0, |variant| variant.scenario)
    }

    /// `round 3/10` of a scenario.
    fn round(&self, scenario: usize, round: u32) -> String {
        let planned = self.scenario(scenario).map_or(0, |s| s.rounds);
        format!("round {}/{planned}", round + 1)
    }

    /// Updates the bar's message. Off a terminal, prints a line if it is `due` or the last one is older than
    /// [`HEARTBEAT`].
    fn line_or_message(&mut self, text: &str, due: bool) {
        if self.redraws {
            output::message(&self.bar, text);
        } else if due || self.last_line.elapsed() >= HEARTBEAT {
            self.print(&format!("{}/{} trials · {text}", self.trials, self.total));
        }
    }

    fn print(&mut self, line: &str) {
        self.last_line = Instant::now();
        // Off a terminal the bar is hidden and `suspend` has no effect.
        self.bar.suspend(|| output::log(line));
    }

    /// Clears the bar and prints the number of failures that were not printed.
    pub fn finish(&mut self) {
        for (first, count) in std::mem::take(&mut self.failures).into_values().filter(|(_, count)| *count > 1) {
            let more = number::counted(u64::from(count) - 1, "further trial");
            self.print(&format!("failed: {more} like {first}"));
        }
        self.lines.iter().for_each(ProgressBar::finish_and_clear);
        self.bar.finish_and_clear();
    }
}

/// One line per variant; empty if the screen has too few lines.
fn variant_lines(screen: &MultiProgress, plan: &Plan) -> Vec<ProgressBar> {
    if plan.variants.len() + 4 > style::height() {
        return Vec::new();
    }
    let line = |index: usize| {
        let line = screen.add(ProgressBar::new_spinner());
        if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
            line.set_style(style);
        }
        output::message(&line, &plan.variant_name(index));
        line
    };
    (0..plan.variants.len()).map(line).collect()
}

/// Prints each distinct reason for which variants of the plan are skipped.
pub fn skipped(plan: &Plan) {
    let reasons: BTreeSet<_> = plan.variants.iter().filter_map(|variant| variant.skipped.as_ref()).collect();
    reasons.iter().for_each(|reason| output::note(style::WARNING, "skipped", reason));
}

/// The plan in one line, then one line per scenario.
pub fn describe(plan: &Plan) -> Vec<String> {
    let seconds: f64 = plan
        .variants
        .iter()
        .map(|variant| {
            let one = variant.duration_ms.map_or(UNKNOWN_SECONDS, |ms| ms as f64 / 1e3) + OVERHEAD_SECONDS;
            let one = variant.search.as_ref().map_or(one, |s| one * SEARCH_RATES * f64::from(s.repeats.div_ceil(2)));
            one * f64::from(plan.rounds_of(variant))
        })
        .sum();
    let guessed = if plan.variants.iter().any(|a| a.duration_ms.is_none()) {
        ", a guess: some variants end by count"
    } else {
        ""
    };
    let quick = if plan.quick { ", quick scale" } else { "" };
    let rounds = plan.scenarios.iter().map(|s| s.rounds);
    let (fewest, most) = (rounds.clone().min().unwrap_or_default(), rounds.max().unwrap_or_default());
    let rounds = if fewest == most { most.to_string() } else { format!("{fewest} to {most}") };
    let variants = plan.variants.iter().filter(|a| a.skipped.is_none()).count();
    let each = if plan.trials() > 0 { seconds / plan.trials() as f64 } else { 0.0 };
    let mut lines = vec![format!(
        "{}: {variants} variants × {rounds} rounds × {each:.1} s ≈ {}{guessed}; seed {}{quick}",
        plan.study,
        output::duration(seconds),
        plan.seed
    )];
    for (index, scenario) in plan.scenarios.iter().enumerate() {
        let variants = plan.variants.iter().filter(|a| a.scenario == index).count();
        let variants = number::counted(variants as u64, "variant");
        let varies =
            if scenario.dimensions.is_empty() { "nothing varies".to_owned() } else { scenario.dimensions.join(", ") };
        lines.push(format!("  {}: {variants} ({varies}) {}", scenario.name, scenario.question));
        let least = plan.least_rounds(index);
        if scenario.rounds < least {
            let rounds = scenario.rounds;
            lines.push(format!("    {rounds} rounds are too few for an interval: {least} are the fewest"));
        }
    }
    lines
}
