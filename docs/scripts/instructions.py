#!/usr/bin/env python3
"""Executes single PTX instructions by whatever `libcuda.so.1` the loader finds, and compares.

    instructions.py run [PART OF A NAME] > results.txt
    instructions.py compare gpu.txt emulated.txt

Every operation is a module of its own, so one that a driver refuses harms no other. A thread has
three operands: %A %B %C (64 bits), %a %b %c (their low words), %ha %hb %hc (their low halves), and
leaves its result in %D, %d or %hd. %i is its number; a block has 128 threads, a shared array `tile`
and an mbarrier `bar`. Operations whose name begins with `~` are approximate by PTX's definition.
"""
import ctypes
import struct
import sys

THREADS, BLOCKS = 128, 40
COUNT = THREADS * BLOCKS

HALF_EDGES = [0, 0x8000, 1, 0x8001, 0x3FF, 0x400, 0x3C00, 0xBC00, 0x3F80, 0x7BFF, 0x7C00, 0xFC00, 0x7E00, 0x7F7F, 0x7F80, 0xFF80]
FLOAT_EDGES = [0, 0x80000000, 1, 0x3F800000, 0xBF800000, 0x477FE000, 0x477FEFFF, 0x477FF000, 0x33800000, 0x33000000,
               0x7F7FFFFF, 0x3F808000, 0x3F801000, 0x7FC00000, 0x7F800000, 0xFF800000, 0x43E00000, 0x43E80000, 0x3A800000]
WORD_EDGES = [0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80000001, 0x7FFFFFFFFFFFFFFF, 1 << 63, (1 << 64) - 1, 0xFFFFFFFF00000000]


def operations():
    """(name, body) of every operation."""
    for ty in ["u32", "s32"]:
        yield f"mad.cc.{ty}", (f"mad.lo.cc.{ty} %d, %a, %b, %c; madc.hi.cc.{ty} %e, %a, %b, %b; mov.b64 %D, {{%d, %e}};"
                               f"madc.lo.{ty} %d, 0, 0, 0; cvt.u64.u32 %E, %d; mov.b32 %d, 0; shl.b64 %E, %E, 32; xor.b64 %D, %D, %E;")
    for ty in ["u64", "s64"]:
        for part in ["lo", "hi"]:
            yield f"mad.{part}.cc.{ty}", (f"add.cc.u64 %E, %B, %C; madc.{part}.cc.{ty} %D, %A, %B, %C;"
                                          f"madc.lo.u32 %d, 0, 0, 0; cvt.u64.u32 %E, %d; mov.b32 %d, 0; xor.b64 %D, %D, %E;")
    for part in ["lo", "hi"]:
        for a in ["u32", "s32"]:
            for b in ["u32", "s32"]:
                yield f"dp2a.{part}.{a}.{b}", f"dp2a.{part}.{a}.{b} %d, %a, %b, %c;"
    for mode in ["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"]:
        yield f"prmt.b32.{mode}", f"prmt.b32.{mode} %d, %a, %b, %c;"
    yield from halves()
    yield from conversions()
    yield from exchange()
    yield from transfers()
    yield from products()
    yield from fragments()
    yield from other_products()
    yield from rows()


