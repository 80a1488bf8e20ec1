//! Combination of the variants of two plans in one plan with common rounds.

use crate::plan::{Given, Plan, ScenarioPlan, Variant};
use crate::quantity::Scalar;

/// Name of the dimension that distinguishes the variants of the two plans.
const SIDE: &str = "side";

/// A plan that runs variants of `base` and of `head` in the same rounds.
///
/// Each pair becomes a scenario with `base`'s variant, the baseline, and `head`'s variant; `None` in the place of
/// `base`'s variant leaves `head`'s alone. Pairs with an index that its plan does not have are omitted. Scenarios and
/// variants are in the order of the pairs.
///
/// Claims and findings refer to other variants and are dropped. The reasons for skipped variants are dropped, too,
/// because the new run checks again which variants can run.
#[must_use]
pub fn interleave(base: &Plan, head: &Plan, pairs: &[(Option<usize>, usize)], rounds: u32) -> Plan {
    let mut plan = Plan {
        title: format!("Is {} the same again?", head.study),
        source: String::new(),
        scenarios: Vec::new(),
        variants: Vec::new(),
        claims: Vec::new(),
        left_out: Vec::new(),
        findings: Vec::new(),
        crossovers: Vec::new(),
        given: Given { combined: true, ..Given::default() },
        ..head.clone()
    };
    for (ours, theirs) in pairs {
        let first = plan.variants.len();
        let (Some(new), old) = (head.variants.get(*theirs), ours.map(|index| base.variants.get(index))) else {
            continue;
        };
        if old.is_some_and(|old| old.is_none()) {
            continue;
        }
        let Some(scenario) = head.scenarios.get(new.scenario) else { continue };
        let index = plan.scenarios.len();
        plan.variants.extend(old.flatten().map(|old| on_side(old, "base", index)));
        plan.variants.push(on_side(new, "head", index));
        plan.scenarios.push(ScenarioPlan {
            name: unused(&scenario.name, &plan.scenarios),
            question: format!("{}: is it the same again?", head.variant_name(*theirs)),
            rounds,
            dimensions: scenario.dimensions.iter().cloned().chain([SIDE.to_owned()]).collect(),
            baseline: first,
            metrics: scenario.metrics.clone(),
            ..ScenarioPlan::default()
        });
    }
    plan
}

fn on_side(variant: &Variant, side: &str, scenario: usize) -> Variant {
    let mut variant = variant.clone();
    variant.scenario = scenario;
    variant.skipped = None;
    variant.dimensions.insert(SIDE.to_owned(), Scalar::Text(side.to_owned()));
    variant
}

/// The name, with a number appended if a scenario already has it.
fn unused(name: &str, taken: &[ScenarioPlan]) -> String {
    let is_free = |name: &str| taken.iter().all(|s| s.name != name);
    if is_free(name) {
        return name.to_owned();
    }
    (2..).map(|n| format!("{name}-{n}")).find(|name| is_free(name)).unwrap_or_else(|| name.to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]
mod tests {
    use super::*;
    use crate::{Options, library, resolve};

    fn first_look(seed: u64) -> Plan {
        let (study, text) = library::study("first-look").unwrap();
        resolve::resolve(&study, &text, &Options { seed: Some(seed), ..Options::default() }).unwrap()
    }

    #[test]
    fn pairs_share_rounds_in_scenarios_of_their_own() {
        let (base, head) = (first_look(1), first_look(2));
        let plan = interleave(&base, &head, &[(Some(0), 0), (Some(2), 2), (None, 4)], 12);
        let names: Vec<String> = (0..plan.variants.len()).map(|index| plan.variant_name(index)).collect();
        assert_eq!(
            names,
            [
                "commit/profile=wal-normal side=base",
                "commit/profile=wal-normal side=head",
                "commit-2/profile=wal-full side=base",
                "commit-2/profile=wal-full side=head",
                "batch/batch=1 side=head",
            ]
        );
        assert_eq!(plan.scenarios.iter().map(|s| s.baseline).collect::<Vec<_>>(), [0, 2, 4]);
        assert!(plan.variants.iter().all(|variant| plan.rounds_of(variant) == 12));
        // Each side keeps its own trial.
        assert_eq!(plan.variants[2].trial, base.variants[2].trial);
        assert_eq!(plan.variants[3].trial, head.variants[2].trial);
        assert_ne!(plan.variants[2].trial, plan.variants[3].trial);
        assert!(plan.claims.is_empty() && plan.findings.is_empty());
    }

    #[test]
    fn a_variant_that_is_not_there_is_left_out() {
        let plan = first_look(1);
        let many = plan.variants.len();
        let both = interleave(&plan, &plan, &[(Some(many), 0), (Some(0), many), (Some(1), 1)], 6);
        assert_eq!((both.variants.len(), both.scenarios.len()), (2, 1));
    }

    #[test]
    fn a_variant_that_was_skipped_is_tried_again() {
        let mut plan = first_look(1);
        plan.variants[0].skipped = Some("its runner was not built".into());
        assert_eq!(interleave(&plan, &plan, &[(Some(0), 0)], 6).variants[0].skipped, None);
    }
}
