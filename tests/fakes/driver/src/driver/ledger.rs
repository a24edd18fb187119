//! The device's time, and the launches that the fake CUPTI asks for.
//!
//! Input: the launches that the emulated device ran. Output: the time after the last of them,
//! and, while somebody observes, each with its counters.

use std::env;
use std::ffi::{CString, c_void};
use std::sync::Mutex;

use super::code::Code;
use super::pointers::{Out, Source};
use super::state::{Driver, peek};
use crate::device::{LaunchConfig, LaunchRecord};
use crate::table::{Counter, ID, Launch, Table, Visit};

/// What every launch takes, in nanoseconds.
const LAUNCH: u64 = 2000;

/// What each counter adds to a launch's time, in nanoseconds for one.
const COSTS: [(&str, u64); 3] = [
    ("ptx__inst_executed.sum", 1),
    ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", 2),
    ("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", 2),
];

struct Ledger {
    now: u64,
    observed: bool,
    kept: Vec<(LaunchRecord, u64)>,
}

static LEDGER: Mutex<Ledger> = Mutex::new(Ledger { now: 0, observed: false, kept: Vec::new() });

fn duration(launch: &LaunchRecord) -> u64 {
    let cost = |(name, each): &(&str, u64)| each * launch.counter(name).unwrap_or(0);
    let took = LAUNCH + COSTS.iter().map(cost).sum::<u64>();
    took + took * noise_percent(launch.config.block[0]) / 100
}

/// `FAKE_CUDA_NOISE=64:4` makes blocks of 64 threads 4 % slower in every other process that takes
/// times.
fn noise_percent(block: u32) -> u64 {
    let told = || {
        let noise = env::var("FAKE_CUDA_NOISE").ok()?;
        let (noisy, percent) = noise.split_once(':')?;
        let request = env::var("__GPUPROF_REQUEST").ok()?;
        let (_, repeat) = request.trim_end_matches(".request.json").rsplit_once("pass-0-")?;
        // What the process counts after that may follow.
        let (repeat, _) = repeat.split_once('-').unwrap_or((repeat, ""));
        let odd = repeat.parse::<u64>().ok()? % 2;
        (noisy.parse() == Ok(block)).then_some(odd * percent.parse::<u64>().ok()?)
    };
    told().unwrap_or(0)
}

/// The ledger after all launches so far.
fn settled<T>(driver: Option<&mut Driver>, f: impl FnOnce(&mut Ledger) -> T) -> T {
    let mut ledger = LEDGER.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for launch in driver.map(|driver| driver.device.take_launches()).unwrap_or_default() {
        let took = duration(&launch);
        ledger.now += took;
        if ledger.observed {
            ledger.kept.push((launch, took));
        }
    }
    f(&mut ledger)
}

/// The device's time in nanoseconds.
pub fn now(driver: &mut Driver) -> u64 {
    settled(Some(driver), |ledger| ledger.now)
}

/// Takes up work that is no kernel of the client's, and that a profiler sees all the same.
pub fn work_of_the_driver(driver: &mut Driver, what: &str) {
    let launch = LaunchRecord {
        kernel: what.to_owned(),
        config: LaunchConfig { grid: [0; 3], block: [0; 3], shared_bytes: 0 },
        stream: 0,
        counters: Vec::new(),
    };
    settled(Some(driver), |ledger| {
        ledger.now += LAUNCH;
        if ledger.observed {
            ledger.kept.push((launch, LAUNCH));
        }
    });
}

/// As [`settled`], from outside of the driver.
fn settle<T>(f: impl FnOnce(&mut Ledger) -> T) -> T {
    peek(|driver| Some(now(driver)));
    settled(None, f)
}

extern "C" fn observe(on: bool) {
    settle(|ledger| {
        ledger.observed = on;
        ledger.kept.clear();
    });
}

unsafe extern "C" fn take(visit: Visit, into: *mut c_void) {
    for (launch, nanoseconds) in settle(|ledger| std::mem::take(&mut ledger.kept)) {
        let text = |text: &str| CString::new(text).unwrap_or_default();
        let kernel = text(&launch.kernel);
        let names: Vec<CString> = launch.counters.iter().map(|(name, _)| text(name)).collect();
        let counters: Vec<Counter> = names
            .iter()
            .zip(&launch.counters)
            .map(|(name, (_, value))| Counter { name: name.as_ptr(), value: *value })
            .collect();
        let launch = Launch {
            kernel: kernel.as_ptr(),
            grid: launch.config.grid,
            block: launch.config.block,
            nanoseconds,
            counters: counters.as_ptr(),
            counter_count: counters.len(),
        };
        // SAFETY: the caller gave both to be called together; the launch and all it points to live
        // until it returns.
        unsafe { visit(into, &raw const launch) };
    }
}

static TABLE: Table = Table { observe, take };

/// Tables that no header describes: NVIDIA's driver has many, this one has one.
#[unsafe(no_mangle)]
extern "C" fn cuGetExportTable(table: Out<*const Table>, id: Source) -> Code {
    match id.bytes(ID.len()) {
        Ok(bytes) if bytes == ID => table.set(&raw const TABLE).into(),
        Ok(_) => Code::NOT_FOUND,
        Err(code) => code,
    }
}
