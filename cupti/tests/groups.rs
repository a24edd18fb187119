//! Metrics in groups that the pinned CUPTI collects, without a GPU.

mod common;

use common::{isolated, pinned};
use gpuprof_cupti::host::ConfigProblem;
use gpuprof_cupti::{Host, HostApi, locate};

const HARDWARE: &[&str] = &[
    "smsp__inst_executed.sum",
    "dram__bytes_read.sum",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
];
const SASS: &[&str] = &[
    "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "smsp__sass_inst_executed_op_global_ld.sum",
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct",
];
const PCIE: &[&str] = &["pcie__read_bytes.sum", "pcie__write_bytes.sum"];

fn host(chip: &str) -> Host {
    Host::new(HostApi::load(&locate(Some(pinned())).unwrap()).unwrap(), chip, None).unwrap()
}

fn passes(host: &Host, names: &[&str]) -> usize {
    let groups = host.groups(names).unwrap();
    assert_eq!(groups.len(), 1, "{names:?}");
    groups[0].passes
}

/// Why there is no group of SASS-patched metrics: CUPTI accepts them next to others, and they cost
/// one pass either way.
#[test]
fn sass_patched_metrics_take_a_pass_of_their_own_in_the_same_image() {
    isolated("sass_patched_metrics_take_a_pass_of_their_own_in_the_same_image", || {
        for chip in ["GH100", "GA100", "AD102", "GB100"] {
            let host = host(chip);
            let (hardware, sass) = (passes(&host, HARDWARE), passes(&host, SASS));
            assert_eq!(sass, 1, "{chip}");
            assert_eq!(passes(&host, &[HARDWARE, SASS].concat()), hardware + sass, "{chip}");
        }
    });
}

#[test]
fn links_form_a_separate_group_with_a_config_image() {
    isolated("links_form_a_separate_group_with_a_config_image", || {
        for chip in ["GH100", "GA100", "AD102", "GB100"] {
            let host = host(chip);
            let asked = [&PCIE[..1], HARDWARE, SASS, &PCIE[1..], &HARDWARE[..1]].concat();
            let groups = host.groups(&asked).unwrap();
            let metrics: Vec<_> = groups.iter().map(|group| group.metrics.clone()).collect();
            assert_eq!(metrics, [PCIE.to_vec(), [HARDWARE, SASS].concat()], "{chip}");
            for group in &groups {
                assert_eq!(group.config, host.config_image(&group.metrics).unwrap(), "{chip}");
                assert_eq!(group.passes, host.passes(&group.config).unwrap(), "{chip}");
            }
            assert_eq!(groups[0].passes, 1, "{chip}");
        }
    });
}

#[test]
fn nvlink_goes_with_pcie_and_a_time_with_either() {
    isolated("nvlink_goes_with_pcie_and_a_time_with_either", || {
        let host = host("GH100");
        let asked = ["gpu__time_duration.sum", "nvlrx__bytes.sum", "dram__bytes.sum", PCIE[0]];
        let metrics: Vec<_> = host.groups(&asked).unwrap().into_iter().map(|g| g.metrics).collect();
        assert_eq!(metrics, [vec![asked[0], asked[1], asked[3]], vec![asked[2]]]);
    });
}

#[test]
fn uncollectable_metrics_are_named() {
    isolated("uncollectable_metrics_are_named", || {
        let host = host("GH100");
        let alone = "CTC.TriageCompute.ctc__throughput.avg.pct_of_peak_sustained_elapsed";
        let problem = host.groups(&[HARDWARE[0], PCIE[0], alone]).unwrap_err();
        assert_eq!(problem.to_string(), format!("{alone} cannot be collected on GH100"));
        let problem = host.groups(&[PCIE[0], "nope.sum", HARDWARE[0], "nor_this.sum"]).unwrap_err();
        assert_eq!(
            problem.to_string(),
            "GH100 has no metric `nope`\nGH100 has no metric `nor_this`"
        );
        assert_eq!(host.groups(&[""; 0]).unwrap_err(), ConfigProblem::Empty);
    });
}
