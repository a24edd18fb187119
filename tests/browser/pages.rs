//! Writes the pages that the tests open, to look at: `cargo run -p gpuprof-browser-tests --features
//! browser --example pages -- FOLDER`.

use std::path::PathBuf;

fn main() {
    let folder = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    for (name, run) in gpuprof_browser_tests::runs::all() {
        let file = folder.join(format!("{name}.html"));
        std::fs::write(&file, gpuprof_browser_tests::runs::page(&run)).expect("it can be written");
        println!("{}", file.display());
    }
}
