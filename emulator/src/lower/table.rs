//! Which instructions run. The lowering looks up every opcode here, and the book's table is made of
//! it (`tests/instructions.rs`).

/// Instructions that run.
#[derive(Debug, Clone, Copy)]
pub struct Group {
    /// The title.
    pub name: &'static str,
    /// The opcodes, with a space between two.
    pub opcodes: &'static str,
    /// The forms that run, in the book's words.
    pub forms: &'static str,
}

/// Instructions that are refused.
#[derive(Debug, Clone, Copy)]
pub struct Absent {
    /// The kind of instruction, in the book's words.
    pub reason: &'static str,
    /// Opcodes, or opcodes with the dot-words that make the difference, with a space between two.
    pub opcodes: &'static str,
}

/// All instructions that run. An opcode may be in several groups.
pub const GROUPS: &[Group] = &[
    Group {
        name: "integers",
        opcodes: "add sub mul mad div rem min max neg abs and or xor not cnot shl shr shf lop3 bfe \
                  bfi bfind bmsk brev clz popc fns szext prmt sad slct mul24 mad24 dp4a dp2a addc \
                  subc madc",
        forms: "16, 32 and 64 bits; `.cc` and carries; `prmt` in every mode; `add`, `min` and `max` \
                of pairs of 16 bits, and with `.relu`",
    },
    Group {
        name: "video",
        opcodes: "vadd vsub vabsdiff vmin vmax vshl vshr vset vmad vadd2 vsub2 vavrg2 vabsdiff2 \
                  vmin2 vmax2 vset2 vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4 vset4",
        forms: "every selection, `.sat` and second operation",
    },
    Group {
        name: "`f32`, `f64`",
        opcodes: "add sub mul fma mad div rcp sqrt rsqrt min max neg abs copysign testp ex2 lg2 sin \
                  cos tanh",
        forms: "every rounding, `.ftz`, `.sat`; `min` and `max` with `.xorsign.abs`; the \
                approximate ones within PTX's error, not bit for bit",
    },
    Group {
        name: "`f16`, `bf16`, pairs of them",
        opcodes: "add sub mul fma min max neg abs ex2 tanh",
        forms: "`.relu`, `.ftz`, `.sat`; `.approx` within PTX's error, not bit for bit",
    },
    Group {
        name: "comparisons, conversions, moves",
        opcodes: "setp set selp cvt cvta isspacep mov",
        forms: "`cvt` with every rounding, `.sat`, `.relu`, `.satfinite`, `.pack`, to `tf32`, and \
                between `e4m3x2`, `e5m2x2` and `f32` or `f16x2`",
    },
    Group {
        name: "warps",
        opcodes: "shfl vote match redux elect activemask",
        forms: "32-bit integers; with `.sync`, `shfl` and `vote` also without",
    },
    Group {
        name: "memory",
        opcodes: "ld ldu st atom red prefetch prefetchu applypriority discard createpolicy",
        forms: "every order and scope, on halves, vectors of floats and 128 bits too; `.mmio`; \
                constant memory; cache policies and `discard` change nothing",
    },
    Group {
        name: "copies",
        opcodes: "cp",
        forms: "`cp.async.ca` and `.cg` with groups, cache policies, zero-filling and \
                `mbarrier.arrive`",
    },
    Group {
        name: "moves of matrices",
        opcodes: "ldmatrix stmatrix movmatrix",
        forms: "`.m8n8` of `.b16`; one, two or four; `.trans`",
    },
    Group {
        name: "`mma.sync`",
        opcodes: "mma",
        forms: "`f16` and `bf16`: `m16n8k8`, `k16`; `f16` also `m8n8k4`; `tf32`: `m16n8k4`, `k8`; \
                `f64`: `m8n8k4`, `m16n8k4`, `k8`, `k16`; `e4m3`, `e5m2`: `m16n8k16`, `k32`; `s8`, \
                `u8`: `m8n8k16`, `m16n8k16`, `k32`; `s4`, `u4`: `m8n8k32`, `m16n8k32`, `k64`; `b1` \
                with `.and` or `.xor`: `m8n8k128`, `m16n8k128`, `k256`",
    },
    Group {
        name: "`wmma.load`, `.store`, `.mma`",
        opcodes: "wmma",
        forms: "`f16`, `bf16`, `s8`, `u8`: `m16n16k16`, `m8n32k16`, `m32n8k16`; `tf32`: `m16n16k8`; \
                `f64`: `m8n8k4`; `s4`, `u4`: `m8n8k32`; `b1`: `m8n8k128`; every layout",
    },
    Group {
        name: "blocks",
        opcodes: "bar barrier mbarrier membar fence",
        forms: "also `.arrive` and `.red`, and `bar.warp.sync`; `mbarrier` with states, parities, \
                bytes and `arrive_drop`; `fence` also of the proxies `.alias` and `.async`",
    },
    Group {
        name: "control",
        opcodes: "bra brx call ret alloca stacksave stackrestore exit trap brkpt nanosleep pmevent \
                  griddepcontrol",
        forms: "`brx.idx`; calls by name and through pointers, recursive ones, of functions of the \
                module, `vprintf`, `__assertfail`, `malloc` and `free`; \
                `pmevent` and `griddepcontrol` do nothing, since no grid begins before the one \
                before it has ended; `brkpt` is a fault",
    },
];

/// Instructions of PTX that are refused, and why.
pub const ABSENT: &[Absent] = &[
    Absent { reason: "textures", opcodes: "tex tld4 txq istypep" },
    Absent { reason: "surfaces", opcodes: "suld sust sured suq" },
    Absent { reason: "clusters", opcodes: "barrier.cluster mapa getctarank multimem" },
    Absent {
        reason: "bulk and tensor copies",
        opcodes: "cp.async.bulk cp.reduce.async.bulk tensormap",
    },
    Absent { reason: "products of warp groups", opcodes: "wgmma setmaxnreg" },
    Absent { reason: "products of sparse matrices", opcodes: "mma.sp" },
    Absent { reason: "`sm_100` and later", opcodes: "tcgen05 clusterlaunchcontrol" },
];

/// Whether some form of the opcode runs.
pub fn runs(opcode: &str) -> bool {
    GROUPS.iter().any(|group| group.opcodes.split(' ').any(|known| known == opcode))
}
