//! The device's time, and the launches for the fake CUPTI.
//!
//! Input: the launches that the emulated device ran, and the copies and fills between them. Output:
//! the time after the last launch, and, while an observer is set, each of them, launches with their
//! counters.

use std::collections::VecDeque;
use std::env;
use std::ffi::{CString, c_void};
use std::sync::Mutex;

use super::code::Code;
use super::cubin;
use super::pointers::{Out, Source};
use super::state::{Driver, peek};
use crate::device::{Checks, LaunchConfig, LaunchRecord, MoveKind, MoveRecord, Profiler};
use crate::table::{
    Call, Counter, Hear, ID, Instruction, Launch, Table, Visit, VisitInstruction, moved,
};

/// The time of every launch, in nanoseconds.
const LAUNCH: u64 = 2000;

/// The time of every copy and fill in the records of CUPTI, in nanoseconds.
const MOVE: u64 = 500;

/// The time that each count of a counter adds to a launch, in nanoseconds.
const COSTS: [(&str, u64); 3] = [
    ("ptx__inst_executed.sum", 1),
    ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", 2),
    ("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", 2),
];

struct Ledger {
    now: u64,
    /// How long copies and fills took.
    moved: u64,
    observed: bool,
    /// The threads of the launches that are not settled.
    threads: VecDeque<u32>,
    kept: Vec<Kept>,
}

/// A launch, or a copy or fill, for the fake CUPTI.
struct Kept {
    launch: LaunchRecord,
    moved: Option<MoveRecord>,
    nanoseconds: u64,
    thread: u32,
}

static LEDGER: Mutex<Ledger> = Mutex::new(Ledger {
    now: 0,
    moved: 0,
    observed: false,
    threads: VecDeque::new(),
    kept: Vec::new(),
});

fn duration(launch: &LaunchRecord) -> u64 {
    let cost = |(name, each): &(&str, u64)| each * launch.counter(name).unwrap_or(0);
    let took = LAUNCH + COSTS.iter().map(cost).sum::<u64>();
    let permille = TimedProcess::this().map_or(0, |process| process.slower_permille(launch));
    took + took * permille / 1000
}

/// A process that takes times or energy, identified by its request.
struct TimedProcess {
    /// The position of its series in the plan; those of another revision come last.
    series: u64,
    repeat: u64,
}

impl TimedProcess {
    fn this() -> Option<Self> {
        let request = env::var("__GPUPROF_REQUEST").ok()?;
        let request = request.trim_end_matches(".request.json");
        let (of, repeat) =
            request.rsplit_once("pass-0-").or_else(|| request.rsplit_once("energy-"))?;
        let name = of.rsplit_once('/').map_or(of, |(_, name)| name);
        // A suffix for later counters of the process may follow.
        let (repeat, _) = repeat.split_once('-').unwrap_or((repeat, ""));
        Some(Self { series: name.split_once('-')?.0.parse().ok()?, repeat: repeat.parse().ok()? })
    }

    /// How much slower than ever its launch is, in tenths of a percent.
    fn slower_permille(&self, launch: &LaunchRecord) -> u64 {
        let block = launch.config.block[0];
        self.noise_permille(block).unwrap_or(0) + self.slow_permille(block).unwrap_or(0)
    }

