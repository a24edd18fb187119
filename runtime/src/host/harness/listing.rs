//! The harness under cargo, libtest's users or nextest: it lists, and does nothing else.
//!
//! Names are configuration keys and round-trip through `--exact`. Without the runner there is no
//! PTX to launch, so every selected configuration is *ignored*, which is neither a pass nor a
//! failure.

use std::io::{self, Write};

use gpuprof_model::ParseError;

use crate::host::registry::{self, HarnessTarget};

/// The part of libtest's command line that the harness understands.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Options {
    list: bool,
    terse: bool,
    exact: bool,
    ignored: bool,
    filters: Vec<String>,
    skip: Vec<String>,
}

impl Options {
    /// Reads libtest's arguments; those without meaning here are accepted and dropped.
    ///
    /// # Errors
    /// An option that libtest does not have, or one without its value.
    pub(crate) fn parse(args: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::default();
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            let (name, attached) = match arg.split_once('=') {
                Some((name, value)) if name.starts_with("--") => {
                    (name.to_owned(), Some(value.to_owned()))
                }
                _ => (arg.clone(), None),
            };
            let mut value = || {
                attached
                    .clone()
                    .or_else(|| args.next())
                    .ok_or_else(|| format!("`{name}` needs a value"))
            };
            match name.as_str() {
                "--list" => options.list = true,
                "--exact" => options.exact = true,
                "--ignored" => options.ignored = true,
                "--format" => options.terse = value()? == "terse",
                "--skip" => options.skip.push(value()?),
                "--color" | "--test-threads" | "--logfile" | "-Z" => drop(value()?),
                "--bench" | "--test" | "--nocapture" | "--no-capture" | "--show-output"
                | "--include-ignored" | "--quiet" | "-q" => {}
                _ if arg.starts_with('-') => return Err(format!("unknown option `{arg}`")),
                _ => options.filters.push(arg),
            }
        }
        Ok(options)
    }

    /// Whether a configuration with these `keys` is selected.
    fn selects(&self, keys: &[String]) -> bool {
        let hit = |pattern: &String| {
            keys.iter()
                .any(|key| if self.exact { key == pattern } else { key.contains(&**pattern) })
        };
        (self.filters.is_empty() || self.filters.iter().any(hit)) && !self.skip.iter().any(hit)
    }
}

/// Lists, or refers to `cargo gpuprof run`, which runs series.
///
/// # Errors
/// Standard output that cannot be written; series that cannot be described.
pub(crate) fn answer(
    options: &Options,
    target: &HarnessTarget,
    out: &mut impl Write,
) -> io::Result<()> {
    let described = registry::describe(target).map_err(io::Error::other)?;
    let all = described.iter().flat_map(|series| {
        let keys = move |point| series.id.keys().map(|key| format!("{key}/{point}"));
        series.space.points().map(move |point| point.map(keys))
    });
    // A configuration without a value is reported; it must not be dropped as if it were not
    // selected.
    let selects = |keys: &Result<[String; 2], ParseError>| {
        !options.ignored && keys.as_ref().map_or(true, |keys| options.selects(keys))
    };
    let selected =
        all.filter(selects).map(|keys| keys.map(|[key, _]| key).map_err(io::Error::other));
    if options.list {
        let mut count = 0;
        for name in selected {
            let name = name?;
            writeln!(out, "{name}: benchmark")?;
            count += 1;
        }
        if !options.terse {
            writeln!(out, "\n0 tests, {count} benchmarks")?;
        }
        return Ok(());
    }
    let count = selected.collect::<io::Result<Vec<_>>>()?.len();
    eprintln!("gpuprof: series are run by `cargo gpuprof run`, which builds the kernels first");
    writeln!(
        out,
        "\ntest result: ok. 0 passed; 0 failed; {count} ignored; 0 measured; 0 filtered out\n"
    )
}

#[cfg(test)]
mod tests {
    use gpuprof_model::SeriesId;

    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn the_command_lines_of_cargo_and_nextest_are_understood() {
        let options = parse("--list --format terse --ignored").unwrap();
        assert!(options.list && options.terse && options.ignored);
        let selects = |line: &str, name: &str| {
            let keys = SeriesId::new("k", "b", name).keys();
            parse(line).unwrap().selects(&keys)
        };
        for key in ["k::saxpy/block=64,n=1", "k::b::saxpy/block=64,n=1"] {
            let line = format!("{key} --nocapture --exact --bench");
            assert!(selects(&line, "saxpy/block=64,n=1"));
            assert!(!selects(&line, "saxpy/block=64,n=16"));
        }
        assert!(selects("sax --skip saxpy", "saxon") && !selects("sax --skip=saxpy", "saxpy"));
    }

    #[test]
    fn an_unknown_option_is_refused() {
        assert_eq!(parse("--frobnicate").unwrap_err(), "unknown option `--frobnicate`");
        assert_eq!(parse("--skip").unwrap_err(), "`--skip` needs a value");
    }
}
