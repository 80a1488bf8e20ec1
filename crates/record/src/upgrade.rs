//! Reading run files of format 2: views with the tables of format 3, and conversion of the JSON in them.
//!
//! | format 2 | as read |
//! |---|---|
//! | parts of a library's work: number of calls and total time | timers with this number of calls, each of the mean time: count and sum remain (within the histogram's precision), percentiles are meaningless |
//! | metric `lost`: share of the committed transactions | `gauge:lost`: their number |
//! | interface of a driver: its name | the name, without operations |
//! | number of a killed node in its trial | dropped; the plan has it |
//! | invariants on `mismatches.NAME` | dropped; a row with wrong content now fails its trial without them |
//! | text of the study, names, labels of crossovers, reasons | unchanged, in the words of format 2 |

use litelab_model::Scalar;
use litelab_model::setting::Setting;
use litelab_protocol::histogram::Histogram;
use litelab_protocol::{Dialect, VERSION};
use serde::Deserialize;
use serde_json::{Map, Value, json};

type Object = Map<String, Value>;

/// The format that is converted.
pub(crate) const FORMAT: i32 = 2;
/// Its table of rounds.
pub(crate) const ROUNDS: &str = "block";

/// Views with the names of format 3, in the connection's temporary database.
pub(crate) const VIEWS: &str = "
PRAGMA temp_store = memory;
CREATE TEMP VIEW round AS SELECT scenario, number, started, finished, load FROM main.block;
CREATE TEMP VIEW trial AS
    SELECT id, scenario, block AS round, arm AS variant, position, started, seconds, measurement, failure FROM main.trial;
CREATE TEMP VIEW flame AS SELECT arm AS variant, hertz, folded FROM main.flame;
";

/// Keys of objects.
const KEYS: [(&str, &str); 6] = [
    ("arm", "variant"),
    ("arms", "variants"),
    ("blocks", "rounds"),
    ("access", "sharing"),
    ("accesses", "sharings"),
    ("fault", "gauges"),
];
/// Kinds of sharing.
const SHARINGS: [(&str, &str); 4] = [
    ("per-worker", "own-connection"),
    ("shared", "one-connection"),
    ("write-lock", "app-lock"),
    ("split", "writer-readers"),
];
/// Metrics, beside those of parts.
const METRICS: [(&str, &str); 5] = [
    ("scheduler_p50", "timer_p50:scheduler"),
    ("scheduler_p99", "timer_p99:scheduler"),
    ("scheduler_max", "timer_max:scheduler"),
    ("rejoin", "gauge:rejoin_ns"),
    ("lost", "gauge:lost"),
];

/// Converts JSON of format 2. Applied to every JSON value of a run: data that did not change has none of these keys.
///
/// # Errors
/// A setting or a part that cannot be converted.
pub(crate) fn convert(value: Value) -> Result<Value, String> {
    match value {
        Value::Array(items) => items.into_iter().map(convert).collect(),
        Value::Object(object) => of_object(object),
        scalar => Ok(scalar),
    }
}

fn of_object(mut object: Object) -> Result<Value, String> {
    if object.contains_key("server_settings") {
        variant(&mut object)?;
    }
    if object.contains_key("operations") && object.contains_key("probe") {
        result(&mut object)?;
    }
    if object.contains_key("mismatches") {
        let same = |name| (name, name);
        let timers = taken(&mut object, &["wait", "response", "lag", "query", "first_row"].map(same));
        let counters = taken(&mut object, &["verified", "mismatches"].map(same));
        object.extend([("timers".to_owned(), timers.into()), ("counters".to_owned(), counters.into())]);
    }
    let converted = |(key, value): (String, Value)| {
        let value = match (key.as_str(), value) {
            // Keys within these are the user's or a runner's, or were converted above.
            ("vars" | "options" | "errors" | "content" | "settings" | "timed_ns", value) => value,
            ("timers" | "counters" | "gauges", value) => value,
            ("values", Value::Object(values)) => {
                values.into_iter().map(|(name, value)| Ok((name, convert(value)?))).collect::<Result<_, String>>()?
            }
            ("dimensions", Value::Object(values)) => values.into_iter().map(dimension).collect(),
            ("dimensions", Value::Array(names)) => names.into_iter().map(dimension_name).collect(),
            ("dimension", name) => dimension_name(name),
            ("accesses", Value::Array(kinds)) => kinds.into_iter().map(sharing).collect(),
            ("access", Value::Object(access)) => access.into_iter().map(|(key, value)| (key, sharing(value))).collect(),
            ("kind", Value::String(kind)) if kind == "sha256-verify" => "verify".into(),
            ("metric" | "condition", Value::String(name)) => metric(&name).into(),
            ("metrics", Value::Array(names)) => names.iter().filter_map(Value::as_str).map(metric).collect(),
            ("fault", Value::Object(fault)) => gauges(&fault),
            ("interface", Value::String(name)) => json!({ "name": name, "operations": [] }),
            (_, value) => convert(value)?,
        };
        Ok((renamed(&KEYS, &key).to_owned(), value))
    };
    object.into_iter().map(converted).collect()
}

