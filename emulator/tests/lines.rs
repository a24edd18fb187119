//! Counts by line. That they add up is checked for the launches of all tests (`common`).

use crate::common::Bench;

/// Each lane loads a neighbouring word at line 3 and one in a separate sector at line 4, and stores
/// to every 32nd word of shared memory at line 5. All update one word at line 6, where 7 of 32
/// lanes branch; the others store to local memory and load from it by a generic address at line 7,
/// and compute with doubles.
const PTX: &str = r#"
.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<6>;
    .reg .f64 %fd<2>;
    .local .align 4 .b8 depot[4];
    .shared .align 4 .b8 tile[4096];
    .loc 1 2 1
    mov.u32 %r1, %tid.x;
    ld.param.u64 %rd1, [x];
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    .loc 1 3 9
    ld.global.u32 %r2, [%rd3];
    .loc 1 4 9
    mul.wide.u32 %rd2, %r1, 32;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.u32 %r3, [%rd3];
    .loc 1 5 9
    mov.u64 %rd4, tile;
    mul.wide.u32 %rd5, %r1, 128;
    add.u64 %rd4, %rd4, %rd5;
    st.shared.u32 [%rd4], %r2;
    .loc 1 6 9
    atom.global.add.u32 %r3, [%rd1+1024], 1;
    setp.lt.u32 %p1, %r1, 7;
    @%p1 bra $end;
    add.u32 %r3, %r3, 1;
    .loc 1 7 9
    st.local.u32 [depot], %r3;
    mov.u64 %rd5, depot;
    cvta.local.u64 %rd5, %rd5;
    ld.u32 %r3, [%rd5];
    add.rn.f64 %fd1, %fd1, %fd1;
    fma.rn.f64 %fd1, %fd1, %fd1, %fd1;
    div.rn.f64 %fd1, %fd1, %fd1;
    max.f64 %fd1, %fd1, %fd1;
$end:
    ret;
}
.file 1 "src/lib.rs"
"#;

#[test]
fn every_line_of_the_ptx_has_its_counts_and_its_line_of_the_source() {
    let mut bench = Bench::new(PTX);
    let x = bench.upload(&[0_u32; 320]);
    bench.try_launch("k", [2, 1, 1], [32, 1, 1], 0, &[&x]).unwrap();
    bench.try_launch("k", [1, 1, 1], [32, 1, 1], 0, &[&x]).unwrap();
    let profiles = bench.device.take_profiles();
    let [profile] = &profiles[..] else { panic!("a profile for each launch") };
    let (listing, mut told) = (&profile.listing, String::new());
    for (line, counts) in listing.lines.iter().zip(&profile.counts) {
        let place = line.source.map(|(file, line)| format!("{}:{line}", listing.files[file]));
        let place = place.unwrap_or_default();
        told +=
            &format!("{:>2} {place:<12} {:<39} {:?}\n", line.ptx_line, line.text, counts.values());
    }
    let expected = "\
14 src/lib.rs:2 mov.u32 %r1, %tid.x;                    [3, 96, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
15 src/lib.rs:2 ld.param.u64 %rd1, [x];                 [3, 96, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
16 src/lib.rs:2 mul.wide.u32 %rd2, %r1, 4;              [3, 96, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
17 src/lib.rs:2 add.u64 %rd3, %rd1, %rd2;               [3, 96, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
19 src/lib.rs:3 ld.global.u32 %r2, [%rd3];              [3, 96, 96, 3, 12, 12, 384, 0, 0, 0, 0, 0, 0, 0, 0]
21 src/lib.rs:4 mul.wide.u32 %rd2, %r1, 32;             [3, 96, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
22 src/lib.rs:4 add.u64 %rd3, %rd1, %rd2;               [3, 96, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
23 src/lib.rs:4 ld.global.u32 %r3, [%rd3];              [3, 96, 96, 3, 96, 12, 384, 0, 0, 0, 0, 0, 0, 0, 0]
25 src/lib.rs:5 mov.u64 %rd4, tile;                     [3, 96, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
26 src/lib.rs:5 mul.wide.u32 %rd5, %r1, 128;            [3, 96, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
27 src/lib.rs:5 add.u64 %rd4, %rd4, %rd5;               [3, 96, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
28 src/lib.rs:5 st.shared.u32 [%rd4], %r2;              [3, 96, 96, 3, 0, 0, 384, 96, 3, 0, 0, 0, 0, 0, 0]
30 src/lib.rs:6 atom.global.add.u32 %r3, [%rd1+1024], 1; [3, 96, 96, 3, 3, 3, 12, 0, 0, 0, 0, 3, 0, 0, 0]
31 src/lib.rs:6 setp.lt.u32 %p1, %r1, 7;                [3, 96, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
32 src/lib.rs:6 @%p1 bra $end;                          [3, 96, 21, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0]
33 src/lib.rs:6 add.u32 %r3, %r3, 1;                    [3, 75, 75, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
35 src/lib.rs:7 st.local.u32 [depot], %r3;              [3, 75, 75, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0]
36 src/lib.rs:7 mov.u64 %rd5, depot;                    [3, 75, 75, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
37 src/lib.rs:7 cvta.local.u64 %rd5, %rd5;              [3, 75, 75, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
38 src/lib.rs:7 ld.u32 %r3, [%rd5];                     [3, 75, 75, 3, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0]
39 src/lib.rs:7 add.rn.f64 %fd1, %fd1, %fd1;            [3, 75, 75, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 75]
40 src/lib.rs:7 fma.rn.f64 %fd1, %fd1, %fd1, %fd1;      [3, 75, 75, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 150]
41 src/lib.rs:7 div.rn.f64 %fd1, %fd1, %fd1;            [3, 75, 75, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 75]
42 src/lib.rs:7 max.f64 %fd1, %fd1, %fd1;               [3, 75, 75, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
43              $end:                                   [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
44 src/lib.rs:7 ret;                                    [3, 96, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
";
    assert_eq!(told, expected);
}

#[test]
fn a_line_of_an_inlined_function_names_its_call_in_the_kernel() {
    let loc = "    .loc 1 7 9\n";
    let inlined = ".loc 1 6 9\n.loc 1 40 5, function_name $n, inlined_at 1 6 9\n\
                   .loc 1 50 3, function_name $n, inlined_at 1 40 5\n";
    let ptx = PTX.replacen(".version 7.0", ".version 7.2", 1).replacen(loc, inlined, 1);
    let mut bench = Bench::new(&(ptx + ".section .debug_str\n{\n$n:\n.b8 1\n}\n"));
    let x = bench.upload(&[0_u32; 320]);
    bench.try_launch("k", [1, 1, 1], [32, 1, 1], 0, &[&x]).unwrap();
    let listing = &bench.device.take_profiles()[0].listing;
    let called: Vec<_> = listing.calls.iter().map(|call| (call.file, call.line)).collect();
    // All lines from the local store on, which are in a function of a function.
    let inner = listing.lines.iter().filter(|line| line.source == Some((0, 50))).count();
    assert_eq!(called, vec![(0, 6); inner]);
    assert!(inner > 5);
}
