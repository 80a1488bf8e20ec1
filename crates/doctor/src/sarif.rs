//! Findings in SARIF 2.1.0 (<https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>), which code scanning
//! services read.

use litelab_database::source::PATH;
use percent_encoding::utf8_percent_encode;
use serde_json::{Value, json};

use crate::judge::Finding;
use crate::rule::Rule;

/// A SARIF log with one run. `file` is the path that findings without a file of their own refer to, `statements` the
/// path of the file of statements.
#[must_use]
pub fn log(rules: &[Rule], findings: &[Finding], version: &str, file: &str, statements: Option<&str>) -> Value {
    let used: Vec<&Rule> = rules.iter().filter(|rule| findings.iter().any(|finding| finding.rule == rule.id)).collect();
    let descriptions: Vec<Value> = used
        .iter()
        .map(|rule| {
            json!({
                "id": rule.id,
                "name": rule.title,
                "shortDescription": { "text": rule.title },
                "fullDescription": { "text": rule.because },
                // Code scanning shows it beside the alert.
                "help": {
                    "text": format!("{} Source: {}", rule.because, rule.source),
                    "markdown": format!("{} [Source]({})", rule.because, rule.source),
                },
                "helpUri": rule.source,
                "defaultConfiguration": { "level": rule.severity.name() },
            })
        })
        .collect();
    let results: Vec<Value> = findings
        .iter()
        .map(|finding| {
            let path = finding.line.and(statements).unwrap_or(file);
            json!({
                "ruleId": finding.rule,
                "ruleIndex": used.iter().position(|rule| rule.id == finding.rule),
                "level": finding.severity.name(),
                "message": { "text": format!("{}. {} Fix: {}", finding.message, finding.because, finding.fix) },
                "locations": [{
                    "physicalLocation": {
                        "artifactLocation": { "uri": utf8_percent_encode(path, PATH).to_string() },
                        "region": { "startLine": finding.line.unwrap_or(1) },
                    },
                    "logicalLocations": [{ "fullyQualifiedName": finding.about }],
                }],
                // Findings about the same thing are one alert over several runs.
                "partialFingerprints": { "litelab/v1": format!("{}:{}", finding.rule, finding.about) },
            })
        })
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "litelab", "version": version, "rules": descriptions } },
            "results": results,
        }],
    })
}
