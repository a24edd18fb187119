//! Replay: whether the repetitions of a pass did the same thing.
//!
//! Input: the results of several processes that ran the same configuration. Output: nothing, or the
//! first difference between two of them. Exact values are counts of a deterministic program; if
//! they differ the processes did not run the same program, and none of the numbers can be trusted.

use std::collections::BTreeSet;
use std::fmt::{self, Display};

use gpuprof_model::measurement::{InputFile, LaunchFacts, LaunchRecord, PassResult};
use gpuprof_model::quantity::format_number;

/// How launches of two passes are matched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Matching {
    /// Launches of the same kernel.
    Name,
    /// Launches of the same kernel, grid and block.
    Grid,
    /// Launches that agree in all recorded facts.
    #[default]
    All,
}

/// How far the launches of two passes may differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Strictness {
    /// Every launch must match, in the same order; that of launches of several threads is free.
    #[default]
    Strict,
    /// Every launch must match, in any order.
    Balanced,
    /// Launches without a match are ignored.
    Relaxed,
}

/// How launches of two passes are compared with each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Discipline {
    /// The rule by which launches correspond.
    pub matching: Matching,
    /// How far the lists may differ.
    pub strictness: Strictness,
}

/// Two processes of one configuration disagree about something that must repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// The subject of the difference: a metric in backquotes, `the device`, `launch 2`, …
    pub what: String,
    /// The finding of the first process.
    pub first: String,
    /// The finding of the other process.
    pub other: String,
    /// The number of the other process, from 1.
    pub process: usize,
    /// The rule that the difference breaks.
    pub rule: &'static str,
}

/// The rule for everything that must repeat.
const REPEATS: &str = "a profiled kernel must do the same in every process";

/// The rule for launches that only changed their places.
const ORDER: &str = "they are the same launches, and `--app-replay-mode balanced` accepts them in \
                     another order";

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, first, other, process, rule } = self;
        write!(
            f,
            "replay diverged: {what} is {first} in process 1 and {other} in process {process}; \
             {rule}"
        )
    }
}

impl std::error::Error for Divergence {}

/// Checks that all `passes`, repetitions of one pass, agree in everything that must repeat.
///
/// # Errors
/// The first thing in which a process differs from the first one.
pub fn agree(passes: &[PassResult], discipline: Discipline) -> Result<(), Divergence> {
    let Some((first, others)) = passes.split_first() else { return Ok(()) };
    for (position, other) in others.iter().enumerate() {
        if let Some(difference) = difference(first, other, discipline) {
            return Err(difference.between(position + 2));
        }
    }
    Ok(())
}

/// Checks that a counter pass ran the program that pass 0 ran: device and launches.
///
/// A difference that [`Strictness::Relaxed`] accepts is returned: the range as a whole then has no
/// counters, since those of the other launches are not kept apart.
///
/// # Errors
/// The first difference.
pub fn same_program(
    timed: &PassResult,
    counted: &PassResult,
    discipline: Discipline,
) -> Result<Option<Divergence>, Divergence> {
    let compared = |discipline| launches(&timed.launches, &counted.launches, discipline);
    if let Some(difference) = device(timed, counted).or_else(|| compared(discipline)) {
        return Err(difference.between(2));
    }
    Ok(compared(discipline.in_any_order()).map(|difference| difference.between(2)))
}

/// The subject of a difference, and its value on each side.
struct Difference {
    what: String,
    first: String,
    other: String,
    rule: &'static str,
}

impl Difference {
    fn new(what: impl Into<String>, first: String, other: String) -> Self {
        Self { what: what.into(), first, other, rule: REPEATS }
    }

    /// The difference between process 1 and this one.
    fn between(self, process: usize) -> Divergence {
        let Self { what, first, other, rule } = self;
        Divergence { what, first, other, process, rule }
    }
}

