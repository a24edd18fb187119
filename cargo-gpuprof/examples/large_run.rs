//! Writes two runs of as many configurations as asked for, as the tool writes them.
//!
//! `cargo run --release -p cargo-gpuprof --example large_run -- ROWS FOLDER` makes
//! `FOLDER/before.json` and `FOLDER/after.json`: saxpy on the emulated driver, all metrics of the
//! catalogue, and in `after.json` one configuration with one sector more. What the tool does with
//! them `docs/scripts/large-runs.sh` measures.

use std::error::Error;

use camino::Utf8Path;
use cargo_gpuprof::store::write_whole_by;
use gpuprof_analysis::fixture;
use gpuprof_analysis::metrics::collect::{Terms, finished};
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::{Run, Shared};

const BLOCKS: [u64; 5] = [64, 128, 256, 512, 1024];
const SECTORS: &str = "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [rows, folder] = arguments.as_slice() else {
        return Err("usage: large_run ROWS FOLDER".into());
    };
    let rows: u64 = rows.parse()?;
    for (name, more) in [("before", 0), ("after", 1)] {
        let run = run(name, rows, more);
        let path = Utf8Path::new(folder).join(format!("{name}.json"));
        write_whole_by(&path, |file| Ok(serde_json::to_writer(file, &run)?))?;
        let bytes = std::fs::metadata(&path)?.len();
        println!("{path}: {rows} rows, {bytes} bytes, {} a row", bytes / rows.max(1));
    }
    Ok(())
}

/// A run of `rows` configurations, the first of which loads `more` sectors than it needs.
fn run(id: &str, rows: u64, more: u64) -> Run {
    let catalogue = Catalogue::built_in();
    let terms = Terms::new(&catalogue);
    let mut shared = Shared::default();
    let row = |at: u64| {
        let (block, n) = (BLOCKS[(at % 5) as usize], 1024 * (1 + at / 5));
        let mut pass = fixture::emulated_pass(block, n);
        if let Some(sectors) = pass.counters.get_mut(SECTORS).filter(|_| at == 0) {
            *sectors += more;
        }
        let mut row = finished(fixture::point(block, n), &[pass], &terms);
        shared.keep_once(&mut row.metrics);
        row
    };
    fixture::run(id, vec![fixture::series((0..rows).map(row).collect())])
}