/// A variant's settings, parsed as those of a profile are; its trial.
fn variant(object: &mut Object) -> Result<(), String> {
    object.remove("server_settings");
    let dialect = object.get("dialect").map_or(Ok(Dialect::Sqlite), Dialect::deserialize).map_err(text)?;
    let mut settings = Vec::new();
    for table in ["pragmas", "settings"].map(|key| object.remove(key)) {
        let Some(Value::Object(table)) = table else { continue };
        for (name, value) in table {
            let value = Scalar::deserialize(value).map_err(text)?;
            settings.push(Setting::parse(dialect, &name, &value, None)?);
        }
    }
    let trial = object.get_mut("trial").and_then(Value::as_object_mut).ok_or("a variant without a trial")?;
    trial.insert("protocol".into(), VERSION.into());
    if let Some(connection) = trial.get_mut("connection").and_then(Value::as_object_mut) {
        connection.remove("pragmas");
        let sent = settings.iter().filter_map(|s| Some(json!({ "name": s.name, "sql": s.sql.as_ref()? })));
        connection.insert("settings".into(), sent.collect());
    }
    object.insert("settings".into(), serde_json::to_value(settings).map_err(text)?);
    if let Some(invariants) = object.get_mut("invariants").and_then(Value::as_array_mut) {
        invariants.retain(|invariant| !invariant.to_string().contains("mismatches."));
    }
    Ok(())
}

/// A part of a library's work.
#[derive(Deserialize)]
struct Part {
    name: String,
    calls: u64,
    nanos: u64,
}

/// Timers and gauges of a runner's result.
fn result(object: &mut Object) -> Result<(), String> {
    let mut probe = object.remove("probe").unwrap_or_default();
    let mut none = Object::new();
    let probe = probe.as_object_mut().unwrap_or(&mut none);
    let gauges = taken(probe, &[("utilization", "utilization")]);
    let mut timers = taken(probe, &[("lateness", "probe"), ("pool_wait", "pool_wait"), ("scheduler", "scheduler")]);
    let parts = object.remove("breakdown").map_or(Ok(Vec::new()), Vec::<Part>::deserialize).map_err(text)?;
    for Part { name, calls, nanos } in parts {
        let mut timer = Histogram::new();
        timer.record_n(nanos / calls.max(1), calls);
        timers.insert(name, timer.encode().into());
    }
    object.extend([("timers".to_owned(), timers.into()), ("gauges".to_owned(), gauges.into())]);
    Ok(())
}

/// Gauges of a killed node.
fn gauges(fault: &Object) -> Value {
    let get = |name: &str| fault.get(name).and_then(Value::as_f64);
    let [killed, started, back] =
        ["killed_ms", "started_ms", "back_ms"].map(|name| get(name).unwrap_or_default() * 1e6);
    let mut gauges = json!({ "killed_ns": killed, "started_ns": started, "rejoin_ns": (back - started).max(0.0) });
    if let Some(lost) = get("lost") {
        gauges["lost"] = lost.into();
    }
    gauges
}

/// Removes fields, and returns those with a value under their new names.
fn taken(object: &mut Object, names: &[(&str, &str)]) -> Object {
    let present = names.iter().filter_map(|(old, new)| Some(((*new).to_owned(), object.remove(*old)?)));
    present.filter(|(_, value)| !value.is_null()).collect()
}

