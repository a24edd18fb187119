//! Compares the table of instructions with the lowering and with the book's page.

use gpuprof_emulator::device::{Device, Module};
use gpuprof_emulator::lower::table::{ABSENT, GROUPS};
use std::fmt::Write;
use std::path::Path;

/// A form of every opcode that runs.
const FORMS: &[&str] = &[
    "add.s32 %r0, %r1, %r2",
    "sub.s32 %r0, %r1, %r2",
    "mul.lo.s32 %r0, %r1, %r2",
    "mad.lo.s32 %r0, %r1, %r2, %r3",
    "div.s32 %r0, %r1, %r2",
    "rem.u64 %d0, %d1, %d2",
    "min.s32 %r0, %r1, %r2",
    "max.s32 %r0, %r1, %r2",
    "neg.s32 %r0, %r1",
    "abs.s32 %r0, %r1",
    "and.b32 %r0, %r1, %r2",
    "or.b32 %r0, %r1, %r2",
    "xor.b32 %r0, %r1, %r2",
    "not.b32 %r0, %r1",
    "cnot.b32 %r0, %r1",
    "shl.b32 %r0, %r1, %r2",
    "shr.u32 %r0, %r1, %r2",
    "shf.l.wrap.b32 %r0, %r1, %r2, %r3",
    "lop3.b32 %r0, %r1, %r2, %r3, 0x80",
    "bfe.u32 %r0, %r1, %r2, %r3",
    "bfi.b32 %r0, %r1, %r2, %r3, %r3",
    "bfind.u32 %r0, %r1",
    "bmsk.clamp.b32 %r0, %r1, %r2",
    "brev.b32 %r0, %r1",
    "clz.b32 %r0, %r1",
    "popc.b32 %r0, %r1",
    "fns.b32 %r0, %r1, %r2, %r3",
    "szext.clamp.s32 %r0, %r1, %r2",
    "prmt.b32 %r0, %r1, %r2, %r3",
    "sad.s32 %r0, %r1, %r2, %r3",
    "slct.s32.s32 %r0, %r1, %r2, %r3",
    "mul24.lo.s32 %r0, %r1, %r2",
    "mad24.lo.s32 %r0, %r1, %r2, %r3",
    "dp4a.s32.s32 %r0, %r1, %r2, %r3",
    "dp2a.lo.s32.s32 %r0, %r1, %r2, %r3",
    "addc.u32 %r0, %r1, %r2",
    "subc.u32 %r0, %r1, %r2",
    "madc.lo.u32 %r0, %r1, %r2, %r3",
    "vadd.s32.s32.s32 %r0, %r1, %r2",
    "vsub.s32.s32.s32 %r0, %r1, %r2",
    "vabsdiff.s32.s32.s32 %r0, %r1, %r2",
    "vmin.s32.s32.s32 %r0, %r1, %r2",
    "vmax.s32.s32.s32 %r0, %r1, %r2",
    "vshl.u32.u32.u32.clamp %r0, %r1, %r2",
    "vshr.u32.u32.u32.clamp %r0, %r1, %r2",
    "vset.s32.s32.lt %r0, %r1, %r2",
    "vmad.s32.s32.s32 %r0, %r1, %r2, %r3",
    "vadd2.s32.s32.s32 %r0, %r1, %r2, %r3",
    "vsub2.s32.s32.s32 %r0, %r1, %r2, %r3",
    "vavrg2.s32.s32.s32 %r0, %r1, %r2, %r3",
    "vabsdiff2.s32.s32.s32 %r0, %r1, %r2, %r3",
    "vmin2.s32.s32.s32 %r0, %r1, %r2, %r3",
    "vmax2.s32.s32.s32 %r0, %r1, %r2, %r3",
    "vset2.s32.s32.lt %r0, %r1, %r2, %r3",
    "vadd4.s32.s32.s32 %r0, %r1, %r2, %r3",
    "vsub4.s32.s32.s32 %r0, %r1, %r2, %r3",
    "vavrg4.s32.s32.s32 %r0, %r1, %r2, %r3",
    "vabsdiff4.s32.s32.s32 %r0, %r1, %r2, %r3",
    "vmin4.s32.s32.s32 %r0, %r1, %r2, %r3",
    "vmax4.s32.s32.s32 %r0, %r1, %r2, %r3",
    "vset4.s32.s32.lt %r0, %r1, %r2, %r3",
    "fma.rn.f32 %f0, %f1, %f2, %f3",
    "rcp.rn.f32 %f0, %f1",
    "sqrt.rn.f64 %e0, %e1",
    "rsqrt.approx.f32 %f0, %f1",
    "copysign.f32 %f0, %f1, %f2",
    "testp.finite.f32 %p0, %f1",
    "ex2.approx.f32 %f0, %f1",
    "lg2.approx.f32 %f0, %f1",
    "sin.approx.f32 %f0, %f1",
    "cos.approx.f32 %f0, %f1",
    "tanh.approx.f32 %f0, %f1",
    "setp.lt.s32 %p0, %r1, %r2",
    "set.lt.u32.s32 %r0, %r1, %r2",
    "selp.b32 %r0, %r1, %r2, %p0",
    "cvt.rn.f32.s32 %f0, %r1",
    "cvta.to.global.u64 %d0, %d1",
    "isspacep.global %p0, %d1",
    "mov.b32 %r0, %r1",
    "shfl.sync.idx.b32 %r0, %r1, 0, 31, -1",
    "vote.sync.all.pred %p0, %p1, -1",
    "match.any.sync.b32 %r0, %r1, -1",
    "redux.sync.add.s32 %r0, %r1, -1",
    "elect.sync %r0|%p0, -1",
    "activemask.b32 %r0",
    "ld.global.b32 %r0, [%d0]",
    "ldu.global.b32 %r0, [%d0]",
    "st.global.b32 [%d0], %r0",
    "atom.global.add.u32 %r0, [%d0], %r1",
    "red.global.add.u32 [%d0], %r1",
    "prefetch.global.L2 [%d0]",
    "prefetchu.L1 [%d0]",
    "applypriority.global.L2::evict_normal [%d0], 128",
    "discard.global.L2 [%d0], 128",
    "createpolicy.fractional.L2::evict_last.b64 %d0, 0f3F800000",
    "cp.async.ca.shared.global [%r0], [%d0], 4",
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r1]",
    "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r0}",
    "movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r1",
    "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r0, %r1}, {%r2}, {%r3}, {%r0, %r1}",
    "wmma.load.a.sync.aligned.row.m8n8k4.f64 {%e0}, [%d0]",
    "bar.sync 0",
    "barrier.sync 0",
    "mbarrier.init.shared.b64 [%r0], 1",
    "membar.gl",
    "fence.acq_rel.gpu",
    "bra END",
    "brx.idx %r0, TARGETS",
    "call f",
    "ret",
    "alloca.u64 %d0, 16",
    "stacksave.u64 %d0",
    "stackrestore.u64 %d0",
    "exit",
    "trap",
    "brkpt",
    "nanosleep.u32 1",
    "pmevent 1",
    "griddepcontrol.wait",
];

