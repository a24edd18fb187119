//! The serde form of a series, with the common data of its rows once.
//!
//! Input: a series, or its document. Output: the other. The series has the unit, the direction, the
//! class and the source of each metric, and the tables of metrics without a value with their
//! reasons; a row has its values and the number of its table. A row that differs has its own data,
//! like every row of version 1. Rows are written one by one and, while they are read, converted to
//! the in-memory form at once: nothing holds all of them in the document form.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::metric_result::{MetricDocument, MetricResult, Traits};
use super::metrics::{Entry, Metrics};
use super::{ConfigurationResult, SectionColumns, SeriesResult, SharedRows, Status};
use crate::axis::Axis;
use crate::checks::CheckRecord;
use crate::code::{Columns, CostlyLine, CountedCode, Listing};
use crate::comparison::Change;
use crate::configuration::Configuration;
use crate::estimate::Estimate;
use crate::language::Language;
use crate::measurement::{
    LaunchRecord, OccupancyLimiter, SourceCollection, Timing, Unverified, Verification,
};
use crate::over_time::CountersOverTime;
use crate::parts::PartResult;
use crate::series::SeriesId;
use crate::timeline::Timeline;
use crate::units::Nanoseconds;
use crate::verdict::{Judgement, NotApplicable};

/// One series of a run.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "SeriesResult"))]
pub(super) struct SeriesDocument<'a> {
    /// Its name.
    id: Cow<'a, SeriesId>,
    /// The annotated function's file.
    file: Cow<'a, str>,
    /// The annotated function's line.
    line: u32,
    /// The kernel's language; none of a series function, and in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    language: Option<Language>,
    /// The axes that were swept, each with the values that occur.
    axes: Cow<'a, [Axis]>,
    /// The axes among them that say nothing new: derived ones, and those zipped with an earlier
    /// one.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    dependent_axes: Cow<'a, [String]>,
    /// The metrics to show, in order.
    columns: Cow<'a, [String]>,
    /// Sections, one table each.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    sections: Cow<'a, [SectionColumns]>,
    /// The common data of all rows on a metric, by its name; a row that differs has its own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    metrics: BTreeMap<Cow<'a, str>, Traits>,
    /// Metrics without a value by name, with the reason; a row has the number of its table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    absent: Vec<BTreeMap<Cow<'a, str>, Cow<'a, str>>>,
    /// The PTX of the kernels whose counts the rows have line by line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    listings: Vec<Cow<'a, Listing>>,
    /// Its configurations, in series order.
    #[cfg_attr(test, schemars(with = "Vec<RowDocument<'static>>"))]
    configurations: Rows<'a>,
    /// The thresholds of its annotation.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    thresholds: Cow<'a, [String]>,
    /// Its judged thresholds.
    judgements: Cow<'a, [Judgement]>,
    /// Thresholds that apply to other devices than this run's.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    not_applicable: Cow<'a, [NotApplicable]>,
    /// The metrics shown, compared with the baseline's; empty without one.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    changes: Cow<'a, [Change]>,
}

