//! Config images and pass counts of the pinned CUPTI, without a GPU.

mod common;

use common::{isolated, pinned};
use gpuprof_cupti::host::ConfigProblem;
use gpuprof_cupti::{Code, Failure, Host, HostApi, locate};

fn host(chip: &str) -> Host {
    Host::new(HostApi::load(&locate(Some(pinned())).unwrap()).unwrap(), chip, None).unwrap()
}

const SPEED_OF_LIGHT: &[&str] = &[
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "gpu__time_duration.sum",
    "gpc__cycles_elapsed.max",
    "sm__cycles_active.avg",
    "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "gpc__cycles_elapsed.avg.per_second",
    "dram__cycles_elapsed.avg.per_second",
];
const SCHEDULER: &[&str] = &[
    "smsp__warps_active.avg.per_cycle_active",
    "smsp__warps_eligible.avg.per_cycle_active",
    "smsp__issue_active.avg.per_cycle_active",
    "smsp__issue_inst0.avg.pct_of_peak_sustained_active",
];
const INSTRUCTIONS: &[&str] = &[
    "smsp__inst_executed.sum",
    "smsp__inst_executed.avg",
    "smsp__inst_issued.sum",
    "smsp__inst_issued.avg",
];
const SASS: &[&str] = &[
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
    "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum",
];

/// Counted with 13.0.85 by an independent program in another language, on the same four chips.
#[test]
fn sets_of_metrics_need_the_known_number_of_passes() {
    isolated("sets_of_metrics_need_the_known_number_of_passes", || {
        let sass_and_hardware = [SASS, &["smsp__inst_executed.sum"]].concat();
        let sm_throughput = &SPEED_OF_LIGHT[..1];
        let chips = ["GH100", "GA100", "AD102", "GB100"].map(host);
        for (name, metrics, expected) in [
            ("speed of light", SPEED_OF_LIGHT, [9, 9, 7, 8]),
            ("scheduler", SCHEDULER, [1, 1, 1, 1]),
            ("instructions", INSTRUCTIONS, [1, 1, 1, 1]),
            ("sass", SASS, [1, 1, 1, 1]),
            ("sass and hardware", &sass_and_hardware, [2, 2, 2, 2]),
            ("sm throughput", sm_throughput, [8, 5, 6, 8]),
            ("hit rate", &["lts__t_sector_hit_rate.pct"], [2, 2, 2, 2]),
        ] {
            let passes = chips.each_ref().map(|host| {
                let config = host.config_image(metrics).unwrap();
                host.passes(&config).unwrap()
            });
            assert_eq!(passes, expected, "{name}");
        }
    });
}

#[test]
fn the_same_metrics_give_the_same_config_image() {
    isolated("the_same_metrics_give_the_same_config_image", || {
        let host = host("GH100");
        let image = host.config_image(SPEED_OF_LIGHT).unwrap();
        assert_eq!(host.config_image(SPEED_OF_LIGHT).unwrap(), image);
        let twice = [SPEED_OF_LIGHT, SPEED_OF_LIGHT].concat();
        assert_eq!(host.passes(&host.config_image(&twice).unwrap()).unwrap(), 9);
    });
}

#[test]
fn all_wrong_names_are_reported_at_once() {
    isolated("all_wrong_names_are_reported_at_once", || {
        let host = host("GH100");
        let asked = ["nope.sum", "sm__cycles_active.avg", "lts__t_sector_hit_rate"];
        let problem = host.config_image(&asked).unwrap_err();
        assert_eq!(
            problem.to_string(),
            "GH100 has no metric `nope`\n`lts__t_sector_hit_rate` needs a roll-up; it has .max_rate .pct .ratio"
        );
        // What was refused spoils nothing.
        host.config_image(&["sm__cycles_active.avg"]).unwrap();
        assert_eq!(host.config_image(&[""; 0]).unwrap_err(), ConfigProblem::Empty);
    });
}

#[test]
fn incompatible_metrics_are_split_into_groups() {
    isolated("incompatible_metrics_are_split_into_groups", || {
        let host = host("GH100");
        let asked = ["sm__cycles_active.avg", "pcie__read_bytes.sum", "dram__bytes.sum"];
        let problem = host.config_image(&asked).unwrap_err();
        assert_eq!(
            problem.to_string(),
            "these metrics cannot be collected together; these groups can: sm__cycles_active.avg, dram__bytes.sum | \
             pcie__read_bytes.sum"
        );
        let ConfigProblem::CannotCombine { groups } = problem else { panic!("groups") };
        for group in groups {
            host.config_image(&group).unwrap();
        }
    });
}

#[test]
fn a_listed_metric_that_cannot_be_collected_is_named() {
    isolated("a_listed_metric_that_cannot_be_collected_is_named", || {
        let host = host("GH100");
        let metric = "CTC.TriageCompute.ctc__throughput.avg.pct_of_peak_sustained_elapsed";
        host.validate(metric).unwrap();
        let problem = host.config_image(&["sm__cycles_active.avg", metric]).unwrap_err();
        assert_eq!(problem.to_string(), format!("{metric} cannot be collected on GH100"));
    });
}

/// CUPTI itself crashes on most of these.
#[test]
fn invalid_images_never_reach_cupti() {
    isolated("invalid_images_never_reach_cupti", || {
        let api = HostApi::load(&locate(Some(pinned())).unwrap()).unwrap();
        let mut host = Host::new(api, "GH100", None).unwrap();
        let config = host.config_image(SCHEDULER).unwrap();
        let mut altered = config.clone();
        altered[100] ^= 0x40;
        for junk in [&[][..], &[0; 8192], &config[..config.len() / 2], &altered] {
            assert_eq!(host.passes(junk).unwrap_err().code, Code::InvalidParameter);
        }
        let image = |failure: Failure| assert_eq!(failure.code, Code::InvalidParameter);
        // A config image is not counter data, nor availability.
        for junk in [&[][..], &[0; 8192], &config] {
            host.evaluate(junk, 0, SCHEDULER).unwrap_err();
            image(api.range_count(junk).unwrap_err());
            image(api.range_name(junk, 0).unwrap_err());
            image(api.host_range_name(junk, 0).unwrap_err());
            image(Host::new(api, "GH100", Some(junk)).err().unwrap());
        }
    });
}