/// A form of every opcode that is refused.
const REFUSED: &[&str] = &[
    "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d0, {%f0, %f1}]",
    "tld4.r.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d0, {%f0, %f1}]",
    "txq.width.b32 %r0, [%d0]",
    "istypep.texref %p0, %d0",
    "suld.b.2d.b32.trap {%r0}, [%d0, {%r1, %r2}]",
    "sust.b.2d.b32.trap [%d0, {%r1, %r2}], {%r0}",
    "sured.b.add.2d.u32.trap [%d0, {%r1, %r2}], %r0",
    "suq.width.b32 %r0, [%d0]",
    "barrier.cluster.arrive",
    "mapa.u64 %d0, %d1, %r1",
    "getctarank.u64 %r0, %d0",
    "multimem.ld_reduce.relaxed.sys.global.add.u32 %r0, [%d0]",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%d0], 256, [%r1]",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d0], [%r0], 256",
    "tensormap.replace.tile.global_address.global.b1024.b64 [%d0], %d1",
    "wgmma.fence.sync.aligned",
    "setmaxnreg.inc.sync.aligned.u32 64",
    "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1}, \
     {%r2, %r3}, {%f0, %f1, %f2, %f3}, %r0, 0",
    "tcgen05.wait::ld.sync.aligned",
    "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p0, %d0",
];

