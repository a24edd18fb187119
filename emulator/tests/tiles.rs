//! Groups of lanes under member masks of their own, in one instruction; and of several warps.

use crate::common::Bench;
use gpuprof_emulator::device::{Checks, Device};

/// Each lane's mask is read from memory; every lane then votes, shuffles, matches and reduces.
const TILES: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry tiles(.param .u64 masks, .param .u64 out) {
    .reg .pred %p<8>;
    .reg .b32 %r<16>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [masks];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd4, %rd1, %rd3;
    ld.global.u32 %r2, [%rd4];
    setp.ge.u32 %p1, %r1, 3;
    vote.sync.ballot.b32 %r3, %p1, %r2;
    vote.sync.all.pred %p2, %p1, %r2;
    selp.u32 %r4, 1, 0, %p2;
    redux.sync.add.u32 %r5, %r1, %r2;
    and.b32 %r6, %r1, 1;
    match.any.sync.b32 %r7, %r6, %r2;
    match.all.sync.b32 %r8|%p3, %r2, %r2;
    shfl.sync.bfly.b32 %r9, %r1, 1, 31, %r2;
    bar.warp.sync %r2;
    mul.wide.u32 %rd5, %r1, 24;
    add.s64 %rd6, %rd2, %rd5;
    st.global.u32 [%rd6], %r3;
    st.global.u32 [%rd6+4], %r4;
    st.global.u32 [%rd6+8], %r5;
    st.global.u32 [%rd6+12], %r7;
    st.global.u32 [%rd6+16], %r8;
    st.global.u32 [%rd6+20], %r9;
    ret;
}";

fn tiles(masks: [u32; 32]) -> Result<Vec<u32>, String> {
    let mut bench = Bench::new(TILES);
    let masks = bench.upload(&masks);
    let out = bench.upload(&[0_u32; 6 * 32]);
    bench
        .try_launch("tiles", [1; 3], [32, 1, 1], 0, &[&masks, &out])
        .map_err(|error| error.to_string())?;
    Ok(bench.download(out, 6 * 32, u32::from_le_bytes))
}

#[test]
fn each_tile_exchanges_under_its_own_member_mask() {
    let tile = |lane: u32| 0xff << (lane / 8 * 8);
    let words = tiles(std::array::from_fn(|lane| tile(lane as u32))).unwrap();
    for (lane, words) in (0..32).zip(words.chunks_exact(6)) {
        let (first, members) = (lane / 8 * 8, tile(lane));
        let ballot = if first == 0 { 0xf8 } else { members };
        let all = u32::from(first != 0);
        let total = (first..first + 8).sum();
        let alike = if lane % 2 == 0 { 0x5555_5555 } else { 0xaaaa_aaaa } & members;
        assert_eq!(words, [ballot, all, total, alike, members, lane ^ 1], "lane {lane}");
    }
}

#[test]
fn lanes_wait_for_a_member_with_another_mask_until_it_exits() {
    let mut masks = [u32::MAX; 32];
    masks[5] = 1 << 5;
    let words = tiles(masks).unwrap();
    let ballots: Vec<u32> = words.iter().step_by(6).copied().collect();
    let others = u32::MAX << 3 & !(1 << 5);
    for (lane, ballot) in ballots.into_iter().enumerate() {
        assert_eq!(ballot, if lane == 5 { 1 << 5 } else { others }, "lane {lane}");
    }
}

#[test]
fn a_lane_outside_of_its_own_mask_is_a_fault() {
    let mut masks = [u32::MAX; 32];
    masks[7] = !(1 << 7);
    let fault = tiles(masks).unwrap_err();
    let expected = "thread (7,0,0): a lane that executes a .sync exchange is not in its member \
                    mask 0xffffff7f";
    assert!(fault.contains(expected), "{fault}");
}

#[test]
fn cooperative_groups_of_two_warps_meet_in_reserved_memory() {
    let mut device = Device::default().with_checks(Checks::ALL);
    let module = device.load(include_str!("fixtures/wide_tiles.ptx")).expect("it loads");
    let mut bench = Bench { device, module };
    let out = bench.upload(&[0_u32; 128]);
    bench.launch("sums", 1, 128, &[&out]);
    let (low, high) = ((0..64).sum::<i32>() + 40, (64..128).sum::<i32>() + 104);
    assert_eq!(bench.ints(out, 128), [[low; 64], [high; 64]].concat());
    assert_eq!(bench.module.kernel("sums").map(|kernel| kernel.static_shared()), Some(0));
}
