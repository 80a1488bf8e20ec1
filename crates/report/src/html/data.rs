//! Values of each variant by round, embedded in the page for its script, which offers them as CSV.

use litelab_model::text::printable;
use maud::{Markup, PreEscaped, html};
use serde_json::{Value, json};

use super::figure::Source;
use crate::document::answer::level_words;

/// The values of these scenarios. A value is in the base unit of its metric: nanoseconds, bytes, per second, a share.
pub(super) fn embed(sources: &[Source<'_>]) -> Markup {
    let scenarios: Vec<Value> = sources.iter().map(|source| of_scenario(*source)).collect();
    html! { script #data type="application/json" { (inert(&json!({ "scenarios": scenarios }))) } }
}

/// JSON for a script element: without the beginning of a tag, and without characters that a terminal or a reader could
/// misinterpret.
pub(super) fn inert(data: &Value) -> PreEscaped<String> {
    PreEscaped(printable(&data.to_string()).replace('<', "\\u003c"))
}

fn of_scenario(source: Source<'_>) -> Value {
    let scenario = source.scenario;
    let variants = source.measured().map(|variant| {
        let values = scenario.metrics.iter().map(|metric| {
            let mut values = vec![Value::Null; scenario.planned as usize];
            for (round, value) in variant.values(metric) {
                if let Some(place) = values.get_mut(*round as usize) {
                    *place = json!(super::rounded(*value));
                }
            }
            values
        });
        let values: Vec<Vec<Value>> = values.collect();
        json!([variant.words, level_words(variant.durability), values])
    });
    let metrics: Vec<String> = scenario.metrics.iter().map(ToString::to_string).collect();
    json!({ "name": scenario.name, "metrics": metrics, "variants": variants.collect::<Vec<_>>() })
}