/// One configuration of a run.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "ConfigurationResult"))]
struct RowDocument<'a> {
    /// The point of the series.
    configuration: Cow<'a, Configuration>,
    /// The UUID of the device that all of its passes ran on, if the run had several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    device: Option<Cow<'a, str>>,
    /// How it ended.
    status: Cow<'a, Status>,
    /// Its metrics by name.
    #[serde(deserialize_with = "each_once")]
    metrics: BTreeMap<Cow<'a, str>, MetricDocument<'a>>,
    /// The table of those without a value, among the series'.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    absent: Option<usize>,
    /// The samples of each process that timed it.
    timings: Cow<'a, [Timing]>,
    /// Its estimated time; none on a GPU, with `--no-estimate`, and in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    estimate: Option<Cow<'a, Estimate>>,
    /// The limit of its theoretical occupancy.
    occupancy_limiter: Option<OccupancyLimiter>,
    /// The launches of its measured range.
    launches: Cow<'a, [LaunchRecord]>,
    /// One call of its closure: the work of the device and the calls, in order. None of a single
    /// launch, if nothing observed it, and in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeline: Option<Cow<'a, Timeline>>,
    /// The metrics of parts of that range: of each kernel by its name, of each launch by its
    /// position, and of each named range. None in older documents.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    parts: Cow<'a, [PartResult]>,
    /// The source lines with the costliest accesses.
    #[serde(default, skip_serializing_if = "<[CostlyLine]>::is_empty")]
    costly: Cow<'a, [CostlyLine]>,
    /// Its counts line by line, for each kernel; none in older documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    code: Vec<CodeDocument<'a>>,
    /// How they were collected on a GPU; none if the emulated driver counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<Cow<'a, SourceCollection>>,
    /// Counters over the time of a launch; none if they were not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    over_time: Option<Cow<'a, CountersOverTime>>,
    /// The bytes of the kernel's buffers; none of a series function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    buffer_bytes: Option<u64>,
    /// A hash of the kernel's arguments before the launch; none of a series function, and in older
    /// documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inputs: Option<u32>,
    /// Nanoseconds of the longest set-up that a process made for the series; none without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    setup_ns: Option<Nanoseconds>,
    /// Whether `verify` ran and agreed. `checks` says whether the check for races ran too.
    verified: bool,
    /// The largest error that `verify` found in any process, in units of the tolerance: at most 1;
    /// none if nothing was verified and if a function of the user compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    largest_error: Option<f64>,
    /// The elements that `verify` compared, and how closely; none if nothing was verified, and in
    /// older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verification: Option<Cow<'a, Verification>>,
    /// Why nothing was verified, though no difference was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unverified: Option<Unverified>,
    /// The checks of the emulated driver; none on a GPU, and in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checks: Option<CheckRecord>,
    /// How it failed next to others, if it was measured again alone after that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retried: Option<Cow<'a, str>>,
    /// The failures of processes that were started again; empty in older documents.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    failed_attempts: Cow<'a, [String]>,
}

/// The counts of a kernel.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CodeDocument<'a> {
    /// The number of its listing among the series'.
    listing: usize,
    /// The counts of the lines, packed.
    counts: Cow<'a, Columns>,
    /// How often warps executed each machine instruction, packed; none if nothing counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    executed: Option<Cow<'a, Columns>>,
}

/// The rows of a series: to be written, or as they were read.
enum Rows<'a> {
    Written { rows: &'a [ConfigurationResult], common: CommonData<'a> },
    Read(Vec<ReadRow>),
}

/// A row before the rest of its series is known.
struct ReadRow {
    /// Its own metrics are in `own` still.
    row: ConfigurationResult,
    own: Vec<Entry>,
    /// Of each of them: whether its traits are the series'.
    untold: Vec<bool>,
    /// The number of its table.
    absent: Option<usize>,
    /// The counts of its kernels.
    code: Vec<CodeDocument<'static>>,
}

/// The common data of the rows in the document of a series.
#[derive(Default)]
struct CommonData<'a> {
    traits: HashMap<&'a str, Traits>,
    /// Tables in the order of their numbers.
    tables: Vec<BTreeMap<&'a str, &'a str>>,
    /// Of each table of a row, by its address: its number in the document, and those of its
    /// entries that are not in the one there.
    numbers: HashMap<*const Vec<Entry>, (Option<usize>, Vec<&'a Entry>)>,
    /// Listings in the order of their numbers.
    listings: Vec<&'a Listing>,
    /// The number of each listing.
    listed: HashMap<&'a Listing, usize>,
}

