//! Volatile accesses of the lanes of one warp to shared memory: races, and kernels that look like
//! them (fixtures/shared_races.cu).

use crate::common::Bench;
use gpuprof_emulator::device::{Checks, Device, LaunchError};

const KERNELS: &str = include_str!("fixtures/shared_races.ptx");

/// The kernels, with their place in the file: all faults come before the sound ones.
fn kernels() -> (Vec<&'static str>, Vec<&'static str>) {
    let source = include_str!("fixtures/shared_races.cu");
    let (faulty, sound) = source.split_once("// Sound kernels.").expect("two parts");
    let names = |part: &'static str| {
        let heads = part.split("__global__ void ").skip(1);
        heads.filter_map(|head| Some(head.split_once('(')?.0)).collect::<Vec<_>>()
    };
    (names(faulty), names(sound))
}

/// What is wrong with a launch of 64 threads.
fn launch(kernel: &str) -> Option<String> {
    let mut device = Device::default().with_host_threads(1).with_checks(Checks::ALL);
    let module = device.load(KERNELS).unwrap();
    let mut bench = Bench { device, module };
    let y = bench.upload(&[0_u32; 128]);
    match bench.try_launch(kernel, [1, 1, 1], [64, 1, 1], 0, &[&y, &16_u32]) {
        Ok(_) => None,
        Err(LaunchError::Fault(fault)) => Some(format!("{}: {}", fault.kind, fault.message)),
        Err(error) => panic!("{kernel}: {error}"),
    }
}

#[test]
fn volatile_lanes_of_a_warp_race_without_a_barrier_of_the_warp() {
    let (faulty, _) = kernels();
    assert_eq!(faulty.len(), 10);
    for kernel in faulty {
        let found = launch(kernel);
        println!("{kernel}: {found:?}");
        let found = found.unwrap_or_else(|| panic!("{kernel} has a race"));
        assert!(found.starts_with("race: ") && found.contains("__syncwarp()"), "{found}");
    }
}

#[test]
fn waiting_for_a_volatile_flag_of_the_warp_is_not_a_race() {
    let (_, sound) = kernels();
    assert_eq!(sound.len(), 20);
    for kernel in sound {
        assert_eq!(launch(kernel), None, "{kernel}");
    }
}
