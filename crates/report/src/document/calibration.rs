//! Document of a host calibration.

use indexmap::IndexSet;
use litelab_model::metric::{Metric, Unit};
use litelab_record::calibration::{Host, HostCalibration, Noise, Work};
use litelab_record::environment::{LoadWindow, SyncLatency};
use litelab_stats::{Confidence, Estimate, proportion};

use super::table::{Cell, Column, Table};
use super::{Document, Marked};
use crate::calibration::{EXPERIMENT, SIZES};
use crate::number;
use crate::style::Tone;

/// Share of false differences above which a host is not trusted: the error rate of 95 % intervals.
const ALLOWED: f64 = 0.05;

/// Renders a calibration.
#[must_use]
pub fn of_calibration(calibration: &HostCalibration) -> Document {
    let mut document = Document::titled("What this host can show", facts(calibration));
    document.heading("Noise", "what identical variants differ by, round by round");
    document.text(
        Tone::Dim,
        format!(
            "smallest difference found with 80 % at 95 % confidence, in so many rounds, with two variants; several variants need \
             more · A / A: the twin over its variant in all rounds, all rows together at 95 % · trials of cheap work by {}",
            calibration.driver
        ),
    );
    document.table(noise(&calibration.noise));
    document.marked(verdicts(&calibration.noise));
    if let Some(sync) = &calibration.sync {
        document.heading("Disk", "a write of 4 KiB and its sync");
        document.table(syncs([("in place", &sync.overwrite), ("appended", &sync.append)]));
    }
    document.heading("Harness", "per transaction of one insert, without a database");
    document.table(runners(calibration));
    document
}

fn facts(calibration: &HostCalibration) -> [(&'static str, String); 4] {
    let clock = &calibration.clock;
    let ns = |value: f64| number::value(value, Unit::Nanos);
    let quick = if calibration.quick { " · quick" } else { "" };
    [
        (
            "made",
            format!("{} in {:.0} s · litelab {}{quick}", calibration.made, calibration.seconds, calibration.litelab),
        ),
        ("host", host(&calibration.host)),
        (
            "clock",
            format!("a reading takes {}, its smallest step is {}", ns(clock.cost_ns), ns(clock.resolution_ns as f64)),
        ),
        ("load", load(&calibration.rest, &calibration.worst)),
    ]
}

fn host(host: &Host) -> String {
    let processors = host.processors.map(|n| number::counted(n as u64, "processor"));
    let storage = host.filesystem.as_ref().map(|kind| match &host.disk {
        Some(model) => format!("{kind} on {model}"),
        None => kind.clone(),
    });
    [host.cpu.clone(), processors, Some(host.system.clone()), storage]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" · ")
}

fn load(rest: &LoadWindow, worst: &LoadWindow) -> String {
    let mut parts = Vec::new();
    if let Some(busy) = rest.busy_share {
        parts.push(format!("{} busy with others before", number::percent(busy)));
    }
    if let Some(steal) = rest.steal_share {
        parts.push(format!("{} stolen", number::percent(steal)));
    }
    if let Some([one, ..]) = rest.load_average {
        parts.push(format!("load average {one:.2}"));
    }
    if let Some(steal) = worst.steal_share {
        parts.push(format!("at most {} stolen in a round", number::percent(steal)));
    }
    parts.join(" · ")
}

fn noise(noise: &[Noise]) -> Table {
    let mut columns = vec![Column::left("work", 0), Column::left("metric", 0), Column::right("scatter", 1)];
    columns.extend(SIZES.map(|rounds| Column::right(format!("{rounds} rounds"), 1)));
    columns.push(Column::right("A / A", 2));
    columns.push(Column::right("told apart", 2));
    let row = |n: &Noise| {
        let mut cells = vec![
            Cell::plain(n.work.name()),
            Cell::plain(n.metric.to_string()),
            Cell::plain(format!("±{}", number::rough(n.spread.typical().exp_m1()))),
        ];
        cells.extend(SIZES.map(|rounds| {
            let effect = n.effects.iter().find(|e| e.rounds == rounds).and_then(|e| e.effect);
            Cell::plain(effect.map_or_else(|| number::NONE.into(), number::rough))
        }));
        let biased = n.ratio.interval().is_some_and(|i| !i.contains(1.0));
        let tone = if biased { Tone::Warn } else { Tone::Plain };
        cells.push(Cell::new(tone, number::ratio(&n.ratio).unwrap_or_else(|| "[?]".into())));
        cells.push(Cell::plain(format!("{} of {}", n.false_differences, n.experiments)));
        cells
    };
    Table { keys: 2, columns, rows: noise.iter().map(row).collect() }
}

