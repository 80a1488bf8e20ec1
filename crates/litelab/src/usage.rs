//! A mistake on the command line as one line with its remedy.

use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use litelab_model::library::Kind;
use litelab_model::nearest;

/// Options that other programs or former versions have, and their replacement.
const ELSEWHERE: [(&str, &str); 2] = [
    ("--blocks", "the number of rounds is `--rounds N`"),
    ("--quiet", "results go to standard output, progress to standard error: hide it with `2>/dev/null`"),
];

/// The mistake and its remedy. Clap's own suggestions are replaced or dropped, because its measure suggests `--dir` for
/// `--driver` and `runners` for `rn`.
pub fn line(error: &clap::Error) -> String {
    let said = |kind| match error.get(kind) {
        Some(ContextValue::String(name)) => vec![name.clone()],
        Some(ContextValue::Strings(names)) => names.clone(),
        Some(ContextValue::StyledStr(text)) => vec![text.to_string()],
        Some(ContextValue::StyledStrs(texts)) => texts.iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    };
    let near = |given: &str, names: &[String]| {
        let bare = names.iter().map(|name| name.trim_start_matches('-'));
        let best = nearest(given.trim_start_matches('-'), bare)?;
        let best = names.iter().find(|name| name.trim_start_matches('-') == best)?;
        Some(format!("did you mean `{best}`?"))
    };
    let usage = said(ContextKind::Usage).concat();
    let words = usage.trim_start_matches("Usage:").split_whitespace().skip(1);
    let path: Vec<&str> = words.take_while(|word| !word.starts_with(['[', '<', '-'])).collect();
    let (what, given, remedy) = match error.kind() {
        ErrorKind::UnknownArgument => {
            let given = said(ContextKind::InvalidArg).concat();
            let elsewhere = ELSEWHERE.iter().find(|(name, _)| *name == given).map(|(_, instead)| (*instead).to_owned());
            // `--rounds` before the command: `'run --rounds' exists`.
            let exists = said(ContextKind::Suggested).into_iter().find(|text| text.ends_with("exists"));
            let remedy = elsewhere.or_else(|| near(&given, &said(ContextKind::SuggestedArg))).or(exists);
            ("unexpected argument", given, remedy)
        }
        ErrorKind::InvalidSubcommand => {
            let given = said(ContextKind::InvalidSubcommand).concat();
            let mut command = crate::Cli::command();
            for word in &path {
                command = command.find_subcommand(word).cloned().unwrap_or(command);
            }
            let names: Vec<String> = command.get_subcommands().map(|c| c.get_name().to_owned()).collect();
            let remedy = near(&given, &names).or_else(|| of_a_name(&given));
            ("unknown command", given, remedy)
        }
        _ => {
            let text = error.render().to_string();
            let end = text.find("\n\nUsage:").or_else(|| text.find("\n\nFor more")).unwrap_or(text.len());
            return text[..end].trim_start_matches("error: ").replace("\n\n  tip: ", "; ");
        }
    };
    let remedy = remedy.unwrap_or_else(|| format!("see `{} --help`", [&["litelab"], &path[..]].concat().join(" ")));
    format!("{what} `{given}`: {remedy}")
}

/// The command for a study or a run file that stands in the place of a command.
fn of_a_name(name: &str) -> Option<String> {
    if name.ends_with(".toml") || Kind::Study.built_in().contains(&name) {
        return Some(format!("a study is run by `litelab run {name}`"));
    }
    name.ends_with(".db").then(|| format!("a run file is shown by `litelab show {name}`"))
}
