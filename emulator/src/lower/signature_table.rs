//! The table of signatures: which types, other dot-words and operands instructions have.
//!
//! Input: an instruction. Output: its row, if its types are checked.

use crate::ptx::ast::Instruction;
use std::collections::HashMap;
use std::sync::LazyLock;

/// The types and operands of some instructions.
pub struct Signature {
    /// Opcodes, or opcodes with a dot-word that makes the difference.
    names: &'static str,
    /// The dot-words that its types may be; empty if that is not checked.
    types: &'static str,
    /// Its other dot-words: those between `/` exclude each other, and `!` says that one must be
    /// there. `-` is none; empty if that is not checked.
    words: &'static str,
    /// A letter of [`wanted`] for each operand. Before it `|` if it may be a pair with a predicate,
    /// and `_` if its value may be dropped; after it `?` if it may be left out.
    pub operands: &'static str,
}

const INTEGERS: &str = "u16 u32 u64 s16 s32 s64";
const ADDED: &str = "u16 u32 u64 s16 s32 s64 f32 f64 f16 f16x2 bf16 bf16x2 u16x2 s16x2";
const SIGNED: &str = "s16 s32 s64 f32 f64 f16 f16x2 bf16 bf16x2";
const FUSED: &str = "f32 f64 f16 f16x2 bf16 bf16x2";
const APPROXIMATE: &str = "f32 f16 f16x2 bf16 bf16x2";
const CONVERTED: &str = "u8 u16 u32 u64 s8 s16 s32 s64 f16 f32 f64 bf16 f16x2 bf16x2";
const MOVED: &str = "b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64";
const LOADED: &str = "global const local param param::entry param::func shared shared::cta \
                      shared::cluster cta cluster gpu sys weak mmio nc unified v2 v4 v8 \
                      relaxed/acquire/volatile/ca/cg/cs/lu/cv L1::evict_normal \
                      L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate \
                      L2::evict_normal L2::evict_first L2::evict_last L2::cache_hint L2::64B \
                      L2::128B L2::256B";
const LOADED_ONCE: &str = "nc! global! v2 v4 v8 ca/cg/cs/lu/cv L1::evict_normal L1::evict_unchanged \
                           L1::evict_first L1::evict_last L1::no_allocate L2::evict_normal \
                           L2::evict_first L2::evict_last L2::cache_hint L2::64B L2::128B L2::256B";
const STORED: &str = "global local param param::func shared shared::cta shared::cluster cta cluster \
                      gpu sys weak mmio v2 v4 v8 relaxed/release/volatile/wb/cg/cs/wt \
                      L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last \
                      L1::no_allocate L2::evict_normal L2::evict_first L2::evict_last \
                      L2::cache_hint";
const SUMMED: &str = "u32 s32 u64 f32 f64 f16 f16x2 bf16 bf16x2";
const LEAST: &str = "u32 s32 u64 s64 f16 f16x2 bf16 bf16x2";
const FRACTION: &str = "fractional! L2::evict_normal/L2::evict_last/L2::evict_first \
                        L2::evict_unchanged";
const COMPARED: &str = "b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64 f16 f16x2 bf16 bf16x2";