/// A kernel with the instruction, another without, and a function to call.
fn load(instruction: &str) -> Module {
    let text = format!(
        ".version 8.7\n.target sm_90a\n.address_size 64\n\
         .visible .func f() {{ ret; }}\n.visible .entry good() {{ ret; }}\n\
         .visible .entry k() {{\n.reg .pred %p<4>; .reg .b32 %r<4>; .reg .f32 %f<4>;\n\
         .reg .f64 %e<4>; .reg .b64 %d<4>;\nTARGETS: .branchtargets END;\n{instruction};\nEND: ret;\n}}\n"
    );
    Device::default().load(&text).unwrap_or_else(|error| panic!("{instruction}: {error}"))
}

fn opcode(form: &str) -> &str {
    form.split([' ', '.']).next().unwrap()
}

#[test]
fn some_form_of_every_opcode_of_the_table_runs() {
    for opcode in GROUPS.iter().flat_map(|group| group.opcodes.split(' ')) {
        let form = FORMS.iter().find(|form| self::opcode(form) == opcode);
        let form = form.unwrap_or_else(|| panic!("no form of {opcode}"));
        let module = load(form);
        assert!(module.kernel("k").is_some(), "{form}: {:?}", module.refusal("k"));
    }
}

#[test]
fn unsupported_opcodes_refuse_only_the_kernels_that_reach_them() {
    for known in ABSENT.iter().flat_map(|absent| absent.opcodes.split(' ')) {
        let is_of = |form: &&&str| {
            form.strip_prefix(known)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ' ']))
        };
        let form = REFUSED.iter().find(is_of).unwrap_or_else(|| panic!("no form of {known}"));
        let module = load(form);
        let name = form.split(' ').next().unwrap();
        let expected = format!("unsupported PTX instruction '{name}' at line 10");
        assert_eq!(module.refusal("k").map(ToString::to_string), Some(expected));
        assert!(module.kernel("good").is_some(), "{form}");
    }
}

#[test]
fn a_kernel_of_clusters_is_refused_alone() {
    for (directive, name) in [
        (".reqnctapercluster 2, 1, 1", "reqnctapercluster"),
        (".explicitcluster", "explicitcluster"),
        (".blocksareclusters", "blocksareclusters"),
    ] {
        let text = format!(
            ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry good() {{ ret; }}\n\
             .visible .entry bounded() .maxclusterrank 8 {{ ret; }}\n\
             .visible .entry k()\n{directive}\n{{ ret; }}\n"
        );
        let module = Device::default().load(&text).unwrap();
        let expected = format!("unsupported PTX directive '.{name}' at line 7");
        assert_eq!(module.refusal("k").map(ToString::to_string), Some(expected));
        assert!(module.kernel("good").is_some() && module.kernel("bounded").is_some());
    }
}

/// Words as code, with commas.
fn code(words: &str) -> String {
    words.split(' ').map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn page() -> String {
    let mut page = "| group | instructions | forms |\n|---|---|---|\n".to_owned();
    for group in GROUPS {
        writeln!(page, "| {} | {} | {} |", group.name, code(group.opcodes), group.forms).unwrap();
    }
    page += "\nRefused, with the instruction and its line, are the kernels that reach one of these:\n\n";
    page += "| what | instructions |\n|---|---|\n";
    for absent in ABSENT {
        writeln!(page, "| {} | {} |", absent.reason, code(absent.opcodes)).unwrap();
    }
    page
}

const START: &str = "<!-- instructions: tests/instructions.rs of the emulator writes this -->\n";
const END: &str = "<!-- end of instructions -->\n";

#[test]
fn the_book_lists_the_table_of_instructions() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/book/src/emulator.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(START).expect("the page has the start of the table");
    let (_, after) = rest.split_once(END).expect("the page has the end of the table");
    let wanted = format!("{before}{START}\n{}\n{END}{after}", page());
    if std::env::var_os("UPDATE_BOOK").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap();
    assert!(kept == wanted, "{} differs; UPDATE_BOOK=1 writes it", path.display());
}
