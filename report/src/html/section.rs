//! A series as the page holds it, and the `id`s by which links find it and its rows.

use gpuprof_analysis::view::by_device::DeviceRows;
use gpuprof_analysis::view::{SeriesView, View};

/// A series on the page, or the part of it that one device measured.
pub(super) struct Section<'s> {
    /// Its position on the page.
    pub(super) at: usize,
    /// The series.
    pub(super) part: &'s DeviceRows<'s>,
    /// The series with the rows that are compared and shown.
    pub(super) viewed: SeriesView<'s>,
    /// How it is looked at.
    pub(super) view: &'s View,
}

impl Section<'_> {
    /// The `id` of its heading.
    pub(super) fn id(&self) -> String {
        format!("s{}", self.at)
    }

    /// The `id` of a row, by its position among the compared rows.
    pub(super) fn row(&self, row: usize) -> String {
        format!("s{}r{row}", self.at)
    }

    /// The `id` of the explanation of a row.
    pub(super) fn why(&self, row: usize) -> String {
        format!("s{}w{row}", self.at)
    }

    /// The `id` of a line of its source, by the position of its file among those shown.
    pub(super) fn line(&self, file: usize, line: u32) -> String {
        format!("s{}-{file}-{line}", self.at)
    }

    /// The `id` of the row of the configuration with the text `key`.
    pub(super) fn row_of(&self, key: &str) -> Option<String> {
        let mut rows = self.viewed.series.configurations.iter();
        let at = rows.position(|row| row.configuration.to_string() == key)?;
        self.viewed.shown.contains(&at).then(|| self.row(at))
    }
}
