//! The report of a program on the emulated driver: its launches, faults, and missing driver
//! functions.
//!
//! Input: the driver's log, a line of JSON for each event. Output: a table, CSV or JSON with one
//! row for each kernel and launch shape (grid, block, dynamic shared memory), in the order of their
//! first launches; counters are sums over the launches of a row. Memory grows with the rows, not
//! with the launches.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, BufRead, Write};

use gpuprof_model::checks::CheckRecord;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::escaped;
use super::launches::{self, dimensions};
use gpuprof_system::json_text;
use gpuprof_system::symbol::name_in_cpp;

/// The version of the JSON document.
const SCHEMA_VERSION: u32 = 1;

/// Beyond so many characters a kernel's name is cut in the table.
const NAME_WIDTH: usize = 24;

/// Columns of the table: a heading, and the counters that it sums.
const COLUMNS: [(&str, &[&str]); 4] = [
    ("instructions", &["ptx__inst_executed.sum"]),
    (
        "sectors",
        &[
            "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
            "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
            "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
            "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
        ],
    ),
    (
        "conflicts",
        &["ptx__shared_bank_conflicts_op_ld.sum", "ptx__shared_bank_conflicts_op_st.sum"],
    ),
    ("divergent", &["ptx__branches_divergent.sum"]),
];

/// A launch, as the driver writes it.
#[derive(Debug, Deserialize)]
struct Launch {
    kernel: String,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    #[serde(default)]
    checks: Option<CheckRecord>,
    counters: BTreeMap<String, u64>,
    #[serde(default)]
    unclaimed: BTreeMap<String, String>,
}

/// A line of the log.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Event {
    Launch(Launch),
    Fault(Value),
    Unsupported(String),
    EventTimes(EventTimes),
}

/// Whose time is between two events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum EventTimes {
    /// That of the computer that emulates.
    Host,
}

#[derive(Debug, Deserialize)]
struct Line {
    #[serde(flatten)]
    event: Event,
}

/// A kernel launched in one shape.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Row {
    /// Its name in its source, if that is known.
    kernel: String,
    /// As the module names it.
    symbol: String,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    launches: u64,
    counters: BTreeMap<String, u64>,
    /// The counters that differ from the hardware's in this kernel, with the reasons.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    unclaimed: BTreeMap<String, String>,
}

/// All that a program did.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Emulated {
    launches: Vec<Row>,
    /// The checks that ran in every launch; none where nothing was launched.
    #[serde(skip_serializing_if = "Option::is_none")]
    checks: Option<CheckRecord>,
    /// Faults of kernels, and modules and launches that were refused, as they happened.
    faults: Vec<Value>,
    /// Functions of the driver that were called and are not supported.
    unsupported: Vec<String>,
    /// Whose times the program got between events; none where it asked for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    event_times: Option<EventTimes>,
}

impl Emulated {
    /// Reads the driver's log.
    ///
    /// # Errors
    /// It cannot be read, or a line is none of the driver's.
    pub fn read(log: impl BufRead) -> io::Result<Self> {
        let mut emulated = Self::default();
        let mut places = HashMap::new();
        for line in log.lines() {
            let line: Line = serde_json::from_str(&line?)?;
            match line.event {
                Event::Launch(launch) => emulated.count(launch, &mut places),
                Event::Fault(fault) => emulated.faults.push(fault),
                Event::Unsupported(function) if emulated.unsupported.contains(&function) => {}
                Event::Unsupported(function) => emulated.unsupported.push(function),
                Event::EventTimes(of) => emulated.event_times = Some(of),
            }
        }
        Ok(emulated)
    }

    fn count(&mut self, launch: Launch, places: &mut HashMap<Shape, usize>) {
        let Launch { kernel: symbol, grid, block, shared_bytes, checks, counters, unclaimed } =
            launch;
        self.checks = self.checks.into_iter().chain(checks).reduce(CheckRecord::join);
        let shape = (symbol.clone(), grid, block, shared_bytes);
        let at = *places.entry(shape).or_insert(self.launches.len());
        if at == self.launches.len() {
            let kernel = readable(&symbol);
            let counters = BTreeMap::new();
            let launches = 0;
            self.launches.push(Row {
                kernel,
                symbol,
                grid,
                block,
                shared_bytes,
                launches,
                counters,
                unclaimed,
            });
        }
        let Some(row) = self.launches.get_mut(at) else { return };
        row.launches += 1;
        for (name, value) in counters {
            *row.counters.entry(name).or_default() += value;
        }
    }

    /// Whether the driver logged no event.
    pub fn is_empty(&self) -> bool {
        self.launches.is_empty() && self.faults.is_empty() && self.unsupported.is_empty()
    }

    /// Whether a kernel faulted. What was refused before a kernel ran is the program's to handle.
    pub fn has_fault(&self) -> bool {
        self.faults.iter().any(|fault| fault.get("kernel").is_some())
    }
}

/// A kernel, its grid, its block and its dynamic shared memory.
type Shape = (String, [u32; 3], [u32; 3], u32);

/// A function's name in its source, for a mangled name of Rust or C++.
fn readable(symbol: &str) -> String {
    let rust = rustc_demangle::try_demangle(symbol).ok().map(|name| format!("{name:#}"));
    rust.or_else(|| name_in_cpp(symbol)).unwrap_or_else(|| symbol.to_owned())
}

/// A name without the namespaces before it, and the name before its template arguments.
fn own_name(name: &str) -> (&str, &str) {
    let path = name.split('<').next().unwrap_or(name);
    let start = path.rfind("::").map_or(0, |at| at + 2);
    (&name[start..], &path[start..])
}

