//! Recordings of an H200, evaluated without a GPU by the pinned CUPTI.
//!
//! `golden/h200` was written by `cargo run --release -p gpuprof-cupti --example record -- --out
//! DIR` on an NVIDIA H200 (driver 580, CUPTI 13.0) on 2026-11-21: a saxpy over 2^24 elements at
//! five block sizes, 14 metrics in 9 passes, by application replay (nine processes) and by kernel
//! replay (one). The images are compressed with zstd.

mod common;

use std::path::Path;

use common::{isolated, pinned};
use gpuprof_cupti::{Host, HostApi, locate};
use serde_json::Value;

fn read(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/h200");
    let bytes = std::fs::read(folder.join(format!("{name}.zst"))).unwrap();
    zstd::decode_all(bytes.as_slice()).unwrap()
}

fn record() -> Value {
    serde_json::from_str(include_str!("golden/h200/record.json")).unwrap()
}

fn metrics(record: &Value) -> Vec<String> {
    record["metrics"].as_array().unwrap().iter().map(|m| m.as_str().unwrap().to_owned()).collect()
}

fn api() -> HostApi {
    HostApi::load(&locate(Some(pinned())).unwrap()).unwrap()
}

#[test]
fn counter_data_of_an_h200_evaluates_to_its_recorded_values() {
    isolated("counter_data_of_an_h200_evaluates_to_its_recorded_values", || {
        let (record, api) = (record(), api());
        let names = metrics(&record);
        let availability = read("availability.bin");
        let mut host = Host::new(api, "GH100", Some(&availability)).unwrap();
        for (mode, file) in [("application", "application.counters"), ("kernel", "kernel.counters")]
        {
            let image = read(file);
            for (index, range) in record["ranges"].as_array().unwrap().iter().enumerate() {
                let recorded = &record["values"][mode][range.as_str().unwrap()];
                for (name, value) in names.iter().zip(host.evaluate(&image, index, &names).unwrap())
                {
                    assert_eq!(Some(value), recorded[name].as_f64(), "{mode} {range} {name}");
                }
            }
        }
    });
}

#[test]
fn ranges_are_named_without_a_gpu() {
    isolated("ranges_are_named_without_a_gpu", || {
        let (api, image) = (api(), read("application.counters"));
        let names: Vec<String> = (0..api.range_count(&image).unwrap())
            .map(|i| api.range_name(&image, i).unwrap())
            .collect();
        assert_eq!(names, ["block=64", "block=128", "block=256", "block=512", "block=1024"]);
    });
}

#[test]
fn the_config_image_of_an_h200_is_reproduced() {
    isolated("the_config_image_of_an_h200_is_reproduced", || {
        let (record, api) = (record(), api());
        let host = Host::new(api, "GH100", Some(&read("availability.bin"))).unwrap();
        let made = host.config_image(&metrics(&record)).unwrap();
        assert_eq!(made, read("config.bin"));
        assert_eq!(
            host.passes(&made).unwrap() as u64,
            record["device"]["passes"].as_u64().unwrap()
        );
    });
}

#[test]
fn application_and_kernel_replay_agree_on_exact_counters() {
    let record = record();
    for range in record["ranges"].as_array().unwrap() {
        let values = |mode: &str| &record["values"][mode][range.as_str().unwrap()];
        for name in metrics(&record) {
            let exact = name.starts_with("smsp__inst")
                || name.contains("_pipe_lsu_")
                || name.contains("_sass_");
            if exact {
                assert_eq!(values("application")[&name], values("kernel")[&name], "{range} {name}");
            }
        }
    }
}