def halves():
    for ty in ["f16", "bf16"]:
        for packed in [False, True]:
            d, a, b, c = ["%d", "%a", "%b", "%c"] if packed else ["%hd", "%ha", "%hb", "%hc"]
            full = ty + ("x2" if packed else "")
            names = ["add.rn", "sub.rn", "mul.rn", "min", "max", "min.NaN", "max.NaN", "min.xorsign.abs", "max.NaN.xorsign.abs"]
            if ty == "f16":
                names += ["add.ftz", "mul.ftz", "add.sat", "mul.sat", "sub.ftz.sat", "min.ftz"]
            for name in names:
                yield f"{name}.{full}", f"{name}.{full} {d}, {a}, {b};"
            for name in ["fma.rn", "fma.rn.relu"] + (["fma.rn.ftz", "fma.rn.sat", "fma.rn.ftz.relu"] if ty == "f16" else []):
                yield f"{name}.{full}", f"{name}.{full} {d}, {a}, {b}, {c};"
            for name in ["neg", "abs"]:
                yield f"{name}.{full}", f"{name}.{full} {d}, {a};"
            ex2 = "ex2.approx" if ty == "f16" else "ex2.approx.ftz"
            for name in [ex2, "tanh.approx"]:
                yield f"~{name}.{full}", f"{name}.{full} {d}, {a};"
        for word in ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "geu", "num", "nan"]:
            yield f"setp.{word}.{ty}", f"setp.{word}.{ty} %p, %ha, %hb; selp.u32 %d, 1, 0, %p;"
            yield f"setp.{word}.{ty}x2", f"setp.{word}.{ty}x2 %p|%q, %a, %b; selp.u32 %d, 1, 0, %p; @%q add.u32 %d, %d, 2;"
        for result in [f"{ty}x2", "u32"]:
            yield f"set.ltu.{result}.{ty}x2", f"set.ltu.{result}.{ty}x2 %d, %a, %b;"
        for result, d in [(ty, "%hd"), ("u16", "%hd"), ("u32", "%d")]:
            yield f"set.geu.{result}.{ty}", f"set.geu.{result}.{ty} {d}, %ha, %hb;"
        # The addend is read as 32 bits: of the lower word of a 64-bit one, ptxas adds the wrong half.
        yield f"atom.add.noftz.{ty}x2", ("ld.global.u32 %b, [%x+8]; and.b32 %e, %i, 127; shl.b32 %e, %e, 2; mov.u32 %n, tile; add.u32 %e, %e, %n; st.shared.b32 [%e], %a;"
                                         f"atom.shared.add.noftz.{ty}x2 %d, [%e], %b; ld.shared.b32 %d, [%e];")
        yield f"atom.add.noftz.{ty}", ("and.b32 %e, %i, 127; shl.b32 %e, %e, 2; mov.u32 %n, tile; add.u32 %e, %e, %n; st.shared.b16 [%e], %ha;"
                                     f"atom.shared.add.noftz.{ty} %hd, [%e], %hb; ld.shared.b16 %hd, [%e];")


def conversions():
    for ty in ["f16", "bf16"]:
        for words in ["rn", "rz", "rn.relu", "rz.relu", "rn.satfinite", "rz.relu.satfinite"]:
            yield f"cvt.{words}.{ty}x2.f32", f"cvt.{words}.{ty}x2.f32 %d, %a, %b;"
            yield f"cvt.{words}.{ty}.f32", f"cvt.{words}.{ty}.f32 %hd, %a;"
    for ty in ["e4m3x2", "e5m2x2"]:
        for relu in ["", ".relu"]:
            yield f"cvt.rn.satfinite{relu}.{ty}.f32", f"cvt.rn.satfinite{relu}.{ty}.f32 %hd, %a, %b;"
            yield f"cvt.rn.satfinite{relu}.{ty}.f16x2", f"cvt.rn.satfinite{relu}.{ty}.f16x2 %hd, %a;"
            yield f"cvt.rn{relu}.f16x2.{ty}", f"cvt.rn{relu}.f16x2.{ty} %d, %ha;"


def exchange():
    yield "elect.sync", "elect.sync %d|%p, 0xffffffff; selp.u32 %e, 256, 0, %p; add.u32 %d, %d, %e;"
    yield "elect.sync of two groups", ("mov.u32 %e, %laneid; setp.lt.u32 %q, %e, 8; selp.b32 %b, 0xff, 0xffffff00, %q;"
                                       "elect.sync %d|%p, %b; selp.u32 %e, 256, 0, %p; add.u32 %d, %d, %e;")
    yield "brkpt", "setp.eq.u32 %p, %i, 99999; @%p brkpt; pmevent 3; mov.u32 %d, 7;"
    yield "griddepcontrol", "griddepcontrol.launch_dependents; griddepcontrol.wait; mov.b32 %d, %a;"


FILL = ("and.b32 %e, %i, 127; shl.b32 %e, %e, 4; mov.u32 %n, tile; add.u32 %e, %e, %n;"
        "st.shared.v4.b32 [%e], {%a, %b, %c, %a}; bar.sync 0; mov.u32 %b, %laneid; mov.u32 %d, %warpid;")