fn dimension((name, value): (String, Value)) -> (String, Value) {
    if name == "access" { ("sharing".into(), sharing(value)) } else { (name, value) }
}

fn dimension_name(name: Value) -> Value {
    if name == "access" { "sharing".into() } else { name }
}

/// `split(2)` as `writer-readers(2)`.
fn sharing(value: Value) -> Value {
    let Some(name) = value.as_str() else { return value };
    let kind = name.split('(').next().unwrap_or_default();
    name.replacen(kind, renamed(&SHARINGS, kind), 1).into()
}

fn metric(name: &str) -> String {
    match name.strip_prefix("part_") {
        Some(of_part) => format!("timer_{of_part}"),
        None => renamed(&METRICS, name).to_owned(),
    }
}

fn renamed<'a>(names: &[(&str, &'static str)], name: &'a str) -> &'a str {
    names.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| new)
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]
mod tests {
    use std::collections::BTreeMap;

    use litelab_model::Metric;
    use litelab_model::plan::FindingPlan;
    use litelab_protocol::{Description, TrialResult};

    use super::*;
    use crate::outcome::SearchOutcome;

    fn read<T: serde::de::DeserializeOwned>(old: Value) -> T {
        serde_json::from_value(convert(old).unwrap()).unwrap()
    }

    #[test]
    fn a_result_has_timers_gauges_and_counters() {
        let (mut times, empty) = (Histogram::new(), Histogram::new().encode());
        times.record_n(7, 2);
        let result: TrialResult = read(json!({
            "elapsed_ns": 1, "measured_ns": 1, "workers": [],
            "operations": [{
                "role": "access", "transaction": "arm", "committed": 2, "empty": 0, "failed": 0, "ended": 2, "measured": 2,
                "rows": 0, "verified": 3, "mismatches": 1, "errors": {"block": {"seen": 1, "cured": 1, "message": ""}},
                "unserved": 0, "unfinished": [], "service": times.encode(), "wait": null, "response": times.encode(),
                "lag": null, "query": null, "first_row": null,
            }],
            "probe": {"lateness": empty, "pool_wait": null, "utilization": 0.5, "scheduler": times.encode()},
            "breakdown": [{"name": "access", "calls": 4, "nanos": 4000}, {"name": "never", "calls": 0, "nanos": 0}],
        }));
        let operation = &result.operations[0];
        assert_eq!((operation.counter("verified"), operation.counter("mismatches")), (3, 1));
        assert_eq!(
            operation.timers.iter().map(|(name, t)| (name.as_str(), t)).collect::<Vec<_>>(),
            [("response", &times)]
        );
        assert!(operation.errors.contains_key("block"));
        let timers: Vec<_> = result.timers.iter().map(|(name, timer)| (name.as_str(), timer.count())).collect();
        assert_eq!(timers, [("access", 4), ("never", 0), ("probe", 0), ("scheduler", 2)]);
        assert!((result.timers["access"].sum() / 4000.0 - 1.0).abs() < 1e-3);
        assert_eq!(result.gauges, [("utilization".to_owned(), 0.5)].into());
    }

    #[test]
    fn a_killed_node_has_gauges() {
        let fault = json!({ "node": 2, "killed_ms": 1, "started_ms": 3, "back_ms": 10, "lost": 0 });
        let gauges = json!({ "killed_ns": 1e6, "started_ns": 3e6, "rejoin_ns": 7e6, "lost": 0.0 });
        assert_eq!(convert(json!({ "fault": fault })), Ok(json!({ "gauges": gauges })));
    }

