//! Loads, stores and atomics of any width and space, at any addresses, by any lanes.

use crate::common::Bench;
use proptest::prelude::*;

/// A kernel that copies 1024 bytes to shared memory, in which every lane of a mask loads a value
/// from one place and stores it to another; then it copies the bytes back. `values` are `%v0` ….
fn kernel(space: &str, ty: &str, register: &str, values: &str) -> String {
    let (prologue, base) = match space {
        "global" => ("", "%rd1"),
        // Generic addresses of shared memory.
        "generic" => ("cvta.shared.u64 %rd7, %rd6;", "%rd7"),
        _ => ("", "%rd6"),
    };
    let space = if space == "generic" { String::new() } else { format!(".{space}") };
    format!(
        ".version 7.8\n.target sm_90\n.address_size 64\n.shared .align 16 .b8 s[1024];\n\
         .visible .entry k(.param .u64 data, .param .u64 from, .param .u64 to, .param .u32 mask) {{\n\
         .reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .{register} %v<4>;\n\
         ld.param.u64 %rd1, [data]; ld.param.u64 %rd2, [from]; ld.param.u64 %rd3, [to]; \
         ld.param.u32 %r1, [mask];\nmov.u32 %r2, %tid.x; mul.wide.u32 %rd4, %r2, 32; \
         add.u64 %rd5, %rd1, %rd4; mov.u64 %rd6, s; add.u64 %rd8, %rd6, %rd4; {prologue}\n\
         ld.global.v4.u32 {{%r4, %r5, %r6, %r7}}, [%rd5]; \
         st.shared.v4.u32 [%rd8], {{%r4, %r5, %r6, %r7}};\n\
         ld.global.v4.u32 {{%r4, %r5, %r6, %r7}}, [%rd5+16]; \
         st.shared.v4.u32 [%rd8+16], {{%r4, %r5, %r6, %r7}};\nbar.warp.sync -1;\n\
         mul.wide.u32 %rd9, %r2, 4; add.u64 %rd10, %rd2, %rd9; add.u64 %rd11, %rd3, %rd9; \
         ld.global.u32 %r8, [%rd10]; ld.global.u32 %r9, [%rd11]; \
         shr.u32 %r10, %r1, %r2; and.b32 %r10, %r10, 1; setp.eq.u32 %p1, %r10, 1;\n\
         cvt.u64.u32 %rd12, %r8; add.u64 %rd12, %rd12, {base}; \
         cvt.u64.u32 %rd13, %r9; add.u64 %rd13, %rd13, {base};\n\
         @%p1 ld{space}.{ty} {values}, [%rd12];\nbar.warp.sync -1;\n\
         @%p1 st{space}.{ty} [%rd13], {values};\nbar.warp.sync -1;\n{}ret;\n}}\n",
        if base == "%rd1" {
            String::new()
        } else {
            "ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%rd8]; \
             st.global.v4.u32 [%rd5], {%r4, %r5, %r6, %r7};\n\
             ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%rd8+16]; \
             st.global.v4.u32 [%rd5+16], {%r4, %r5, %r6, %r7};\n"
                .to_owned()
        }
    )
}

/// Addresses: affine in the lane's bits, or any.
fn places(bytes: u32) -> impl Strategy<Value = Vec<u32>> {
    let any = prop::collection::vec(0..1024 / bytes, 32);
    let affine = prop::array::uniform5(0u32..200 / bytes).prop_map(|steps| {
        let place = |lane: u32| (0..5).map(|bit| (lane >> bit & 1) * steps[bit as usize]).sum();
        (0..32).map(place).collect::<Vec<u32>>()
    });
    prop_oneof![any, affine].prop_map(move |at| at.into_iter().map(|at| at * bytes).collect())
}

