//! The JSON files written by `fixtures/generate.py`.

use litelab_stats::UslPoint;
use serde::Deserialize;
use serde::de::DeserializeOwned;

#[derive(Deserialize)]
struct File<Case> {
    cases: Vec<Case>,
}

/// Low end, high end and coverage of an interval.
pub type Triple = [f64; 3];

#[derive(Deserialize)]
pub struct MedianCase {
    pub sample: Vec<f64>,
    pub median: f64,
    pub intervals: Vec<(f64, Option<Triple>)>,
    pub mad: f64,
    pub sd: Option<f64>,
    pub quantiles: Vec<(f64, f64)>,
}

#[derive(Deserialize)]
pub struct OrderStatisticCase {
    pub n: u32,
    pub confidence: f64,
    pub interval: Option<Triple>,
}

#[derive(Deserialize)]
pub struct RatioCase {
    pub note: String,
    pub confidence: f64,
    #[serde(default)]
    pub rounds: Vec<(f64, f64)>,
    #[serde(default)]
    pub a: Vec<f64>,
    #[serde(default)]
    pub b: Vec<f64>,
    pub ratio: f64,
    pub checks_interval: bool,
    pub interval: Option<Triple>,
    pub p_value: f64,
}

#[derive(Deserialize)]
pub struct UslCase {
    pub points: Vec<UslPoint>,
    pub lambda: f64,
    pub sigma: f64,
    pub kappa: f64,
    pub t: f64,
    pub standard_errors: [f64; 3],
}

/// The test cases of one file.
pub fn load<Case: DeserializeOwned>(name: &str) -> Vec<Case> {
    let path = format!("{}/tests/fixtures/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let file: File<Case> = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert!(!file.cases.is_empty(), "{path} is empty");
    file.cases
}
