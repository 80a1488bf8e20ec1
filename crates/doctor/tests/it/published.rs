//! The table of rules in `docs/guides/doctor.md` is that of the rules. `LITELAB_BLESS=1` writes it.

use std::path::Path;

use litelab_doctor::rule;

const BEGIN: &str = "<!-- rules -->\n";
const END: &str = "<!-- /rules -->";

#[test]
fn the_table_of_rules_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/doctor.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (table, after) = rest.split_once(END).unwrap();
    let mut expected = String::from("| rule | about | severity | finds | because |\n|---|---|---|---|---|\n");
    for rule in rule::all().unwrap() {
        let about = serde_json::to_value(rule.about).unwrap();
        let cell = |text: &str| text.replace('|', "\\|");
        expected.push_str(&format!(
            "| [{}]({}) | {} | {} | {} | {} |\n",
            rule.id,
            rule.source,
            about.as_str().unwrap(),
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