const WIDTHS: [(&str, &str, &str, u32); 7] = [
    ("u8", "b16", "%v0", 1),
    ("u16", "b16", "%v0", 2),
    ("u32", "b32", "%v0", 4),
    ("f64", "f64", "%v0", 8),
    ("v2.u16", "b16", "{%v0, %v1}", 4),
    ("v4.f32", "f32", "{%v0, %v1, %v2, %v3}", 16),
    ("v2.u64", "b64", "{%v0, %v1}", 16),
];

fn case() -> impl Strategy<Value = (usize, Vec<u32>, Vec<u32>)> {
    (0..WIDTHS.len()).prop_flat_map(|width| {
        let bytes = WIDTHS[width].3;
        (Just(width), places(bytes), places(bytes))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_lane_moves_its_value_and_the_highest_wins(
        (width, from, to) in case(),
        mask in prop_oneof![Just(u32::MAX), any::<u32>()],
        space in prop::sample::select(vec!["global", "shared", "generic"]),
        is_volatile: bool,
    ) {
        let (ty, register, values, bytes) = WIDTHS[width];
        let mut text = kernel(space, ty, register, values);
        if is_volatile {
            text = text.replace("@%p1 ld", "@%p1 ld.volatile").replace("@%p1 st", "@%p1 st.volatile");
        }
        let mut bench = Bench::new(&text);
        let data: Vec<u32> = (0..256).map(|at: u32| at.wrapping_mul(0x9e37_79b9)).collect();
        let mut expected: Vec<u8> = data.iter().flat_map(|word| word.to_le_bytes()).collect();
        let before = expected.clone();
        for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
            let (from, to) = (from[lane] as usize, to[lane] as usize);
            let bytes = bytes as usize;
            expected[to..to + bytes].copy_from_slice(&before[from..from + bytes]);
        }
        let (data, from, to) = (bench.upload(&data), bench.upload(&from), bench.upload(&to));
        bench.launch("k", 1, 32, &[&data, &from, &to, &mask]);
        prop_assert_eq!(bench.download(data, 1024, u8::from_le_bytes), expected);
    }

    #[test]
    fn additions_to_one_word_happen_in_lane_order(mask in 1u32.., shared: bool) {
        let (set, word) = match shared {
            true => ("st.shared.u32 [s], 7; bar.warp.sync -1;", "shared.add.u32 %r5, [s]"),
            false => ("", "global.add.u32 %r5, [%rd1]"),
        };
        let text = format!(
            ".version 7.8\n.target sm_90\n.address_size 64\n.shared .align 4 .b8 s[4];\n\
             .visible .entry k(.param .u64 out, .param .u64 word, .param .u32 mask) {{\n\
             .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>;\n\
             ld.param.u64 %rd2, [out]; ld.param.u64 %rd1, [word]; ld.param.u32 %r1, [mask];\n\
             mov.u32 %r2, %tid.x; mul.wide.u32 %rd3, %r2, 4; add.u64 %rd4, %rd2, %rd3; \
             shr.u32 %r3, %r1, %r2; and.b32 %r3, %r3, 1; setp.eq.u32 %p1, %r3, 1; \
             add.u32 %r4, %r2, 1;\n{set}\n@%p1 atom.{word}, %r4;\n\
             @%p1 st.global.u32 [%rd4], %r5;\nret;\n}}\n"
        );
        let mut bench = Bench::new(&text);
        let (out, word) = (bench.upload(&[0u32; 32]), bench.upload(&[7u32]));
        bench.launch("k", 1, 32, &[&out, &word, &mask]);
        let mut sum = 7;
        let mut expected = vec![0; 32];
        for lane in (0..32u32).filter(|lane| mask >> lane & 1 == 1) {
            expected[lane as usize] = sum;
            sum += lane + 1;
        }
        prop_assert_eq!(bench.download(out, 32, u32::from_le_bytes), expected);
        if !shared {
            prop_assert_eq!(bench.download(word, 1, u32::from_le_bytes), [sum]);
        }
    }
}
