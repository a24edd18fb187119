//! State that a process may hide, each with its reason.

/// A static that changes, or a leak.
pub struct Allowed {
    /// The file, from the repository's root.
    pub file: &'static str,
    /// The static's name; `leak` for all leaks of the file.
    pub name: &'static str,
    /// Why it cannot be a value that is handed on.
    pub reason: &'static str,
}

const fn allowed(file: &'static str, name: &'static str, reason: &'static str) -> Allowed {
    Allowed { file, name, reason }
}

/// All of it. Whoever removes one removes its line.
pub const ALLOWED: &[Allowed] = &[
    // What is shipped.
    allowed(
        "system/src/scratch.rs",
        "LIVE",
        "a signal ends the process from a thread that owns none of the folders it removes",
    ),
    allowed(
        "system/src/scratch.rs",
        "SWEPT",
        "leftovers are searched for once a process, by its first folder",
    ),
    allowed(
        "model/src/metric/other_profilers.rs",
        "ROWS",
        "a table of the source, parsed once: every unknown name of a metric is looked up in it",
    ),
    allowed(
        "catalogue/src/rules/tests.rs",
        "PARSED",
        "the files of the source, parsed once: tests ask for them thousands of times",
    ),
    allowed(
        "cupti/src/abi.rs",
        "CALLS",
        "CUPTI's first call sets the library up without a lock: two threads must not begin together",
    ),
    allowed(
        "cupti/src/activity.rs",
        "RECORDED",
        "CUPTI hands its buffers to callbacks that get no pointer of the caller",
    ),
    allowed(
        "cupti/src/activity.rs",
        "NEXT_RECORD",
        "CUPTI hands its buffers to callbacks that get no pointer of the caller",
    ),
    allowed(
        "cupti/src/driver.rs",
        "FUNCTIONS",
        "a process has one CUDA driver, which cannot be loaded again",
    ),
    allowed(
        "cupti/src/host.rs",
        "LOADED",
        "a process has one CUPTI, which aborts where it is loaded a second time",
    ),
    allowed("cupti/src/host.rs", "leak", "the one CUPTI of a process is never unloaded"),
    allowed(
        "cupti/src/callbacks.rs",
        "leak",
        "another thread may be in CUPTI's callback when its subscription ends, and still write there",
    ),
    allowed(
        "cudart/src/driver.rs",
        "OPENED",
        "CUDA's runtime opens its driver on the first call, and a process has one",
    ),
    allowed("cudart/src/error.rs", "LAST", "CUDA's API has a last error for each thread"),
    allowed(
        "cudart/src/launch.rs",
        "CONFIGURATIONS",
        "nvcc's code hands a launch's configuration on through the runtime",
    ),
    allowed(
        "cudart/src/registry.rs",
        "REGISTRY",
        "nvcc's code registers kernels before `main`, without a handle",
    ),
    allowed(
        "cudart/static/lib.rs",
        "cudart_static_first",
        "C calls a static library's functions without a handle",
    ),
    allowed("cudart/static/lib.rs", "cudart_static_end", "the end of those functions"),
    allowed("cudart/src/unsupported.rs", "NAMED", "each missing function is named once a process"),
    allowed(
        "emulator/src/driver/current.rs",
        "CURRENT",
        "CUDA's API has a stack of current contexts for each thread",
    ),
    allowed(
        "emulator/src/driver/foreign_runtime.rs",
        "TOLD",
        "NVIDIA's runtime asks before the driver has a state, and one message is enough",
    ),
    allowed(
        "emulator/src/driver/function.rs",
        "leak",
        "CUDA's API hands out names of functions that live as long as the process",
    ),
    allowed(
        "emulator/src/driver/state.rs",
        "DRIVER",
        "CUDA's C API passes no driver: a process has one",
    ),
    allowed(
        "emulator/src/lower/signature_table.rs",
        "BY_OPCODE",
        "an index of a constant table, which never changes",
    ),
    allowed(
        "harness-macros/src/shared.rs",
        "COUNTER",
        "expansions are independent, and each needs a unique PTX name",
    ),
    allowed(
        "runtime/src/host/driver/library.rs",
        "LIBRARY",
        "the system has one library of the driver for a process, and so has cudarc",
    ),
    allowed(
        "runtime/src/host/collect/persisting.rs",
        "KNOWN",
        "whether the one driver of a process has a symbol, which never changes",
    ),
    allowed(
        "runtime/src/host/error/outcome.rs",
        "PANICKED_AT",
        "a panic hook belongs to the process, and gets the location, which the payload lacks",
    ),
    allowed(
        "runtime/src/host/driver/nvml.rs",
        "leak",
        "NVML keeps pointers into itself: it stays loaded",
    ),
    // Tests: made once a process, since each takes seconds to make, and never changed.
    allowed("cargo-gpuprof/tests/clocks.rs", "LIBRARY", "the fake NVML is compiled once a process"),
    allowed(
        "cargo-gpuprof/tests/cuda_cpp/mod.rs",
        "COMPILER",
        "NVRTC is unpacked and asked once a process",
    ),
    allowed(
        "cargo-gpuprof/tests/cuda_cpp/mod.rs",
        "HEADERS",
        "CUDA's headers are unpacked once a process",
    ),
    allowed(
        "cargo-gpuprof/tests/escapes.rs",
        "DOCUMENT",
        "a run of the source, read once a process",
    ),
    allowed(
        "cargo-gpuprof/tests/escapes.rs",
        "FREE_TEXTS",
        "each text of a run is tried, once a process and not in every test",
    ),
    allowed(
        "cargo-gpuprof/tests/escapes.rs",
        "ORDINARY",
        "a run of the source, read once a process",
    ),
    allowed("cupti/tests/common/mod.rs", "FOLDER", "the pinned CUPTI is unpacked once a process"),
    allowed("emulator/tests/driver.rs", "LIBRARY", "the driver is compiled once a process"),
    allowed(
        "emulator/tests/driver.rs",
        "ALONE",
        "the driver's state is the process': its tests take turns",
    ),
    allowed("emulator/tests/driver.rs", "LAST", "the test needs the destructor of a thread-local"),
    allowed("tests/emulate.rs", "PROGRAM", "the program is compiled once a process"),
    allowed(
        "runtime/tests/ui/constant_memory.rs",
        "CHANGED",
        "the program does not compile: constant memory is not for statics that change",
    ),
    allowed(
        "runtime/tests/annotations.rs",
        "LIBRARY",
        "cargo is asked once a process where the library is",
    ),
    allowed("tests/archive.rs", "ARCHIVE", "the archive is built once a process"),
    allowed("tests/harnesses.rs", "ARCHIVES", "the archives are built once a process"),
    allowed("tests/support/commits.rs", "COMMITS", "a history is built once a process"),
    allowed("tests/machine_code.rs", "MADE", "the machine code is assembled once a process"),
    allowed("tests/support/fakes.rs", "LIBRARIES", "the fakes are compiled once a process"),
    allowed("tests/support/packed.rs", "ARCHIVE", "the archive is built once a process"),
    allowed("tests/support/replay.rs", "JOINED", "a text that arguments borrow from"),
    allowed("tests/support/tool.rs", "RUST_SRC", "the library source is added once a process"),
    // Kernels of tests that must keep something between the calls of a process.
    allowed(
        "tests/fixtures/workshop/settles/src/lib.rs",
        "KERNEL",
        "the test is about a kernel that a process loads once",
    ),
    allowed(
        "tests/fixtures/workshop/settles/src/lib.rs",
        "CALLS",
        "the test is about a function that does more in every call",
    ),
    // Fakes of libraries with C APIs that pass no state.
    allowed(
        "tests/fakes/cupti/src/activity.rs",
        "RECORDING",
        "CUPTI's activity functions have no object to be handed, as the real one's",
    ),
    allowed("tests/fakes/cupti/src/driver.rs", "DRIVER", "a process has one driver"),
    allowed("tests/fakes/cupti/src/host.rs", "HOSTS", "CUPTI's C API hands out addresses only"),
    allowed(
        "tests/fakes/driver/src/driver/ledger.rs",
        "HEAR",
        "the fake CUPTI asks for the fake driver's launches through a C function, as CUPTI does",
    ),
    allowed(
        "tests/fakes/cupti/src/callbacks.rs",
        "SUBSCRIBER",
        "the fake library's C functions have no state to be handed, as the real one's",
    ),
    allowed(
        "tests/fakes/cupti/src/host.rs",
        "CHIP_LIST",
        "CUPTI's C API hands out lists that live as long as the process",
    ),
    allowed(
        "tests/fakes/cupti/src/host.rs",
        "METRIC_LISTS",
        "CUPTI's C API hands out lists that live as long as the process",
    ),
    allowed(
        "tests/fakes/cupti/src/host.rs",
        "SUBMETRIC_LISTS",
        "CUPTI's C API hands out lists that live as long as the process",
    ),
    allowed(
        "tests/fakes/cupti/src/pc_sampling.rs",
        "STATE",
        "CUPTI's C API for samples has one state a context, and the fake has one context",
    ),
    allowed(
        "tests/fakes/cupti/src/pm_sampling.rs",
        "SAMPLER",
        "CUPTI's C API for samples has one state a device, and the fake has one device",
    ),
    allowed("tests/fakes/cupti/src/sass.rs", "STATE", "CUPTI patches the code of a whole process"),
    allowed(
        "tests/fakes/cupti/src/sass.rs",
        "CRC",
        "CUPTI's records name a cubin by the number that another function gave it",
    ),
    allowed("tests/fakes/cupti/src/session.rs", "SESSION", "CUPTI has one session a process"),
    allowed("tests/fakes/cupti/src/ready.rs", "INITIALIZED", "CUPTI counts it for the process"),
    allowed("tests/fakes/driver/src/driver/event.rs", "EVENTS", "CUDA's C API passes no driver"),
    allowed("tests/fakes/driver/src/driver/ledger.rs", "LEDGER", "CUDA's C API passes no driver"),
    allowed("tests/cuda_runtime.rs", "TOOLKIT_13", "the pinned toolkit is unpacked once a process"),
    allowed("tests/cuda_runtime.rs", "TOOLKIT_12", "the pinned toolkit is unpacked once a process"),
    allowed(
        "tests/fakes/driver/src/driver/state.rs",
        "leak",
        "the emulator's chips are constants, and the fake's come from the environment",
    ),
    allowed(
        "tests/fakes/driver/src/driver/state.rs",
        "VISIBLE",
        "CUDA reads which devices are visible once a process",
    ),
    allowed("tests/fakes/nvml.rs", "DEVICES", "NVML's C API hands out addresses only"),
    allowed("nvtx/src/callbacks.rs", "NEXT", "NVTX's C API numbers the ranges of a process"),
    allowed("nvtx/src/listener.rs", "LISTENER", "NVTX's C API passes no listener"),
    allowed("nvtx/src/range_paths.rs", "leak", "handles of NVTX live as long as the process"),
    allowed("nvtx/src/range_paths.rs", "PUSHED", "NVTX has a stack of ranges for each thread"),
    allowed(
        "runtime/src/host/collect/nvtx.rs",
        "leak",
        "NVTX's headers call into it until the process ends",
    ),
    allowed(
        "tests/fixtures/workshop/ranges/src/nvtx.rs",
        "LOADED",
        "NVTX's headers load the library once a process",
    ),
    allowed(
        "tests/fixtures/workshop/ranges/src/nvtx.rs",
        "TABLES",
        "NVTX's headers have their functions in such tables",
    ),
    allowed("tests/fakes/nvml.rs", "CALLS", "the fake answers the calls of a process in order"),
    allowed("tests/fakes/nvml.rs", "INITIALIZED", "NVML is initialised once for the process"),
    allowed("tests/fakes/nvml.rs", "SHOWN", "the counter of the device changes in steps"),
    allowed(
        "runtime/tests/ui/declared.rs",
        "nobody",
        "a declaration names a variable of the device, not of the process",
    ),
    allowed(
        "tests/fixtures/declared/in-cuda/src/lib.rs",
        "calls",
        "a declaration names a variable of the device, not of the process",
    ),
    allowed(
        "docs/scripts/cuda-oxide/src/lib.rs",
        "TILE",
        "shared memory of the device, as cuda-oxide declares it",
    ),
    allowed(
        "tests/fixtures/cuda-oxide/cuda-host/src/lib.rs",
        "leak",
        "cuda-oxide's macros give names that live as long as the program",
    ),
    allowed("tests/oxide.rs", "STAND_INS", "made once for all tests of the process"),
    allowed(
        "tests/fixtures/workshop/pipeline/src/lib.rs",
        "MADE",
        "counts the set-ups of a process, which nothing hands on between configurations",
    ),
];