def transfers():
    for count, regs in [(1, "{%d}"), (2, "{%c, %d}"), (4, "{%a, %b, %c, %d}")]:
        for trans in ["", ".trans"]:
            for apart in [16, {1: 144, 2: 112, 4: 48}[count]]:
                yield f"ldmatrix.x{count}{trans}, rows {apart} bytes apart", (
                    FILL + f"and.b32 %e, %b, 31; mad.lo.u32 %e, %e, {apart}, %n;"
                    f"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {regs}, [%e];")
    there = "cp.async.commit_group; cp.async.wait_group 0; bar.sync 0; xor.b32 %e, %e, 16; ld.shared.b32 %d, [%e+{at}];"
    slot = "and.b32 %e, %i, 127; shl.b32 %e, %e, 4; mov.u32 %n, tile; add.u32 %e, %e, %n; mul.wide.u32 %y, %i, 16; ld.param.u64 %x, [in]; add.s64 %y, %x, %y;"
    for at in [0, 4, 8, 12]:
        yield f"cp.async.cg, word {at // 4}", slot + "cp.async.cg.shared.global [%e], [%y], 16;" + there.format(at=at) + RESULT
        yield f"cp.async.ca of %i mod 17 bytes, word {at // 4}", (
            slot + "rem.u32 %c, %i, 17; cp.async.ca.shared.global [%e], [%y], 16, %c;" + there.format(at=at) + RESULT)
    barrier = "and.b32 %e, %i, 127; setp.eq.u32 %p, %e, 0; mov.u32 %n, bar; @%p mbarrier.init.shared.b64 [%n], 128; bar.sync 0;"
    mine = "shl.b32 %e, %e, 2; mov.u32 %c, tile; add.u32 %c, %c, %e; st.shared.b32 [%c], %a;"
    other = "xor.b32 %c, %c, 508; ld.shared.b32 %d, [%c];"
    yield "mbarrier.test_wait of a state", (barrier + mine + "mbarrier.arrive.shared.b64 %E, [%n];"
                                            "W: mbarrier.test_wait.shared.b64 %q, [%n], %E; @!%q bra W;" + other)
    yield "mbarrier.try_wait.parity", (barrier + mine + "mbarrier.arrive.shared.b64 %E, [%n];"
                                       "W: mbarrier.try_wait.parity.shared.b64 %q, [%n], 0; @!%q bra W;" + other)
    probe = "mbarrier.test_wait.parity.shared.b64 %q, [%n], {parity}; selp.u32 %c, {bit}, 0, %q; or.b32 %d, %d, %c;"
    one = "and.b32 %e, %i, 127; setp.ne.u32 %p, %e, 0; mov.u32 %n, bar; @%p bra END; mbarrier.init.shared.b64 [%n], 1;"
    yield "mbarrier phases", (one + probe.format(parity=1, bit=1) + probe.format(parity=0, bit=2) + "mbarrier.arrive.shared.b64 %E, [%n];"
                              + probe.format(parity=0, bit=4) + probe.format(parity=1, bit=8) + "mbarrier.arrive.shared.b64 %E, [%n];"
                              + probe.format(parity=0, bit=16) + probe.format(parity=1, bit=32) + "END:")
    yield "mbarrier bytes", (one + "mbarrier.arrive.expect_tx.shared.b64 %E, [%n], 96;" + probe.format(parity=0, bit=1)
                             + "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%n], 90;" + probe.format(parity=0, bit=2)
                             + "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%n], 6;" + probe.format(parity=0, bit=4) + "END:")
    drop = one.replace("[%n], 1;", "[%n], 3;")
    yield "mbarrier.arrive_drop", (drop + "mbarrier.arrive_drop.shared.b64 %E, [%n]; mbarrier.arrive.shared.b64 %E, [%n], 2;" + probe.format(parity=0, bit=1)
                                   + "mbarrier.arrive.shared.b64 %E, [%n]; mbarrier.arrive.shared.b64 %E, [%n];" + probe.format(parity=1, bit=2) + "END:")
    yield "cp.async.mbarrier.arrive.noinc", (
        barrier + slot.replace("mov.u32 %n, tile; add.u32 %e, %e, %n;", "mov.u32 %c, tile; add.u32 %e, %e, %c;")
        + "cp.async.cg.shared.global [%e], [%y], 16; cp.async.mbarrier.arrive.noinc.shared.b64 [%n];"
        "W: mbarrier.test_wait.parity.shared.b64 %q, [%n], 0; @!%q bra W; xor.b32 %e, %e, 16; ld.shared.b32 %d, [%e+4];" + RESULT)


