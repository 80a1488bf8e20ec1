//! The tables of rules in `docs/guides` are those of the rules. `LITELAB_BLESS=1` writes them.

use std::path::Path;

use litelab_doctor::{Rule, rule};

const BEGIN: &str = "<!-- rules -->\n";
const END: &str = "<!-- /rules -->";

/// Compares the table of a page, or writes it. `about` makes the cell that only one of the tables has.
fn is_up_to_date(page: &str, head: &str, rules: &[Rule], about: impl Fn(&Rule) -> String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides").join(page);
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (table, after) = rest.split_once(END).unwrap();
    let mut expected = head.to_owned();
    for rule in rules {
        let cell = |text: &str| text.replace('|', "\\|");
        expected.push_str(&format!(
            "| [{}]({}) |{} {} | {} | {} |\n",
            rule.id,
            rule.source,
            about(rule),
            rule.severity.name(),
            cell(&rule.title),
            cell(&rule.because),
        ));
    }
    if std::env::var_os("LITELAB_BLESS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{expected}{END}{after}")).unwrap();
    } else {
        assert_eq!(table, expected, "run LITELAB_BLESS=1 cargo test -p litelab-doctor");
    }
}

#[test]
fn the_tables_of_rules_are_up_to_date() {
    let head = "| rule | about | severity | finds | because |\n|---|---|---|---|---|\n";
    is_up_to_date("doctor.md", head, &rule::all().unwrap(), |rule| {
        format!(" {} |", serde_json::to_value(rule.about).unwrap().as_str().unwrap())
    });
    let head = "| rule | severity | finds | because |\n|---|---|---|---|\n";
    is_up_to_date("watch.md", head, &rule::events().unwrap(), |_| String::new());
}
