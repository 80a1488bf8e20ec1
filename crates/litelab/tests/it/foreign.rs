//! A program copied into a foreign folder, or started from one, executes no file of that folder.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::common;

#[test]
fn runners_of_a_foreign_folder_are_never_executed() {
    let folder = tempfile::tempdir().unwrap();
    let runner = folder.path().join("runners/evil");
    std::fs::create_dir_all(&runner).unwrap();
    std::fs::create_dir_all(folder.path().join("crates/runner")).unwrap();
    std::fs::write(folder.path().join("crates/runner/runner.toml"), "").unwrap();
    let manifest = "name = \"evil\"\nlanguage = \"sh\"\ndrivers = [\"evil\", \"noop\"]\ncommand = [\"./r.sh\"]\n";
    std::fs::write(runner.join("runner.toml"), manifest).unwrap();
    std::fs::write(runner.join("r.sh"), "#!/bin/sh\ntouch \"$(dirname \"$0\")/executed\"\n").unwrap();
    std::fs::set_permissions(runner.join("r.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();

    let own = Path::new(env!("CARGO_BIN_EXE_litelab"));
    let copy = common::installed(folder.path());
    for program in [own, &copy] {
        for arguments in [&["runners", "list"][..], &["run", "smoke", "--driver", "evil", "--dry-run"]] {
            let output = Command::new(program)
                .args(arguments)
                .current_dir(folder.path())
                .env("XDG_CACHE_HOME", folder.path().join("cache"))
                .output()
                .unwrap();
            let text = common::both(&output);
            assert_eq!(output.status.code(), Some(if arguments[0] == "run" { 2 } else { 0 }), "{text}");
            assert!(!runner.join("executed").exists(), "{}: {arguments:?}", program.display());
            assert!(!text.contains("evil") || text.contains("unknown driver `evil`"), "{text}");
        }
    }
}
