//! The estimated duration of a launch: a function of its execution and of constants of the chip.
//!
//! Input: a program, its machine code if it is known, the counts of its launch, the launch's shape,
//! the chip's [`Rates`]. Output: an [`Estimate`]. The estimate is deterministic: it depends on no
//! clock, no host and no order of host threads.

mod bounds;
mod code;
mod cost;
mod interval;
mod l2_atomics;
mod limited_by;
mod machine;
mod memory;
mod merging;
mod pipes;
mod rates;
mod recording;
mod replay;
mod shape;
mod sharing;
mod ticks;
mod waits;
mod window;

pub use limited_by::Limit;
pub use machine::Machine;
pub use rates::{Rates, TensorRates, Units};
pub use shape::Shape;

use self::code::Code;
use self::machine::BySchedule;
use self::memory::Averages;
use self::recording::Recording;
use self::sharing::Shared;
use self::window::ByWindow;
use crate::counters::Counts;
use crate::lower::Program;

/// The version of the model: estimates of different versions are not compared.
pub const MODEL: u32 = 7;

/// The part of the time of each resource but the busiest that nothing hides: by 65 kernels on an
/// H200, of which the replay alone underestimates those that are near several limits
/// (docs/scripts/estimate.py).
const EXPOSED: f64 = 0.1;

/// How long a launch takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Nanoseconds.
    pub duration_ns: f64,
    /// The lower end of the interval.
    pub low_ns: f64,
    /// The upper end of the interval.
    pub high_ns: f64,
    /// The limits, as shares of the duration, the largest first.
    pub limits: Vec<(Limit, f64)>,
    /// The product that it is for, such as `H200`.
    pub chip: &'static str,
    /// Whether the chip's constants were measured on it.
    pub characterised: bool,
    /// Whether the occupancy counts the kernel's registers; if not, they limit nothing in it.
    pub registers_known: bool,
    /// Whether the instructions are those of the kernel's machine code. If not, they follow from
    /// the PTX by rules.
    pub machine_code_known: bool,
}

/// The estimate of a launch; none if its traffic was not recorded.
pub fn estimate(
    program: &Program,
    machine: Option<&Machine>,
    counts: &Counts,
    shape: Shape,
    rates: &Rates,
) -> Option<Estimate> {
    let traffic = counts.traffic.as_deref()?;
    let mut code = Code::new(program, &rates.units);
    let machine = machine.filter(|machine| machine.is_whole(program, counts));
    let schedule = machine.map(|machine| machine.apply(program, counts, &rates.units, &mut code));
    if schedule.is_none() {
        merging::merge(program, &mut code);
    }
    let recording = &Recording::new(&code, traffic);
    let updates_ns = l2_atomics::ns(program, &code, counts, rates);
    let averages = Averages::new(counts, recording.all(), shape, rates, updates_ns)?;
    let shared = &Shared::new(recording.all(), shape, &traffic.read_lines());
    let chain = waits::ns(&code, recording.all(), shape, rates);
    let replayed = match &schedule {
        Some(schedule) => {
            let paths = schedule.paths(recording);
            let order = || BySchedule::new(schedule, recording, &paths);
            replay::replay(order, recording, shape, rates, averages, shared)
        }
        None => {
            let order = || ByWindow::new(&code, recording);
            replay::replay(order, recording, shape, rates, averages, shared)
        }
    };
    let mut limits = bounds::limits(&code, counts, shape, rates, updates_ns, replayed.l2_ns)?;
    let longest = limits.first().map_or(0.0, |(_, ns)| *ns);
    // The last block of a chain still has its own work before it.
    let alone = replayed.ns.max(longest).max(chain + replayed.ns / shape.waves());
    let others = limits.iter().skip(1).map(|(_, ns)| ns).sum::<f64>();
    let work_ns = alone + EXPOSED * others;
    let duration_ns = rates.launch_ns + work_ns;
    limits.push((Limit::Launch, rates.launch_ns));
    limits.push((Limit::Latency, work_ns - longest));
    limits.push((Limit::Tail, work_ns * shape.empty_share()));
    limits.sort_by(|(one, a), (other, b)| b.total_cmp(a).then(one.cmp(other)));
    let spread = interval::interval_factor(rates, limits[0].0, machine.is_some());
    Some(Estimate {
        duration_ns,
        low_ns: duration_ns / spread,
        high_ns: duration_ns * spread,
        limits: limits.into_iter().map(|(limit, ns)| (limit, ns / duration_ns)).collect(),
        chip: rates.name,
        characterised: rates.characterised,
        registers_known: shape.registers_known,
        machine_code_known: machine.is_some(),
    })
}