fn difference(a: &PassResult, b: &PassResult, discipline: Discipline) -> Option<Difference> {
    device(a, b)
        .or_else(|| input_files(a, b))
        .or_else(|| launches(&a.launches, &b.launches, discipline))
        .or_else(|| counters(a, b))
        .or_else(|| optional("`bytes`", a.declared_bytes, b.declared_bytes))
        .or_else(|| optional("`flops`", a.declared_flops, b.declared_flops))
        .or_else(|| {
            // If launches may differ, so may everything that follows from them.
            let alike = launches(&a.launches, &b.launches, Discipline::default()).is_none();
            alike.then(|| facts(a.facts.as_ref(), b.facts.as_ref())).flatten()
        })
}

fn device(a: &PassResult, b: &PassResult) -> Option<Difference> {
    let name = |pass: &PassResult| match pass.device.uuid.as_str() {
        "" => pass.device.name.clone(),
        uuid => format!("{} ({uuid})", pass.device.name),
    };
    (name(a) != name(b)).then(|| Difference::new("the device", name(a), name(b)))
}

/// Files that were changed between two processes hold other inputs.
fn input_files(a: &PassResult, b: &PassResult) -> Option<Difference> {
    let changed = |(a, b): &(&InputFile, &InputFile)| a.path == b.path && a.sha256 != b.sha256;
    let (a, b) = a.input_files.iter().zip(&b.input_files).find(changed)?;
    let text = |file: &InputFile| format!("SHA-256 {:.12}…", file.sha256);
    Some(Difference::new(format!("the input file {}", a.path), text(a), text(b)))
}

fn launches(
    first: &[LaunchRecord],
    second: &[LaunchRecord],
    discipline: Discipline,
) -> Option<Difference> {
    let (a, b) = (Comparable::all(first), Comparable::all(second));
    let text = |launch: Option<&Comparable<'_>>| {
        launch.map_or_else(|| "absent".to_owned(), |launch| launch_text(launch.launch))
    };
    match discipline.strictness {
        Strictness::Relaxed => None,
        Strictness::Strict => {
            let differ = |index: &usize| match (a.get(*index), b.get(*index)) {
                (Some(a), Some(b)) => !discipline.same(a, b),
                _ => true,
            };
            let index = (0..a.len().max(b.len())).find(differ)?;
            let number = a.get(index).map_or(index, |launch| launch.index) + 1;
            let difference =
                Difference::new(format!("launch {number}"), text(a.get(index)), text(b.get(index)));
            let moved = launches(first, second, discipline.in_any_order()).is_none();
            Some(if moved { Difference { rule: ORDER, ..difference } } else { difference })
        }
        Strictness::Balanced => {
            let mut left: Vec<&Comparable<'_>> = b.iter().collect();
            let mut unmatched: Option<&Comparable<'_>> = None;
            for launch in &a {
                match left.iter().position(|other| discipline.same(launch, other)) {
                    Some(position) => drop(left.remove(position)),
                    None => unmatched = unmatched.or(Some(launch)),
                }
            }
            match (unmatched, left.first()) {
                (None, None) => None,
                (None, Some(more)) => {
                    Some(Difference::new("a launch more", text(None), text(Some(*more))))
                }
                // A launch without a match here is the nearest to the other side.
                (Some(launch), other) => {
                    let description = format!("launch {}, in any place,", launch.index + 1);
                    let other = other.map_or_else(
                        || text(None),
                        |other| format!("absent (but {} is)", launch_text(other.launch)),
                    );
                    Some(Difference::new(description, text(Some(launch)), other))
                }
            }
        }
    }
}

/// A launch, and the positions of its context, its stream and its graph among those of its range in
/// the order of their first launches: a stream that a function makes has another number each time,
/// and so has the context of another GPU that it opens.
struct Comparable<'r> {
    launch: &'r LaunchRecord,
    /// Its position among the launches of the range.
    index: usize,
    context: Option<usize>,
    stream: Option<usize>,
    graph: Option<usize>,
}

