//! JSON Schemas of the three file formats, so that editors complete and check them.

use crate::profile::Profile;
use crate::study::Study;
use crate::workload::Workload;

/// Name of the file in `docs/schema/` and its content.
#[must_use]
pub fn all() -> [(&'static str, serde_json::Value); 3] {
    [
        ("workload.json", schemars::schema_for!(Workload).to_value()),
        ("profile.json", schemars::schema_for!(Profile).to_value()),
        ("study.json", schemars::schema_for!(Study).to_value()),
    ]
}
