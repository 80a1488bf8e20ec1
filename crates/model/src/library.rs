//! Lookup of workloads, profiles and studies: a path given by the user, or a name built into the program.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};
use serde::de::DeserializeOwned;

use crate::error::{ModelError, nearest};
use crate::profile::Profile;
use crate::study::Study;
use crate::workload::Workload;

static WORKLOADS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../workloads");
static PROFILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../profiles");
static STUDIES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../studies");

/// Largest file that is read, in bytes: a device such as `/dev/zero` has no end.
const LARGEST: u64 = 64 << 20;

/// A kind of definition file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A workload, `workloads/*.toml`.
    Workload,
    /// A profile, `profiles/*.toml`.
    Profile,
    /// A study, `studies/*.toml`.
    Study,
}

/// The text of a definition file and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// Path as the user gave it, or `built-in studies/NAME.toml`.
    pub file: String,
    /// Directory against which names in the file are resolved; `None` for built-in files.
    pub directory: Option<PathBuf>,
    /// Content of the file.
    pub toml: String,
}

impl Kind {
    /// The name, its plural, and the built-in files.
    fn parts(self) -> (&'static str, &'static str, &'static Dir<'static>) {
        match self {
            Self::Workload => ("workload", "workloads", &WORKLOADS),
            Self::Profile => ("profile", "profiles", &PROFILES),
            Self::Study => ("study", "studies", &STUDIES),
        }
    }

    /// The name of the kind: `workload`, `profile` or `study`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.parts().0
    }

    /// Names of the built-in files, sorted.
    #[must_use]
    pub fn built_in(self) -> Vec<&'static str> {
        let mut names: Vec<&str> = self
            .parts()
            .2
            .files()
            .filter(|f| f.path().extension().is_some_and(|e| e == "toml"))
            .filter_map(|f| f.path().file_stem()?.to_str())
            .collect();
        names.sort_unstable();
        names
    }

    /// Reads a file by path or built-in name.
    ///
    /// `name` is a path if it ends in `.toml` or contains a separator. A relative path is resolved against `beside`,
    /// the directory of the file that refers to it.
    ///
    /// # Errors
    /// When the file cannot be read, or the built-in name is unknown (with the nearest name).
    pub fn find(self, name: &str, beside: Option<&Path>) -> Result<Text, ModelError> {
        let looks_like_path = name.ends_with(".toml") || name.contains('/') || name.contains('\\');
        if looks_like_path {
            let path = beside.map_or_else(|| PathBuf::from(name), |dir| dir.join(name));
            let toml = read(&path, beside.is_none()).map_err(|e| {
                ModelError::new(path.display().to_string(), format!("cannot read the {}: {e}", self.name()))
            })?;
            let directory = path.parent().map(Path::to_path_buf);
            return Ok(Text { file: path.display().to_string(), directory, toml });
        }
        let file = format!("{name}.toml");
        let (kind, plural, dir) = self.parts();
        match dir.get_file(&file).and_then(|f| f.contents_utf8()) {
            Some(toml) => {
                Ok(Text { file: format!("built-in {plural}/{file}"), directory: None, toml: toml.to_owned() })
            }
            None => {
                let known = match nearest(name, self.built_in()) {
                    Some(best) => format!("did you mean `{best}`?"),
                    None => format!("there are {}.", self.built_in().join(", ")),
                };
                Err(ModelError::new(
                    name,
                    format!(
                        "no built-in {kind} has this name: {known} A {kind} of your own is named by its path, ending in .toml"
                    ),
                ))
            }
        }
    }
}

/// Reads a file. A file that another file names must be regular, because a pipe may never have a writer; a file that
/// the user names may be a pipe.
fn read(path: &Path, named_by_user: bool) -> io::Result<String> {
    let about = std::fs::metadata(path)?;
    if !named_by_user && !about.is_file() && !about.is_dir() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut text = String::new();
    let length = File::open(path)?.take(LARGEST + 1).read_to_string(&mut text)?;
    if length as u64 > LARGEST {
        return Err(io::Error::other(format!("it is larger than {} MiB", LARGEST >> 20)));
    }
    Ok(text)
}

/// Parses the text of a file.
///
/// # Errors
/// If the text is not a valid file of this type, with the position, and with the nearest known key for an unknown one.
pub fn parse<T: DeserializeOwned>(text: &Text) -> Result<T, ModelError> {
    toml::from_str(&text.toml).map_err(|e| ModelError::from_toml(&text.file, &text.toml, &e))
}

/// Finds and parses a workload.
///
/// # Errors
/// The errors of [`Kind::find`] and [`parse`].
pub fn workload(name: &str, beside: Option<&Path>) -> Result<(Workload, Text), ModelError> {
    let text = Kind::Workload.find(name, beside)?;
    Ok((parse(&text)?, text))
}

/// Finds and parses a profile.
///
/// # Errors
/// The errors of [`Kind::find`] and [`parse`].
pub fn profile(name: &str, beside: Option<&Path>) -> Result<(Profile, Text), ModelError> {
    let text = Kind::Profile.find(name, beside)?;
    Ok((parse(&text)?, text))
}

/// Finds and parses a study.
///
/// # Errors
/// The errors of [`Kind::find`] and [`parse`].
pub fn study(name: &str) -> Result<(Study, Text), ModelError> {
    let text = Kind::Study.find(name, None)?;
    Ok((parse(&text)?, text))
}
