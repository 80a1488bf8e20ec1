//! All built-in files are valid: studies resolve at both scales, names match file names, and schemas are current.

use std::path::Path;

use litelab_model::library::{self, Kind};
use litelab_model::{Options, resolve};

use crate::support::dialects;

#[test]
fn every_study_resolves_at_both_scales() {
    let names = Kind::Study.built_in();
    assert!(names.contains(&"first-look") && names.contains(&"sqlite3perf"), "{names:?}");
    for name in names {
        for quick in [false, true] {
            let (study, text) = library::study(name).unwrap();
            let options = Options { quick, aa: true, dialects: dialects(), ..Options::default() };
            let plan = resolve::resolve(&study, &text, &options).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(plan.study, name);
            assert!(plan.variants.len() > plan.scenarios.len(), "{name}: an A/A variant for each scenario");
            assert_eq!(plan.claims.len() + plan.left_out.len(), study.claims.len());
            assert!(quick || plan.left_out.is_empty(), "{name}: {:?}", plan.left_out);
            assert_eq!(plan.findings.len(), study.findings.len());
            let json = serde_json::to_string(&plan).unwrap();
            let back: litelab_model::Plan = serde_json::from_str(&json).unwrap();
            assert_eq!(back, plan, "a plan survives its file");
        }
    }
}

#[test]
fn names_are_those_of_the_files() {
    for name in Kind::Workload.built_in() {
        assert_eq!(library::workload(name, None).unwrap().0.name, name);
    }
    for name in Kind::Profile.built_in() {
        assert_eq!(library::profile(name, None).unwrap().0.name, name);
    }
}

#[test]
fn the_published_schemas_are_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    for (file, schema) in litelab_model::schema::all() {
        let (path, text) = (folder.join(file), format!("{schema:#}\n"));
        if std::env::var_os("LITELAB_BLESS").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, &text).unwrap();
        }
        let on_disk = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(on_disk, text, "docs/schema/{file} is out of date: LITELAB_BLESS=1 cargo test -p litelab-model");
    }
}