/// Rates of false differences, for each metric over all kinds of work, whose trials are independent.
fn verdicts(noise: &[Noise]) -> Vec<Marked> {
    let metrics: IndexSet<&Metric> = noise.iter().map(|n| &n.metric).collect();
    let mut lines: Vec<Marked> = metrics.into_iter().filter_map(|metric| rate(metric, noise)).collect();
    lines.extend(noise.iter().filter(|n| n.ratio.interval().is_some_and(|i| !i.contains(1.0))).map(|n| {
        let text = format!(
            "{} in {}: of two identical variants one is favoured over all rounds; something on this host depends on the order of trials",
            n.work.name(),
            n.metric
        );
        Marked::new("!", Tone::Warn, text)
    }));
    lines
}

fn rate(metric: &Metric, noise: &[Noise]) -> Option<Marked> {
    let of = |count: fn(&Noise) -> u32| noise.iter().filter(|n| n.metric == *metric).map(count).sum::<u32>();
    let (wrong, all) = (of(|n| n.false_differences), of(|n| n.experiments));
    let rate: Estimate = proportion(wrong, all, Confidence::P95).ok()?;
    let interval = rate.interval()?;
    let text = format!(
        "A/A in {metric}: two identical variants were told apart in {wrong} of {all} experiments of {EXPERIMENT} rounds: {} \
         [{}, {}]",
        number::rough(rate.value),
        number::rough(interval.low()),
        number::rough(interval.high())
    );
    // Chance alone gives 3.1 % with 6 rounds. The host is at fault only if a rate above the allowed one is shown.
    Some(if interval.low() > ALLOWED {
        Marked::new(
            "!",
            Tone::Warn,
            format!("{text}; more than {} allow: do not trust verdicts in it here", number::percent(ALLOWED)),
        )
    } else {
        Marked::new("=", Tone::Good, format!("{text}; chance alone gives 3.1 %"))
    })
}

fn syncs(rows: [(&str, &SyncLatency); 2]) -> Table {
    let titles = ["least", "p10", "p50", "p90", "p99", "p99.9", "most", "writes"];
    let mut columns = vec![Column::left("write", 0)];
    columns.extend(titles.map(|title| Column::right(title, 1)));
    let row = |(name, q): (&str, &SyncLatency)| {
        let times = [q.min_ns, q.p10_ns, q.p50_ns, q.p90_ns, q.p99_ns, q.p999_ns, q.max_ns];
        let mut cells = vec![Cell::plain(name)];
        cells.extend(times.map(|ns| Cell::plain(number::value(ns as f64, Unit::Nanos))));
        cells.push(Cell::plain(q.writes.to_string()));
        cells
    };
    Table { keys: 1, columns, rows: rows.map(row).to_vec() }
}

fn runners(calibration: &HostCalibration) -> Table {
    let columns = vec![
        Column::left("runner", 0),
        Column::left("language", 1),
        Column::left("runtime", 1),
        Column::right("cost", 2),
        Column::right("least", 2),
        Column::right("most", 2),
    ];
    let row = |cost: &litelab_record::calibration::RunnerCost| {
        let ns = |value: f64| Cell::plain(number::value(value, Unit::Nanos));
        let (middle, least, most) = cost.nanos;
        let mut cells = [&cost.runner, &cost.language, &cost.runtime].map(|text| Cell::plain(text.as_str())).to_vec();
        cells.extend([ns(middle), ns(least), ns(most)]);
        cells
    };
    Table { keys: 1, columns, rows: calibration.runners.iter().map(row).collect() }
}

/// Line of a run's header: the age of the calibration, and the smallest difference for each kind of work.
pub(super) fn brief(calibration: &HostCalibration, age_seconds: u64) -> String {
    let best = |work: Work| {
        let of_work = calibration.noise.iter().filter(|n| n.work == work);
        let in_ten = |n: &Noise| n.effects.iter().find(|e| e.rounds == 10)?.effect;
        let effects = of_work.filter_map(|n| Some((in_ten(n)?, &n.metric)));
        let (effect, metric) = effects.min_by(|(a, _), (b, _)| a.total_cmp(b))?;
        Some(format!("{} {} in {metric}", work.name(), number::rough(effect)))
    };
    let shown: Vec<String> = Work::ALL.into_iter().filter_map(best).collect();
    format!("{} before the run · smallest difference in 10 rounds: {}", number::age(age_seconds), shown.join(", "))
}
