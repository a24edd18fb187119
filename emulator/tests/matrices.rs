//! `wmma` and `mma` of every shape, type and layout, compared with plain products of matrices.

use crate::common::Bench;
use gpuprof_emulator::device::{Device, LaunchRecord};

/// Rows of `a`, columns of `b`, columns of `a`.
type Shape = [usize; 3];

/// The type of an element.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Element {
    name: &'static str,
    bits: usize,
}

const F16: Element = Element { name: "f16", bits: 16 };
const BF16: Element = Element { name: "bf16", bits: 16 };
const TF32: Element = Element { name: "tf32", bits: 32 };
const F32: Element = Element { name: "f32", bits: 32 };
const F64: Element = Element { name: "f64", bits: 64 };
const S32: Element = Element { name: "s32", bits: 32 };
const B1: Element = Element { name: "b1", bits: 1 };
const E4M3: Element = Element { name: "e4m3", bits: 8 };
const E5M2: Element = Element { name: "e5m2", bits: 8 };

const fn integer(name: &'static str) -> Element {
    Element { name, bits: if name.as_bytes()[1] == b'8' { 8 } else { 4 } }
}

impl Element {
    /// A small number of this type without a pattern.
    fn number(self, seed: usize) -> i32 {
        let number = (seed.wrapping_mul(2_654_435_761) >> 7) as i32;
        let number = number.rem_euclid(13) - 6;
        match self.name {
            "b1" => number & 1,
            "u8" | "u4" => number.abs(),
            _ => number,
        }
    }

    /// Its bits.
    fn encode(self, number: i32) -> u64 {
        let single = (number as f32).to_bits();
        // A whole number as a float with so many bits of exponent and fraction.
        let float = |exponent: u32, fraction: u32| {
            let magnitude = single & 0x7fff_ffff;
            let bias = (128 - (1 << (exponent - 1))) << fraction;
            let bits = if magnitude == 0 { 0 } else { (magnitude >> (23 - fraction)) - bias };
            u64::from(single >> 31 << (exponent + fraction) | bits)
        };
        match self.name {
            "f16" => float(5, 10),
            "bf16" => float(8, 7),
            "e4m3" => float(4, 3),
            "e5m2" => float(5, 2),
            "tf32" | "f32" => u64::from(single),
            "f64" => f64::from(number).to_bits(),
            _ => number as u64 & (u64::MAX >> (64 - self.bits)),
        }
    }

    fn is_wide(self) -> bool {
        self.bits == 64
    }

    fn per_register(self) -> usize {
        if self.is_wide() { 1 } else { 32 / self.bits }
    }

    /// Elements that 16 bytes hold.
    fn in_16_bytes(self) -> usize {
        128 / self.bits
    }
}

/// One kind of product.
#[derive(Debug, Clone, Copy)]
struct Product {
    shape: Shape,
    a: Element,
    b: Element,
    c: Element,
    d: Element,
    is_and: bool,
}

impl Product {
    fn a(&self, row: usize, column: usize) -> i32 {
        self.a.number(100 * row + column)
    }

    fn b(&self, row: usize, column: usize) -> i32 {
        self.b.number(7919 + 100 * row + column)
    }

    fn c(&self, row: usize, column: usize) -> i32 {
        self.c.number(104_729 + 100 * row + column)
    }

    fn d(&self, row: usize, column: usize) -> i32 {
        let one = |at: usize| match (self.a(row, at), self.b(at, column)) {
            (a, b) if self.a == B1 => {
                if self.is_and {
                    a & b
                } else {
                    a ^ b
                }
            }
            (a, b) => a * b,
        };
        self.c(row, column) + (0..self.shape[2]).map(one).sum::<i32>()
    }
}

/// Puts elements next to each other into words.
fn pack(element: Element, numbers: impl Iterator<Item = i32>) -> Vec<u32> {
    let mut words = Vec::new();
    let mut filled = 32;
    for bits in numbers.map(|number| element.encode(number)) {
        if element.is_wide() {
            words.extend([bits as u32, (bits >> 32) as u32]);
            continue;
        }
        if filled == 32 {
            words.push(0);
            filled = 0;
        }
        *words.last_mut().unwrap() |= (bits as u32) << filled;
        filled += element.bits;
    }
    words
}

