//! The constituents of a throughput.
//!
//! Input: a throughput, as `sm__throughput` or with a submetric, and a chip. Output: the counters
//! of which it is the largest, including those of nested throughputs, each with its submetric. The
//! data comes from CUPTI's `libnvperf_host.so` when this version was made. NVIDIA's internal
//! activity (`…_internal_activity`) has no counters and is left out.

use std::collections::BTreeSet;

use gpuprof_model::each_once::add_new;
use gpuprof_model::suggest::did_you_mean;

use super::Chips;
use gpuprof_system::error::{Failure, Result as Outcome};

/// The prefix by which Nsight Compute asks for it.
pub const BREAKDOWN: &str = "breakdown:";

/// The default submetric of a throughput.
const OF_PEAK: &str = ".avg.pct_of_peak_sustained_elapsed";

/// The default chip, which the emulated driver models.
const DEFAULT_CHIP: &str = "GH100";

impl Chips {
    /// The counters of `throughput` on `chip`, in NVIDIA's order; none if it is not one of its
    /// throughputs.
    pub fn breakdown(&self, throughput: &str, chip: Option<&str>) -> Option<Vec<String>> {
        let chip = chip.filter(|chip| self.knows(chip)).unwrap_or(DEFAULT_CHIP);
        let metric = self.find(throughput, Some(chip)).ok()?;
        let submetric = match &throughput[metric.name.len()..] {
            "" => OF_PEAK,
            submetric => submetric,
        };
        let at = self.place(chip)?;
        let mut counters = Vec::new();
        self.collect(metric.name, at, &mut BTreeSet::new(), &mut counters)?;
        let mut names: Vec<String> = Vec::new();
        for counter in counters {
            let name = format!("{counter}{submetric}");
            if !names.contains(&name) && self.validate(&name, Some(chip)).is_ok() {
                names.push(name);
            }
        }
        Some(names)
    }

    /// Checks that each of `names`, which begin with [`BREAKDOWN`], is a throughput of some chip.
    ///
    /// # Errors
    /// Those that are not, one a line.
    pub fn on_any(&self, names: &[&str]) -> Result<(), String> {
        let of_any = |name: &str| {
            self.0
                .names
                .iter()
                .any(|chip| self.breakdown(strip_breakdown(name), Some(chip)).is_some())
        };
        let wrong: Vec<String> = names
            .iter()
            .filter(|name| !of_any(name))
            .map(|name| self.no_throughput(strip_breakdown(name), None))
            .collect();
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
    }

    /// The message for a name that is not a throughput of `chip`, or of any.
    fn no_throughput(&self, name: &str, chip: Option<&str>) -> String {
        let base = name.split('.').next().unwrap_or(name);
        let throughputs = self.0.breakdowns.keys().map(String::as_str);
        let near = did_you_mean(base, throughputs).unwrap_or_else(|| {
            "only throughputs have one, such as `sm__throughput` and \
             `gpu__compute_memory_throughput`"
                .to_owned()
        });
        let of_chip = chip.map(|chip| format!("{chip} has ")).unwrap_or_default();
        format!("`{BREAKDOWN}{name}`: {of_chip}no throughput `{base}`: {near}")
    }

    /// Adds the counters of `throughput`, and of those in it that were not `seen`.
    fn collect<'c>(
        &'c self,
        throughput: &'c str,
        chip: usize,
        seen: &mut BTreeSet<&'c str>,
        counters: &mut Vec<&'c str>,
    ) -> Option<()> {
        let on_chips = self.0.breakdowns.get(throughput)?;
        let breakdown = on_chips.iter().find(|breakdown| breakdown.on.contains(&chip))?;
        counters.extend(breakdown.counters.iter().map(String::as_str));
        for inner in &breakdown.throughputs {
            if seen.insert(inner) {
                // One without an entry has no counters.
                let _ = self.collect(inner, chip, seen, counters);
            }
        }
        Some(())
    }
}

/// What is broken down.
fn strip_breakdown(name: &str) -> &str {
    name.strip_prefix(BREAKDOWN).unwrap_or(name)
}