    /// `FAKE_CUDA_NOISE=64:4` makes blocks of 64 threads 4 % slower in every other process; `all:2`
    /// makes all blocks up to 2 % slower, by a different number for each process and block.
    fn noise_permille(&self, block: u32) -> Option<u64> {
        let noise = env::var("FAKE_CUDA_NOISE").ok()?;
        let (noisy, percent) = noise.split_once(':')?;
        let most = 10 * percent.parse::<u64>().ok()?;
        if noisy == "all" {
            let mixed = (self.series << 40 | self.repeat << 20 | u64::from(block))
                .wrapping_add(1)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mixed = (mixed ^ mixed >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            return Some((mixed >> 32) % (most + 1));
        }
        (noisy.parse() == Ok(block)).then_some(self.repeat % 2 * most)
    }

    /// `FAKE_CUDA_SLOW=0:64:5` makes blocks of 64 threads 5 % slower in the plan's first series.
    fn slow_permille(&self, block: u32) -> Option<u64> {
        let told = env::var("FAKE_CUDA_SLOW").ok()?;
        let mut parts = told.split(':').map(str::parse::<u64>);
        let mut next = || parts.next()?.ok();
        let (series, slow, percent) = (next()?, next()?, next()?);
        ((series, slow) == (self.series, u64::from(block))).then_some(10 * percent)
    }
}

/// The ledger after all launches so far.
fn settled<T>(driver: Option<&mut Driver>, f: impl FnOnce(&mut Ledger) -> T) -> T {
    let mut ledger = LEDGER.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(driver) = driver {
        let (moves, more) = driver.device.take_moves();
        ledger.moved += MOVE * more;
        let mut moves = moves.into_iter().peekable();
        for (at, launch) in driver.device.take_launches().into_iter().enumerate() {
            while let Some(moved) = moves.next_if(|moved| moved.launches_before <= at) {
                ledger.keep_move(moved);
            }
            ledger.keep_launch(launch);
        }
        moves.for_each(|moved| ledger.keep_move(moved));
    }
    f(&mut ledger)
}

impl Ledger {
    fn keep_launch(&mut self, launch: LaunchRecord) {
        let nanoseconds = duration(&launch);
        let thread = self.threads.pop_front().unwrap_or_default();
        self.now += nanoseconds;
        if self.observed {
            self.kept.push(Kept { launch, moved: None, nanoseconds, thread });
        }
    }

    /// Keeps a copy or fill, which events do not time: as one of the main thread.
    fn keep_move(&mut self, moved: MoveRecord) {
        self.moved += MOVE;
        if self.observed {
            let launch = LaunchRecord { stream: moved.stream, ..nothing(String::new()) };
            let thread = std::process::id();
            self.kept.push(Kept { launch, moved: Some(moved), nanoseconds: MOVE, thread });
        }
    }
}

/// A launch of no kernel.
fn nothing(kernel: String) -> LaunchRecord {
    LaunchRecord {
        profiler: Profiler::Untouched,
        kernel,
        config: LaunchConfig { grid: [0; 3], block: [0; 3], shared_bytes: 0 },
        stream: 0,
        checks: Checks::NONE,
        races_in_part: false,
        counters: Vec::new(),
        unclaimed: Vec::new(),
        estimate: None,
    }
}

/// Notes that this thread has launched a kernel.
pub fn launched_here() {
    // SAFETY: it has no preconditions.
    let thread = unsafe { libc::gettid() }.unsigned_abs();
    LEDGER.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).threads.push_back(thread);
}

/// The device's time in nanoseconds.
pub fn now(driver: &mut Driver) -> u64 {
    settled(Some(driver), |ledger| ledger.now)
}