/// A matrix in memory: its lines, rows or columns, lie `stride` elements apart.
fn in_memory(
    element: Element,
    (rows, columns): (usize, usize),
    by_columns: bool,
    at: impl Fn(usize, usize) -> i32,
) -> (Vec<u32>, usize) {
    let (lines, length) = if by_columns { (columns, rows) } else { (rows, columns) };
    let stride = length.next_multiple_of(element.in_16_bytes()) + element.in_16_bytes();
    let elements = (0..lines * stride).map(|place| match (place / stride, place % stride) {
        // The gaps between the lines are never read.
        (_, along) if along >= length => 1,
        (line, along) if by_columns => at(along, line),
        (line, along) => at(line, along),
    });
    (pack(element, elements), stride)
}

/// A kernel of one warp with the addresses `%rd0`, `%rd1`, … of its arguments.
fn kernel(arguments: usize, registers: &str, body: &str) -> String {
    let params: Vec<String> = (0..arguments).map(|at| format!(".param .u64 p{at}")).collect();
    let mut text = format!(
        ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k({}) {{\n\
         .reg .pred %p<4>; .reg .b64 %rd<16>; .reg .b32 %r<16>; {registers}\n\
         .shared .align 128 .b8 tile[8192];\n",
        params.join(", ")
    );
    for at in 0..arguments {
        text += &format!("ld.param.u64 %rd{at}, [p{at}];\n");
    }
    text + "mov.u32 %r0, %laneid; mov.u32 %r1, tile;\n" + body + "\nret;\n}\n"
}

/// The names `{%a0, %a1, …}`.
fn vector(name: &str, count: usize) -> String {
    let names: Vec<String> = (0..count).map(|at| format!("%{name}{at}")).collect();
    format!("{{{}}}", names.join(", "))
}

fn declared(element: Element, name: &str) -> String {
    let ty = match element.name {
        "f32" | "f64" => element.name,
        _ => "b32",
    };
    format!(".reg .{ty} %{name}<16>; ")
}

/// Registers of a lane for a matrix of `wmma` that has each element once.
fn registers(element: Element, elements: usize) -> usize {
    elements / 32 / element.per_register()
}

fn counter(record: &LaunchRecord, name: &str) -> u64 {
    record.counters.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("{name}")).1
}

/// Loads, multiplies and stores by `wmma`, and checks every element of the result.
fn check_fragments(product: &Product, name: &str, [of_a, of_b, of_c]: [bool; 3]) {
    let Product { shape: [m, n, k], a, b, c, d, .. } = *product;
    let word = |by_columns: bool| if by_columns { "col" } else { "row" };
    let size = format!("m{m}n{n}k{k}");
    let factor = |element: Element, elements| match element {
        F16 => 8,
        element => registers(element, elements),
    };
    let vectors = [
        vector("a", factor(a, m * k)),
        vector("b", factor(b, k * n)),
        vector("c", registers(c, m * n)),
        vector("d", registers(d, m * n)),
    ];
    let (in_a, stride_a) = in_memory(a, (m, k), of_a, |row, column| product.a(row, column));
    let (in_b, stride_b) = in_memory(b, (k, n), of_b, |row, column| product.b(row, column));
    let (in_c, stride_c) = in_memory(c, (m, n), of_c, |row, column| product.c(row, column));
    let (in_d, stride_d) = in_memory(d, (m, n), of_c, |row, column| product.d(row, column));
    let body = format!(
        "wmma.load.a.sync.aligned.{}.{size}.{} {}, [%rd1], {stride_a};\n\
         wmma.load.b.sync.aligned.{}.{size}.global.{} {}, [%rd2], {stride_b};\n\
         wmma.load.c.sync.aligned.{}.{size}.global.{} {}, [%rd3], {stride_c};\n\
         wmma.mma.{name} {}, {}, {}, {};\n\
         wmma.store.d.sync.aligned.{}.{size}.global.{} [%rd0], {}, {stride_d};",
        word(of_a),
        a.name,
        vectors[0],
        word(of_b),
        b.name,
        vectors[1],
        word(of_c),
        c.name,
        vectors[2],
        vectors[3],
        vectors[0],
        vectors[1],
        vectors[2],
        word(of_c),
        d.name,
        vectors[3],
    );
    let files = [(a, "a"), (b, "b"), (c, "c"), (d, "d")].map(|(e, name)| declared(e, name));
    let mut bench = Bench::new(&kernel(4, &files.concat(), &body));
    let between = in_memory(d, (m, n), of_c, |_, _| 1).0;
    let out = bench.upload(&between);
    let [a, b, c] = [in_a, in_b, in_c].map(|words| bench.upload(&words));
    let record = bench.launch("k", 1, 32, &[&out, &a, &b, &c]);
    assert_eq!(bench.download(out, in_d.len(), u32::from_le_bytes), in_d, "{name}, {of_c}");
    assert_eq!(counter(&record, "ptx__matrix_products.sum"), 1);
}

/// All ways in which three matrices can lie.
fn layouts() -> impl Iterator<Item = [bool; 3]> {
    (0..8).map(|bits| [bits & 1 != 0, bits & 2 != 0, bits & 4 != 0])
}

fn words(by_columns: [bool; 3]) -> String {
    let [a, b, _] = by_columns.map(|by_columns| if by_columns { "col" } else { "row" });
    format!("{a}.{b}")
}

const WIDE_SHAPES: [Shape; 3] = [[16, 16, 16], [8, 32, 16], [32, 8, 16]];

#[test]
fn fragments_of_halves_have_every_shape_layout_and_sum() {
    for shape @ [m, n, k] in WIDE_SHAPES {
        for layouts in layouts() {
            let start = format!("sync.aligned.{}.m{m}n{n}k{k}", words(layouts));
            for (c, d) in [(F16, F16), (F16, F32), (F32, F16), (F32, F32)] {
                let product = Product { shape, a: F16, b: F16, c, d, is_and: false };
                check_fragments(&product, &format!("{start}.{}.{}", d.name, c.name), layouts);
            }
            let product = Product { shape, a: BF16, b: BF16, c: F32, d: F32, is_and: false };
            check_fragments(&product, &format!("{start}.f32.bf16.bf16.f32"), layouts);
        }
    }
}

#[test]
fn fragments_of_bytes_have_every_shape_and_layout() {
    for shape @ [m, n, k] in WIDE_SHAPES {
        for layouts in layouts() {
            for ty in ["s8", "u8"] {
                let start = format!("sync.aligned.{}.m{m}n{n}k{k}", words(layouts));
                let (a, b) = (integer(ty), integer(ty));
                let product = Product { shape, a, b, c: S32, d: S32, is_and: false };
                check_fragments(&product, &format!("{start}.s32.{ty}.{ty}.s32"), layouts);
            }
        }
    }
}

#[test]
fn fragments_of_tf32_and_of_doubles_have_every_layout() {
    for layouts in layouts() {
        let words = words(layouts);
        let shape = [16, 16, 8];
        let product = Product { shape, a: TF32, b: TF32, c: F32, d: F32, is_and: false };
        let name = format!("sync.aligned.{words}.m16n16k8.f32.tf32.tf32.f32");
        check_fragments(&product, &name, layouts);
        let shape = [8, 8, 4];
        let product = Product { shape, a: F64, b: F64, c: F64, d: F64, is_and: false };
        for rounding in ["", ".rn", ".rz", ".rm", ".rp"] {
            let name = format!("sync.aligned.{words}.m8n8k4{rounding}.f64.f64.f64.f64");
            check_fragments(&product, &name, layouts);
        }
    }
}

#[test]
fn fragments_of_nibbles_and_bits_lie_in_one_way() {
    for of_c in [false, true] {
        for ty in ["s4", "u4"] {
            let (a, b, shape) = (integer(ty), integer(ty), [8, 8, 32]);
            let product = Product { shape, a, b, c: S32, d: S32, is_and: false };
            let name = format!("sync.aligned.row.col.m8n8k32.s32.{ty}.{ty}.s32.satfinite");
            check_fragments(&product, &name, [false, true, of_c]);
        }
        for (word, is_and) in [("xor", false), ("and", true)] {
            let product = Product { shape: [8, 8, 128], a: B1, b: B1, c: S32, d: S32, is_and };
            let name = format!("{word}.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32");
            check_fragments(&product, &name, [false, true, of_c]);
        }
    }
}

/// The positions of a lane's elements of `a`, `b` and the sums, by PTX's tables.
#[derive(Clone, Copy)]
struct Table {
    a: fn(&Product, usize, usize) -> (usize, usize),
    b: fn(&Product, usize, usize) -> (usize, usize),
    sums: fn(Element, usize, usize) -> (usize, usize),
}

/// Those of every shape but `m8n8k4` of halves.
const GROUPS: Table = Table {
    a: |product, lane, i| {
        let (group, of_group, per) = (lane >> 2, lane % 4, product.a.per_register());
        let (high, step) =
            if product.shape[0] == 8 { (0, i / per) } else { (i / per % 2, i / per / 2) };
        (group + 8 * high, of_group * per + i % per + 4 * per * step)
    },
    b: |product, lane, i| {
        let (group, of_group, per) = (lane >> 2, lane % 4, product.b.per_register());
        (of_group * per + i % per + 4 * per * (i / per), group)
    },
    sums: |_, lane, i| (if i < 2 { lane >> 2 } else { (lane >> 2) + 8 }, lane % 4 * 2 + (i & 1)),
};

/// Loads the lanes' parts, multiplies by `mma`, and checks every lane's results. `products` are
/// computed side by side: `m8n8k4` of halves is four, here with equal numbers.
fn check_product(product: &Product, name: &str, table: Table, products: usize) {
    let Product { shape: [m, n, k], a, b, c, d, .. } = *product;
    let counts = [(a, m * k), (b, n * k), (c, m * n), (d, m * n)]
        .map(|(element, elements)| registers(element, products * elements));
    let bytes = |element: Element| if element.is_wide() { 8 } else { 4 };
    let mut body = String::new();
    for (at, (name, element)) in [("d", d), ("a", a), ("b", b), ("c", c)].into_iter().enumerate() {
        let count = [counts[3], counts[0], counts[1], counts[2]][at];
        body += &format!("mad.wide.u32 %rd{at}, %r0, {}, %rd{at};\n", count * bytes(element));
        for register in (0..count).filter(|_| at > 0) {
            let (bits, offset) = (8 * bytes(element), register * bytes(element));
            body += &format!("ld.global.b{bits} %{name}{register}, [%rd{at}+{offset}];\n");
        }
    }
    let [va, vb, vc, vd] =
        [("a", 0), ("b", 1), ("c", 2), ("d", 3)].map(|(name, at)| vector(name, counts[at]));
    body += &format!("mma.sync.aligned.{name} {vd}, {va}, {vb}, {vc};\n");
    for register in 0..counts[3] {
        let (bits, offset) = (8 * bytes(d), register * bytes(d));
        body += &format!("st.global.b{bits} [%rd0+{offset}], %d{register};\n");
    }
    let lanes = |element: Element, count: usize, number: &dyn Fn(usize, usize) -> i32| {
        let of_lane =
            |lane| pack(element, (0..count * element.per_register()).map(move |i| number(lane, i)));
        (0..32).flat_map(of_lane).collect::<Vec<u32>>()
    };
    let in_a = lanes(a, counts[0], &|lane, i| {
        let (row, column) = (table.a)(product, lane, i);
        product.a(row, column)
    });
    let in_b = lanes(b, counts[1], &|lane, i| {
        let (row, column) = (table.b)(product, lane, i);
        product.b(row, column)
    });
    let in_c = lanes(c, counts[2], &|lane, i| {
        let (row, column) = (table.sums)(c, lane, i);
        product.c(row, column)
    });
    let expected = lanes(d, counts[3], &|lane, i| {
        let (row, column) = (table.sums)(d, lane, i);
        product.d(row, column)
    });
    let files = [(a, "a"), (b, "b"), (c, "c"), (d, "d")].map(|(e, name)| declared(e, name));
    let mut bench = Bench::new(&kernel(4, &files.concat(), &body));
    let out = bench.upload(&vec![0u32; expected.len()]);
    let [a, b, c] = [in_a, in_b, in_c].map(|words| bench.upload(&words));
    bench.launch("k", 1, 32, &[&out, &a, &b, &c]);
    assert_eq!(bench.download(out, expected.len(), u32::from_le_bytes), expected, "{name}");
}

fn check_shapes(shapes: &[Shape], [a, b, c]: [Element; 3], end: &str) {
    for &shape @ [m, n, k] in shapes {
        let is_and = end.starts_with(".and");
        let product = Product { shape, a, b, c, d: c, is_and };
        let types = [c, a, b, c].map(|element| element.name).join(".");
        check_product(&product, &format!("m{m}n{n}k{k}.row.col.{types}{end}"), GROUPS, 1);
    }
}

#[test]
fn products_of_floats_have_every_shape() {
    check_shapes(&[[16, 8, 8], [16, 8, 16]], [F16, F16, F32], "");
    check_shapes(&[[16, 8, 8], [16, 8, 16]], [F16, F16, F16], "");
    check_shapes(&[[16, 8, 8], [16, 8, 16]], [BF16, BF16, F32], "");
    check_shapes(&[[16, 8, 4], [16, 8, 8]], [TF32, TF32, F32], "");
    check_shapes(&[[8, 8, 4], [16, 8, 4], [16, 8, 8], [16, 8, 16]], [F64, F64, F64], "");
    for a in [E4M3, E5M2] {
        for b in [E4M3, E5M2] {
            for c in [F16, F32] {
                check_shapes(&[[16, 8, 16], [16, 8, 32]], [a, b, c], "");
            }
        }
    }
}

#[test]
fn products_of_integers_have_every_shape() {
    for (types, shapes) in [
        (["s8", "u8"], [[8, 8, 16], [16, 8, 16], [16, 8, 32]]),
        (["s4", "u4"], [[8, 8, 32], [16, 8, 32], [16, 8, 64]]),
    ] {
        for a in types {
            for b in types {
                for end in ["", ".satfinite"] {
                    check_shapes(&shapes, [integer(a), integer(b), S32], end);
                }
            }
        }
    }
    for end in [".xor.popc", ".and.popc"] {
        check_shapes(&[[8, 8, 128], [16, 8, 128], [16, 8, 256]], [B1, B1, S32], end);
    }
}

#[test]
fn four_quads_of_lanes_multiply_halves_independently() {
    const ROWS: fn(&Product, usize, usize) -> (usize, usize) =
        |_, lane, i| (lane % 4 + if lane < 16 { 0 } else { 4 }, i);
    const COLUMNS: fn(&Product, usize, usize) -> (usize, usize) =
        |_, lane, i| (i % 4 + if lane < 16 { 0 } else { 4 }, lane % 4);
    fn swapped((row, column): (usize, usize)) -> (usize, usize) {
        (column, row)
    }
    let sums: fn(Element, usize, usize) -> (usize, usize) = |element, lane, i| {
        let high = if lane < 16 { 0 } else { 4 };
        match element {
            F16 => (lane % 4 + high, i),
            _ => ((lane & 1) + (i & 2) + high, (i & 4) + (lane & 2) + (i & 1)),
        }
    };
    for (of_a, a) in [("row", ROWS), ("col", COLUMNS)] {
        for of_b in ["row", "col"] {
            let b: fn(&Product, usize, usize) -> (usize, usize) = match of_b {
                "row" => |product, lane, i| swapped(COLUMNS(product, lane, i)),
                _ => |product, lane, i| swapped(ROWS(product, lane, i)),
            };
            for (c, d) in [(F16, F16), (F16, F32), (F32, F32)] {
                let product = Product { shape: [8, 8, 4], a: F16, b: F16, c, d, is_and: false };
                let name = format!("m8n8k4.{of_a}.{of_b}.{}.f16.f16.{}", d.name, c.name);
                check_product(&product, &name, Table { a, b, sums }, 4);
            }
        }
    }
}

/// A product of one lane's doubles, all others 0, with a rounding.
fn product_of_doubles(rounding: &str, a: [f64; 2], b: [f64; 2], c: f64) -> f64 {
    let body = format!(
        "ld.global.f64 %a0, [%rd1]; ld.global.f64 %a1, [%rd1+8];\n\
         ld.global.f64 %b0, [%rd1+16]; ld.global.f64 %b1, [%rd1+24];\n\
         ld.global.f64 %c0, [%rd1+32]; mov.f64 %c1, %c0; mov.f64 %c2, 0d0000000000000000;\n\
         setp.eq.u32 %p0, %r0, 0; setp.eq.u32 %p1, %r0, 1;\n\
         selp.f64 %a2, %a1, %c2, %p1; selp.f64 %a2, %a0, %a2, %p0;\n\
         selp.f64 %b2, %b1, %c2, %p1; selp.f64 %b2, %b0, %b2, %p0;\n\
         mma.sync.aligned.m8n8k4.row.col{rounding}.f64.f64.f64.f64 \
         {{%d0, %d1}}, {{%a2}}, {{%b2}}, {{%c0, %c1}};\n\
         @%p0 st.global.f64 [%rd0], %d0;"
    );
    let files = [(F64, "a"), (F64, "b"), (F64, "c"), (F64, "d")].map(|(e, n)| declared(e, n));
    let mut bench = Bench::new(&kernel(2, &files.concat(), &body));
    let out = bench.upload(&[0f64]);
    let input = bench.upload(&[a[0], a[1], b[0], b[1], c]);
    bench.launch("k", 1, 32, &[&out, &input]);
    bench.download(out, 1, f64::from_le_bytes)[0]
}

#[test]
fn doubles_are_added_one_by_one_each_rounded_as_asked() {
    let small = 2f64.powi(-53);
    // 1 + 2⁻⁵³ twice: each is a tie that goes back to 1, and together they would not be.
    assert_eq!(product_of_doubles("", [1.0, 1.0], [small, small], 1.0), 1.0);
    assert_eq!(product_of_doubles(".rz", [1.0, 1.0], [small, small], 1.0), 1.0);
    let next = 1.0 + f64::EPSILON;
    assert_eq!(product_of_doubles(".rp", [1.0, 0.0], [small, 0.0], 1.0), next);
    assert_eq!(product_of_doubles(".rm", [1.0, 0.0], [-small / 4.0, 0.0], next), 1.0);
    // The product itself is not rounded.
    let (a, b) = (1.0 + f64::EPSILON, 1.0 - f64::EPSILON);
    assert_eq!(product_of_doubles("", [a, 0.0], [b, 0.0], -1.0), -f64::EPSILON * f64::EPSILON);
}

/// The fault of a kernel of one warp that loads `a` of `m16n16k16` from its argument.
fn fault(load: &str) -> String {
    let body = format!("{load}\nst.global.b32 [%rd0], %a0;");
    let mut bench = Bench::new(&kernel(1, &declared(F16, "a"), &body));
    let memory = bench.upload(&[0u32; 128]);
    bench.fault("k", 1, 32, &[&memory])
}

#[test]
fn accesses_of_fragments_are_checked_like_all_others() {
    let of_a = "wmma.load.a.sync.aligned.row.m16n16k16";
    let eight = vector("a", 8);
    for (load, expected) in [
        (
            format!("{of_a}.global.f16 {eight}, [%rd0+16], 16;"),
            "wmma.load at 0x700000000010 is not aligned to the 32 bytes of its fragment",
        ),
        (
            format!("{of_a}.global.f16 {eight}, [%rd0], 20;"),
            "wmma.load with a stride of 20 elements: it must be a multiple of 16 bytes",
        ),
        (
            // The last row is past the end.
            format!("{of_a}.global.f16 {eight}, [%rd0+32], 16;"),
            "reads 4 bytes of global memory at 0x700000000200",
        ),
        (
            format!(
                "cvt.u64.u32 %rd2, %r0; shl.b64 %rd2, %rd2, 5; add.s64 %rd0, %rd0, %rd2;\
                     {of_a}.global.f16 {eight}, [%rd0], 16;"
            ),
            "the lanes of wmma.load have different addresses or strides",
        ),
        (
            format!("setp.ne.u32 %p0, %r0, 7; @%p0 {of_a}.global.f16 {eight}, [%rd0], 16;"),
            "wmma.load needs all 32 lanes of the warp",
        ),
        (
            format!("{of_a}.shared.f16 {eight}, [%r1+8160], 16;"),
            "reads 4 bytes of shared memory at 0x2000",
        ),
        (
            "mov.b32 %a0, 0; wmma.store.d.sync.aligned.col.m16n16k16.shared.f16 [%r1+8160],\
                     {%a0, %a0, %a0, %a0}, 16;"
                .to_owned(),
            "writes 2 bytes of shared memory at 0x2020",
        ),
    ] {
        let said = fault(&load);
        assert!(said.contains(expected), "{load}: {said}");
    }
}

#[test]
fn the_default_stride_is_the_length_of_a_line() {
    let [eight, four] = [vector("a", 8), vector("a", 4)];
    for (word, matrix, shape, ty, regs) in [
        ("row", "a", [32, 8, 16], F16, &eight),
        ("col", "a", [32, 8, 16], F16, &eight),
        ("row", "b", [8, 32, 16], F16, &eight),
        ("col", "b", [8, 32, 16], F16, &eight),
        ("row", "c", [8, 32, 16], F16, &four),
        ("col", "c", [8, 32, 16], F16, &four),
    ] {
        let [m, n, k] = shape;
        let (rows, columns) = match matrix {
            "a" => (m, k),
            "b" => (k, n),
            _ => (m, n),
        };
        let stride = if word == "row" { columns } else { rows };
        let load =
            format!("wmma.load.{matrix}.sync.aligned.{word}.m{m}n{n}k{k}.global.{}", ty.name);
        let stored: String =
            (0..4).map(|at| format!("st.global.b32 [%rd1+{}], %a{at};", 128 * at)).collect();
        let body = |stride: &str| {
            format!("mad.wide.u32 %rd1, %r0, 4, %rd1; {load} {regs}, [%rd0]{stride};\n{stored}")
        };
        let read = |stride: &str| {
            let mut bench = Bench::new(&kernel(2, &declared(F16, "a"), &body(stride)));
            let memory = bench.upload(&(0..512).collect::<Vec<u32>>());
            let out = bench.upload(&[0u32; 128]);
            bench.launch("k", 1, 32, &[&memory, &out]);
            bench.ints(out, 128)
        };
        assert_eq!(read(""), read(&format!(", {stride}")), "{load}");
    }
}

#[test]
fn an_undefined_element_affects_only_its_row_and_column() {
    // Lane 5 reads its part of `a`, of row 1, from unwritten memory.
    let kernel = |of: &str, stores: &str| {
        kernel(
            1,
            &[declared(F16, "a"), declared(F16, "b"), declared(F32, "c")].concat(),
            &format!(
                "mov.b32 %a0, 0; mov.b32 %a1, 0; mov.b32 %b0, 0; mov.f32 %c0, 0f00000000;\n\
                 setp.eq.u32 %p0, %r0, 5; @%p0 ld.shared.b32 %{of}, [%r1];\n\
                 mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 \
                 {{%c4, %c5, %c6, %c7}}, {{%a0, %a1}}, {{%b0}}, {{%c0, %c0, %c0, %c0}};\n\
                 setp.eq.u32 %p1, %r0, {stores}; @%p1 st.global.f32 [%rd0], %c4;\n\
                 @%p1 st.global.f32 [%rd0], %c6;"
            ),
        )
    };
    let run = |of: &str, stores: &str| {
        let mut bench = Bench::new(&kernel(of, stores));
        let out = bench.upload(&[0f32; 4]);
        bench.try_launch("k", [1; 3], [32, 1, 1], 0, &[&out]).map(|_| ())
    };
    for lane in 0..32 {
        let stores = lane.to_string();
        let of_row_1 = lane / 4 == 1;
        assert_eq!(run("a0", &stores).is_err(), of_row_1, "a, lane {lane}");
        // Column 1 is the second of each row's first lane.
        let kernel = kernel("b0", &stores).replace("%c4;", "%c5;").replace("%c6;", "%c7;");
        let mut bench = Bench::new(&kernel);
        let out = bench.upload(&[0f32; 4]);
        let failed = bench.try_launch("k", [1; 3], [32, 1, 1], 0, &[&out]).is_err();
        assert_eq!(failed, lane % 4 == 0, "b, lane {lane}");
        // Each lane has its own sums.
        let sums = format!("{lane}");
        assert_eq!(run("c0", &sums).is_err(), lane == 5, "c, lane {lane}");
    }
    let said = run("a0", "4").unwrap_err().to_string();
    assert!(said.contains("reads 4 bytes of shared memory") && said.contains("stored"), "{said}");
}

#[test]
fn unwritten_memory_is_an_undefined_fragment() {
    // Row 3 of a tile of f32 sums is not written.
    let body = |lane: usize| {
        format!(
            "shl.b32 %r2, %r0, 5; add.u32 %r2, %r2, %r1; mov.b32 %r3, 0;\n\
             shr.u32 %r4, %r0, 1; setp.ne.u32 %p0, %r4, 3;\n\
             @%p0 st.shared.v4.b32 [%r2], {{%r3, %r3, %r3, %r3}};\n\
             @%p0 st.shared.v4.b32 [%r2+16], {{%r3, %r3, %r3, %r3}}; bar.sync 0;\n\
             wmma.load.c.sync.aligned.row.m16n16k16.shared.f32 {}, [%r1];\n\
             wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%r1+1024], {};\n\
             bar.sync 0; add.u32 %r2, %r2, 1024; ld.shared.b32 %r5, [%r2];\n\
             setp.eq.u32 %p1, %r0, {lane}; @%p1 st.global.b32 [%rd0], %r5;",
            vector("c", 8),
            vector("c", 8),
        )
    };
    for lane in [0, 5, 6, 7, 8, 31] {
        let mut bench = Bench::new(&kernel(1, &declared(F32, "c"), &body(lane)));
        let out = bench.upload(&[0u32; 4]);
        let failed = bench.try_launch("k", [1; 3], [32, 1, 1], 0, &[&out]).is_err();
        assert_eq!(failed, lane / 2 == 3, "lane {lane}");
    }
}

#[test]
fn accesses_of_fragments_have_no_hardware_names() {
    let body = format!(
        "wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {}, [%rd0];\n\
         wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%r1], {};",
        vector("c", 8),
        vector("c", 8),
    );
    let mut bench = Bench::new(&kernel(1, &declared(F32, "c"), &body));
    let memory = bench.upload(&[0u32; 256]);
    let record = bench.launch("k", 1, 32, &[&memory]);
    let refused = |name: &str| {
        let found = record.unclaimed.iter().find(|(known, _)| known == name);
        found.unwrap_or_else(|| panic!("{name} is claimed")).1.clone()
    };
    let said = refused("smsp__sass_inst_executed_op_global_ld.sum");
    assert!(said.starts_with("ptxas makes several loads of a `wmma.load`"), "{said}");
    let said = refused("smsp__sass_inst_executed_op_shared_st.sum");
    assert!(said.starts_with("ptxas makes several stores of a `wmma.store`"), "{said}");
    assert_eq!(counter(&record, "ptx__shared_bank_conflicts_op_ld.sum"), 0);
}

#[test]
fn unsupported_matrix_shapes_are_refused_by_name() {
    for instruction in [
        "wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.u8.s32",
        "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16.satfinite",
        "wmma.mma.sync.aligned.row.row.m8n8k32.s32.s4.s4.s32",
        "wmma.mma.sync.aligned.row.col.m16n16k16.f32.tf32.tf32.f32",
        "wmma.load.a.sync.aligned.row.m16n16k16.global.f32",
        "wmma.load.c.sync.aligned.row.m16n16k16.global.bf16",
        "wmma.load.a.sync.aligned.col.m8n8k32.s4",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f16",
        "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f32",
        "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32",
        "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e5m2.f32",
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8",
        "movmatrix.sync.aligned.m8n8.b16",
    ] {
        let text = kernel(1, &declared(F16, "a"), &format!("{instruction} {{%a0}}, {{%a1}};"));
        let said = Device::default().load(&text).unwrap_err().to_string();
        assert!(said.contains(&format!("'{instruction}'")), "{said}");
    }
}

/// Kernels that NVRTC made of nvcuda::wmma.
const WMMA: &str = include_str!("fixtures/wmma.ptx");

#[test]
fn tiles_of_cuda_cpp_are_multiplied_through_shared_memory() {
    const N: usize = 48;
    let product = Product { shape: [N; 3], a: F16, b: F16, c: F32, d: F32, is_and: false };
    let at = |f: &dyn Fn(usize, usize) -> i32| pack(F16, (0..N * N).map(|at| f(at / N, at % N)));
    let mut bench = Bench::new(WMMA);
    let a = bench.upload(&at(&|row, column| product.a(row, column)));
    let b = bench.upload(&at(&|row, column| product.b(row, column)));
    let c = bench.upload(&vec![0f32; N * N]);
    bench.try_launch("tiled", [3, 3, 1], [32, 1, 1], 0, &[&a, &b, &c, &(N as i32)]).unwrap();
    for (at, got) in bench.floats(c, N * N).into_iter().enumerate() {
        let (row, column) = (at / N, at % N);
        let expected = 2 * (product.d(row, column) - product.c(row, column));
        assert_eq!(got, expected as f32, "row {row}, column {column}");
    }
}

#[test]
fn every_kind_of_fragment_of_cuda_cpp_is_multiplied() {
    let u4 = integer("u4");
    for (kernel, shape, a, c) in [
        ("halves", [8, 32, 16], F16, F16),
        ("brains", [32, 8, 16], BF16, F32),
        ("singles", [16, 16, 8], TF32, F32),
        ("doubles", [8, 8, 4], F64, F64),
        ("bytes", [16, 16, 16], integer("s8"), S32),
        ("nibbles", [8, 8, 32], u4, S32),
    ] {
        let [m, n, k] = shape;
        let product = Product { shape, a, b: a, c, d: c, is_and: false };
        let in_a = pack(a, (0..m * k).map(|at| product.a(at / k, at % k)));
        let in_b = pack(a, (0..k * n).map(|at| product.b(at % k, at / k)));
        let in_c = pack(c, (0..m * n).map(|at| product.c(at / n, at % n)));
        let expected = pack(c, (0..m * n).map(|at| product.d(at / n, at % n)));
        let mut bench = Bench::new(WMMA);
        let [a, b, c] = [in_a, in_b, in_c].map(|words| bench.upload(&words));
        let d = bench.upload(&vec![0u32; expected.len()]);
        bench.launch(kernel, 1, 32, &[&a, &b, &c, &d]);
        assert_eq!(bench.download(d, expected.len(), u32::from_le_bytes), expected, "{kernel}");
    }
}
