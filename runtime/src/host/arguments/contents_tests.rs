//! Contents of buffers: the same everywhere, of the promised distribution, or refused in words.

use std::path::{Path, PathBuf};

use crate::host::arguments::buffer_element::BufferElement;
use crate::host::arguments::contents::Contents;
use crate::host::arguments::generator::FillTarget;
use crate::host::arguments::generator::generators::*;
use crate::host::error::Error;
use crate::{f16, f32x4};

fn place() -> FillTarget<'static> {
    FillTarget { name: "x", folder: Path::new("/nowhere"), package: "p" }
}

fn fill<T: BufferElement>(contents: impl Contents<T>, seed: u64) -> Vec<T> {
    T::gather(contents.fill(&place(), seed).unwrap().elements)
}

fn refused<T: BufferElement>(contents: impl Contents<T>) -> String {
    let error = contents.fill(&place(), 0).unwrap_err();
    assert!(error.is_refusal(), "{error}");
    error.to_string()
}

#[test]
fn buffers_are_the_same_in_every_process_and_differ_by_seed() {
    let a: Vec<u32> = fill(random(4_u64), 1);
    assert_eq!(a, fill::<u32>(random(4), 1));
    assert_ne!(a, fill::<u32>(random(4), 2));
    assert_eq!(fill::<f32>(iota(3), 0), [0.0, 1.0, 2.0]);
    assert_eq!(fill::<u8>(iota(300), 0)[256], 0);
    // The same values as in another process, machine or revision.
    assert_eq!(fill::<u32>(permutation(8), 7), [7, 4, 6, 1, 2, 5, 0, 3]);
    let normal: Vec<f64> = fill(normal(2, 0, 1), 7);
    assert_eq!(normal, [0.988_474_332_318_735_3, -1.864_255_806_731_227_4]);
}

#[test]
fn random_numbers_stay_in_their_range_and_reach_across_it() {
    let floats: Vec<f32> = fill(random(1000), 7);
    assert!(floats.iter().all(|v| (0.0..1.0).contains(v)));
    let bins: Vec<u32> = fill(random_in(1000, 0..10), 7);
    assert!((0..10).all(|bin| bins.contains(&bin)) && bins.iter().all(|&b| b < 10));
    assert_eq!(fill::<u32>(random_in(1000, 0..=9), 7), bins);
    assert_eq!(fill::<f32>(random_in(3, 2.5..=2.5), 7), [2.5; 3]);
}

#[test]
fn an_empty_or_too_large_range_is_refused() {
    assert_eq!(fill::<u8>(random_in(4, 0..256), 0).len(), 4);
    assert_eq!(fill::<f32>(random_in(4, -1.0..1.0), 0).len(), 4);
    assert_eq!(
        refused::<u8>(random_in(4, 300..301)),
        "`x` is random in 300..301, which goes beyond u8"
    );
    assert_eq!(refused::<u8>(random_in(4, -1..1)), "`x` is random in -1..1, which goes beyond u8");
    let empty = "`x` is random in 26..0, which is empty: write the lower bound first";
    assert_eq!(refused::<u8>(random_in(4, 26.0..0.0)), empty);
    assert!(refused::<f32>(random_in(4, f64::NAN..1.0)).contains("empty"));
}

#[test]
fn normal_numbers_have_their_mean_deviation_and_tails() {
    let values: Vec<f64> = fill(normal(100_000, 3.0, 2), 1);
    let mean = values.iter().sum::<f64>() / 1e5;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 1e5;
    assert!((mean - 3.0).abs() < 0.03 && (variance - 4.0).abs() < 0.08, "{mean} {variance}");
    // Two standard deviations hold 95.45 %.
    let within = values.iter().filter(|x| (*x - 3.0).abs() < 4.0).count();
    assert!((95_100..95_800).contains(&within), "{within}");
    assert_eq!(fill::<f16>(normal(3, 1.5, 0), 0), [f16::from_f64(1.5); 3]);
}

#[test]
fn a_permutation_has_every_index_once_and_no_order() {
    let indices: Vec<u32> = fill(permutation(1000), 3);
    let in_place = indices.iter().zip(0..).filter(|(index, at)| *index == at).count();
    assert!(in_place < 10, "{in_place}");
    let mut sorted = indices.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..1000).collect::<Vec<u32>>());
    assert_eq!(fill::<u8>(permutation(256), 0).len(), 256);
    assert!(fill::<u32>(permutation(0), 0).is_empty());
}