def products():
    """mma.sync. Exact: whole bytes, and floats between 1 and 2 in magnitude whose sums f32 can hold."""
    # Bits that stay of an operand, and those that are set.
    exact = {"f16": (0x83008300, 0x3C003C00), "bf16": (0x80608060, 0x3F803F80), "tf32": (0x80601FFF, 0x3F800000)}
    shapes = [("f32", ty, f"m16n8k{k}") for ty, depths in [("f16", (8, 16)), ("bf16", (8, 16)), ("tf32", (4, 8))] for k in depths]
    shapes += [("f16", "f16", "m16n8k8"), ("f16", "f16", "m16n8k16")]
    shapes += [("s32", f"{a}.{b}", f"m16n8k{k}") for a in ("s8", "u8") for b in ("s8", "u8") for k in (16, 32)]
    for sums, ty, shape in shapes:
        inputs = {"m16n8k4": 2, "m16n8k8": 4 if ty == "tf32" else 2, "m16n8k16": 2 if sums == "s32" else 4, "m16n8k32": 4}[shape]
        results = 2 if sums == "f16" else 4
        for how in ["", ".satfinite"] if sums == "s32" else ["", "~"]:
            keep, put = exact.get(ty, (0xFFFFFFFF, 0)) if how != "~" else (0xBFFFBFFF, 0)
            fill = "".join(f"xor.b32 %m{at}, {'%a' if at % 2 else '%b'}, {0x9E3779B9 * at & 0xFFFFFFFF}; and.b32 %m{at}, %m{at}, {keep};"
                           f"or.b32 %m{at}, %m{at}, {put};" for at in range(10))
            if sums == "f32":
                fill += "".join(f"mov.b32 %m{at}, 0f40400000;" for at in range(6, 10))
            names = lambda first, count: ", ".join(f"%m{first + at}" for at in range(count))
            types = ty if "." in ty else f"{ty}.{ty}"
            satfinite = how if how == ".satfinite" else ""
            product = (f"mma.sync.aligned.{shape}.row.col{satfinite}.{sums}.{types}.{sums} {{{names(10, results)}}}, {{{names(0, inputs)}}}, "
                       f"{{{names(4, inputs // 2)}}}, {{{names(6, results)}}};")
            for first in range(0, results, 2):
                yield (f"{'~' if how == '~' else ''}mma.{shape}{satfinite}.{sums}.{types}, results {first} and {first + 1}",
                       f"{{ .reg .b32 %m<14>; {fill} {product} mov.b64 %D, {{{names(10 + first, 2)}}}; }}")


# Bits that stay of a register with such elements, and those that are set: then sums are exact.
# Doubles are not: their order and rounding matter.
EXACT = {"f16": (0x83008300, 0x3C003C00), "bf16": (0x80608060, 0x3F803F80), "tf32": (0x80600000, 0x3F800000),
         "f32": (0x80600000, 0x3F800000), "f64": (0x800FFFFFFFFFFFFF, 0x3FF0000000000000),
         "e4m3": (0x84848484, 0x38383838), "e5m2": (0x82828282, 0x3C3C3C3C)}
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "s32": 32, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "e4m3": 8, "e5m2": 8}


def count(ty, elements):
    """Registers of a lane."""
    return elements * BITS[ty] // 32 // (64 if ty == "f64" else 32)


def names(name, ty, count):
    return [f"%{'w' if ty == 'f64' else 'm'}{name}{at}" for at in range(count)]


def vector(registers):
    return "{" + ", ".join(registers) + "}"


def fold(registers):
    """One number of all results."""
    text = ""
    for register in registers:
        text += f"mov.b64 %E, {register};" if register[1] == "w" else f"cvt.u64.u32 %E, {register};"
        text += "mad.lo.u64 %D, %D, 0x9E3779B97F4A7C15, %E;"
    return text


