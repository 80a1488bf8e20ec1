//! A page of every chart with made-up data, to look at them: `cargo run -p litelab-report --example charts > charts.html`.
//! An argument `light` or `dark` overrides the system's theme.

use litelab_model::metric::Unit;
use litelab_report::Tone;
use litelab_report::chart::{
    self, Cell, Chart, Dimension, Events, Forest, ForestRow, Heatmap, Law, Limit, Line, Load, PercentileCurve,
    Percentiles, Probe, Reading, Scaling, ScalingPoint, ScalingSeries, Strip, StripArm, TimeSeries, Verdict,
};
use litelab_stats::Better;
use maud::{DOCTYPE, html};

fn main() {
    let theme = std::env::args().nth(1);
    let charts: Vec<Box<dyn Chart>> = vec![
        Box::new(forest()),
        Box::new(percentiles()),
        Box::new(strip()),
        Box::new(heatmap()),
        Box::new(scaling()),
        Box::new(load()),
        Box::new(series()),
        Box::new(Forest::default()),
    ];
    let page = html! {
        (DOCTYPE)
        html lang="en" data-theme=[theme] {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                title { "Charts" }
                style { (maud::PreEscaped(chart::CSS)) "body{margin:16px}figure{margin:0 0 24px}[data-theme=dark] body{background:#15181c;color:#e8eaed}" }
            }
            body {
                @for (i, chart) in charts.iter().enumerate() {
                    figure { figcaption { b { (chart.title()) } } (chart.svg(&format!("chart{i}"))) }
                }
            }
        }
    };
    println!("{}", page.into_string());
}

/// Repeatable noise from −1 to 1.
fn noise(i: u32) -> f64 {
    (f64::from(i) * 12.9898).sin() * 43_758.547 % 1.0
}

fn forest() -> Forest {
    let row = |label: &str, ratio: Result<Reading, String>, glyph: &str, word: &str, tone| ForestRow {
        label: label.into(),
        ratio,
        verdict: Some(Verdict { glyph: glyph.into(), word: word.into(), tone }),
        blocks: 12,
    };
    Forest {
        title: "throughput against the baseline".into(),
        summary: "balanced is faster than the defaults.".into(),
        axis: "throughput, ratio to profile=defaults".into(),
        band: Some((1.0 / 1.05, 1.05)),
        sides: Some(("slower".into(), "faster".into())),
        rows: vec![
            row("profile=balanced", Ok(Reading::within(1.34, 1.29, 1.4)), "▲", "faster", Tone::Good),
            row(
                "profile=durable journal_mode=wal synchronous=full wal_autocheckpoint=1000 mmap_size=268435456",
                Ok(Reading::within(0.82, 0.74, 0.91)),
                "▼",
                "slower",
                Tone::Bad,
            ),
            row("page_size=8192", Ok(Reading::within(1.002, 0.987, 1.011)), "=", "as good as equal", Tone::Plain),
            row("cache_size=-64000", Ok(Reading::within(1.1, 0.9, 6.2)), "?", "undecided", Tone::Warn),
            row("locking_mode=exclusive", Ok(Reading::within(1.2, 0.0, f64::INFINITY)), "?", "undecided", Tone::Warn),
            row("mmap_size=0", Err("an interval needs ≥ 6 blocks".into()), "–", "not compared", Tone::Dim),
        ],
    }
}

fn percentiles() -> Percentiles {
    let curve = |name: &str, base: f64, tail: f64| PercentileCurve {
        name: name.into(),
        points: [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999, 0.9995, 0.9999, 0.99999, 1.0]
            .iter()
            .map(|q: &f64| (*q, base * (1.0 + tail * (1.0 / (1.0 - q + 1e-6)).powf(0.6))))
            .collect(),
    };
    Percentiles {
        title: "service time of transfer".into(),
        summary: String::new(),
        axis: "service time".into(),
        of: "transactions".into(),
        curves: vec![
            curve("profile=defaults", 40e3, 0.5),
            curve("profile=balanced", 9e3, 0.7),
            curve("profile=durable", 90e3, 0.1),
            curve("profile=balanced workers=16", 9.4e3, 2.0),
            curve("five", 5e3, 2.0),
            curve("six", 7e3, 1.0),
            curve("seven", 8e3, 3.0),
            curve("eight", 3e3, 6.0),
        ],
    }
}

fn strip() -> Strip {
    let arm = |label: &str, base: f64, drift: f64, seed: u32| StripArm {
        label: label.into(),
        values: (1..=24)
            .map(|i| {
                let outlier = if i == 17 && seed == 2 { 0.7 } else { 1.0 };
                (i, base * outlier * (1.0 + drift * f64::from(i) / 24.0 + 0.03 * noise(i * seed + 7)))
            })
            .collect(),
        median: Some(Reading::within(
            base * (1.0 + drift / 2.0),
            base * (0.985 + drift / 2.0),
            base * (1.015 + drift / 2.0),
        )),
    };
    Strip {
        title: "throughput by block".into(),
        summary: String::new(),
        axis: "throughput".into(),
        unit: Some(Unit::PerSecond),
        arms: vec![
            arm("profile=defaults", 940.0, 0.0, 1),
            arm("profile=balanced", 12_300.0, 0.0, 2),
            arm("profile=durable journal_mode=wal synchronous=full wal_autocheckpoint=1000", 5200.0, -0.15, 3),
        ],
    }
}

