//! A mistake on the command line as one line with its remedy.

use clap::error::{ContextKind, ErrorKind};
use clap::{Arg, Command, CommandFactory as _};
use litelab_model::library::Kind;
use litelab_model::nearest;

/// Answer to `--quiet`, which other programs have; the nearest name is `--quick`.
const QUIET: &str = "results go to standard output, progress to standard error: hide it with `2>/dev/null`";

/// The mistake and its remedy. Clap's own suggestions of names are not used, because its measure suggests `--dir` for
/// `--driver` and `runners` for `rn`.
pub fn line(error: &clap::Error) -> String {
    let text = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    let usage = text(ContextKind::Usage);
    let words = usage.trim_start_matches("Usage:").split_whitespace().skip(1);
    let path: Vec<&str> = words.take_while(|word| !word.starts_with(['[', '<', '-'])).collect();
    let help = format!("see `{} --help`", [&["litelab"], &path[..]].concat().join(" "));
    let mut command = crate::Cli::command();
    for word in &path {
        command = command.find_subcommand(word).cloned().unwrap_or(command);
    }
    let (what, given, remedy) = match error.kind() {
        ErrorKind::UnknownArgument => {
            let given = text(ContextKind::InvalidArg);
            let quiet = (given == "--quiet").then(|| QUIET.to_owned());
            let near = || {
                let bare = given.strip_prefix("--")?;
                if let Some(best) = nearest(bare, command.get_arguments().filter_map(Arg::get_long)) {
                    return Some(format!("did you mean `--{best}`?"));
                }
                // An option before the command it belongs to.
                let has = |of: &&Command| of.get_arguments().any(|option| option.get_long() == Some(bare));
                Some(format!("`{} {given}` has it", command.get_subcommands().find(has)?.get_name()))
            };
            let remedy = quiet.or_else(near);
            ("unexpected argument", given.clone(), remedy)
        }
        ErrorKind::InvalidSubcommand => {
            let given = text(ContextKind::InvalidSubcommand);
            let near = nearest(&given, command.get_subcommands().map(Command::get_name));
            let remedy = near.map(|best| format!("did you mean `{best}`?")).or_else(|| of_a_name(&given));
            ("unknown command", given, remedy)
        }
        kind => {
            let text = error.render().to_string();
            let end = text.find("\n\nUsage:").or_else(|| text.find("\n\nFor more")).unwrap_or(text.len());
            let text = text[..end].trim_start_matches("error: ").replace("\n\n  tip: ", "; ");
            return if kind == ErrorKind::MissingRequiredArgument { format!("{text}; {help}") } else { text };
        }
    };
    format!("{what} `{given}`: {}", remedy.unwrap_or(help))
}

/// The command for a study or a run file that stands in the place of a command.
fn of_a_name(name: &str) -> Option<String> {
    if name.ends_with(".toml") || Kind::Study.built_in().contains(&name) {
        return Some(format!("a study is run by `litelab run {name}`"));
    }
    name.ends_with(".db").then(|| format!("a run file is shown by `litelab show {name}`"))
}
