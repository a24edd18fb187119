//! LLVM intrinsics that `core::arch::nvptx` does not have.

#![allow(improper_ctypes)]

unsafe extern "C" {
    #[link_name = "llvm.nvvm.read.ptx.sreg.laneid"]
    pub(crate) safe fn lane_id() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.clock64"]
    pub(crate) safe fn clock() -> u64;

    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
    pub(crate) fn shuffle_xor(lanes: u32, value: u32, mask: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.down.i32"]
    pub(crate) fn shuffle_down(lanes: u32, value: u32, delta: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.up.i32"]
    pub(crate) fn shuffle_up(lanes: u32, value: u32, delta: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
    pub(crate) fn shuffle_index(lanes: u32, value: u32, lane: u32, clamp: u32) -> u32;

    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    pub(crate) fn ballot(lanes: u32, predicate: bool) -> u32;
    #[link_name = "llvm.nvvm.vote.any.sync"]
    pub(crate) fn any(lanes: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.all.sync"]
    pub(crate) fn all(lanes: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.uni.sync"]
    pub(crate) fn uniform(lanes: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.match.any.sync.i32"]
    pub(crate) fn match_any_32(lanes: u32, value: u32) -> u32;
    #[link_name = "llvm.nvvm.match.any.sync.i64"]
    pub(crate) fn match_any_64(lanes: u32, value: u64) -> u32;
    #[link_name = "llvm.nvvm.activemask"]
    pub(crate) fn active_mask() -> u32;
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    pub(crate) fn sync_warp(lanes: u32);

    #[link_name = "llvm.nvvm.barrier.cta.red.popc.aligned.all"]
    pub(crate) fn sync_count(barrier: u32, predicate: bool) -> u32;
    #[link_name = "llvm.nvvm.barrier.cta.red.and.aligned.all"]
    pub(crate) fn sync_and(barrier: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.barrier.cta.red.or.aligned.all"]
    pub(crate) fn sync_or(barrier: u32, predicate: bool) -> bool;

    #[link_name = "llvm.nvvm.read.ptx.sreg.lanemask.eq"]
    pub(crate) safe fn lane_mask_eq() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.lanemask.lt"]
    pub(crate) safe fn lane_mask_lt() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.lanemask.le"]
    pub(crate) safe fn lane_mask_le() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.lanemask.gt"]
    pub(crate) safe fn lane_mask_gt() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.lanemask.ge"]
    pub(crate) safe fn lane_mask_ge() -> u32;

    #[link_name = "llvm.sqrt.f32"]
    pub(crate) safe fn sqrt_f32(x: f32) -> f32;
    #[link_name = "llvm.sqrt.f64"]
    pub(crate) safe fn sqrt_f64(x: f64) -> f64;
    #[link_name = "llvm.fma.f32"]
    pub(crate) safe fn fma_f32(a: f32, b: f32, c: f32) -> f32;
    #[link_name = "llvm.fma.f64"]
    pub(crate) safe fn fma_f64(a: f64, b: f64, c: f64) -> f64;
    #[link_name = "llvm.floor.f32"]
    pub(crate) safe fn floor_f32(x: f32) -> f32;
    #[link_name = "llvm.floor.f64"]
    pub(crate) safe fn floor_f64(x: f64) -> f64;
    #[link_name = "llvm.ceil.f32"]
    pub(crate) safe fn ceil_f32(x: f32) -> f32;
    #[link_name = "llvm.ceil.f64"]
    pub(crate) safe fn ceil_f64(x: f64) -> f64;
    #[link_name = "llvm.trunc.f32"]
    pub(crate) safe fn trunc_f32(x: f32) -> f32;
    #[link_name = "llvm.trunc.f64"]
    pub(crate) safe fn trunc_f64(x: f64) -> f64;
    #[link_name = "llvm.round.f32"]
    pub(crate) safe fn round_f32(x: f32) -> f32;
    #[link_name = "llvm.round.f64"]
    pub(crate) safe fn round_f64(x: f64) -> f64;
    #[link_name = "llvm.rint.f32"]
    pub(crate) safe fn round_ties_even_f32(x: f32) -> f32;
    #[link_name = "llvm.rint.f64"]
    pub(crate) safe fn round_ties_even_f64(x: f64) -> f64;
}

/// `redux.sync`, which GPUs have from capability 8.0 on.
#[cfg(gpuprof_redux)]
pub(crate) mod redux {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.redux.sync.add"]
        pub(crate) fn add(value: u32, lanes: u32) -> u32;
        #[link_name = "llvm.nvvm.redux.sync.umin"]
        pub(crate) fn min_u32(value: u32, lanes: u32) -> u32;
        #[link_name = "llvm.nvvm.redux.sync.umax"]
        pub(crate) fn max_u32(value: u32, lanes: u32) -> u32;
        #[link_name = "llvm.nvvm.redux.sync.min"]
        pub(crate) fn min_i32(value: i32, lanes: u32) -> i32;
        #[link_name = "llvm.nvvm.redux.sync.max"]
        pub(crate) fn max_i32(value: i32, lanes: u32) -> i32;
        #[link_name = "llvm.nvvm.redux.sync.and"]
        pub(crate) fn and(value: u32, lanes: u32) -> u32;
        #[link_name = "llvm.nvvm.redux.sync.or"]
        pub(crate) fn or(value: u32, lanes: u32) -> u32;
        #[link_name = "llvm.nvvm.redux.sync.xor"]
        pub(crate) fn xor(value: u32, lanes: u32) -> u32;
    }
}

/// Intrinsics with two results: only Rust's internal calling convention returns them like LLVM.
pub(crate) mod pairs {
    /// A mask, which is 0 if the values differ, and whether they are equal.
    #[repr(C)]
    pub(crate) struct MatchAll(pub(crate) u32, pub(crate) bool);

    unsafe extern "unadjusted" {
        #[link_name = "llvm.nvvm.match.all.sync.i32p"]
        pub(crate) fn match_all_32(lanes: u32, value: u32) -> MatchAll;
        #[link_name = "llvm.nvvm.match.all.sync.i64p"]
        pub(crate) fn match_all_64(lanes: u32, value: u64) -> MatchAll;
    }
}