impl<'r> Comparable<'r> {
    /// The launches of a range: those of each thread in their order, and the threads in an order
    /// that only depends on their launches. Threads race, so the order of launches of two of them
    /// is another in every process.
    fn all(launches: &'r [LaunchRecord]) -> Vec<Self> {
        let mut threads: Vec<Vec<Self>> = Vec::new();
        for (index, launch) in launches.iter().enumerate() {
            let comparable = Self { launch, index, context: None, stream: None, graph: None };
            match threads.iter_mut().find(|own| own[0].launch.thread == launch.thread) {
                Some(own) => own.push(comparable),
                None => threads.push(vec![comparable]),
            }
        }
        threads.sort_by(|a, b| a.iter().map(Self::shape).cmp(b.iter().map(Self::shape)));
        let mut all: Vec<Self> = threads.into_iter().flatten().collect();
        let (mut contexts, mut streams, mut graphs) = (Vec::new(), Vec::new(), Vec::new());
        for Self { launch, context, stream, graph, .. } in &mut all {
            *context = launch.context.map(|context| position(&mut contexts, context));
            *stream = launch.stream.map(|stream| position(&mut streams, stream));
            *graph = launch.graph.map(|graph| position(&mut graphs, graph));
        }
        all
    }

    fn shape(&self) -> (&'r str, [u32; 3], [u32; 3], u32) {
        let LaunchRecord { kernel, grid, block, shared_bytes, .. } = self.launch;
        (kernel, *grid, *block, *shared_bytes)
    }
}

/// The position of `value` in `known`, to which it is added unless it is there.
fn position<T: PartialEq>(known: &mut Vec<T>, value: T) -> usize {
    known.iter().position(|other| *other == value).unwrap_or_else(|| {
        known.push(value);
        known.len() - 1
    })
}

impl Discipline {
    /// The same, but with the launches in any order.
    fn in_any_order(self) -> Self {
        Self { strictness: Strictness::Balanced, ..self }
    }

    /// Whether two launches are the same one.
    fn same(self, a: &Comparable<'_>, b: &Comparable<'_>) -> bool {
        let all = |it: &Comparable<'_>| {
            let LaunchRecord { shared_bytes, cluster, device, .. } = *it.launch;
            (shared_bytes, cluster, device, it.context, it.stream, it.graph)
        };
        let shape = |it: &Comparable<'_>| (it.launch.grid, it.launch.block);
        let name = a.launch.kernel == b.launch.kernel;
        match self.matching {
            Matching::Name => name,
            Matching::Grid => name && shape(a) == shape(b),
            Matching::All => name && shape(a) == shape(b) && all(a) == all(b),
        }
    }
}

fn launch_text(launch: &LaunchRecord) -> String {
    let LaunchRecord { kernel, grid: [gx, gy, gz], block: [bx, by, bz], shared_bytes, .. } = launch;
    let mut text =
        format!("`{kernel}` grid {gx}x{gy}x{gz} block {bx}x{by}x{bz} shared {shared_bytes}");
    if let Some([x, y, z]) = launch.cluster {
        text.push_str(&format!(" cluster {x}x{y}x{z}"));
    }
    let graph = launch.graph.map(u64::from);
    let device = launch.device.map(u64::from);
    let numbers = [
        ("device", device),
        ("context", launch.context),
        ("stream", launch.stream),
        ("graph", graph),
    ];
    for (word, number) in numbers {
        if let Some(number) = number {
            text.push_str(&format!(" {word} {number}"));
        }
    }
    text
}

fn counters(a: &PassResult, b: &PassResult) -> Option<Difference> {
    let names: BTreeSet<&String> = a.counters.keys().chain(b.counters.keys()).collect();
    names.into_iter().find_map(|name| {
        let count_in = |pass: &PassResult| pass.counters.get(name).copied();
        optional(&format!("`{name}`"), count_in(a), count_in(b))
    })
}

