//! The metric catalogue of the pinned CUPTI, without a GPU.

mod common;

use common::{isolated, pinned};
use gpuprof_cupti::host::{MetricKind, MetricProblem};
use gpuprof_cupti::{Code, Host, HostApi, locate};

fn api() -> HostApi {
    HostApi::load(&locate(Some(pinned())).unwrap()).unwrap()
}

fn host(chip: &str) -> Host {
    Host::new(api(), chip, None).unwrap()
}

#[test]
fn the_chips_of_four_generations_are_known_and_have_catalogues() {
    isolated("the_chips_of_four_generations_are_known_and_have_catalogues", || {
        let api = api();
        let chips = api.chips().unwrap();
        // Counters, ratios, throughputs.
        for (chip, counts) in [
            ("GH100", [3389, 205, 56]),
            ("GA100", [2876, 160, 26]),
            ("AD102", [2799, 175, 27]),
            ("GB100", [3773, 220, 72]),
        ] {
            assert!(chips.iter().any(|it| it == chip), "{chip} in {chips:?}");
            let host = Host::new(api, chip, None).unwrap();
            assert_eq!(host.chip(), chip);
            let found = MetricKind::ALL.map(|kind| host.base_metrics(kind).unwrap().len());
            assert_eq!(found, counts, "{chip}");
        }
    });
}

#[test]
fn throughputs_are_broken_down_without_a_gpu() {
    isolated("throughputs_are_broken_down_without_a_gpu", || {
        let all = api().breakdowns("GH100").unwrap();
        assert_eq!(all.len(), 56);
        let of = |name: &str| all.iter().find(|found| found.throughput == name).unwrap();
        assert_eq!(
            of("sm__throughput").throughputs,
            ["sm__instruction_throughput", "sm__memory_throughput"]
        );
        let memory = of("sm__memory_throughput");
        assert_eq!(
            memory.counters[..2],
            ["sm__inst_executed_pipe_adu", "sm__inst_executed_pipe_lsu"]
        );
        // A constituent is a metric of the chip.
        let host = host("GH100");
        let name = format!("{}.avg.pct_of_peak_sustained_elapsed", memory.counters[0]);
        assert_eq!(host.validate(&name), Ok(()));
        assert!(api().breakdowns("GX999").is_err());
    });
}

#[test]
fn an_unknown_chip_is_an_error() {
    isolated("an_unknown_chip_is_an_error", || {
        let failure = Host::new(api(), "GX999", None).err().unwrap();
        assert_eq!(failure.call, "cuptiProfilerHostInitialize");
        assert_eq!(failure.code, Code::InvalidChipName);
    });
}

#[test]
fn a_metric_is_described_with_and_without_its_roll_up() {
    isolated("a_metric_is_described_with_and_without_its_roll_up", || {
        let host = host("GH100");
        let base = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld";
        let properties = host.properties(base).unwrap();
        assert_eq!(properties.description, "# of sectors requested for global loads");
        assert_eq!(properties.hw_unit, "l1tex");
        assert_eq!(properties.dim_unit, "l2_sector");
        assert_eq!(properties.kind, MetricKind::Counter);
        assert_eq!(host.properties(&format!("{base}.sum")).unwrap(), properties);
        let kind = |name| host.properties(name).unwrap().kind;
        assert_eq!(kind("lts__t_sector_hit_rate"), MetricKind::Ratio);
        assert_eq!(kind("sm__throughput"), MetricKind::Throughput);
    });
}

#[test]
fn every_kind_lists_its_submetrics() {
    isolated("every_kind_lists_its_submetrics", || {
        let host = host("GH100");
        let counter = host.sub_metrics("dram__bytes").unwrap();
        assert_eq!(counter.len(), 44);
        assert!(counter.contains(&".sum.per_second".into()));
        assert_eq!(host.sub_metrics("dram__bytes.sum").unwrap(), counter);
        assert_eq!(
            host.sub_metrics("lts__t_sector_hit_rate").unwrap(),
            [".max_rate", ".pct", ".ratio"]
        );
        assert_eq!(host.sub_metrics("sm__throughput").unwrap().len(), 8);
        // A base metric with dots in its name.
        assert_eq!(host.sub_metrics("CTC.TriageCompute.ctc__rx_bytes").unwrap().len(), 44);
    });
}

#[test]
fn every_base_metric_of_every_kind_has_properties_and_submetrics() {
    isolated("every_base_metric_of_every_kind_has_properties_and_submetrics", || {
        let host = host("GH100");
        for kind in MetricKind::ALL {
            for name in host.base_metrics(kind).unwrap() {
                assert_eq!(host.properties(&name).unwrap().kind, kind, "{name}");
                let submetric = host.sub_metrics(&name).unwrap().remove(0);
                host.validate(&format!("{name}{submetric}")).unwrap();
            }
        }
    });
}

#[test]
fn validation_names_wrong_metrics_and_alternatives() {
    isolated("validation_names_wrong_metrics_and_alternatives", || {
        let host = host("GH100");
        let said = |name| host.validate(name).unwrap_err().to_string();
        host.validate("lts__t_sector_hit_rate.pct").unwrap();
        assert_eq!(said("dram__byte.sum"), "GH100 has no metric `dram__byte`");
        assert_eq!(
            said("lts__t_sector_hit_rate"),
            "`lts__t_sector_hit_rate` needs a roll-up; it has .max_rate .pct .ratio"
        );
        assert_eq!(
            said("lts__t_sector_hit_rate.sum"),
            "`lts__t_sector_hit_rate` has no submetric `.sum`; it has .max_rate .pct .ratio"
        );
        let MetricProblem::UnknownSubmetric { base, submetric, available } =
            host.validate("dram__bytes.sum.per_minute").unwrap_err()
        else {
            panic!("an unknown submetric");
        };
        assert_eq!((base.as_str(), submetric.as_str()), ("dram__bytes", ".sum.per_minute"));
        assert_eq!(available.len(), 44);
        for odd in ["", ".", ".sum", "dram__bytes.", "dram__bytes\0.sum", "dram__bytes..sum"] {
            host.validate(odd).unwrap_err();
        }
    });
}