impl<'a> CommonData<'a> {
    /// Of `rows`.
    fn collect(rows: &'a [ConfigurationResult]) -> Self {
        let mut common = Self::default();
        let mut alike: HashMap<BTreeMap<&str, &str>, usize> = HashMap::new();
        for row in rows {
            for code in &row.code {
                let next = common.listings.len();
                if *common.listed.entry(&code.listing).or_insert(next) == next {
                    common.listings.push(&code.listing);
                }
            }
            for (name, result) in row.metrics.own() {
                common.traits.entry(name).or_insert_with(|| result.traits());
            }
            let table = row.metrics.absent();
            let address = Arc::as_ptr(table);
            if table.is_empty() || common.numbers.contains_key(&address) {
                continue;
            }
            let (mut reasons, mut others) = (BTreeMap::new(), Vec::new());
            for entry @ (name, result) in &**table {
                let traits = *common.traits.entry(name).or_insert_with(|| result.traits());
                match &result.value {
                    Err(reason) if result.is_absent() && traits == result.traits() => {
                        reasons.insert(&**name, reason.as_str());
                    }
                    _ => others.push(entry),
                }
            }
            let next = alike.len();
            let number = (!reasons.is_empty()).then(|| {
                *alike.entry(reasons).or_insert_with_key(|reasons| {
                    common.tables.push(reasons.clone());
                    next
                })
            });
            common.numbers.insert(address, (number, others));
        }
        common
    }

    fn code(&self, code: &'a CountedCode) -> CodeDocument<'a> {
        let listing = self.listed.get(&*code.listing).copied().unwrap_or_default();
        let executed = code.executed.as_ref().map(Cow::Borrowed);
        CodeDocument { listing, counts: Cow::Borrowed(&code.counts), executed }
    }

    /// The document of `row`, one of its rows.
    fn row(&self, row: &'a ConfigurationResult) -> RowDocument<'a> {
        let (absent, others) = match self.numbers.get(&Arc::as_ptr(row.metrics.absent())) {
            Some((number, others)) => (*number, others.as_slice()),
            None => (None, [].as_slice()),
        };
        let others = others.iter().map(|(name, result)| (name, result));
        let document = |(name, result): (&'a Arc<str>, &'a MetricResult)| {
            let traits = self.traits.get(&**name).copied();
            (Cow::Borrowed(&**name), MetricDocument::new(result, traits))
        };
        RowDocument {
            configuration: Cow::Borrowed(&row.configuration),
            device: row.device.as_deref().map(Cow::Borrowed),
            status: Cow::Borrowed(&row.status),
            metrics: row.metrics.own().chain(others).map(document).collect(),
            absent,
            timings: Cow::Borrowed(&row.timings),
            estimate: row.estimate.as_ref().map(Cow::Borrowed),
            occupancy_limiter: row.occupancy_limiter,
            launches: Cow::Borrowed(&row.launches),
            timeline: row.timeline.as_ref().map(Cow::Borrowed),
            parts: Cow::Borrowed(&row.parts),
            costly: Cow::Borrowed(&row.costly),
            code: row.code.iter().map(|code| self.code(code)).collect(),
            source: row.source.as_ref().map(Cow::Borrowed),
            over_time: row.over_time.as_ref().map(Cow::Borrowed),
            buffer_bytes: row.buffer_bytes,
            inputs: row.inputs,
            setup_ns: row.setup_ns,
            verified: row.verified,
            largest_error: row.largest_error,
            verification: row.verification.as_ref().map(Cow::Borrowed),
            unverified: row.unverified,
            checks: row.checks,
            retried: row.retried.as_deref().map(Cow::Borrowed),
            failed_attempts: Cow::Borrowed(&row.failed_attempts),
        }
    }
}

impl Serialize for SeriesResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let common = CommonData::collect(&self.configurations);
        let absent = common.tables.iter().map(|table| {
            table.iter().map(|(&name, &reason)| (name.into(), reason.into())).collect()
        });
        let document = SeriesDocument {
            id: Cow::Borrowed(&self.id),
            file: Cow::Borrowed(&self.file),
            line: self.line,
            language: self.language,
            axes: Cow::Borrowed(&self.axes),
            dependent_axes: Cow::Borrowed(&self.dependent_axes),
            columns: Cow::Borrowed(&self.columns),
            sections: Cow::Borrowed(&self.sections),
            metrics: common.traits.iter().map(|(&name, &traits)| (name.into(), traits)).collect(),
            absent: absent.collect(),
            listings: common.listings.iter().map(|&listing| Cow::Borrowed(listing)).collect(),
            configurations: Rows::Written { rows: &self.configurations, common },
            thresholds: Cow::Borrowed(&self.thresholds),
            judgements: Cow::Borrowed(&self.judgements),
            not_applicable: Cow::Borrowed(&self.not_applicable),
            changes: Cow::Borrowed(&self.changes),
        };
        document.serialize(serializer)
    }
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Written { rows, common } => {
                serializer.collect_seq(rows.iter().map(|row| common.row(row)))
            }
            Self::Read(_) => Err(serde::ser::Error::custom("these rows have no series yet")),
        }
    }
}

