//! Lanes that wait for other lanes of their warp, as the threads of a GPU may from Volta on.

use crate::common::Bench;

/// So many warp instructions of a block are too many for the kernels here.
const MOST_INSTRUCTIONS: u64 = 1 << 25;

/// A device on which a kernel that waits too long fails.
fn limited(ptx: &str) -> Bench {
    let mut bench = Bench::new(ptx);
    let device = std::mem::take(&mut bench.device);
    bench.device = device.with_instruction_limit(MOST_INSTRUCTIONS);
    bench
}

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
fn a_lane_that_holds_a_lock_continues_while_the_others_wait_for_it() {
    let mut bench = Bench::new(LOCK);
    let lock = bench.upload(&[0_u32; 2]);
    let out = bench.upload(&[0_u32; 64]);
    bench.launch("lock", 1, 64, &[&lock, &out]);
    assert_eq!(bench.download(lock, 2, u32::from_le_bytes), [0, 64]);
    // After the barrier every lane of a warp has had the lock.
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
fn lanes_may_wait_for_a_lane_on_the_other_side_of_a_branch() {
    let mut bench = Bench::new(ACROSS);
    let flag = bench.upload(&[0_u32; 3]);
    bench.launch("across", 1, 32, &[&flag]);
    assert_eq!(bench.download(flag, 3, u32::from_le_bytes), [5, 5 * 16, 32]);
}

/// Threads whose number `stride` divides take turns: each waits for its own at the head of a loop,
/// so the loop and the spin in it share a head.
const TURNS: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry turns(.param .u64 flag, .param .u32 stride, .param .u32 parties,
                      .param .u32 rounds) {
    .reg .pred %p<4>;
    .reg .b32 %r<16>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [flag];
    ld.param.u32 %r1, [stride];
    ld.param.u32 %r2, [parties];
    ld.param.u32 %r3, [rounds];
    mov.u32 %r4, %ctaid.x;
    mov.u32 %r5, %ntid.x;
    mov.u32 %r6, %tid.x;
    mad.lo.u32 %r7, %r4, %r5, %r6;
    rem.u32 %r8, %r7, %r1;
    setp.ne.u32 %p1, %r8, 0;
    @%p1 bra DONE;
    div.u32 %r7, %r7, %r1;
    mov.u32 %r9, 0;
WAIT:
    ld.acquire.gpu.global.u32 %r10, [%rd1];
    rem.u32 %r11, %r10, %r2;
    setp.ne.u32 %p2, %r11, %r7;
    @%p2 bra WAIT;
    ld.global.u32 %r12, [%rd1+4];
    add.u32 %r12, %r12, 1;
    st.global.u32 [%rd1+4], %r12;
    add.u32 %r10, %r10, 1;
    st.release.gpu.global.u32 [%rd1], %r10;
    add.u32 %r9, %r9, 1;
    setp.lt.u32 %p3, %r9, %r3;
    @%p3 bra WAIT;
DONE:
    ret;
}";

/// Launches `TURNS`, whose turns are all taken.
fn take_turns(grid: u32, block: u32, stride: u32, rounds: u32) {
    let mut bench = limited(TURNS);
    let flag = bench.upload(&[0_u32; 2]);
    let parties = grid * block / stride;
    bench.launch("turns", grid, block, &[&flag, &stride, &parties, &rounds]);
    assert_eq!(bench.download(flag, 2, u32::from_le_bytes), [parties * rounds; 2]);
}

#[test]
fn two_lanes_take_turns() {
    take_turns(1, 2, 1, 10_000);
}

#[test]
fn two_warps_take_turns() {
    take_turns(1, 64, 32, 10_000);
}

#[test]
fn two_blocks_take_turns() {
    take_turns(2, 32, 32, 10_000);
}

#[test]
fn eight_blocks_take_turns() {
    take_turns(8, 1, 1, 500);
}

#[test]
fn all_lanes_of_a_warp_take_turns() {
    take_turns(1, 32, 1, 100);
}

/// Every lane takes a lock `rounds` times, and tries again at the head of its loop.
const LOCKS: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry locks(.param .u64 lock, .param .u32 rounds) {
    .reg .pred %p<4>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [lock];
    ld.param.u32 %r1, [rounds];
    mov.u32 %r2, 0;
TRY:
    atom.acquire.gpu.global.cas.b32 %r3, [%rd1], 0, 1;
    setp.ne.u32 %p1, %r3, 0;
    @%p1 bra TRY;
    ld.global.u32 %r4, [%rd1+4];
    add.u32 %r4, %r4, 1;
    st.global.u32 [%rd1+4], %r4;
    atom.release.gpu.global.exch.b32 %r5, [%rd1], 0;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p2, %r2, %r1;
    @%p2 bra TRY;
    ret;
}";

#[test]
fn lanes_acquire_a_lock_many_times() {
    let mut bench = limited(LOCKS);
    let lock = bench.upload(&[0_u32; 2]);
    bench.launch("locks", 2, 32, &[&lock, &50_u32]);
    assert_eq!(bench.download(lock, 2, u32::from_le_bytes), [0, 2 * 32 * 50]);
}

/// The last block answers; the others count how often they ask. `asks` waits in a function, so no
/// loop of the kernel holds the access.
const RETRIES: &str = "
.version 7.0
.target sm_70
.address_size 64
.func (.param .b32 answer) ask(.param .b64 flag) {
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [flag];
    ld.relaxed.gpu.global.u32 %r1, [%rd1];
    st.param.b32 [answer], %r1;
    ret;
}
.visible .entry counts(.param .u64 flag) {
    .reg .pred %p<4>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [flag];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %nctaid.x;
    sub.u32 %r2, %r2, 1;
    setp.eq.u32 %p1, %r1, %r2;
    @%p1 bra ANSWER;
WAIT:
    ld.relaxed.gpu.global.u32 %r3, [%rd1];
    setp.ne.u32 %p2, %r3, 0;
    @%p2 bra DONE;
    atom.relaxed.gpu.global.add.u32 %r4, [%rd1+4], 1;
    bra.uni WAIT;
ANSWER:
    st.relaxed.gpu.global.u32 [%rd1], 1;
DONE:
    ret;
}
.visible .entry asks(.param .u64 flag) {
    .reg .pred %p<4>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [flag];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %nctaid.x;
    sub.u32 %r2, %r2, 1;
    setp.eq.u32 %p1, %r1, %r2;
    @%p1 bra ANSWER;
    mov.u32 %r5, 0;
WAIT:
    { .param .b64 to; .param .b32 from;
    st.param.b64 [to], %rd1;
    call.uni (from), ask, (to);
    ld.param.b32 %r3, [from]; }
    add.u32 %r5, %r5, 1;
    setp.eq.u32 %p2, %r3, 0;
    @%p2 bra WAIT;
    atom.relaxed.gpu.global.add.u32 %r4, [%rd1+4], %r5;
    bra.uni DONE;
ANSWER:
    st.relaxed.gpu.global.u32 [%rd1], 1;
DONE:
    ret;
}";

/// How often the 64 threads of two blocks asked a third in all.
fn count_retries(kernel: &str) -> u32 {
    let mut bench = limited(RETRIES);
    let flag = bench.upload(&[0_u32; 2]);
    bench.launch(kernel, 3, 64, &[&flag]);
    bench.download(flag, 2, u32::from_le_bytes)[1]
}

#[test]
fn a_spin_that_changes_memory_lets_other_blocks_run() {
    let retries = count_retries("counts");
    assert!(retries < 1 << 20, "{retries}");
}

#[test]
fn a_spin_through_a_function_lets_other_blocks_run() {
    let retries = count_retries("asks");
    assert!(retries < 1 << 20, "{retries}");
}