/// Takes up work that is not a kernel of the client's, and that a profiler sees all the same.
pub fn work_of_the_driver(driver: &mut Driver, what: &str) {
    let launch = nothing(what.to_owned());
    settled(Some(driver), |ledger| {
        ledger.now += LAUNCH;
        if ledger.observed {
            ledger.kept.push(Kept { launch, moved: None, nanoseconds: LAUNCH, thread: 0 });
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
    for kept in settle(|ledger| std::mem::take(&mut ledger.kept)) {
        let Kept { launch, moved, nanoseconds, thread } = kept;
        let text = |text: &str| CString::new(text).unwrap_or_default();
        let kernel = text(&launch.kernel);
        let names: Vec<CString> = launch.counters.iter().map(|(name, _)| text(name)).collect();
        let counters: Vec<Counter> = names
            .iter()
            .zip(&launch.counters)
            .map(|(name, (_, value))| Counter { name: name.as_ptr(), value: *value })
            .collect();
        let launch = Launch {
            moved: moved.map_or(moved::NOTHING, |moved| match moved.kind {
                MoveKind::Upload => moved::UPLOAD,
                MoveKind::Download => moved::DOWNLOAD,
                MoveKind::Copy => moved::COPY,
                MoveKind::Fill => moved::FILL,
            }),
            bytes: moved.map_or(0, |moved| moved.bytes),
            profiler: match launch.profiler {
                Profiler::Untouched => 0,
                Profiler::Started => 1,
                Profiler::Stopped => 2,
            },
            kernel: kernel.as_ptr(),
            grid: launch.config.grid,
            block: launch.config.block,
            shared_bytes: launch.config.shared_bytes,
            stream: launch.stream,
            thread,
            nanoseconds,
            counters: counters.as_ptr(),
            counter_count: counters.len(),
        };
        // SAFETY: the caller gave both to be called together; the launch and all it points to live
        // until it returns.
        unsafe { visit(into, &raw const launch) };
    }
}

unsafe extern "C" fn instructions(visit: VisitInstruction, into: *mut c_void) {
    let profiles = peek(|driver| Some(driver.device.take_profiles())).unwrap_or_default();
    for profile in profiles {
        let kernel = CString::new(profile.listing.kernel.as_str()).unwrap_or_default();
        let numbers = cubin::numbered(&profile.listing);
        let lines = numbers.into_iter().zip(&profile.listing.lines);
        for ((number, line), counts) in lines.zip(&profile.counts) {
            let Some(number) = number else { continue };
            let text = CString::new(line.text.as_str()).unwrap_or_default();
            let (kernel, text) = (kernel.as_ptr(), text.as_ptr());
            let one = Instruction { kernel, number, text, counts: counts.values() };
            // SAFETY: the caller gave both to be called together; both texts live until it returns.
            unsafe { visit(into, &raw const one) };
        }
    }
}

/// Who hears of calls.
static HEAR: Mutex<Option<Hear>> = Mutex::new(None);

extern "C" fn watch(hear: Option<Hear>) {
    *HEAR.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = hear;
}

/// A call that returned.
pub struct Returned {
    pub code: Code,
    /// The kernel and the configuration of a refused launch.
    pub refused: Option<(String, LaunchConfig)>,
    /// Whether it is an accepted launch.
    pub launched: bool,
    /// The code of a module that it loaded.
    pub cubin: Option<Vec<u8>>,
}

/// Whether calls are reported.
pub fn is_heard() -> bool {
    HEAR.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).is_some()
}

/// Reports a call, if it failed, launched, or loaded a module.
pub fn tell(call: Returned) {
    let Returned { code, refused, launched, cubin } = call;
    let hear = *HEAR.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let told = launched || cubin.is_some() || code != Code::SUCCESS;
    let Some(hear) = hear.filter(|_| told) else { return };
    let launch = launched || refused.is_some();
    let nothing = LaunchConfig { grid: [0; 3], block: [0; 3], shared_bytes: 0 };
    let (kernel, config) = match refused {
        Some((kernel, config)) => (CString::new(kernel).ok(), config),
        None => (None, nothing),
    };
    let LaunchConfig { grid, block, shared_bytes } = config;
    let name = kernel.as_ref().map_or(std::ptr::null(), |kernel| kernel.as_ptr());
    let cubin = cubin.unwrap_or_default();
    let call = Call {
        code: code.0,
        launch,
        kernel: name,
        grid,
        block,
        shared_bytes,
        cubin: cubin.as_ptr().cast(),
        cubin_bytes: cubin.len(),
    };
    // SAFETY: the call, the name and the code in it live until it returns.
    unsafe { hear(&raw const call) };
}

extern "C" fn worked() -> u64 {
    settle(|ledger| ledger.now + ledger.moved)
}

static TABLE: Table = Table { observe, take, instructions, watch, worked };

/// Tables that no header describes: NVIDIA's driver has many, this one has one.
#[unsafe(no_mangle)]
extern "C" fn cuGetExportTable(table: Out<*const Table>, id: Source) -> Code {
    match id.bytes(ID.len()) {
        Ok(bytes) if bytes == ID => table.set(&raw const TABLE).into(),
        Ok(_) => Code::NOT_FOUND,
        Err(code) => code,
    }
}