/// All of them, the special ones first.
const SIGNATURES: &[Signature] = &[
    row("mul.wide", "u16 u32 s16 s32", "wide!", "w t t"),
    row("mad.wide", "u16 u32 s16 s32", "wide!", "w t t w"),
    row("add sub mul", ADDED, "", "t t t"),
    row("min max", ADDED, "ftz NaN xorsign abs relu", "t t t"),
    row("fma", FUSED, "rn/rz/rm/rp! ftz sat relu", "t t t t"),
    row("mad", "u16 u32 u64 s16 s32 s64 f32 f64", "", "t t t t"),
    row("div.f32", "f32", "approx/full/rn/rz/rm/rp! ftz", "t t t"),
    row("div.f64", "f64", "rn/rz/rm/rp!", "t t t"),
    row("div rem", INTEGERS, "-", "t t t"),
    row("neg abs", SIGNED, "ftz", "t t"),
    row("and or xor", "pred b16 b32 b64", "-", "t t t"),
    row("not", "pred b16 b32 b64", "-", "t t"),
    row("cnot", "b16 b32 b64", "-", "t t"),
    row("shl", "b16 b32 b64", "-", "t t n"),
    row("shr", "b16 b32 b64 u16 u32 u64 s16 s32 s64", "-", "t t n"),
    row("shf", "b32", "l/r! clamp/wrap!", "t t t n"),
    row("lop3.and lop3.or", "b32", "and/or!", "|t t t t x p"),
    row("lop3", "b32", "-", "_t t t t x"),
    row("bfe", "u32 u64 s32 s64", "-", "t t n n"),
    row("bfi", "b32 b64", "-", "t t t n n"),
    row("bfind", "u32 u64 s32 s64", "shiftamt", "n t"),
    row("popc clz", "b32 b64", "-", "n t"),
    row("brev", "b32 b64", "-", "t t"),
    row("fns", "b32", "-", "t t t t"),
    row("prmt", "b32", "f4e/b4e/rc8/ecl/ecr/rc16", "t t t t"),
    row("bmsk", "b32", "clamp/wrap!", "n n n"),
    row("szext", "u32 s32", "clamp/wrap!", "t t n"),
    row("sad", INTEGERS, "-", "t t t t"),
    row("slct", "s32 f32", "ftz", "d d d t"),
    row("mul24", "u32 s32", "lo/hi!", "t t t"),
    row("mad24", "u32 s32", "lo/hi! sat", "t t t t"),
    row("dp4a", "", "-", "n u u n"),
    row("dp2a", "", "lo/hi!", "n u u n"),
    row("addc subc", "u32 u64 s32 s64", "cc", "t t t"),
    row("madc", "u32 u64 s32 s64", "lo/hi! cc", "t t t t"),
    row("vset", "", "", "n u u n?"),
    row("vadd vsub vabsdiff vmin vmax vshl vshr", "", "", "u u u u?"),
    row("vmad", "", "", "u u u u"),
    row("vset2 vset4", "", "", "n r r c"),
    row("vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2", "", "", "u r r r"),
    row("vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4", "", "", "u r r r"),
    row("copysign", "f32 f64", "-", "t t t"),
    row("testp", "f32 f64", "finite/infinite/number/notanumber/normal/subnormal!", "p t"),
    row("rcp", "f32 f64", "approx/rn/rz/rm/rp! ftz", "t t"),
    row("sqrt.f32", "f32", "approx/rn/rz/rm/rp! ftz", "t t"),
    row("sqrt", "f64", "rn/rz/rm/rp!", "t t"),
    row("rsqrt", "f32 f64", "approx! ftz", "t t"),
    row("sin cos lg2", "f32", "approx! ftz", "t t"),
    row("ex2", APPROXIMATE, "approx! ftz", "t t"),
    row("tanh", APPROXIMATE, "approx!", "t t"),
    row("setp", COMPARED, "", "|_p t t p?"),
    row("set", COMPARED, "", "d t t p?"),
    row("selp", "b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64", "-", "t t t p"),
    row("cvta", "u32 u64", "", "t m"),
    row("isspacep", "", "", "p a"),
    row("mov.v4", "", "v4!", "x x"),
    row("mov", "pred b16 b32 b64 b128 u16 u32 u64 s16 s32 s64 f32 f64", "-", "m m"),
    row("cvt.pack", "", "", "u u u u?"),
    row("cvt.e4m3x2.f32 cvt.e5m2x2.f32", "", "", "h f f"),
    row("cvt.tf32 cvt.e4m3x2 cvt.e5m2x2", "", "", "x x x?"),
    row("cvt", CONVERTED, "", "D s s?"),
    row("shfl", "b32", "", "|t t t t n?"),
    row("vote.ballot", "b32", "", "t p n?"),
    row("vote", "pred", "", "p p n?"),
    row("match.all", "b32 b64", "", "|_n t n"),
    row("match", "b32 b64", "", "n t n"),
    row("redux.add redux.min redux.max", "u32 s32", "", "n n n"),
    row("redux", "b32", "", "n n n"),
    row("activemask", "b32", "-", "t"),
    row("ld.nc", MOVED, LOADED_ONCE, "v @"),
    row("ld", MOVED, LOADED, "v @"),
    row("ldu", MOVED, "global v2 v4", "v @"),
    row("st", MOVED, STORED, "@ v"),
    row("atom.cas", "b16 b32 b64 b128", "", "_t @ t t"),
    row("atom.exch", "b32 b64 b128", "", "_t @ t"),
    row("atom.add", SUMMED, "", "_t @ t"),
    row("red.add", SUMMED, "", "@ t"),
    row("atom.min atom.max", LEAST, "", "_t @ t"),
    row("red.min red.max", LEAST, "", "@ t"),
    row("atom.inc atom.dec", "u32", "", "_t @ t"),
    row("red.inc red.dec", "u32", "", "@ t"),
    row("atom", "b32 b64", "", "_t @ t"),
    row("red", "b32 b64", "", "@ t"),
    row("nanosleep", "u32", "-", "n"),
    row("prefetch", "", "global/local L1/L2/L2::evict_last/L2::evict_normal!", "@"),
    row("prefetchu", "", "L1!", "@"),
    row("createpolicy.fractional", "b64", FRACTION, "l f?"),
    row("elect", "", "sync!", "|_n n"),
    row("ldmatrix", "", "", "V @"),
    row("stmatrix", "", "", "@ V"),
    row("movmatrix", "", "", "b b"),
    row("bar.sync barrier.sync", "", "", "n n?"),
    row("bar.arrive barrier.arrive", "", "", "n n"),
    row("mbarrier.init", "b64", "", "@ n"),
    row("mbarrier.test_wait.parity mbarrier.try_wait.parity", "b64", "", "p @ n n?"),
    row("mbarrier.test_wait mbarrier.try_wait", "b64", "", "p @ l n?"),
    row("mbarrier.pending_count", "b64", "pending_count!", "n l"),
    row("fence membar", "", "", ""),
    row("pmevent", "", "", "i"),
];

