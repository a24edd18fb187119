//! The emulated chips: their limits, occupancy, targets, and estimates next to published times.

use gpuprof_emulator::device::chip::{self, BY_NAME, Chip};
use gpuprof_emulator::device::{Checks, Device, Kernel, LaunchConfig, LaunchRecord, occupancy};

/// `read`, `scale` and `triad` of github.com/te42kyfo/gpu-benches, an f64 of each thread: `read`
/// loads `x`, `scale` stores its product to `y`, `triad` adds `z`. `floats` and `doubles`: 4096
/// dependent multiplications and additions of each thread, as in github.com/krrishnarraj/clpeak.
const PTX: &str = r"
.version 7.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 room[];
.visible .entry read(.param .u64 x, .param .u64 y, .param .u64 z)
{
    .reg .pred %p1;
    .reg .b32 %r<5>;
    .reg .b64 %rd<4>;
    .reg .f64 %fd1;
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r4, %r2, %r3, %r1;
    ld.param.u64 %rd1, [x];
    mul.wide.u32 %rd2, %r4, 8;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.f64 %fd1, [%rd3];
    setp.neu.f64 %p1, %fd1, 0d405EC00000000000;
    @%p1 bra $end;
    st.global.f64 [%rd3], %fd1;
$end:
    ret;
}
.visible .entry scale(.param .u64 x, .param .u64 y, .param .u64 z)
{
    .reg .b32 %r<5>;
    .reg .b64 %rd<6>;
    .reg .f64 %fd<3>;
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r4, %r2, %r3, %r1;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    mul.wide.u32 %rd3, %r4, 8;
    add.u64 %rd4, %rd1, %rd3;
    add.u64 %rd5, %rd2, %rd3;
    ld.global.f64 %fd1, [%rd4];
    mul.f64 %fd2, %fd1, 0d3FF3333333333333;
    st.global.f64 [%rd5], %fd2;
    ret;
}
.visible .entry triad(.param .u64 x, .param .u64 y, .param .u64 z)
{
    .reg .b32 %r<5>;
    .reg .b64 %rd<8>;
    .reg .f64 %fd<4>;
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r4, %r2, %r3, %r1;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    ld.param.u64 %rd6, [z];
    mul.wide.u32 %rd3, %r4, 8;
    add.u64 %rd4, %rd1, %rd3;
    add.u64 %rd5, %rd2, %rd3;
    add.u64 %rd7, %rd6, %rd3;
    ld.global.f64 %fd1, [%rd4];
    ld.global.f64 %fd2, [%rd7];
    fma.rn.f64 %fd3, %fd1, 0d3FF3333333333333, %fd2;
    st.global.f64 [%rd5], %fd3;
    ret;
}
.visible .entry floats(.param .u64 y)
{
    .reg .pred %p1;
    .reg .b32 %r1;
    .reg .f32 %f<3>;
    .reg .b64 %rd1;
    mov.u32 %r1, 0;
    mov.f32 %f1, 0f3F800000;
    mov.f32 %f2, 0f3F800000;
$next:
    FLOATS
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p1, %r1, 64;
    @%p1 bra $next;
    ld.param.u64 %rd1, [y];
    st.global.f32 [%rd1], %f1;
    ret;
}
.visible .entry doubles(.param .u64 y)
{
    .reg .pred %p1;
    .reg .b32 %r1;
    .reg .f64 %fd<3>;
    .reg .b64 %rd1;
    mov.u32 %r1, 0;
    mov.f64 %fd1, 0d3FF0000000000000;
    mov.f64 %fd2, 0d3FF0000000000000;
$next:
    DOUBLES
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p1, %r1, 64;
    @%p1 bra $next;
    ld.param.u64 %rd1, [y];
    st.global.f64 [%rd1], %fd1;
    ret;
}
";

/// Operations of a thread of `floats` and `doubles`: 64 rounds of 64 dependent `fma`.
const FLOPS: f64 = 2.0 * 64.0 * 64.0;

/// [`PTX`] with its repeated instructions.
fn ptx() -> String {
    let floats = "fma.rn.f32 %f1, %f2, %f1, %f2;\nfma.rn.f32 %f2, %f1, %f2, %f1;\n".repeat(32);
    let doubles = floats.replace("f32", "f64").replace("%f", "%fd");
    PTX.replace("FLOATS", &floats).replace("DOUBLES", &doubles)
}