def masked(ty, registers):
    keep, put = EXACT.get(ty, (None, None))
    bits = 64 if ty == "f64" else 32
    return "" if keep is None else "".join(f"and.b{bits} {r}, {r}, {keep:#x}; or.b{bits} {r}, {r}, {put:#x};" for r in registers)


def scoped(text):
    registers = "".join(f".reg .b32 %m{name}<16>; .reg .b64 %w{name}<16>;" for name in "abcd")
    # Every block has 1024 bytes of its own.
    return f"{{ {registers} .reg .b64 %z; ld.param.u64 %z, [in]; mov.u32 %e, %ctaid.x; mad.wide.u32 %z, %e, 1024, %z; {text} }}"


def fragments():
    """wmma: how elements lie in registers, and products of what was loaded."""
    wide = ["m16n16k16", "m8n32k16", "m32n8k16"]
    kinds = [("f16", c, d, shape) for shape in wide for c in ("f16", "f32") for d in ("f16", "f32")]
    kinds += [("bf16", "f32", "f32", shape) for shape in wide] + [(ty, "s32", "s32", shape) for ty in ("s8", "u8") for shape in wide]
    kinds += [("tf32", "f32", "f32", "m16n16k8"), ("f64", "f64", "f64", "m8n8k4"), ("s4", "s32", "s32", "m8n8k32"),
              ("u4", "s32", "s32", "m8n8k32"), ("b1", "s32", "s32", "m8n8k128")]
    for ty, c, d, shape in kinds:
        m, n, k = (int(word) for word in shape[1:].replace("n", " ").replace("k", " ").split())
        factor = lambda elements: 8 if ty == "f16" else count(ty, elements)
        ra, rb = names("a", ty, factor(m * k)), names("b", ty, factor(n * k))
        rc, rd = names("c", c, count(c, m * n)), names("d", d, count(d, m * n))
        layouts = [("row", "col")] if BITS[ty] < 8 else [(a, b) for a in ("row", "col") for b in ("row", "col")]
        for a, b in layouts:
            load = (f"wmma.load.a.sync.aligned.{a}.{shape}.global.{ty} {vector(ra)}, [%z], {max(k, m, 128 // BITS[ty])};"
                    f"wmma.load.b.sync.aligned.{b}.{shape}.global.{ty} {vector(rb)}, [%z+512], {max(k, n, 128 // BITS[ty])};"
                    f"wmma.load.c.sync.aligned.{a}.{shape}.global.{c} {vector(rc)}, [%z+256], {max(m, n)};")
            yield f"wmma.load.{a}.{b}.{shape}.{ty}.{c}, all registers", scoped(load + fold(ra + rb + rc))
            mask = masked(ty, ra + rb) + masked(c, rc)
            types = f"{d}.{c}" if ty == "f16" else f"{d}.{ty}.{ty}.{c}"
            for start, end in {"b1": [("xor.popc.", ""), ("and.popc.", "")], "f64": [("", f".{way}") for way in ("rn", "rz", "rm", "rp")],
                               "s8": [("", ""), ("", ".satfinite")]}.get(ty, [("", "")]):
                product = f"wmma.mma.{start}sync.aligned.{a}.{b}.{shape}.{types}{end} {vector(rd)}, {vector(ra)}, {vector(rb)}, {vector(rc)};"
                yield f"wmma.mma.{start}{a}.{b}.{shape}.{types}{end}", scoped(load + mask + product + fold(rd))