impl<'de> Deserialize<'de> for Rows<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Vec<ReadRow>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of configurations")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Self::Value, A::Error> {
                let (mut rows, mut shared) = (Vec::new(), SharedRows::default());
                while let Some(row) = all.next_element::<RowDocument<'_>>()? {
                    rows.push(row.read(&mut shared).map_err(Error::custom)?);
                }
                Ok(rows)
            }
        }
        deserializer.deserialize_seq(Each).map(Self::Read)
    }
}

/// Metrics by name; a name that is there twice is refused, since only one of the two would count.
fn each_once<'de, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<Cow<'a, str>, MetricDocument<'a>>, D::Error> {
    struct Each;

    impl<'de> Visitor<'de> for Each {
        type Value = BTreeMap<Cow<'static, str>, MetricDocument<'static>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("metrics by name")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<Self::Value, A::Error> {
            let mut metrics = BTreeMap::new();
            while let Some((name, metric)) = all.next_entry::<String, MetricDocument<'_>>()? {
                if metrics.contains_key(&*name) {
                    return Err(Error::custom(format!("the metric {name} is there twice")));
                }
                metrics.insert(name.into(), metric);
            }
            Ok(metrics)
        }
    }

    deserializer.deserialize_map(Each)
}

impl RowDocument<'_> {
    /// The row as far as it is known without its series.
    fn read(self, shared: &mut SharedRows) -> Result<ReadRow, String> {
        let configuration = self.configuration.into_owned();
        let (mut own, mut untold) = (Vec::with_capacity(self.metrics.len()), Vec::new());
        for (name, told) in self.metrics {
            untold.push(told.is_untold());
            let result = told.metric(Some(Traits::UNKNOWN));
            let result = result.map_err(|e| format!("{name} of {configuration}: {e}"))?;
            own.push((shared.name(&name), result));
        }
        let row = ConfigurationResult {
            configuration,
            device: self.device.map(Cow::into_owned),
            status: self.status.into_owned(),
            metrics: Metrics::default(),
            timings: self.timings.into_owned(),
            estimate: self.estimate.map(Cow::into_owned),
            occupancy_limiter: self.occupancy_limiter,
            launches: self.launches.into_owned(),
            timeline: self.timeline.map(Cow::into_owned),
            parts: self.parts.into_owned(),
            costly: self.costly.into_owned(),
            code: Vec::new(),
            source: self.source.map(Cow::into_owned),
            over_time: self.over_time.map(Cow::into_owned),
            buffer_bytes: self.buffer_bytes,
            inputs: self.inputs,
            setup_ns: self.setup_ns,
            verified: self.verified,
            largest_error: self.largest_error,
            verification: self.verification.map(Cow::into_owned),
            unverified: self.unverified,
            checks: self.checks,
            retried: self.retried.map(Cow::into_owned),
            failed_attempts: self.failed_attempts.into_owned(),
        };
        let code = self.code.into_iter().map(CodeDocument::into_owned).collect();
        Ok(ReadRow { row, own, untold, absent: self.absent, code })
    }
}