/// The names and signatures of each opcode, in their order.
static BY_OPCODE: LazyLock<HashMap<&str, Vec<(&str, &Signature)>>> = LazyLock::new(|| {
    let mut rows: HashMap<&str, Vec<(&str, &Signature)>> = HashMap::new();
    for signature in SIGNATURES {
        for name in signature.names.split(' ') {
            let opcode = name.split_once('.').map_or(name, |(opcode, _)| opcode);
            rows.entry(opcode).or_default().push((name, signature));
        }
    }
    rows
});

const fn row(
    names: &'static str,
    types: &'static str,
    words: &'static str,
    operands: &'static str,
) -> Signature {
    Signature { names, types, words, operands }
}

impl Signature {
    /// The signature of an instruction, if its types are checked.
    pub fn find(i: &Instruction<'_>) -> Option<&'static Self> {
        let rows = BY_OPCODE.get(i.opcode)?;
        let is_of = |words: &str| words.split('.').skip(1).all(|word| i.modifiers.contains(&word));
        rows.iter().find(|(name, _)| is_of(name)).map(|(_, signature)| *signature)
    }

    /// Whether an instruction has these types: one, unless another one is that of the result.
    pub fn has_types(&self, types: &[&str]) -> bool {
        let is_type = |ty: &&str| self.types.split(' ').any(|known| known == *ty);
        let most = if self.operands.contains(['d', 'D']) { 2 } else { 1 };
        let result = if self.operands.contains('d') { 1 } else { 0 };
        self.types.is_empty()
            || (1..=most).contains(&types.len()) && types.iter().skip(result).all(is_type)
    }

    /// Whether an instruction has these other words.
    pub fn has_words(&self, words: &[&str]) -> bool {
        let groups = || self.words.split(' ').map(|group| group.trim_end_matches('!'));
        let is_in = |group: &str, word: &str| group.split('/').any(|known| known == word);
        let is_known = |word: &&str| groups().any(|group| is_in(group, word));
        let count = |group: &str| words.iter().filter(|word| is_in(group, word)).count();
        let is_once = |group: &str| match group.strip_suffix('!') {
            Some(group) => count(group) == 1,
            None => count(group) <= 1,
        };
        self.words.is_empty() || words.iter().all(is_known) && self.words.split(' ').all(is_once)
    }
}
