//! The source lines with the costliest accesses.

use crate::common::Bench;

/// Each lane loads a neighbouring word at line 3 and one of a sector of its own at line 4, and
/// stores to every 32nd word of shared memory at line 5.
const PTX: &str = r#"
.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<6>;
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
    ret;
}
.file 1 "src/lib.rs"
"#;

#[test]
fn the_line_with_the_most_of_each_cost_is_named() {
    let mut bench = Bench::new(PTX);
    let x = bench.upload(&[0_u32; 256]);
    let launch = bench.launch("k", 2, 32, &[&x]);
    let told: Vec<String> = launch
        .costly
        .iter()
        .map(|it| format!("{} {} {} of {}", it.cost, it.line, it.amount, it.total))
        .collect();
    assert_eq!(
        told,
        [
            "global_load_sectors src/lib.rs:4 64 of 72",
            "shared_store_wavefronts src/lib.rs:5 64 of 64",
            "shared_store_conflicts src/lib.rs:5 62 of 62",
        ]
    );
}
