//! Instructions are those of ptxas 13.0, with the text and the target that nvdisasm gives.

use super::*;
use fatbin::code::MachineInstruction;

const CUBIN: &[u8] = include_bytes!("../../../tests/machine_code/loops.cubin");

fn machine(kernel: &str) -> Machine {
    Machine::new(&MachineCode::read(CUBIN, kernel).unwrap().unwrap())
}

#[test]
fn jumps_of_all_encodings_have_their_target_and_condition() {
    let jump = |target, is_conditional| Effect::Jump { target, is_conditional };
    // Low and high bits, compute capability, offset; effect.
    let cases: [(u64, u64, u32, usize, Effect); 7] = [
        // @!P0 BRA 0x2b0
        (0x0000_0170_0000_8947, 0x000f_ea00_0380_0000, 80, 0x130, jump(0x2b, true)),
        // @!P0 BRA 0x2e0
        (0x0000_0000_005c_8947, 0x000f_ea00_0380_0000, 90, 0x160, jump(0x2e, true)),
        // BRA.U UP0, 0x1b0
        (0xffff_fffd_00c0_7547, 0x000f_ea00_0b83_ffff, 90, 0x2a0, jump(0x1b, true)),
        // @!P1 BRA !P2, 0x16f0
        (0x0000_0004_002c_9947, 0x000f_ea00_0500_0000, 90, 0x1230, jump(0x16f, true)),
        // BRA.DIV UR5
        (0x0000_0002_05d4_7947, 0x000f_ea00_0b80_0000, 90, 0x330, Effect::JumpOfParts),
        // EXIT
        (
            0x0000_0000_0000_794d,
            0x000f_ea00_0380_0000,
            90,
            0x330,
            Effect::End { is_conditional: false },
        ),
        // @!P1 CALL.REL.NOINC
        (
            0x0000_0010_0000_9944,
            0x000f_e200_03c0_0000,
            80,
            0x16d0,
            Effect::Call { is_conditional: true },
        ),
    ];
    for (low, high, compute_capability, offset, effect) in cases {
        let bits = u128::from(high) << 64 | u128::from(low);
        let code = MachineInstruction { bits, ptx_line: None };
        let read = Instruction::new(&code, offset / 16, compute_capability);
        assert_eq!(read.effect, effect, "{low:#x}");
    }
}

#[test]
fn a_loop_and_the_code_that_never_runs_are_found() {
    let sums = machine("sums");
    let looped: Vec<_> =
        sums.flow.blocks.iter().filter(|of| of.of_loop.is_some()).cloned().collect();
    assert_eq!(looped.len(), 1, "{sums:?}");
    assert_eq!(looped[0].instructions, 0x17..0x2a);
    let quotients = machine("quotients");
    let runs = quotients.flow.blocks.iter().filter(|of| of.runs);
    let instructions: usize = runs.map(|of| of.instructions.len()).sum();
    // All until `EXIT`, but the call with the move before it and the one after it.
    assert_eq!(instructions, 0x1a - 3, "{quotients:?}");
}

#[test]
fn scheduling_control_of_an_instruction_is_decoded() {
    let read = |low: u64, high: u64| {
        let bits = u128::from(high) << 64 | u128::from(low);
        Instruction::new(&MachineInstruction { bits, ptx_line: None }, 0, 90)
    };
    // LDG.E R7, desc[UR4][R2.64]
    let load = read(0x0000_0004_0207_7981, 0x0021_5800_0c1e_1900);
    let order = (load.control.stall, load.control.result, load.control.operands);
    assert_eq!(order, (12, Some(5), Some(0)));
    assert_eq!(load.control.waits().collect::<Vec<_>>(), [1]);
    assert_eq!(load.awaits, None);
    // DEPBAR.LE SB0, 0x2
    let wait = read(0x0000_8080_0000_791a, 0x000f_c800_0000_0000);
    let order = (wait.control.stall, wait.control.result, wait.control.operands);
    assert_eq!((order, wait.awaits), ((4, None, None), Some((0, 2))));
    assert_eq!(wait.control.waits().count(), 0);
}
