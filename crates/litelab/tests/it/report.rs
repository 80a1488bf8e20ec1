//! `litelab report` on a run of the real runner, which must be built.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::common::{ends, names, refused, run, said};

#[test]
fn a_page_lies_beside_its_run_or_where_it_is_told_and_nothing_else_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    ends(&run(dir, &["run", "smoke", "--rounds", "1", "--only", "processes,memory", "-o", "one.db"]), 0);
    let before = std::fs::read(dir.join("one.db")).unwrap();

    let told = ends(&run(dir, &["report", "one.db"]), 0);
    assert!(told.starts_with("one.html: ") && told.ends_with(" kB\n"), "{told}");
    let page = std::fs::read_to_string(dir.join("one.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
    assert!(page.contains("litelab run smoke --only memory --rounds 1 --seed 1"));
    let folder_name = dir.file_name().unwrap().to_str().unwrap();
    assert!(!page.contains(folder_name), "the path of the run file may name a person");
    // The permissions are those of any new file, not those of a temporary file.
    let mode = |name: &str| std::fs::metadata(dir.join(name)).unwrap().permissions().mode() & 0o777;
    std::fs::write(dir.join("any"), "").unwrap();
    assert_eq!(mode("one.html"), mode("any"));

    // A second report gives the same page, and an existing file is replaced with its permissions kept.
    std::fs::write(dir.join("two.html"), "old").unwrap();
    std::fs::set_permissions(dir.join("two.html"), std::fs::Permissions::from_mode(0o640)).unwrap();
    ends(&run(dir, &["report", "one.db", "-o", "two.html"]), 0);
    assert_eq!(std::fs::read_to_string(dir.join("two.html")).unwrap(), page);
    assert_eq!(mode("two.html"), 0o640);

    ends(&run(dir, &["report", "one.db", "--only", "memory", "-o", "three.html"]), 0);
    let part = std::fs::read_to_string(dir.join("three.html")).unwrap();
    assert!(part.contains("--only memory") && !part.contains("--only processes --rounds"));

    // A stored run without its series has a page, too.
    std::fs::copy(dir.join("one.db"), dir.join("stored.db")).unwrap();
    let removed = rusqlite::Connection::open(dir.join("stored.db")).unwrap().execute("DELETE FROM series", ()).unwrap();
    assert!(removed > 0);
    ends(&run(dir, &["report", "stored.db"]), 0);
    for name in ["stored.db", "stored.html"] {
        std::fs::remove_file(dir.join(name)).unwrap();
    }

    // Side by side, with a browser that is none.
    let mut browse = Command::new(env!("CARGO_BIN_EXE_litelab"));
    browse.args(["report", "one.db", "one.db", "-o", "pair.html", "--open"]).current_dir(dir);
    let output = browse.env("BROWSER", dir.join("no-browser")).env("PATH", "").output().unwrap();
    assert!(output.status.success());
    let warning = said(&output);
    assert!(warning.starts_with("warning: no browser found") && warning.contains("pair.html"), "{warning}");
    let pair = std::fs::read_to_string(dir.join("pair.html")).unwrap();
    assert!(pair.contains("litelab compare one.db one.db"));
    std::fs::remove_file(dir.join("pair.html")).unwrap();
    let line = refused(dir, &["report", "one.db", "one.db", "--splice", "any"]);
    assert!(line.contains("--splice takes one run"), "{line}");
    for (option, value, part) in [
        ("--only", "memori", "did you mean `memory`"),
        ("-o", "no/such/folder.html", "no/such/folder.html: it cannot be written: there is no folder no/such"),
        ("-o", "./one.db", "the run file itself"),
    ] {
        let line = refused(dir, &["report", "one.db", option, value]);
        assert!(line.contains(part), "`{part}` is not in: {line}");
    }
    assert_eq!(std::fs::read(dir.join("one.db")).unwrap(), before);
    assert_eq!(names(dir), ["any", "litelab-runs", "one.db", "one.html", "three.html", "two.html"]);
}
