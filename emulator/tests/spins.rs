//! Lanes that wait for other lanes of their warp, as the threads of a GPU may from Volta on.

use crate::common::Bench;

/// Every lane takes a lock, adds 1 without an atomic, gives it back, and meets the others. A lane
/// that has the lock is outside of the loop in which the others wait for it.
const LOCK: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry lock(.param .u64 lock, .param .u64 out) {
    .reg .pred %p<4>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [lock];
    ld.param.u64 %rd2, [out];
WAIT:
    atom.acquire.gpu.global.cas.b32 %r1, [%rd1], 0, 1;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra WAIT;
    ld.relaxed.gpu.global.u32 %r2, [%rd1+4];
    add.u32 %r2, %r2, 1;
    st.relaxed.gpu.global.u32 [%rd1+4], %r2;
    atom.release.gpu.global.exch.b32 %r3, [%rd1], 0;
    bar.warp.sync -1;
    ld.relaxed.gpu.global.u32 %r4, [%rd1+4];
    mov.u32 %r5, %tid.x;
    mul.wide.u32 %rd3, %r5, 4;
    add.u64 %rd4, %rd2, %rd3;
    st.global.u32 [%rd4], %r4;
    ret;
}";

#[test]
fn a_lane_that_holds_a_lock_goes_on_while_the_others_wait_for_it() {
    let mut bench = Bench::new(LOCK);
    let lock = bench.upload(&[0_u32; 2]);
    let out = bench.upload(&[0_u32; 64]);
    bench.launch("lock", 1, 64, &[&lock, &out]);
    assert_eq!(bench.download(lock, 2, u32::from_le_bytes), [0, 64]);
    // Behind the barrier every lane of a warp has had the lock.
    let seen = bench.download(out, 64, u32::from_le_bytes);
    assert!(seen.iter().all(|&n| n >= 32), "{seen:?}");
}

/// Odd lanes wait, in a branch of a branch, for a word that lane 0 writes on the other side.
const ACROSS: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry across(.param .u64 flag) {
    .reg .pred %p<4>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [flag];
    mov.u32 %r1, %tid.x;
    and.b32 %r2, %r1, 1;
    setp.eq.u32 %p1, %r2, 0;
    @%p1 bra EVEN;
    setp.gt.u32 %p2, %r1, 16;
    @%p2 bra HIGH;
LOW:
    ld.acquire.gpu.global.u32 %r3, [%rd1];
    setp.eq.u32 %p3, %r3, 0;
    @%p3 bra LOW;
    bra.uni MEET;
HIGH:
    ld.acquire.gpu.global.u32 %r3, [%rd1];
    setp.eq.u32 %p3, %r3, 0;
    @%p3 bra HIGH;
MEET:
    red.relaxed.gpu.global.add.u32 [%rd1+4], %r3;
    bra.uni DONE;
EVEN:
    setp.ne.u32 %p2, %r1, 0;
    @%p2 bra DONE;
    st.release.gpu.global.u32 [%rd1], 5;
DONE:
    red.relaxed.gpu.global.add.u32 [%rd1+8], 1;
    ret;
}";

#[test]
fn lanes_wait_in_a_branch_for_one_on_its_other_side() {
    let mut bench = Bench::new(ACROSS);
    let flag = bench.upload(&[0_u32; 3]);
    bench.launch("across", 1, 32, &[&flag]);
    assert_eq!(bench.download(flag, 3, u32::from_le_bytes), [5, 5 * 16, 32]);
}
