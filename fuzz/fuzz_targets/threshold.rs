//! A threshold, as the command line and a configuration file hold it.

#![no_main]

use gpuprof_model::threshold::Threshold;

libfuzzer_sys::fuzz_target!(|text: &str| {
    match Threshold::parse(text) {
        // What is shown can be written again, and is then the same.
        Ok(threshold) => {
            let shown = threshold.to_string();
            let again = Threshold::parse(&shown).expect("what is shown is a threshold");
            assert_eq!(again.to_string(), shown);
        }
        Err(error) => {
            let _ = error.render("--threshold", text);
        }
    }
});
