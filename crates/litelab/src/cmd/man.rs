//! `litelab man DIR`: writes man pages.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::CommandFactory;

use crate::exit::Exit;

#[derive(clap::Args)]
pub struct Args {
    /// Folder to write into; created if missing
    dir: PathBuf,
}

/// Writes one page for the command and one for each sub-command that `--help` lists, at every level.
pub fn run(args: &Args) -> Result<Exit> {
    write(&args.dir).with_context(|| format!("cannot write man pages into {}", args.dir.display()))?;
    Ok(Exit::Ok)
}

fn write(dir: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    clap_mangen::generate_to(crate::Cli::command(), dir)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::*;

    /// Names of the pages that `command` must have: its own and those of its sub-commands.
    fn expected(command: &clap::Command, name: &str, pages: &mut BTreeSet<String>) {
        pages.insert(format!("{name}.1"));
        for child in command.get_subcommands().filter(|c| !c.is_hide_set()) {
            expected(child, &format!("{name}-{}", child.get_name()), pages);
        }
    }

    #[test]
    fn every_listed_command_has_a_page_and_a_hidden_one_has_none() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let dir = folder.path().join("man1");
        write(&dir)?;
        let mut written = BTreeSet::new();
        for entry in std::fs::read_dir(&dir)? {
            written.insert(entry?.file_name().to_string_lossy().into_owned());
        }
        let mut pages = BTreeSet::new();
        expected(&crate::Cli::command(), "litelab", &mut pages);
        assert_eq!(written, pages);
        assert!(written.contains("litelab-runners-check.1") && !written.contains("litelab-man.1"), "{written:?}");
        Ok(())
    }

    #[test]
    fn a_page_has_the_options_and_examples_of_help() -> Result<()> {
        let dir = tempfile::tempdir()?;
        write(dir.path())?;
        let run = std::fs::read_to_string(dir.path().join("litelab-run.1"))?;
        assert!(run.contains(".TH") && run.contains("rounds"), "{run}");
        let litelab = std::fs::read_to_string(dir.path().join("litelab.1"))?;
        assert!(litelab.contains("Exit codes") && litelab.contains(env!("CARGO_PKG_VERSION")), "{litelab}");
        Ok(())
    }
}
