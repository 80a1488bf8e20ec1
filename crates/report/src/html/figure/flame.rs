//! Flame graphs of CPU time, one for each of the leading arms.

use super::{Figure, Source};
use crate::chart::Flame;
use crate::document::FLAME_ARMS;
use crate::number;

pub(super) fn figures(source: Source<'_>) -> Vec<Figure> {
    let arms = source.scenario.leading(source.analysis, usize::MAX);
    let sampled = arms.into_iter().filter_map(|arm| Some((arm, source.info.stacks.get(&arm.index)?)));
    let sampled = sampled.filter(|(_, stacks)| stacks.samples() > 0).take(FLAME_ARMS);
    sampled
        .map(|(arm, stacks)| {
            let note = format!(
                "{} of {} per second of CPU time, from one further trial under perf, in no other figure here; waiting \
                 (for a lock, the disk, a retry) uses no CPU and is in none of it, and where the kernel holds interrupts off, its time falls on the function that lets them \
                 on again. Cut: bars of less than {}.",
                number::counted(stacks.samples(), "sample"),
                stacks.hertz,
                number::percent(Flame::LEAST),
            );
            let chart = Flame {
                title: format!("{}: CPU time by call stack, {}", source.scenario.name, source.name(arm)),
                summary: String::new(),
                stacks: stacks.clone(),
            };
            Figure { chart: Box::new(chart), note, arms: vec![arm.index], course: None }
        })
        .collect()
}
