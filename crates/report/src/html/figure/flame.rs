//! Flame graphs of CPU time, one for each of the leading variants.

use super::{Figure, Source};
use crate::chart::Flame;
use crate::document::FLAME_VARIANTS;
use crate::number;

pub(super) fn figures(source: Source<'_>) -> Vec<Figure> {
    let variants = source.scenario.leading(source.analysis, usize::MAX);
    let sampled = variants.into_iter().filter_map(|variant| Some((variant, source.info.stacks.get(&variant.index)?)));
    let sampled = sampled.filter(|(_, stacks)| stacks.samples() > 0).take(FLAME_VARIANTS);
    sampled
        .map(|(variant, stacks)| {
            let note = format!(
                "{} of {} per second of CPU time, from one further trial under perf, in no other figure here; waiting \
                 (for a lock, the disk, a retry) uses no CPU and is in none of it, and where the kernel holds interrupts off, its time falls on the function that lets them \
                 on again. Cut: bars of less than {}.",
                number::counted(stacks.samples(), "sample"),
                stacks.hertz,
                number::percent(Flame::LEAST),
            );
            let chart = Flame {
                title: format!("{}: CPU time by call stack, {}", source.scenario.name, variant.words),
                stacks: stacks.clone(),
            };
            Figure { chart: Box::new(chart), note, course: None }
        })
        .collect()
}