fn heatmap() -> Heatmap {
    let workers = ["1", "2", "4", "8", "16", "32", "64", "128"];
    let profiles = ["defaults", "balanced", "durable", "journal_mode=persist, synchronous=off"];
    let cell = |row: usize, column: usize| match (row, column) {
        (2, 6..) => Cell::Missing { word: "skipped".into(), reason: "more workers than connections allowed".into() },
        (3, 3) => Cell::Missing { word: "failed".into(), reason: "the check of the balance failed".into() },
        _ => Cell::Value {
            value: 900.0
                * (1.0 + row as f64 * 2.2)
                * (column as f64 + 1.0).powf(0.8)
                * if column > 4 { 0.6 } else { 1.0 },
            note: "±3 %".into(),
        },
    };
    Heatmap {
        title: "throughput by profile and workers".into(),
        summary: String::new(),
        metric: "throughput".into(),
        unit: Some(Unit::PerSecond),
        better: Some(Better::Higher),
        rows: Dimension { name: "profile".into(), levels: profiles.map(Into::into).to_vec() },
        columns: Dimension { name: "workers".into(), levels: workers.map(Into::into).to_vec() },
        cells: (0..profiles.len()).map(|row| (0..workers.len()).map(|column| cell(row, column)).collect()).collect(),
    }
}

fn scaling() -> Scaling {
    let series = |name: &str, lambda: f64, sigma: f64, kappa: f64, with_law: bool| {
        let at = |n: f64| lambda * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0));
        ScalingSeries {
            name: name.into(),
            points: [1, 2, 4, 8, 16, 32]
                .into_iter()
                .map(|workers| {
                    let x = at(f64::from(workers)) * (1.0 + 0.04 * noise(workers));
                    ScalingPoint {
                        workers,
                        throughput: Some(Reading::within(x, x * 0.95, x * 1.06)),
                        latency: Some(Reading::within(
                            f64::from(workers) * 4e9 / x,
                            f64::from(workers) * 3.5e9 / x,
                            f64::from(workers) * 5e9 / x,
                        )),
                    }
                })
                .collect(),
            law: Some(if with_law {
                Ok(Law {
                    lambda,
                    sigma: Reading::within(sigma, sigma - 0.01, sigma + 0.01),
                    kappa: Reading::within(kappa, kappa * 0.9, kappa * 1.1),
                    peak: Some(((1.0 - sigma) / kappa).sqrt()),
                })
            } else {
                Err("it needs 3 levels, and 2 were measured".into())
            }),
        }
    };
    Scaling {
        title: "throughput and P99 against workers".into(),
        summary: String::new(),
        workers: "workers".into(),
        throughput: "throughput".into(),
        unit: Some(Unit::PerSecond),
        latency: "P99 of service time".into(),
        series: vec![
            series("profile=balanced", 3000.0, 0.08, 0.004, true),
            series("profile=durable", 1500.0, 0.3, 0.002, true),
            series("profile=defaults", 900.0, 0.9, 0.01, false),
        ],
    }
}

fn load() -> Load {
    let probe = |offered: f64, saturated: bool| {
        let wait = 1.0 / (1.0 - (offered / 5200.0).min(0.995));
        Probe {
            offered,
            p50: Some(180e3 * wait),
            p95: Some(700e3 * wait),
            p99: (offered < 5000.0).then_some(1.8e6 * wait),
            saturated: saturated.then(|| "P99 of response 61.0 ms > 20.0 ms".into()),
        }
    };
    Load {
        title: "response time against offered load".into(),
        summary: String::new(),
        offered: "offered load".into(),
        response: "response time".into(),
        probes: vec![
            probe(500.0, false),
            probe(1000.0, false),
            probe(2000.0, false),
            probe(4000.0, false),
            probe(4600.0, false),
            probe(4900.0, true),
            probe(5200.0, true),
        ],
        limit: Some(Limit { nanos: 20e6, label: "limit of P99".into() }),
        sustainable: Some(4600.0),
    }
}

fn series() -> TimeSeries {
    let line = |name: &str, base: f64, seed: u32| Line {
        name: name.into(),
        points: (0..300)
            .map(|i| {
                let value = base * (1.0 + f64::from(i % 40) / 10.0 + 0.2 * noise(i * seed));
                (f64::from(i) / 10.0, if (120..140).contains(&i) && seed == 2 { f64::NAN } else { value })
            })
            .collect(),
    };
    TimeSeries {
        title: "size of the write-ahead log".into(),
        summary: String::new(),
        quantity: "WAL size".into(),
        unit: Some(Unit::Bytes),
        lines: vec![line("profile=balanced", 1.2e6, 1), line("profile=durable", 0.5e6, 2)],
        events: vec![
            Events { name: "checkpoint".into(), seconds: (1..8).map(|i| f64::from(i) * 4.0).collect() },
            Events { name: "log begun anew".into(), seconds: vec![8.1, 16.1, 24.1] },
        ],
    }
}