/// A device of a chip, with a kernel of [`PTX`].
fn with_kernel(chip: &'static Chip, name: &str) -> (Device, Kernel) {
    let mut device = Device::new(chip).with_checks(Checks::NONE);
    let kernel = device.load(&ptx()).unwrap().kernel(name).unwrap().clone();
    (device, kernel)
}

/// The chips that `accept` a thing, by name.
fn accepted_by(accepts: impl Fn(&'static Chip) -> bool) -> Vec<&'static str> {
    BY_NAME.into_iter().filter(|(_, chip)| accepts(chip)).map(|(name, _)| name).collect()
}

/// A launch of a kernel that takes addresses of buffers of `bytes`.
fn launch(
    chip: &'static Chip,
    name: &str,
    (blocks, threads, shared): (u32, u32, u32),
    bytes: u64,
) -> LaunchRecord {
    let (mut device, kernel) = with_kernel(chip, name);
    assert!(kernel.opt_in_shared(chip, shared), "{name} does not get {shared} bytes");
    let address = |_: &(u32, u32)| device.memory.allocate(bytes).unwrap();
    let params: Vec<u8> = kernel.params().iter().map(address).flat_map(u64::to_le_bytes).collect();
    let config =
        LaunchConfig { grid: [blocks, 1, 1], block: [threads, 1, 1], shared_bytes: shared };
    device.launch(&kernel, config, &params, 0).unwrap().clone()
}

#[test]
fn the_shared_memory_of_a_block_is_limited_by_the_chip() {
    let takes = |bytes| accepted_by(|chip| with_kernel(chip, "read").1.opt_in_shared(chip, bytes));
    assert_eq!(takes(99 << 10), ["a100", "h100", "h200", "l4", "rtx4090", "b200"]);
    assert_eq!(takes(100 << 10), ["a100", "h100", "h200", "b200"]);
    assert_eq!(takes(163 << 10), ["a100", "h100", "h200", "b200"]);
    assert_eq!(takes(164 << 10), ["h100", "h200", "b200"]);
    assert_eq!(takes(228 << 10), [""; 0]);
}

#[test]
fn a_multiprocessor_holds_as_many_blocks_as_the_chip_allows() {
    let held = |threads, shared| {
        let blocks = |(_, chip): (_, &'static Chip)| {
            occupancy(chip, &with_kernel(chip, "read").1, threads, shared).blocks
        };
        BY_NAME.map(blocks)
    };
    // By warps, by the number of blocks, by shared memory.
    assert_eq!(held(256, 0), [8, 8, 8, 6, 6, 8]);
    assert_eq!(held(32, 0), [32, 32, 32, 24, 24, 32]);
    assert_eq!(held(128, 32 << 10), [4, 6, 6, 3, 3, 6]);
}

#[test]
fn registers_limit_the_blocks_of_a_multiprocessor_and_the_threads_of_a_block() {
    let (mut device, kernel) = with_kernel(&chip::H100, "read");
    let held = |registers, threads| {
        kernel.set_registers(registers);
        occupancy(&chip::H100, &kernel, threads, 0).blocks
    };
    // As CUDA's occupancy calculator: a warp gets 256 at a time, a partition a quarter of all.
    assert_eq!([32, 40, 48, 76, 128, 255].map(|it| held(it, 256)), [8, 6, 5, 3, 2, 1]);
    assert_eq!([32, 40, 64, 65].map(|it| held(it, 1024)), [2, 1, 1, 0]);
    let mut launch = |registers, threads| {
        kernel.set_registers(registers);
        let config = LaunchConfig { grid: [1; 3], block: [threads, 1, 1], shared_bytes: 0 };
        let Err(refused) = device.launch(&kernel, config, &[0; 16], 0) else { return None };
        Some(refused.to_string())
    };
    let told = "kernel 'read' cannot be launched: 1024 threads with 65 registers each exceed the \
                65536 registers of a block";
    assert_eq!(launch(65, 1024).as_deref(), Some(told));
    assert!(launch(64, 1024).is_none_or(|told| !told.contains("registers")));
}

#[test]
fn ptx_of_a_newer_target_is_refused() {
    let run = |target: &str| {
        let text =
            format!(".version 8.7\n.target {target}\n.address_size 64\n.entry k() {{ ret; }}");
        accepted_by(|chip| Device::new(chip).load(&text).is_ok())
    };
    assert_eq!(run("sm_80").len(), 6);
    assert_eq!(run("sm_89"), ["h100", "h200", "l4", "rtx4090", "b200"]);
    assert_eq!(run("sm_90"), ["h100", "h200", "b200"]);
    assert_eq!(run("sm_100"), ["b200"]);
    // Code for one architecture, and for a family of them.
    assert_eq!(run("sm_90a"), ["h100", "h200"]);
    assert_eq!(run("sm_100f"), ["b200"]);
    let text = ".version 8.7\n.target sm_90\n.address_size 64\n.entry k() { ret; }";
    let refused = Device::new(&chip::L4).load(text).unwrap_err().to_string();
    assert!(refused.contains("unsupported '.target sm_90': the emulated device is sm_89"));
}

#[test]
fn counts_depend_on_the_chip_only_where_its_multiprocessors_do() {
    let counters = BY_NAME.map(|(_, chip)| launch(chip, "scale", (64, 256, 0), 1 << 17).counters);
    assert!(counters.windows(2).all(|two| two[0] == two[1]), "{counters:?}");
}

#[test]
fn an_uncharacterised_chip_has_a_wider_interval() {
    for (name, chip) in BY_NAME {
        let estimate = launch(chip, "scale", (64, 256, 0), 1 << 17).estimate.unwrap();
        let spread = estimate.high_ns / estimate.duration_ns;
        assert!((spread - estimate.duration_ns / estimate.low_ns).abs() < 1e-9, "{estimate:?}");
        let is_wide = (spread - 3.0).abs() < 1e-9;
        assert_eq!(is_wide, !name.starts_with('h'), "{name}: {spread}");
        assert!(is_wide || (1.2..1.9).contains(&spread), "{name}: {spread}");
        assert_eq!(estimate.characterised, ["h100", "h200"].contains(&name));
        assert_eq!(estimate.chip, chip.rates.name);
        assert!(chip.name.ends_with(estimate.chip), "{name}");
    }
}

/// The rate of a launch that does so much `work`, by its estimate, over a published one.
fn ratio(launch: &LaunchRecord, work: f64, published: f64) -> f64 {
    work / launch.estimate.as_ref().unwrap().duration_ns / published
}

/// gpu-stream of gpu-benches at 1c36d50 on an A100 with 80 GB (`a100_80.txt`), in GB/s, for two
/// blocks of so many threads on each multiprocessor. Of the rates, that of `scale` with 1024
/// threads is also among the constants; latencies decide the rates of small blocks.
#[test]
fn streams_on_an_a100_take_the_published_time() {
    let published = [
        ("read", 8, 32, 85.0),
        ("read", 8, 128, 325.0),
        ("read", 8, 256, 619.0),
        ("read", 8, 512, 1122.0),
        ("read", 8, 1024, 1769.0),
        ("scale", 16, 1024, 1732.0),
        ("triad", 24, 1024, 1759.0),
    ];
    for (kernel, bytes, threads, rate) in published {
        // More than L2 holds, unless few blocks are on their way.
        let n = if threads == 1024 { 1 << 23 } else { 1 << 20 };
        let shape = (n / threads, threads, 60 << 10);
        let launch = launch(&chip::A100, kernel, shape, 8 * u64::from(n));
        let ratio = ratio(&launch, f64::from(bytes * n), rate);
        assert!((0.7..1.45).contains(&ratio), "{kernel} {threads}: {ratio}");
    }
}

/// clpeak on an RTX 4090 (issue 106 of krrishnarraj/clpeak): 71,356 and 1,289 GFLOP/s with scalars.
#[test]
fn arithmetic_on_an_rtx_4090_takes_the_published_time() {
    for (kernel, rate) in [("floats", 71_356.0), ("doubles", 1_289.0)] {
        let launch = launch(&chip::RTX_4090, kernel, (6 * 128, 256, 0), 8);
        let ratio = ratio(&launch, FLOPS * 6.0 * 128.0 * 256.0, rate);
        assert!((0.95..1.06).contains(&ratio), "{kernel}: {ratio}");
    }
}
