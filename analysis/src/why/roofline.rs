//! The roofline: operations per byte, under the roofs of the device.
//!
//! Input: the configurations of a series, with the metrics of the Roofline sections. Output: the
//! roofs at the clocks of the chosen configuration, and each configuration's positions: one at each
//! level of memory for each precision in which it computes. The levels are those of Yang, Kurth and
//! Williams (2020): L2 and L1 by the bytes of the requested sectors. Nsight Compute takes the
//! returned ones, so its positions at L2 and L1 differ.

use gpuprof_model::run::ConfigurationResult;

use crate::view::best::value;

/// A level of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The device's memory.
    Dram,
    /// The cache of all multiprocessors.
    L2,
    /// The cache of one.
    L1,
}

impl Level {
    /// All, from the slowest to the fastest.
    pub const ALL: [Self; 3] = [Self::Dram, Self::L2, Self::L1];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dram => "DRAM",
            Self::L2 => "L2",
            Self::L1 => "L1",
        }
    }

    fn peak(self) -> &'static str {
        match self {
            Self::Dram => "roofline_dram_peak",
            Self::L2 => "roofline_l2_peak",
            Self::L1 => "roofline_l1_peak",
        }
    }
}

/// The precisions; in lower case they are part of their metrics' names.
const PRECISIONS: [&str; 4] = ["FP64", "FP32", "FP16", "tensor"];

/// A roof that rises with the intensity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slope {
    /// The level.
    pub level: Level,
    /// Bytes a second.
    pub bandwidth: f64,
}

/// A flat roof.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ceiling {
    /// `FP32` …
    pub precision: &'static str,
    /// Operations a second.
    pub rate: f64,
}

impl Ceiling {
    /// The intensity from which on `slope` is not a limit any more.
    pub fn ridge(&self, slope: &Slope) -> f64 {
        self.rate / slope.bandwidth
    }
}

/// A configuration's place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RooflinePoint {
    /// The position of its configuration.
    pub row: usize,
    /// Operations for each byte of the level.
    pub intensity: f64,
    /// Operations a second.
    pub rate: f64,
}

/// The places of all configurations at one level, in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    /// The precision.
    pub precision: &'static str,
    /// The level.
    pub level: Level,
    /// The places.
    pub places: Vec<RooflinePoint>,
}

impl Path {
    /// The metrics of its places: operations a byte, and a second.
    pub fn metrics(&self) -> [String; 2] {
        let precision = self.precision.to_ascii_lowercase();
        let level = self.level.name().to_ascii_lowercase();
        [format!("roofline_{precision}_{level}_intensity"), format!("roofline_{precision}")]
    }
}

/// A roofline.
#[derive(Debug, Clone, PartialEq)]
pub struct Roofline {
    /// The slopes.
    pub slopes: Vec<Slope>,
    /// The ceilings of the precisions with known peaks.
    pub ceilings: Vec<Ceiling>,
    /// The achieved performance of each precision with work.
    pub paths: Vec<Path>,
}

/// The roofline of `rows`, with the roofs at the position `roofs`; none if no roof or no place is
/// known.
pub fn roofline(rows: &[ConfigurationResult], roofs: usize) -> Option<Roofline> {
    let at = rows.get(roofs)?;
    let positive = |row, metric: &str| value(row, metric).filter(|value| *value > 0.0);
    let slope = |level: Level| Some(Slope { level, bandwidth: positive(at, level.peak())? });
    let ceiling = |precision: &'static str| {
        let peak = format!("roofline_{}_peak", precision.to_ascii_lowercase());
        Some(Ceiling { precision, rate: positive(at, &peak)? })
    };
    let mut paths = Vec::new();
    for precision in PRECISIONS {
        for level in Level::ALL {
            let mut path = Path { precision, level, places: Vec::new() };
            let metrics = path.metrics();
            let place = |(row, result)| {
                let [intensity, rate] = [0, 1].map(|at: usize| positive(result, &metrics[at]));
                Some(RooflinePoint { row, intensity: intensity?, rate: rate? })
            };
            path.places = rows.iter().enumerate().filter_map(place).collect();
            if !path.places.is_empty() {
                paths.push(path);
            }
        }
    }
    let slopes: Vec<Slope> = Level::ALL.into_iter().filter_map(slope).collect();
    let ceilings: Vec<Ceiling> = PRECISIONS.into_iter().filter_map(ceiling).collect();
    let any = !slopes.is_empty() && !ceilings.is_empty() && !paths.is_empty();
    any.then_some(Roofline { slopes, ceilings, paths })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::measured;

    fn row(block: u64, rate: f64) -> ConfigurationResult {
        measured(
            block,
            &[
                ("roofline_dram_peak", 4e12),
                ("roofline_l2_peak", 1e13),
                ("roofline_fp32_peak", 6e13),
                ("roofline_fp64_peak", 3e13),
                ("roofline_fp32", rate),
                ("roofline_fp64", 0.0),
                ("roofline_fp32_dram_intensity", 0.2),
                ("roofline_fp32_l2_intensity", 0.1),
            ],
        )
    }

    #[test]
    fn a_sweep_has_a_path_at_each_level_and_ridges() {
        let found = roofline(&[row(64, 5e11), row(128, 8e11)], 1).unwrap();
        assert_eq!(found.slopes.len(), 2);
        let precisions: Vec<&str> = found.ceilings.iter().map(|c| c.precision).collect();
        assert_eq!(precisions, ["FP64", "FP32"]);
        assert_eq!(found.ceilings[1].ridge(&found.slopes[0]), 15.0);
        // Without work there is no path.
        let levels: Vec<_> = found.paths.iter().map(|p| (p.precision, p.level)).collect();
        assert_eq!(levels, [("FP32", Level::Dram), ("FP32", Level::L2)]);
        assert_eq!(found.paths[0].places[1], RooflinePoint { row: 1, intensity: 0.2, rate: 8e11 });
    }

    #[test]
    fn a_roofline_needs_roofs_and_points() {
        assert_eq!(roofline(&[measured(64, &[("roofline_dram_peak", 4e12)])], 0), None);
        assert_eq!(roofline(&[], 0), None);
    }
}
