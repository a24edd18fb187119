//! Config images: which counter is collected in which pass.

use crate::call::{Code, INVALID_METRIC_NAME, INVALID_PARAMETER, NOT_SUPPORTED};
use crate::{catalogue, trouble};

const MAGIC: &str = "fake CUPTI config";

/// The contents of a config image.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// The chip.
    pub chip: String,
    /// The counters of each pass.
    pub passes: Vec<Vec<String>>,
}

/// The counters that metrics need, each once, in the order in which they are first needed.
pub fn raws_of(names: &[String]) -> Result<Vec<String>, Code> {
    let mut raws: Vec<String> = Vec::new();
    for name in names {
        let (metric, submetric) = catalogue::split(name).ok_or(INVALID_METRIC_NAME)?;
        if !catalogue::submetrics(metric.kind).iter().any(|known| known == submetric) {
            return Err(INVALID_METRIC_NAME);
        }
        for raw in metric.raws {
            if !raws.iter().any(|known| known == raw) {
                raws.push((*raw).to_owned());
            }
        }
    }
    Ok(raws)
}

impl Plan {
    /// The plan for some metrics. Counters of another bus cannot be collected together with those
    /// of the chip.
    pub fn new(chip: &str, names: &[String]) -> Result<Self, Code> {
        let raws = raws_of(names)?;
        let (pcie, rest): (Vec<String>, Vec<String>) =
            raws.into_iter().partition(|raw| raw.starts_with("pcie__"));
        if !pcie.is_empty() && !rest.is_empty() {
            return Err(NOT_SUPPORTED);
        }
        let (patched, counted): (Vec<String>, Vec<String>) =
            pcie.into_iter().chain(rest).partition(|raw| raw.contains("_sass_"));
        let mut passes: Vec<Vec<String>> =
            counted.chunks(trouble::per_pass()).map(<[String]>::to_vec).collect();
        passes.extend((!patched.is_empty()).then_some(patched));
        Ok(Self { chip: chip.to_owned(), passes })
    }

    /// The plan for samples of some metrics: all in one pass.
    pub fn sampled(chip: &str, names: &[String]) -> Result<Self, Code> {
        Ok(Self { chip: chip.to_owned(), passes: vec![raws_of(names)?] })
    }

    /// The image.
    pub fn to_bytes(&self) -> Vec<u8> {
        let passes: String =
            self.passes.iter().map(|raws| format!("pass {}\n", raws.join(" "))).collect();
        format!("{MAGIC}\nchip {}\n{passes}end\n", self.chip).into_bytes()
    }

    /// The plan of an image.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Code> {
        let text = std::str::from_utf8(bytes).map_err(|_| INVALID_PARAMETER)?;
        let mut plan = Self::default();
        let mut lines = text.lines();
        if lines.next() != Some(MAGIC) {
            return Err(INVALID_PARAMETER);
        }
        for line in lines {
            match line.split_once(' ') {
                Some(("chip", chip)) => plan.chip = chip.to_owned(),
                Some(("pass", raws)) => {
                    plan.passes.push(raws.split(' ').map(str::to_owned).collect());
                }
                None if line == "end" => return Ok(plan),
                _ => return Err(INVALID_PARAMETER),
            }
        }
        Err(INVALID_PARAMETER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn counters_share_passes_only_with_patched_ones_among_themselves() {
        let asked = names(&[
            "smsp__sass_data_bytes_mem_global_op_ld.sum",
            "sm__ctas_launched.sum",
            "sm__ctas_launched.avg",
            "smsp__sass_data_bytes_mem_global_op_st.sum",
            "smsp__thread_inst_executed_per_inst_executed.ratio",
        ]);
        let plan = Plan::new("GH100", &asked).unwrap();
        let passes: Vec<String> = plan.passes.iter().map(|raws| raws.join(" ")).collect();
        assert_eq!(
            passes,
            [
                "sm__ctas_launched",
                "smsp__thread_inst_executed",
                "smsp__inst_executed",
                "smsp__sass_data_bytes_mem_global_op_ld smsp__sass_data_bytes_mem_global_op_st",
            ]
        );
        assert_eq!(Plan::from_bytes(&plan.to_bytes()), Ok(plan));
    }

    #[test]
    fn uncollectable_counters_are_refused() {
        let refused = |asked: &[&str]| Plan::new("GH100", &names(asked)).unwrap_err();
        assert_eq!(refused(&["sm__ctas_launched"]), INVALID_METRIC_NAME);
        assert_eq!(refused(&["sm__ctas_lunched.sum"]), INVALID_METRIC_NAME);
        assert_eq!(refused(&["sm__ctas_launched.sum", "pcie__read_bytes.sum"]), NOT_SUPPORTED);
        assert_eq!(Plan::from_bytes(b"something else"), Err(INVALID_PARAMETER));
        assert_eq!(Plan::from_bytes(b"fake CUPTI config\nchip GH100\n"), Err(INVALID_PARAMETER));
    }
}
