//! Where CPU time goes: a flame graph for each of the leading arms.

use litelab_record::stacks::{self, Frame, Stacks};

use super::{Figure, Source};
use crate::chart::{Bar, Flame};
use crate::document::FLAME_ARMS;
use crate::{number, symbol};

/// Letters of a whole name: type arguments can be thousands.
const LETTERS: usize = 80;

pub(super) fn figures(source: Source<'_>) -> Vec<Figure> {
    let arms = source.scenario.leading(source.analysis, usize::MAX);
    let sampled = arms.into_iter().filter_map(|arm| Some((arm, source.info.stacks.get(&arm.index)?)));
    let sampled = sampled.filter(|(_, stacks)| stacks.samples() > 0).take(FLAME_ARMS);
    sampled
        .map(|(arm, stacks)| {
            let chart = Flame {
                title: format!("{}: CPU time by call stack, {}", source.scenario.name, source.name(arm)),
                summary: String::new(),
                bars: bars(stacks),
            };
            let note = format!(
                "{} of {} per second of CPU time, from one further trial under perf, in no other figure here; waiting \
                 (for a lock, the disk, a retry) uses no CPU and is in none of it, and where the kernel holds interrupts off, its time falls on the function that lets them \
                 on again. Cut: bars of less than {}.{}",
                number::counted(stacks.samples(), "sample"),
                stacks.hertz,
                number::percent(Flame::LEAST),
                if depth(&stacks.root) > Flame::HIGHEST { " So are the highest rows." } else { "" },
            );
            Figure { chart: Box::new(chart), note, arms: vec![arm.index], course: None }
        })
        .collect()
}

fn bars(stacks: &Stacks) -> Vec<Bar> {
    let mut bars = Vec::new();
    place(&stacks.root, 0, 0, stacks.samples(), &mut bars);
    bars
}

/// The callees of a frame side by side, by name, so that the same function stands in the same place in each picture.
fn place(frame: &Frame, depth: usize, from: u64, all: u64, bars: &mut Vec<Bar>) {
    let share = |samples: u64| samples as f64 / all as f64;
    let mut from = from;
    for (name, called) in &frame.calls {
        let (plain, kernel) = stacks::plain(name);
        bars.push(Bar {
            label: symbol::short(plain),
            name: plain.chars().take(LETTERS).collect(),
            kernel,
            depth,
            from: share(from),
            share: share(called.samples),
            own: share(called.own),
        });
        place(called, depth + 1, from, all, bars);
        from = from.saturating_add(called.samples);
    }
}

/// Rows that a frame's callees need.
fn depth(frame: &Frame) -> usize {
    frame.calls.values().map(|called| 1 + depth(called)).max().unwrap_or(0)
}