fn facts(a: Option<&LaunchFacts>, b: Option<&LaunchFacts>) -> Option<Difference> {
    let (a, b) = match (a, b) {
        (Some(a), Some(b)) => (a, b),
        (None, None) => return None,
        (a, _) => {
            let known = |known: bool| if known { "known" } else { "unknown" }.to_owned();
            let (a, b) = (known(a.is_some()), known(a.is_none()));
            return Some(Difference::new("the launched function", a, b));
        }
    };
    let whole = |name: &str, a: u32, b: u32| optional(name, Some(a.into()), Some(b.into()));
    let wide = |value: Option<u32>| value.map(u64::from);
    optional("`registers`", wide(a.registers), wide(b.registers))
        .or_else(|| whole("`static_shared`", a.static_shared_bytes, b.static_shared_bytes))
        .or_else(|| whole("`dynamic_shared`", a.dynamic_shared_bytes, b.dynamic_shared_bytes))
        .or_else(|| whole("`local_memory`", a.local_bytes, b.local_bytes))
        .or_else(|| {
            optional("the blocks an SM holds", wide(a.blocks_per_sm), wide(b.blocks_per_sm))
        })
        .or_else(|| {
            unequal(
                "`theoretical_occupancy`",
                a.theoretical_occupancy,
                b.theoretical_occupancy,
                |v| v.to_string(),
            )
        })
        .or_else(|| unequal("`waves`", a.waves, b.waves, |v| v.to_string()))
        .or_else(|| unequal("the occupancy limiter", a.limiter, b.limiter, |v| v.to_string()))
}

fn optional(what: &str, a: Option<u64>, b: Option<u64>) -> Option<Difference> {
    #[expect(clippy::cast_precision_loss, reason = "text for people")]
    let text = |value: u64| match value {
        0..=999_999_999_999_999 => format_number(value as f64),
        _ => value.to_string(),
    };
    unequal(what, a, b, text)
}