#[test]
fn sorted_elements_are_those_of_the_generator_in_ascending_order() {
    let random: Vec<f32> = fill(random_in(100, -1.0..1.0), 9);
    let sorted_too: Vec<f32> = fill(sorted(random_in(100, -1.0..1.0)), 9);
    let mut expected = random;
    expected.sort_unstable_by(f32::total_cmp);
    assert_eq!(sorted_too, expected);
    let whole: Vec<i32> = fill(sorted(100), 9);
    assert!(whole.is_sorted() && whole[0] < 0 && whole[99] > 0);
}

#[test]
fn overflow_is_refused_with_the_remedy() {
    assert_eq!(
        refused::<f32>(permutation(4)),
        "`permutation` gives whole numbers, and `x` is of f32: take an integer type, or random(n) for \
         floats in no order"
    );
    assert_eq!(
        refused::<u8>(permutation(257)),
        "`x` is a permutation of 0..257, which goes beyond u8: take a wider type"
    );
    assert_eq!(
        refused::<u32>(normal(4, 0, 1)),
        "`normal` gives floats, and `x` is of u32: take random_in(n, low..high)"
    );
    for (mean, deviation) in [(0.0, -1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
        let told = refused::<f32>(normal(4, mean, deviation));
        assert!(told.ends_with("both must be finite, and the latter not negative"), "{told}");
    }
}

/// A file of `bytes`, and its path.
fn file(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.bin");
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

#[test]
fn a_file_gives_its_elements_and_its_checksum() {
    let (folder, path) = file(&[1, 0, 0, 0, 0, 0, 0x80, 0x3f]);
    let here = FillTarget { folder: folder.path(), ..place() };
    let contents = from_file(2, "x.bin");
    let filled = Contents::<u32>::fill(contents.clone(), &here, 0).unwrap();
    assert_eq!(filled.elements, [1, 0x3f80_0000]);
    let file = filled.file.unwrap();
    assert_eq!(file.path, "p/x.bin");
    assert_eq!(file.sha256, "0bbddbf843b42ccf34fe6ea20bcadbcb0d4837b49df3d75e111eca713090aa6e");
    assert_eq!(fill::<f32>(from_file(2, &path), 0)[1], 1.0);
    assert_eq!(fill::<f16>(from_file(4, &path), 0)[0], f16::from_bits(1));
}

#[test]
fn a_file_that_is_missing_or_of_another_size_is_reported_with_its_path() {
    let missing = Contents::<u32>::fill(from_file(4, "none.bin"), &place(), 0).unwrap_err();
    assert!(!missing.is_refusal());
    assert_eq!(
        missing.to_string(),
        "reading `x` from /nowhere/none.bin: No such file or directory (os error 2); relative paths begin \
         at the package's folder, or at GPUPROF_DATA where that is set, as for archives"
    );
    let (_folder, path) = file(&[0; 12]);
    let told = |told: String| told.replace(&path.display().to_string(), "FILE");
    assert_eq!(
        told(refused::<u32>(from_file(4, &path))),
        "`x` takes 4 elements of u32, and FILE has 12 bytes, which are 3 of u32: give its own length and \
         type, or write the file anew"
    );
    assert_eq!(
        told(refused::<f64>(from_file(1, &path))),
        "`x` takes 1 elements of f64, and FILE has 12 bytes, no whole number of f64: give its own length \
         and type, or write the file anew"
    );
    // Of vectors, lanes are counted.
    let told = told(refused::<f32x4>(from_file(1, &path)));
    assert!(told.starts_with("`x` takes 4 elements of f32, and FILE has 12 bytes"), "{told}");
}

#[test]
fn a_function_fills_a_buffer_with_what_it_returns() {
    assert_eq!(fill(vec![3_u32, 1], 0), [3, 1]);
    assert_eq!(fill(Ok::<_, Error>(vec![3_i64]), 0), [3]);
    let lanes = vec![f32x4::splat(1.0)].fill(&place(), 0).unwrap().elements;
    assert_eq!(lanes, [1.0; 4]);
    let failed: std::result::Result<Vec<u8>, String> = Err("no such graph".to_owned());
    let error = failed.fill(&place(), 0).unwrap_err();
    assert_eq!(error.to_string(), "making `x`: no such graph");
}
