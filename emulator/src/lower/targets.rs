//! The oldest `.target` of instructions.
//!
//! Input: an instruction that was lowered. Output: an error if ptxas refuses it for the module's
//! `.target`. The rows are those of ptxas 13.0, of its messages "requires .target sm_80 or higher".

use super::builder::{Builder, Lowered};
use super::target_number;
use crate::ptx::PtxError;
use crate::ptx::ast::Instruction;

/// Opcodes, opcodes with dot-words, or after `*` the dot-words of any opcode, that need a target.
const NEEDS: &[(u32, &str)] = &[
    (
        90,
        "elect stmatrix griddepcontrol mbarrier.try_wait mbarrier.expect_tx mbarrier.complete_tx \
         barrier.cluster add.bf16 add.bf16x2 sub.bf16 sub.bf16x2 mul.bf16 mul.bf16x2 ex2.bf16 \
         ex2.bf16x2 tanh.bf16 tanh.bf16x2 setp.bf16 setp.bf16x2 set.bf16 set.bf16x2 add.u16x2 \
         add.s16x2 min.u16x2 min.s16x2 max.u16x2 max.s16x2 min.relu.s32 max.relu.s32 atom.v2 \
         atom.v4 atom.v8 red.v2 red.v4 red.v8 atom.b128 atom.bf16 atom.bf16x2 red.bf16 red.bf16x2 \
         cvt.rn.tf32.f32 *.oob *.cluster",
    ),
    (89, "cvt.e4m3x2 cvt.e5m2x2 mma.e4m3 mma.e5m2"),
    (86, "*.xorsign"),
    (
        80,
        "mbarrier cp.async redux applypriority createpolicy discard cvt.f16x2.f32 *.bf16 *.bf16x2 \
         *.tf32 *.relu *.L2::cache_hint min.NaN max.NaN min.f16 min.f16x2 max.f16 max.f16x2 mma.f64 \
         wmma.f64 mma.m16n8k16 mma.m16n8k32 mma.m16n8k64 mma.m16n8k128 mma.m16n8k256 \
         prefetch.L2::evict_last prefetch.L2::evict_normal *.L2::256B",
    ),
    (
        75,
        "ldmatrix movmatrix tanh ex2.f16 ex2.f16x2 mma.m8n8k16 mma.m8n8k32 mma.m8n8k128 \
         mma.m16n8k8 wmma.s4 wmma.u4 wmma.b1 *.L2::64B *.L2::128B",
    ),
    (72, "cvt.pack wmma.s8 wmma.u8 wmma.s32"),
    (
        70,
        "bmsk szext lop3.or lop3.and match nanosleep fence mma wmma isspacep.param cvta.param \
         atom.noftz.f16 red.noftz.f16 atom.cas.b16 *.L1::evict_normal \
         *.acquire *.release *.acq_rel *.relaxed *.weak *.b128 *.satfinite \
         *.L1::no_allocate *.L1::evict_first *.L1::evict_last *.L1::evict_unchanged",
    ),
    (61, "dp4a dp2a"),
    (
        60,
        "atom.f64 red.f64 atom.noftz.f16x2 red.noftz.f16x2 atom.cta atom.gpu atom.sys red.cta \
         red.gpu red.sys",
    ),
    (
        53,
        "add.f16 add.f16x2 sub.f16 sub.f16x2 mul.f16 mul.f16x2 fma.f16 fma.f16x2 neg.f16 neg.f16x2 \
         abs.f16 abs.f16x2 setp.f16 setp.f16x2 set.f16 set.f16x2",
    ),
    (52, "alloca stacksave stackrestore"),
];

impl<'a> Builder<'_, 'a> {
    /// Refuses an instruction that the module's `.target` does not have.
    pub(super) fn check_target(&self, i: &Instruction<'a>) -> Lowered<()> {
        let target = self.module.target;
        let number = target_number(target).unwrap_or_default();
        let has = |name: &str| {
            let mut words = name.split('.');
            let opcode = words.next().unwrap_or_default();
            (opcode == "*" || opcode == i.opcode) && words.all(|word| i.modifiers.contains(&word))
        };
        let mut newer = NEEDS.iter().take_while(|(needed, _)| *needed > number);
        match newer.find(|(_, names)| names.split(' ').any(has)) {
            None => Ok(()),
            Some((needed, _)) => {
                let name = i.full_name();
                let text = format!("'{name}' needs '.target sm_{needed}', not '{target}'");
                Err(PtxError::invalid(i.line, text))
            }
        }
    }
}
