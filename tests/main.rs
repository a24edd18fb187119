//! The end-to-end tests, a module each: real builds, real processes, the emulated driver or a fake
//! GPU. `README.md` beside this file says what each covers, how to run one, and what the fakes are.

mod archive;
mod axes;
mod bad_input;
mod broken_kernels;
mod calibrate;
mod described;
mod device;
mod devices;
mod doctor;
mod examples;
mod full_disk;
mod gate;
mod hardware;
mod interrupt;
mod joined;
mod killed;
mod kinds;
mod listing;
mod machine;
mod main_job;
mod names;
mod no_counters;
mod no_polling;
mod own_metrics;
mod profiler;
mod quiet;
mod repeats;
mod replay;
mod replay_ended;
mod replay_shared;
mod reproducible;
mod side_by_side;
mod support;
mod thresholds;
mod toolchains;
