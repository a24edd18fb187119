//! A library that is named on the command line.

use std::path;

use camino::Utf8PathBuf;

/// The library `text`, as processes in other folders find it: a path from the root if it has
/// folders or exists, else a bare name for the linker.
///
/// # Errors
/// It names nothing.
pub fn library(text: &str) -> Result<Utf8PathBuf, String> {
    if text.is_empty() {
        return Err("the path is empty; leave it out to search the usual places".to_owned());
    }
    let named = Utf8PathBuf::from(text);
    if !text.contains('/') && !named.exists() {
        return Ok(named);
    }
    let found =
        path::absolute(&named).map_err(|e| format!("cannot make it an absolute path: {e}"))?;
    Utf8PathBuf::from_path_buf(found).map_err(|path| format!("{} is not UTF-8", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_library_paths_become_absolute() {
        let here = std::env::current_dir().unwrap();
        let found = |text: &str| library(text).unwrap().into_std_path_buf();
        assert_eq!(found("libnvidia-ml.so.1"), path::Path::new("libnvidia-ml.so.1"));
        assert_eq!(found("./lib/nvml.so"), here.join("lib/nvml.so"));
        assert_eq!(found("/usr/lib/nvml.so"), path::Path::new("/usr/lib/nvml.so"));
        assert_eq!(found("src"), here.join("src"), "a folder that is here");
        assert!(library("").unwrap_err().contains("leave it out"));
    }
}