/// A name that fits its column: without the namespaces before it, and without its middle.
fn shorten(name: &str) -> String {
    let length = |name: &str| name.chars().count();
    if length(name) <= NAME_WIDTH {
        return name.to_owned();
    }
    let (own, _) = own_name(name);
    if length(own) <= NAME_WIDTH {
        return own.to_owned();
    }
    let head = own.chars().take(NAME_WIDTH / 2);
    let tail = own.chars().skip(length(own) - (NAME_WIDTH - NAME_WIDTH / 2 - 1));
    head.chain(['…']).chain(tail).collect()
}

/// `Kernel<…>` for a template, whatever its length.
fn without_arguments(name: &str) -> String {
    let (own, function) = own_name(name);
    if own == function { own.to_owned() } else { format!("{function}<…>") }
}

/// The rows' names for the table: shortened, but so that no two kernels have one name.
fn shown_names(rows: &[Row]) -> Vec<String> {
    let forms = [shorten, without_arguments, |name: &str| own_name(name).0.to_owned()];
    let forms = forms.map(|form| rows.iter().map(|row| form(&row.kernel)).collect::<Vec<_>>());
    let is_own = |names: &[String], at: usize| {
        let mut others = rows.iter().zip(names);
        others.all(|(row, name)| *name != names[at] || row.symbol == rows[at].symbol)
    };
    let name = |at: usize| {
        let form = forms.iter().find(|names| is_own(names, at));
        form.map_or_else(|| rows[at].kernel.clone(), |names| names[at].clone())
    };
    (0..rows.len()).map(name).collect()
}

/// A table for people, the checks, and the origin of times between events; nothing without
/// launches.
///
/// # Errors
/// `out` could not be written.
pub fn table(emulated: &Emulated, out: &mut dyn Write) -> io::Result<()> {
    if emulated.launches.is_empty() {
        return Ok(());
    }
    let names = shown_names(&emulated.launches);
    let rows = emulated.launches.iter().zip(names).map(|(row, name)| {
        let sum = |(_, names): (&str, &[&str])| {
            if names.iter().any(|name| row.unclaimed.contains_key(*name)) {
                return "-".to_owned();
            }
            let values = names.iter().filter_map(|name| row.counters.get(*name));
            values.sum::<u64>().to_string()
        };
        let shape = [dimensions(row.grid), dimensions(row.block)];
        let head = [row.launches.to_string(), name].into_iter().chain(shape);
        head.chain(COLUMNS.map(sum))
    });
    for line in launches::table(&COLUMNS.map(|column| column.0), rows) {
        writeln!(out, "{line}")?;
    }
    for (kernel, reason) in unclaimed_columns(emulated) {
        writeln!(out, " `-` of {}: {reason}", shorten(kernel))?;
    }
    if let Some(checks) = emulated.checks {
        writeln!(out, " checks: {checks}")?;
    }
    if emulated.event_times == Some(EventTimes::Host) {
        writeln!(
            out,
            " times between events say how long emulation took, and nothing about a GPU"
        )?;
    }
    Ok(())
}

/// Why columns of a kernel have no value, once for each reason.
fn unclaimed_columns(emulated: &Emulated) -> BTreeSet<(&str, &str)> {
    let names = || COLUMNS.iter().flat_map(|(_, names)| *names);
    let mut all = BTreeSet::new();
    for row in &emulated.launches {
        let reasons = names().filter_map(|name| row.unclaimed.get(*name));
        all.extend(reasons.map(|reason| (&*row.kernel, &**reason)));
    }
    all
}

/// CSV with a header: `kernel,symbol,grid,block,shared_bytes,launches`, then every counter. The
/// field of a counter that differs from the hardware's is empty.
///
/// # Errors
/// `out` could not be written.
pub fn csv(emulated: &Emulated, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    let mut names: Vec<&str> = Vec::new();
    for name in emulated.launches.iter().flat_map(|row| row.counters.keys()) {
        if !names.contains(&&**name) {
            names.push(name);
        }
    }
    let mut writer = csv::Writer::from_writer(out);
    let head = ["kernel", "symbol", "grid", "block", "shared_bytes", "launches"];
    writer.write_record(head.iter().chain(&names))?;
    for row in &emulated.launches {
        let value = |name: &&str| match row.counters.get(*name) {
            Some(value) => value.to_string(),
            None if row.unclaimed.contains_key(*name) => String::new(),
            None => "0".to_owned(),
        };
        let values = names.iter().map(value);
        let head = [
            escaped::csv(&row.kernel),
            escaped::csv(&row.symbol),
            dimensions(row.grid),
            dimensions(row.block),
            row.shared_bytes.to_string(),
            row.launches.to_string(),
        ];
        writer.write_record(head.into_iter().chain(values))?;
    }
    writer.flush()
}

/// A JSON document: `schema_version`, `launches`, `checks` of all launches, `faults`,
/// `unsupported`, and `event_times` if the program asked for times between events.
///
/// # Errors
/// `out` could not be written.
pub fn json(emulated: &Emulated, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    #[derive(Serialize)]
    struct Document<'e> {
        schema_version: u32,
        #[serde(flatten)]
        emulated: &'e Emulated,
    }
    json_text::indented(out, &Document { schema_version: SCHEMA_VERSION, emulated })
}

#[cfg(test)]
#[path = "emulate_report_tests.rs"]
mod tests;
