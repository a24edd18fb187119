//! `.cargo/cuda-oxide.toml`: a project's settings for cuda-oxide.
//!
//! Input: the folder of a workspace. Output: the keys that concern a build; `cargo oxide` reads the
//! same file.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::ExitCode;
use toml::{Table, Value};

use gpuprof_system::error::{Failure, Result};

/// The path from the workspace's root.
const FILE: &str = ".cargo/cuda-oxide.toml";

/// The settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Project {
    /// The backend.
    pub(super) backend: Option<Utf8PathBuf>,
    /// The target of device code, above all other settings.
    pub(super) default_arch: Option<String>,
    /// More flags for rustc.
    pub(super) flags: Vec<String>,
    /// Variables that are set unless they are.
    pub(super) environment: Vec<(String, String)>,
}

impl Project {
    /// Reads the file of the workspace in `root`, if it has one.
    ///
    /// # Errors
    /// It cannot be read, or is not valid (exit code 101).
    pub(super) fn read(root: &Utf8Path) -> Result<Self> {
        let path = root.join(FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(e) => return Err(wrong(&path, &e.to_string())),
        };
        Self::parse(&text, path.parent().unwrap_or(root)).map_err(|why| wrong(&path, &why))
    }

    fn parse(text: &str, folder: &Utf8Path) -> std::result::Result<Self, String> {
        let table: Table = text.parse().map_err(|e: toml::de::Error| e.to_string())?;
        let one = |key: &str| match table.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!("`{key}` is not a text in quotes")),
        };
        let text = |value: &Value, key: &str| {
            value.as_str().map(str::to_owned).ok_or_else(|| format!("`{key}` is not a string"))
        };
        let flags = match table.get("extra-rustflags") {
            None => Vec::new(),
            Some(Value::Array(all)) => {
                all.iter().map(|it| text(it, "extra-rustflags")).collect::<Result<_, _>>()?
            }
            Some(_) => return Err("`extra-rustflags` is not a list".to_owned()),
        };
        let environment = match table.get("env") {
            None => Vec::new(),
            Some(Value::Table(all)) => {
                let pair = |(key, value): (&String, &Value)| Ok((key.clone(), text(value, key)?));
                all.iter().map(pair).collect::<Result<_, String>>()?
            }
            Some(_) => return Err("`env` is not a table".to_owned()),
        };
        Ok(Self {
            backend: one("backend")?.map(|path| folder.join(path)),
            default_arch: one("default-arch")?,
            flags,
            environment,
        })
    }
}

fn wrong(path: &Utf8Path, why: &str) -> Failure {
    Failure::new(ExitCode::BuildFailed, format!("{path}, which cuda-oxide reads: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> std::result::Result<Project, String> {
        Project::parse(text, "/w/.cargo".into())
    }

    #[test]
    fn every_key_of_a_build_is_read() {
        let text = "backend = \"../b.so\"\ndefault-arch = \"sm_90\"\nextra-rustflags = [\"-g\"]\n\
                    other = 1\n[env]\nCUDA_OXIDE_NO_FMA = \"1\"\n";
        assert_eq!(
            read(text).unwrap(),
            Project {
                backend: Some("/w/.cargo/../b.so".into()),
                default_arch: Some("sm_90".into()),
                flags: vec!["-g".into()],
                environment: vec![("CUDA_OXIDE_NO_FMA".into(), "1".into())],
            }
        );
        assert_eq!(read("").unwrap(), Project::default());
    }

    #[test]
    fn invalid_values_are_reported_with_their_key() {
        assert_eq!(read("backend = 1").unwrap_err(), "`backend` is not a text in quotes");
        assert_eq!(read("extra-rustflags = 1").unwrap_err(), "`extra-rustflags` is not a list");
        assert_eq!(read("[env]\nA = 1").unwrap_err(), "`A` is not a string");
    }
}
