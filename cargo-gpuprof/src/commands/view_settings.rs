//! Views: read from every layer, and checked against the series that they are to show.

use gpuprof_model::each_once::each_once;
use gpuprof_model::expression::Type;
use gpuprof_model::metric::Catalogue;
use gpuprof_model::{ExitCode, Expression, ParseError};

use super::settings::{Origin, Setting, Settings};
use gpuprof_analysis::view::{Reference, Sort, View};
use gpuprof_system::error::{Failure, Result};

/// A view, with the position of each part.
#[derive(Debug)]
pub struct PlacedView {
    /// The view.
    pub view: View,
    origins: Vec<(&'static str, Origin)>,
}

/// The view of `settings`: of everything, or without the least important parts; `verbose` shows the
/// notes on noise.
///
/// # Errors
/// A text that does not follow its grammar (exit code 2, or 96 for the configuration file).
pub(super) fn placed(settings: &Settings, all: bool, verbose: bool) -> Result<PlacedView> {
    let Settings { best_by, reference, filter, columns, sort, top, pareto, .. } = settings;
    let view = View {
        best_by: best_by.value.clone(),
        reference: read("reference", reference, Reference::parse)?,
        filter: read("filter", filter, Expression::parse)?,
        columns: trimmed(&columns.value),
        sort: read("sort", sort, Sort::parse)?,
        top: top.value.map(Into::into),
        pareto: trimmed(&pareto.value),
        all,
        verbose,
    };
    let origins = vec![
        ("best-by", best_by.origin.clone()),
        ("reference", reference.origin.clone()),
        ("filter", filter.origin.clone()),
        ("columns", columns.origin.clone()),
        ("sort", sort.origin.clone()),
        ("pareto", pareto.origin.clone()),
    ];
    Ok(PlacedView { view, origins })
}

impl PlacedView {
    /// Refuses a view with names that no series has; `axes` are the series' axes, and `catalogue`
    /// has the metrics.
    ///
    /// # Errors
    /// Each part with what is wrong with it (exit code 2, or 96 where the configuration file alone
    /// is wrong).
    pub(super) fn check(&self, catalogue: &Catalogue, axes: &[Vec<(&str, Type)>]) -> Result<()> {
        let misfits = self.view.misfits(catalogue, &axes.concat());
        let messages: Vec<String> =
            misfits.iter().map(|(key, why)| format!("{}: {why}", self.place(key))).collect();
        let here = misfits.iter().map(|(key, _)| self.code(key));
        if let Some(code) = here.reduce(|all, code| if all == code { all } else { ExitCode::Usage })
        {
            return Err(Failure::new(code, messages.join("\n")));
        }
        let Some(filter) = &self.view.filter else { return Ok(()) };
        let errors: Vec<_> = axes.iter().map(|axes| filter.check_condition(axes).err()).collect();
        match errors.iter().flatten().next() {
            Some(error) if errors.iter().all(Option::is_some) => {
                let message = error.render(&self.place("filter"), filter.text());
                Err(Failure::new(self.code("filter"), message))
            }
            _ => Ok(()),
        }
    }

    fn origin(&self, key: &str) -> &Origin {
        let found = self.origins.iter().find(|(of, _)| *of == key);
        found.map_or(&Origin::Default, |(_, origin)| origin)
    }

    fn place(&self, key: &str) -> String {
        place(key, self.origin(key))
    }

    fn code(&self, key: &str) -> ExitCode {
        code(self.origin(key))
    }
}

/// How messages name the setting `key` that comes from `origin`.
fn place(key: &str, origin: &Origin) -> String {
    match origin {
        Origin::Configuration(file) => format!("{file}: `{key}`"),
        Origin::CommandLine(_) | Origin::Default => format!("--{key}"),
    }
}

fn code(origin: &Origin) -> ExitCode {
    match origin {
        Origin::Configuration(_) => ExitCode::Configuration,
        Origin::CommandLine(_) | Origin::Default => ExitCode::Usage,
    }
}

fn read<T>(
    key: &str,
    setting: &Setting<Option<String>>,
    parse: impl Fn(&str) -> Result<T, ParseError>,
) -> Result<Option<T>> {
    let Setting { value, origin } = setting;
    let parsed = value.as_ref().map(|text| {
        parse(text).map_err(|e| Failure::new(code(origin), e.render(&place(key, origin), text)))
    });
    parsed.transpose()
}

/// `names` without spaces around them, each once.
fn trimmed(names: &[String]) -> Vec<String> {
    each_once(names.iter().map(|name| name.trim().to_owned()))
}