fn unequal<T: PartialEq + Copy + Display>(
    what: &str,
    a: Option<T>,
    b: Option<T>,
    text: impl Fn(T) -> String,
) -> Option<Difference> {
    let text = |value: Option<T>| value.map_or_else(|| "absent".to_owned(), &text);
    (a != b).then(|| Difference::new(what, text(a), text(b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRICT: Discipline =
        Discipline { matching: Matching::All, strictness: Strictness::Strict };

    fn launched(blocks: &[u32]) -> PassResult {
        let template = pass(0).launches.remove(0);
        let launch = |&grid: &u32| LaunchRecord { grid: [grid, 1, 1], ..template.clone() };
        PassResult { launches: blocks.iter().map(launch).collect(), ..PassResult::default() }
    }

    fn compared(
        a: &[u32],
        b: &[u32],
        matching: Matching,
        strictness: Strictness,
    ) -> Result<Option<String>, String> {
        same_program(&launched(a), &launched(b), Discipline { matching, strictness })
            .map(|dropped| dropped.map(|d| d.what))
            .map_err(|d| d.what)
    }

    #[test]
    fn launches_are_matched_by_the_selected_rule() {
        use {Matching as By, Strictness as Mode};
        assert_eq!(compared(&[1, 2], &[1, 2], By::All, Mode::Strict), Ok(None));
        assert_eq!(compared(&[1, 2], &[2, 1], By::Grid, Mode::Strict), Err("launch 1".into()));
        assert_eq!(compared(&[1, 2], &[2, 1], By::Name, Mode::Strict), Ok(None));
        assert_eq!(compared(&[1, 2], &[2, 1], By::Grid, Mode::Balanced), Ok(None));
        assert_eq!(
            compared(&[1, 2], &[2, 3], By::Grid, Mode::Balanced),
            Err("launch 1, in any place,".into())
        );
        assert_eq!(compared(&[1], &[1, 3], By::Grid, Mode::Balanced), Err("a launch more".into()));
        // Both sides: the one without a counterpart, and the first unmatched one.
        let discipline = Discipline { matching: By::Grid, strictness: Mode::Balanced };
        let first_and_other = |a: &[u32], b: &[u32]| {
            let error = same_program(&launched(a), &launched(b), discipline).unwrap_err();
            (error.first, error.other)
        };
        let launch = |grid: u32| {
            format!("`saxpy` grid {grid}x1x1 block 256x1x1 shared 0 context 1 stream 7")
        };
        let expected = (launch(2), format!("absent (but {} is)", launch(3)));
        assert_eq!(first_and_other(&[1, 2, 4], &[4, 3, 1]), expected);
        assert_eq!(first_and_other(&[1, 2], &[1]), (launch(2), "absent".to_owned()));
        assert_eq!(
            compared(&[1], &[1, 3], By::Grid, Mode::Relaxed),
            Ok(Some("a launch more".into()))
        );
    }

    #[test]
    fn facts_of_equal_launches_are_compared() {
        let with = |blocks: u32, blocks_per_sm: u32| {
            let known = crate::fixture::gpu_pass(64, 1024, &[1.0]).facts;
            let facts = LaunchFacts { blocks_per_sm: Some(blocks_per_sm), ..known.unwrap() };
            PassResult { facts: Some(facts), ..launched(&[blocks]) }
        };
        let by_name = Discipline { matching: Matching::Name, strictness: Strictness::Strict };
        assert_eq!(agree(&[with(1, 8), with(2, 4)], by_name), Ok(()));
        let what = |passes: &[PassResult]| agree(passes, by_name).unwrap_err().what;
        assert_eq!(what(&[with(1, 8), with(1, 4)]), "the blocks an SM holds");
        assert!(agree(&[with(1, 8), with(2, 4)], STRICT).unwrap_err().what.starts_with("launch 1"));
    }

    #[test]
    fn all_that_is_recorded_of_a_launch_is_compared() {
        let differs = |change: fn(&mut LaunchRecord), matching| {
            let mut other = pass(0);
            change(&mut other.launches[0]);
            let discipline = Discipline { matching, strictness: Strictness::Strict };
            same_program(&pass(0), &other, discipline).err().map(|d| d.other)
        };
        type Change = fn(&mut LaunchRecord);
        let changes: [(Change, &str); 4] = [
            (|l| l.graph = Some(2), "0 context 1 stream 7 graph 2"),
            (|l| l.device = Some(1), "0 device 1 context 1 stream 7"),
            (|l| l.shared_bytes = 4, "4 context 1 stream 7"),
            (|l| l.cluster = Some([2, 1, 1]), "0 cluster 2x1x1 context 1 stream 7"),
        ];
        for (change, end) in changes {
            let expected = format!("`saxpy` grid 4x1x1 block 256x1x1 shared {end}");
            assert_eq!(differs(change, Matching::All), Some(expected));
            assert_eq!(differs(change, Matching::Grid), None);
        }
        // The next stream or context that the process makes, another thread, another time.
        let ignored: [Change; 4] = [
            |l| l.stream = Some(8),
            |l| l.context = Some(2),
            |l| l.thread = Some(1),
            |l| l.duration_ns = Some(5),
        ];
        for change in ignored {
            assert_eq!(differs(change, Matching::All), None);
        }
    }

    #[test]
    fn launches_of_threads_that_race_are_compared_thread_by_thread() {
        // Each thread has a stream; numbers of threads are in the order of their first launches.
        let raced = |launches: &[(u32, u32, u64)]| {
            let mut pass = launched(&launches.iter().map(|it| it.0).collect::<Vec<_>>());
            for (launch, (_, thread, stream)) in pass.launches.iter_mut().zip(launches) {
                (launch.thread, launch.stream) = (Some(*thread), Some(*stream));
            }
            pass
        };
        let first = raced(&[(1, 0, 7), (2, 0, 7), (3, 1, 14)]);
        assert_eq!(
            same_program(&first, &raced(&[(3, 0, 14), (1, 1, 7), (2, 1, 7)]), STRICT),
            Ok(None)
        );
        let error = same_program(&first, &raced(&[(2, 0, 7), (3, 1, 14), (1, 0, 7)]), STRICT);
        let error = error.unwrap_err();
        assert_eq!((error.what.as_str(), error.rule), ("launch 1", ORDER));
        let error = same_program(&first, &raced(&[(1, 0, 7), (2, 0, 7), (4, 1, 14)]), STRICT);
        let error = error.unwrap_err();
        assert_eq!((error.what.as_str(), error.rule), ("launch 3", REPEATS));
    }

    #[test]
    fn which_launches_share_a_context_is_compared() {
        let on = |contexts: [u64; 2]| {
            let mut pass = launched(&[1, 2]);
            for (launch, context) in pass.launches.iter_mut().zip(contexts) {
                launch.context = Some(context);
            }
            pass
        };
        assert_eq!(same_program(&on([1, 2]), &on([1, 3]), STRICT), Ok(None));
        let error = same_program(&on([1, 1]), &on([1, 2]), STRICT).unwrap_err();
        assert_eq!(error.what, "launch 2");
    }

    #[test]
    fn which_launches_share_a_stream_is_compared() {
        let on = |streams: [u64; 2]| {
            let mut pass = launched(&[1, 2]);
            for (launch, stream) in pass.launches.iter_mut().zip(streams) {
                launch.stream = Some(stream);
            }
            pass
        };
        assert_eq!(same_program(&on([7, 13]), &on([7, 14]), STRICT), Ok(None));
        let error = same_program(&on([7, 7]), &on([7, 14]), STRICT).unwrap_err();
        assert_eq!(error.what, "launch 2");
    }

    fn pass(instructions: u64) -> PassResult {
        let launch = LaunchRecord {
            kernel: "saxpy".into(),
            grid: [4, 1, 1],
            block: [256, 1, 1],
            shared_bytes: 0,
            context: Some(1),
            stream: Some(7),
            ..LaunchRecord::default()
        };
        PassResult {
            launches: vec![launch],
            counters: [("ptx__inst_executed.sum".to_owned(), instructions)].into(),
            ..PassResult::default()
        }
    }

    #[test]
    fn equal_processes_agree() {
        assert_eq!(agree(&[], STRICT), Ok(()));
        assert_eq!(agree(&[pass(5), pass(5), pass(5)], STRICT), Ok(()));
    }

    #[test]
    fn a_differing_counter_is_named_with_both_values() {
        let error = agree(&[pass(1024), pass(1024), pass(1025)], STRICT).unwrap_err();
        assert_eq!(
            error.to_string(),
            "replay diverged: `ptx__inst_executed.sum` is 1,024 in process 1 and 1,025 in process \
             3; a profiled kernel must do the same in every process"
        );
        let mut without = pass(7);
        without.counters.clear();
        assert_eq!(agree(&[pass(7), without], STRICT).unwrap_err().other, "absent");
    }

    #[test]
    fn the_first_launch_that_differs_is_named() {
        let mut longer = pass(7);
        longer.launches.push(LaunchRecord { grid: [1, 1, 1], ..longer.launches[0].clone() });
        let error = agree(&[pass(7), longer], STRICT).unwrap_err();
        assert_eq!((error.what.as_str(), error.first.as_str()), ("launch 2", "absent"));
        assert_eq!(error.other, "`saxpy` grid 1x1x1 block 256x1x1 shared 0 context 1 stream 7");
    }

    #[test]
    fn a_file_changed_between_two_processes_is_a_divergence() {
        let read = |sha256: &str| {
            let file = InputFile { path: "p/graph.bin".into(), sha256: sha256.into() };
            PassResult { input_files: vec![file], ..pass(7) }
        };
        assert_eq!(agree(&[read("ab"), read("ab")], STRICT), Ok(()));
        let error = agree(&[read("0123456789abcdef"), read("ff")], STRICT).unwrap_err();
        assert_eq!(
            error.to_string(),
            "replay diverged: the input file p/graph.bin is SHA-256 0123456789ab… in process 1 and \
             SHA-256 ff… in process 2; a profiled kernel must do the same in every process"
        );
    }

    #[test]
    fn a_difference_in_declared_work_or_device_is_a_divergence() {
        let other = PassResult { declared_bytes: Some(12), ..pass(7) };
        assert_eq!(agree(&[pass(7), other], STRICT).unwrap_err().what, "`bytes`");
        let mut other = pass(7);
        other.device.uuid = "GPU-2".into();
        assert_eq!(agree(&[pass(7), other], STRICT).unwrap_err().what, "the device");
    }
}
