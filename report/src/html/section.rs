//! A series as the page holds it, and the `id`s by which links find it and its rows.

use gpuprof_analysis::view::by_device::Part;
use gpuprof_analysis::view::{View, Viewed};

/// What the page shows of a series, or of the part of it that one device measured.
pub(super) struct Section<'s> {
    /// Its position on the page.
    pub(super) at: usize,
    /// The series.
    pub(super) part: &'s Part<'s>,
    /// The series with the rows that are compared and shown.
    pub(super) viewed: Viewed<'s>,
    /// How it is looked at.
    pub(super) view: &'s View,
}

impl Section<'_> {
    /// The `id` of its heading.
    pub(super) fn id(&self) -> String {
        format!("s{}", self.at)
    }

    /// The `id` of a row, by its position among those that are compared.
    pub(super) fn row(&self, row: usize) -> String {
        format!("s{}r{row}", self.at)
    }

    /// The `id` of what explains a row.
    pub(super) fn why(&self, row: usize) -> String {
        format!("s{}w{row}", self.at)
    }

    /// The `id` of the row of the configuration whose text is `key`.
    pub(super) fn row_of(&self, key: &str) -> Option<String> {
        let mut rows = self.viewed.series.configurations.iter();
        let at = rows.position(|row| row.configuration.to_string() == key)?;
        self.viewed.shown.contains(&at).then(|| self.row(at))
    }
}
