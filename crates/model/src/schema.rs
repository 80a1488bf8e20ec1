//! JSON Schemas of the three file formats, for completion and validation in editors.

use crate::profile::Profile;
use crate::study::Study;
use crate::workload::Workload;

/// File names in `docs/schema/`, each with its schema.
#[must_use]
pub fn all() -> [(&'static str, serde_json::Value); 3] {
    [
        ("workload.json", schemars::schema_for!(Workload).to_value()),
        ("profile.json", schemars::schema_for!(Profile).to_value()),
        ("study.json", schemars::schema_for!(Study).to_value()),
    ]
}