    #[test]
    fn metrics_have_their_new_names_and_a_finding_its_own() {
        let names = json!(["p99:claim", "part_time:ack", "part_calls:ack", "scheduler_p99", "rejoin", "lost"]);
        let new =
            ["p99:claim", "timer_time:ack", "timer_calls:ack", "timer_p99:scheduler", "gauge:rejoin_ns", "gauge:lost"];
        let metrics: BTreeMap<String, Vec<Metric>> = read(json!({ "metrics": names }));
        assert_eq!(metrics["metrics"].iter().map(Metric::to_string).collect::<Vec<_>>(), new);
        let finding: FindingPlan = read(json!({ "text": "{arm} {blocks}", "values": {
            "arm": { "kind": "best", "metric": "lost", "arms": [1, 2], "dimension": "access" },
            "blocks": { "kind": "ratio", "metric": "part_time:a", "arm": 1, "against": 0 },
        } }));
        assert_eq!(finding.values.keys().collect::<Vec<_>>(), ["arm", "blocks"]);
        assert!(serde_json::to_string(&finding).unwrap().contains("\"dimension\":\"sharing\""));
        let search: SearchOutcome = read(json!({ "sustainable": 1.0, "probes": [
            { "rate": 1.0, "kept": 1, "broken": 0, "condition": "scheduler_p99", "reason": "", "response": null },
        ] }));
        assert_eq!(search.probes[0].condition, "timer_p99:scheduler");
    }

    #[test]
    fn a_driver_has_sharings_and_an_interface() {
        let description: Description = read(json!({
            "protocol": 2, "runner": "go", "language": "go", "runtime": "go",
            "drivers": [{
                "name": "goqite", "version": "1", "sqlite": null, "accesses": ["per-worker", "shared", "pool", "split"],
                "executors": ["threads"], "interface": "queue",
            }],
        }));
        let driver = &description.drivers[0];
        assert_eq!(driver.sharings, ["own-connection", "one-connection", "pool", "writer-readers"]);
        assert_eq!(driver.interface.as_ref().map(|i| (i.name.as_str(), i.operations.len())), Some(("queue", 0)));
    }

    #[test]
    fn a_variant_has_settings_and_its_trial_the_statements() {
        let variant = |dialect: &str, pragmas: Value, settings: Value| {
            convert(json!({
                "dimensions": { "access": "split(2)", "arm": "shared" }, "dialect": dialect, "pragmas": pragmas,
                "settings": settings, "server_settings": [], "vars": { "access": 1 },
                "invariants": [
                    { "about": "", "sql": "", "equals": "mismatches.scan" }, { "about": "", "sql": "", "equals": "rows.scan" },
                ],
                "trial": {
                    "protocol": 2, "access": { "kind": "split", "readers": 2 },
                    "connection": { "pragmas": [], "read_back": [], "options": { "arm": 1 } },
                    "transactions": [{ "statements": [{ "work": { "kind": "sha256-verify", "value": "a", "hash": "b" } }] }],
                },
            }))
        };
        let new = variant("sqlite", json!({ "synchronous": "FULL", "cache_size": -64000 }), json!({})).unwrap();
        assert_eq!(new["dimensions"], json!({ "sharing": "writer-readers(2)", "arm": "shared" }));
        assert_eq!((&new["vars"], new["invariants"].as_array().unwrap().len()), (&json!({ "access": 1 }), 1));
        let trial = &new["trial"];
        assert_eq!(
            (&trial["protocol"], &trial["sharing"]),
            (&json!(VERSION), &json!({ "kind": "writer-readers", "readers": 2 }))
        );
        assert_eq!(trial["transactions"][0]["statements"][0]["work"]["kind"], "verify");
        let sent = json!([
            { "name": "synchronous", "sql": "PRAGMA synchronous = full" }, { "name": "cache_size", "sql": "PRAGMA cache_size = -64000" },
        ]);
        assert_eq!(trial["connection"], json!({ "read_back": [], "options": { "arm": 1 }, "settings": sent }));
        assert_eq!(new["settings"][0]["expected"], json!({ "integer": 2 }));

        let new = variant("postgres", json!({}), json!({ "lock_timeout": "10s", "fsync": true })).unwrap();
        let sent = json!([{ "name": "lock_timeout", "sql": "SET SESSION lock_timeout = '10s'" }]);
        assert_eq!(new["trial"]["connection"]["settings"], sent);
        assert_eq!(new["settings"].as_array().unwrap().len(), 2);
        assert!(variant("sqlite", json!({ "made_up": 1 }), json!({})).unwrap_err().contains("made_up"));
    }
}