def other_products():
    """mma.sync of the shapes and types that products() leaves out."""
    kinds = [("f16", "f16", c, d, "m8n8k4", f"{a}.{b}", "") for a in ("row", "col") for b in ("row", "col")
             for c, d in [("f16", "f16"), ("f16", "f32"), ("f32", "f32")]]
    kinds += [("f64", "f64", "f64", "f64", shape, "row.col", way) for shape in ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16")
              for way in ("", ".rz", ".rm", ".rp")]
    kinds += [(a, b, "s32", "s32", shape, "row.col", end) for types, shapes in [(("s8", "u8"), ("m8n8k16",)), (("s4", "u4"), ("m8n8k32", "m16n8k32", "m16n8k64"))]
              for a in types for b in types for shape in shapes for end in ("", ".satfinite")]
    kinds += [("b1", "b1", "s32", "s32", shape, "row.col", end) for shape in ("m8n8k128", "m16n8k128", "m16n8k256") for end in (".xor.popc", ".and.popc")]
    kinds += [(a, b, c, c, shape, "row.col", "") for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2") for c in ("f32", "f16") for shape in ("m16n8k16", "m16n8k32")]
    for a, b, c, d, shape, layout, end in kinds:
        m, n, k = (int(word) for word in shape[1:].replace("n", " ").replace("k", " ").split())
        blocks = 4 if (a, shape) == ("f16", "m8n8k4") else 1
        ra, rb = names("a", a, count(a, blocks * m * k)), names("b", b, count(b, blocks * n * k))
        rc, rd = names("c", c, count(c, blocks * m * n)), names("d", d, count(d, blocks * m * n))
        fill = ""
        for at, register in enumerate(ra + rb + rc):
            bits, source = (64, "%A" if at % 2 else "%B") if register[1] == "w" else (32, "%a" if at % 2 else "%b")
            fill += f"xor.b{bits} {register}, {source}, {0x9E3779B97F4A7C15 * (at + 1) & (1 << bits) - 1:#x};"
        mask = masked(a, ra) + masked(b, rb) + masked(c, rc)
        product = f"mma.sync.aligned.{shape}.{layout}.{d}.{a}.{b}.{c}{end} {vector(rd)}, {vector(ra)}, {vector(rb)}, {vector(rc)};"
        yield f"mma.{shape}.{layout}.{d}.{a}.{b}.{c}{end}", scoped(fill + mask + product + fold(rd))


def rows():
    yield "movmatrix", "movmatrix.sync.aligned.m8n8.trans.b16 %d, %a;"
    for number in (1, 2, 4):
        for trans in ["", ".trans"]:
            registers = vector(["%a", "%b", "%c", "%d"][:number])
            yield f"stmatrix.x{number}{trans}", (
                "mov.b32 %d, %a; and.b32 %e, %i, 127; shl.b32 %e, %e, 4; mov.u32 %n, tile; add.u32 %e, %e, %n;"
                "st.shared.v4.b32 [%e], {%c, %c, %c, %c}; bar.sync 0;"
                f"stmatrix.sync.aligned.m8n8.x{number}{trans}.shared.b16 [%e], {registers};"
                "bar.sync 0; ld.shared.v4.b32 {%a, %b, %c, %d}, [%e]; xor.b32 %a, %a, %b; shl.b32 %c, %c, 1; xor.b32 %a, %a, %c; mov.b64 %D, {%a, %d}; mov.b32 %d, 0;")


# %y was used for something else.
RESULT = "ld.param.u64 %y, [out]; mad.wide.u32 %y, %i, 8, %y;"


def module(body):
    # Floats of eight bits are newer than the rest.
    is_new = "e4m3" in body and "mma" in body or "e5m2" in body and "mma" in body
    return f""".version {'8.7' if is_new else '8.1'}
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) {{
.shared .align 16 .b8 tile[4608]; .shared .align 8 .b64 bar;
.reg .pred %p, %q; .reg .b16 %ha, %hb, %hc, %hd; .reg .b32 %a, %b, %c, %d, %e, %i, %n;
.reg .b64 %A, %B, %C, %D, %E, %x, %y;
mov.u32 %i, %ctaid.x; mov.u32 %n, %tid.x; mad.lo.u32 %i, %i, {THREADS}, %n;
ld.param.u64 %x, [in]; mad.wide.u32 %x, %i, 24, %x; ld.param.u64 %y, [out]; mad.wide.u32 %y, %i, 8, %y;
ld.global.u64 %A, [%x]; ld.global.u64 %B, [%x+8]; ld.global.u64 %C, [%x+16];
cvt.u32.u64 %a, %A; cvt.u32.u64 %b, %B; cvt.u32.u64 %c, %C; cvt.u16.u64 %ha, %A; cvt.u16.u64 %hb, %B; cvt.u16.u64 %hc, %C;
mov.b32 %d, 0; mov.b64 %D, 0; mov.b16 %hd, 0;
{body}
cvt.u64.u32 %E, %d; or.b64 %D, %D, %E; cvt.u64.u16 %E, %hd; or.b64 %D, %D, %E; st.global.u64 [%y], %D;
ret;
}}
"""


def noise():
    state = 88172645463325252
    while True:
        state ^= state << 13 & (1 << 64) - 1
        state ^= state >> 7
        state ^= state << 17 & (1 << 64) - 1
        yield state


def operands(name):
    """Triples of operands: edges that suit the operation, then noise."""
    if ".f32" in name and "cvt" in name:
        edges = FLOAT_EDGES
    elif "f16" in name:
        edges = [edge | (edge << 5 & 0xFFFF) << 16 for edge in HALF_EDGES]
    else:
        edges = WORD_EDGES
    triples = [(a, b, c) for a in edges for b in edges for c in edges[:: 1 if "fma" in name or "cc" in name else 5]][: COUNT - 512]
    random = noise()
    while len(triples) < COUNT:
        triples.append((next(random), next(random), next(random)))
    return triples


def run(part):
    cuda = ctypes.CDLL("libcuda.so.1")

    def check(code, what):
        if code:
            sys.exit(f"{what}: error {code}")

    check(cuda.cuInit(0), "cuInit")
    context, address = ctypes.c_void_p(), [ctypes.c_uint64(), ctypes.c_uint64()]
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), "cuDevicePrimaryCtxRetain")
    check(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent")
    for place, size in zip(address, [24 * COUNT, 8 * COUNT]):
        check(cuda.cuMemAlloc_v2(ctypes.byref(place), ctypes.c_size_t(size)), "cuMemAlloc")
    for name, body in operations():
        if part not in name:
            continue
        flat = [value for triple in operands(name) for value in triple]
        data = struct.pack(f"{len(flat)}Q", *flat)
        check(cuda.cuMemcpyHtoD_v2(address[0], data, ctypes.c_size_t(len(data))), "cuMemcpyHtoD")
        loaded, function = ctypes.c_void_p(), ctypes.c_void_p()
        code = cuda.cuModuleLoadData(ctypes.byref(loaded), module(body).encode() + b"\0")
        if code:
            print(f"{name}\trefused {code}")
            continue
        check(cuda.cuModuleGetFunction(ctypes.byref(function), loaded, b"k"), name)
        params = (ctypes.c_void_p * 2)(*[ctypes.cast(ctypes.pointer(place), ctypes.c_void_p) for place in address])
        code = cuda.cuLaunchKernel(function, BLOCKS, 1, 1, THREADS, 1, 1, 0, None, params, None) or cuda.cuCtxSynchronize()
        check(code, name)
        back = ctypes.create_string_buffer(8 * COUNT)
        check(cuda.cuMemcpyDtoH_v2(back, address[1], ctypes.c_size_t(8 * COUNT)), "cuMemcpyDtoH")
        print(name, " ".join(f"{value:x}" for value in struct.unpack(f"{COUNT}Q", back.raw)), sep="\t")
        cuda.cuModuleUnload(loaded)


def results(path):
    return dict(line.rstrip("\n").split("\t") for line in open(path))


def compare(gpu, emulated):
    gpu, emulated = results(gpu), results(emulated)
    wrong = 0
    print("| instruction | equal | first difference: operands, GPU, emulator |\n|---|---:|---|")
    for name, mine in gpu.items():
        other = emulated.get(name, "missing")
        if "refused" in mine or "refused" in other or other == "missing":
            print(f"| `{name}` | - | GPU: {mine[:12]}, emulator: {other[:12]} |")
            wrong += 1
            continue
        pairs = list(zip(operands(name), mine.split(), other.split()))
        apart = [f"{' '.join(f'{value:x}' for value in given)}: {a}, {b}" for given, a, b in pairs if a != b]
        print(f"| `{name}` | {len(pairs) - len(apart)} of {len(pairs)} | {apart[0] if apart else ''} |")
        wrong += bool(apart) and not name.startswith("~")
    print(f"\n{len(gpu)} instructions, {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1] == "run":
        run(sys.argv[2] if len(sys.argv) > 2 else "")
    else:
        sys.exit(compare(*sys.argv[2:4]))