/// `names` with the constituents on `chip` in place of each [`BREAKDOWN`], each once.
///
/// # Errors
/// A throughput that the chip does not have (exit code 2).
pub fn expanded(names: Vec<String>, chip: Option<&str>) -> Outcome<Vec<String>> {
    if !names.iter().any(|name| name.starts_with(BREAKDOWN)) {
        return Ok(names);
    }
    let chips = Chips::shipped();
    let mut all: Vec<String> = Vec::new();
    for name in names {
        let metrics = match name.strip_prefix(BREAKDOWN) {
            Some(throughput) => chips
                .breakdown(throughput, chip)
                .ok_or_else(|| Failure::usage(chips.no_throughput(throughput, chip)))?,
            None => vec![name],
        };
        add_new(&mut all, metrics);
    }
    Ok(all)
}

/// The label of a constituent next to its throughput: without its submetric, but with its unit,
/// such as `sm pipe fma cycles active`.
pub fn label(counter: &str) -> String {
    let base = counter.split('.').next().unwrap_or(counter);
    base.replace("__", " ").replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_throughput_of_the_sm_is_made_of_its_pipelines() {
        let chips = Chips::shipped();
        let of = |name: &str, chip| chips.breakdown(name, Some(chip)).unwrap();
        let sm = of("sm__throughput", "gh100");
        assert_eq!(sm.len(), 14 + 9);
        assert_eq!(sm[0], "sm__inst_executed.avg.pct_of_peak_sustained_elapsed");
        assert!(
            sm.contains(&"sm__pipe_tma_cycles_active.avg.pct_of_peak_sustained_elapsed".into())
        );
        let active = of("sm__throughput.avg.pct_of_peak_sustained_active", "GA100");
        assert!(active.iter().all(|name| name.ends_with(".avg.pct_of_peak_sustained_active")));
        assert!(!active.iter().any(|name| name.contains("tma")), "{active:?}");
        let memory = of("gpu__compute_memory_throughput", "GH100");
        let dram = "dram__cycles_active.avg.pct_of_peak_sustained_elapsed";
        assert_eq!(memory.len(), 10 + 12 + 2);
        assert!(memory.contains(&dram.into()), "{memory:?}");
        assert_eq!(of("gpu__dram_throughput", "GH100")[0], dram);
    }

    #[test]
    fn breakdowns_of_throughputs_contain_only_metrics_of_the_chip() {
        let chips = Chips::shipped();
        assert_eq!(chips.breakdown("lts__t_sectors.sum", Some("GH100")), None);
        assert_eq!(chips.breakdown("sm__thruput", Some("GH100")), None);
        for chip in chips.names() {
            for name in ["sm__throughput", "l1tex__throughput", "lts__throughput"] {
                let counters = chips.breakdown(name, Some(chip)).unwrap();
                assert!(counters.len() > 3, "{chip} {name}: {counters:?}");
            }
        }
    }

    #[test]
    fn a_metric_that_is_not_a_throughput_is_refused_with_the_nearest() {
        let chips = Chips::shipped();
        assert_eq!(
            chips.on_any(&["breakdown:sm__throughput", "breakdown:lts__throughput"]),
            Ok(())
        );
        let wrong = ["breakdown:sm__thruput", "breakdown:ipc"];
        assert_eq!(
            chips.on_any(&wrong).unwrap_err(),
            "`breakdown:sm__thruput`: no throughput `sm__thruput`: did you mean `sm__throughput`?\n\
             `breakdown:ipc`: no throughput `ipc`: only throughputs have one, such as `sm__throughput` and \
             `gpu__compute_memory_throughput`"
        );
        let names = ["duration", "breakdown:dram__throughput", "duration"].map(str::to_owned);
        let all = expanded(names.to_vec(), Some("GH100")).unwrap();
        assert_eq!(all, ["duration", "dram__cycles_active.avg.pct_of_peak_sustained_elapsed"]);
        let wrong = expanded(vec!["breakdown:ltc__throughput".into()], Some("GH100")).unwrap_err();
        assert!(wrong.message.contains("GH100 has no throughput `ltc__throughput`"), "{wrong}");
    }

    #[test]
    fn a_label_has_no_submetric() {
        let name = "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed";
        assert_eq!(label(name), "sm pipe fma cycles active");
    }
}
