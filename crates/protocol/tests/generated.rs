//! The schemas and vectors for other languages match the Rust types and functions of this crate. `LITELAB_BLESS=1 cargo
//! test -p litelab-protocol` rewrites them.

use std::path::Path;

use litelab_protocol::draw::Drawer;
use litelab_protocol::generator::{Stream, fnv1a64};
use litelab_protocol::histogram::Histogram;
use litelab_protocol::{Description, Inspect, Inspection, Message, Param, Source, Table, Trial};
use serde_json::{Value, json};

fn check(name: &str, now: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let text = format!("{now:#}\n");
    if std::env::var_os("LITELAB_BLESS").is_some() {
        std::fs::write(&path, &text).expect("write");
    }
    let on_disk = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(on_disk, text, "{name} is out of date: LITELAB_BLESS=1 cargo test -p litelab-protocol");
}

#[test]
fn schemas_are_current() {
    for (name, schema) in [
        ("trial", schemars::schema_for!(Trial)),
        ("line", schemars::schema_for!(Message)),
        ("description", schemars::schema_for!(Description)),
        ("inspect", schemars::schema_for!(Inspect)),
        ("inspection", schemars::schema_for!(Inspection)),
    ] {
        check(&format!("schema/{name}.json"), &schema.to_value());
    }
}

fn params() -> Vec<Param> {
    let param = |name: &str, source| Param { name: name.into(), source };
    vec![
        param("rand", Source::Hex { bytes: 8 }),
        param("hash", Source::Sha256Of { param: 0 }),
        param("odd", Source::Hex { bytes: 13 }),
        param("small", Source::Uniform { low: 1, high: 200 }),
        param("wide", Source::Uniform { low: -4_503_599_627_370_496, high: 4_503_599_627_370_495 }),
        param("kind", Source::Choice { values: vec![json!("fetch"), json!(7), json!(null), json!(2.5)] }),
        param("text", Source::Text { chars: 23 }),
        param("text_hash", Source::Sha256Of { param: 6 }),
        param(
            "hot",
            Source::Table(Table {
                cut: vec![1 << 51, 3 << 51, 1 << 53],
                low: vec![1, 2, 10],
                width: vec![1, 8, 1_000_000],
            }),
        ),
        param("id", Source::Sequence { start: 1_000, step: 3 }),
        param("who", Source::Worker),
        param("name", Source::Format { template: "w{worker}_task_{row}".into() }),
        param("name_hash", Source::Sha256Of { param: 11 }),
        param("fixed", Source::Value { value: json!("ünïcode") }),
        param("fixed_hash", Source::Sha256Of { param: 13 }),
        param("number_hash", Source::Sha256Of { param: 9 }),
        param("nothing", Source::Value { value: json!(null) }),
    ]
}

#[test]
fn vectors_are_current() {
    let rows = [0_u64, 1, 2, 999, 4_294_967_296, 9_007_199_254_740_991];
    let seeds = [0_u64, 1, 20_261_120, 9_007_199_254_740_991];
    let words: Vec<Value> = seeds
        .iter()
        .flat_map(|&seed| {
            rows.iter().map(move |&row| {
                let stream = Stream::new(seed, "generate.rand");
                // Words exceed 2^53, so that they are written as hex digits.
                let words: Vec<String> = (0..3).map(|i| format!("{:016x}", stream.word_at(row, i))).collect();
                json!({"seed": seed, "stream": "generate.rand", "row": row, "words": words})
            })
        })
        .collect();
    let params = params();
    let draws: Vec<Value> = seeds
        .iter()
        .flat_map(|&seed| rows.iter().filter(|&&row| row < 1 << 50).map(move |&row| (seed, row)))
        .map(|(seed, row)| {
            let drawer = Drawer::new(seed, "vector", &params, 3);
            let values: Vec<Value> = (0..params.len()).map(|i| drawer.draw(i, row).to_json()).collect();
            json!({"seed": seed, "row": row, "worker": 3, "values": values})
        })
        .collect();
    let hashes: Vec<Value> = ["", "a", "generate.rand", "ünïcode.ß"]
        .iter()
        .map(|name| json!({"name": name, "fnv1a64": format!("{:016x}", fnv1a64(name.as_bytes()))}))
        .collect();
    check(
        "vectors/generator.json",
        &json!({"streams": hashes, "words": words, "transaction": "vector", "params": params, "draws": draws}),
    );
}

#[test]
fn the_histogram_vector_decodes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/histogram.json");
    let values: Vec<u64> = (0..1_000).map(|i| 100 + i * i * 37).chain([0, 1, 2_000_000_000]).collect();
    let mut histogram = Histogram::new();
    values.iter().for_each(|&v| histogram.record(v));
    // The bytes depend on the deflate library, so that the file keeps one encoding and the test compares its content.
    if std::env::var_os("LITELAB_BLESS").is_some() {
        let quantiles: Vec<Value> =
            [0.5, 0.9, 0.95, 0.99, 0.999, 1.0].iter().map(|&q| json!([q, histogram.quantile(q)])).collect();
        let vector = json!({"values": values, "encoded": histogram.encode(), "quantiles": quantiles});
        std::fs::write(&path, format!("{vector}\n")).expect("write");
    }
    let vector: Value = serde_json::from_str(&std::fs::read_to_string(&path).expect("vector")).expect("JSON");
    let decoded = Histogram::decode(vector["encoded"].as_str().expect("text")).expect("decodes");
    assert_eq!(decoded, histogram);
    for pair in vector["quantiles"].as_array().expect("list") {
        assert_eq!(decoded.quantile(pair[0].as_f64().expect("number")), pair[1].as_u64());
    }
}
