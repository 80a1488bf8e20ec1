//! No input panics: studies, workloads and profiles with parts removed, doubled or replaced either resolve or are
//! refused in one line. That the unchanged studies resolve, so that the mutations reach further than the TOML parser, is a
//! test of `built_in`.

use litelab_model::library::{self, Kind, Text};
use litelab_model::profile::Profile;
use litelab_model::study::Study;
use litelab_model::workload::Workload;
use litelab_model::{ModelError, Options, resolve};
use proptest::prelude::*;

fn built_in(kind: Kind) -> Vec<String> {
    kind.built_in().iter().map(|name| kind.find(name, None).expect("built in").toml).collect()
}

/// Replacements for parts of a text.
const WORDS: [&str; 22] = [
    "-1",
    "0",
    "1e309",
    "nan",
    "9223372036854775807",
    "\"\"",
    "\"$\"",
    "\"$x\"",
    "\"((((\"",
    "[]",
    "{}",
    "true",
    "[[",
    "]]",
    "=",
    "\n",
    "\"5s\"",
    "\"pool(0)\"",
    "\"é\"",
    "name",
    "[scenario.role.x]",
    "\u{0}",
];

/// Removes, doubles or replaces parts of a text, at character boundaries.
fn mutate(text: &str, edits: &[(usize, usize, usize)]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for &(at, len, what) in edits {
        if chars.is_empty() {
            break;
        }
        let start = at % chars.len();
        let end = (start + len).min(chars.len());
        let middle: Vec<char> = match what % (WORDS.len() + 2) {
            0 => Vec::new(),
            1 => chars[start..end].iter().chain(&chars[start..end]).copied().collect(),
            n => WORDS[n - 2].chars().collect(),
        };
        chars.splice(start..end, middle);
    }
    chars.into_iter().collect()
}

fn text(toml: String) -> Text {
    Text { file: "x.toml".into(), directory: None, toml }
}

fn one_line(error: &ModelError) {
    let line = error.to_string();
    assert!(!line.contains('\n') && line.len() > 8, "{line:?}");
}

fn resolves_or_not(text: &Text, options: &Options) {
    let plan = library::parse::<Study>(text).and_then(|study| resolve::resolve(&study, text, options));
    plan.err().iter().for_each(one_line);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn studies(pick in any::<usize>(), edits in prop::collection::vec((any::<usize>(), 0_usize..40, any::<usize>()), 0..6), quick: bool) {
        let all = built_in(Kind::Study);
        let text = text(mutate(&all[pick % all.len()], &edits));
        resolves_or_not(&text, &Options { quick, aa: true, ..Options::default() });
    }

    #[test]
    fn workloads(pick in any::<usize>(), edits in prop::collection::vec((any::<usize>(), 0_usize..40, any::<usize>()), 0..6)) {
        let all = built_in(Kind::Workload);
        let toml = mutate(&all[pick % all.len()], &edits);
        if let Err(e) = library::parse::<Workload>(&text(toml.clone())) {
            one_line(&e);
            return Ok(());
        }
        // A study that uses every transaction of the workload.
        let folder = tempfile::tempdir().expect("folder");
        std::fs::write(folder.path().join("w.toml"), &toml).expect("write");
        let workload: Workload = library::parse(&text(toml)).expect("parsed before");
        let run: Vec<_> = workload.transactions.keys().map(|k| format!("{k:?}")).collect();
        let study = format!(
            "name = \"x\"\ntitle = \"x\"\n[[scenario]]\nname = \"s\"\nworkload = \"w.toml\"\nrole.r = {{ run = [{}], count = 1 }}\n",
            run.join(", ")
        );
        let text = Text { directory: Some(folder.path().to_path_buf()), ..text(study) };
        resolves_or_not(&text, &Options::default());
    }

    #[test]
    fn profiles(pick in any::<usize>(), edits in prop::collection::vec((any::<usize>(), 0_usize..20, any::<usize>()), 0..5)) {
        let all = built_in(Kind::Profile);
        let text = text(mutate(&all[pick % all.len()], &edits));
        let checked = library::parse::<Profile>(&text).and_then(|p| resolve::check_profile(&p, &text, None));
        checked.err().iter().for_each(one_line);
    }
}
