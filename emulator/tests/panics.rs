//! A panic of the emulator is an error of the launch, on any number of host threads.

use gpuprof_emulator::device::Checks;
use gpuprof_emulator::lower::{Symbols, lower};
use gpuprof_emulator::machine::context::{Context, Stop};
use gpuprof_emulator::machine::execute::run;
use gpuprof_emulator::machine::fault::{Fault, FaultKind};
use gpuprof_emulator::machine::global_shadow::GlobalShadow;
use gpuprof_emulator::machine::{FaultReport, Launch, Memory};
use gpuprof_emulator::ptx::parse;

const FILL: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry fill(.param .u64 out) {
    .reg .b32 %r<5>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    mul.wide.u32 %rd2, %r4, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r4;
    ret;
}";

fn panic_in_block_5(cx: &mut Context<'_>) -> Result<Stop, Box<Fault>> {
    assert_ne!(cx.block, 5, "a defect");
    run(cx)
}

fn launch(host_threads: usize) -> Box<FaultReport> {
    let program = lower(&parse(FILL).unwrap(), &Symbols::default(), 90).unwrap().programs.remove(0);
    let mut memory = Memory::new(1 << 20);
    let out = memory.allocate(256 * 64 * 4).unwrap();
    let launch = Launch {
        program: &program,
        memory: &memory,
        grid: [256, 1, 1],
        block: [64, 1, 1],
        dynamic_shared: 0,
        params: vec![out as u32, (out >> 32) as u32],
        sm_count: 4,
        resident_blocks: 64,
        grid_workspace: 0,
        stack_bytes: 1024,
        grid_id: 1,
        host_threads,
        runner: panic_in_block_5,
        checks: Checks::ALL,
        instruction_limit: None,
        records_traffic: false,
        watch: None,
    };
    launch.run(&mut GlobalShadow::default()).0.expect_err("a block panics")
}

#[test]
fn a_panic_is_an_error_of_the_launch() {
    for host_threads in [1, 4] {
        let report = launch(host_threads);
        assert_eq!((report.class, report.block), (FaultKind::Internal, [5, 0, 0]));
        assert!(report.message.contains("the emulator failed: "), "{}", report.message);
        assert!(report.message.contains("a defect"), "{}", report.message);
    }
}