impl CodeDocument<'_> {
    fn into_owned(self) -> CodeDocument<'static> {
        let owned = |counts: Cow<'_, Columns>| Cow::Owned(counts.into_owned());
        CodeDocument {
            listing: self.listing,
            counts: owned(self.counts),
            executed: self.executed.map(owned),
        }
    }
}

impl ReadRow {
    /// The row, completed by the common data of its series.
    fn row(
        mut self,
        traits: &BTreeMap<Cow<'_, str>, Traits>,
        tables: &[Arc<Vec<Entry>>],
        listings: &[Arc<Listing>],
    ) -> Result<ConfigurationResult, String> {
        let configuration = &self.row.configuration;
        for ((name, result), untold) in self.own.iter_mut().zip(self.untold) {
            if !untold {
                continue;
            }
            let known = traits.get(&**name).ok_or_else(|| {
                format!("neither {name} of {configuration} nor its series has its unit")
            })?;
            result.set_traits(*known);
        }
        let absent = match self.absent {
            None => Arc::default(),
            Some(number) => Arc::clone(tables.get(number).ok_or_else(|| {
                format!("{configuration} has the table {number} of {}", tables.len())
            })?),
        };
        for CodeDocument { listing: number, counts, executed } in self.code {
            let listing = listings.get(number).map(Arc::clone).ok_or_else(|| {
                format!("{configuration} has the listing {number} of {}", listings.len())
            })?;
            let (counts, executed) = (counts.into_owned(), executed.map(Cow::into_owned));
            let code = CountedCode { listing, counts, executed };
            code.fit().map_err(|e| format!("{configuration} has {e}"))?;
            self.row.code.push(code);
        }
        self.row.metrics = Metrics::from_sorted(self.own, absent)
            .map_err(|name| format!("{configuration} has {name} twice"))?;
        Ok(self.row)
    }
}

impl<'de> Deserialize<'de> for SeriesResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let document = SeriesDocument::deserialize(deserializer)?;
        let mut shared = SharedRows::default();
        let mut tables = Vec::new();
        for table in document.absent {
            let mut entries = Vec::with_capacity(table.len());
            for (name, reason) in table {
                let Some(traits) = document.metrics.get(&name) else {
                    return Err(Error::custom(format!("the series has no unit of {name}")));
                };
                let metric = MetricResult::absent(*traits, reason.into_owned());
                entries.push((shared.name(&name), metric));
            }
            tables.push(Arc::new(entries));
        }
        let listings = document.listings.into_iter().map(|of| Arc::new(of.into_owned()));
        let listings: Vec<Arc<Listing>> = listings.collect();
        let Rows::Read(rows) = document.configurations else {
            return Err(Error::custom("these rows were never read"));
        };
        let mut configurations = Vec::with_capacity(rows.len());
        for row in rows {
            let mut row = row.row(&document.metrics, &tables, &listings).map_err(Error::custom)?;
            // Version 1 repeats in each row why metrics are absent.
            shared.keep_once(&mut row.metrics, &mut row.code);
            configurations.push(row);
        }
        Ok(Self {
            id: document.id.into_owned(),
            file: document.file.into_owned(),
            line: document.line,
            language: document.language,
            axes: document.axes.into_owned(),
            dependent_axes: document.dependent_axes.into_owned(),
            columns: document.columns.into_owned(),
            sections: document.sections.into_owned(),
            configurations,
            thresholds: document.thresholds.into_owned(),
            judgements: document.judgements.into_owned(),
            not_applicable: document.not_applicable.into_owned(),
            changes: document.changes.into_owned(),
        })
    }
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
