//! The counters of a measured range from those of its launches, and of its parts.
//!
//! Input: the launches of a range or its named ranges, and what was counted in each. Output: what
//! was counted in all of them, in all launches of one kernel, in each launch, and in each named
//! range.

use std::collections::BTreeMap;
use std::ops::Range;

use gpuprof_model::estimate::Estimate;
use gpuprof_model::measurement::{CountedPart, HardwareValue, LaunchRecord};
use gpuprof_model::parts::Part;

/// A named range that began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Its name, with those of the ranges that it lies in: `backward/weights`.
    pub(crate) path: String,
    /// How deep it lies in other ranges: 1 in none.
    pub(crate) depth: usize,
    /// Whether it is an NVTX range that lies in no other one: these are the measured range then.
    pub(crate) outer_nvtx: bool,
    /// The launches in it, by their positions; empty if they are not counted.
    pub(crate) launches: Range<usize>,
}

/// How deep `marks` lie in each other: 1 if they lie side by side, and 0 without marks.
pub(crate) fn depth(marks: &[Mark]) -> usize {
    marks.iter().map(|mark| mark.depth).max().unwrap_or(0)
}

/// The NVTX ranges among `marks` that lie in no other one.
pub(crate) fn outer_nvtx(marks: &[Mark]) -> impl Iterator<Item = &Mark> {
    marks.iter().filter(|mark| mark.outer_nvtx)
}

/// What was counted in a launch, or in several.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Counts {
    /// Exact counters by name.
    pub(crate) counters: BTreeMap<String, u64>,
    /// Hardware counters by PerfWorks name, or why one has no value.
    pub(crate) hardware: BTreeMap<String, HardwareValue>,
    /// The estimated duration; none where a launch has none.
    pub(crate) estimate: Option<Estimate>,
}

impl Counts {
    /// What was counted in all of these `launches`.
    pub(crate) fn over<'c>(launches: impl Iterator<Item = &'c Self> + Clone) -> Self {
        Self::of_all(launches, "launches")
    }

    /// What was counted in all of these, which are `called` so.
    fn of_all<'c>(all: impl Iterator<Item = &'c Self> + Clone, called: &str) -> Self {
        let mut counters: BTreeMap<String, u64> = BTreeMap::new();
        let mut values: BTreeMap<&String, Vec<&HardwareValue>> = BTreeMap::new();
        for one in all.clone() {
            for (name, value) in &one.counters {
                *counters.entry(name.clone()).or_insert(0) += value;
            }
            for (name, value) in &one.hardware {
                values.entry(name).or_default().push(value);
            }
        }
        counters.retain(|name, _| !values.contains_key(name));
        let total = |(name, values): (&String, Vec<&HardwareValue>)| {
            (name.clone(), sum(name, &values, called))
        };
        let hardware = values.into_iter().map(total);
        let estimates: Option<Vec<Estimate>> = all.map(|one| one.estimate.clone()).collect();
        Self {
            counters,
            hardware: hardware.collect(),
            estimate: estimates.and_then(|all| all.into_iter().reduce(Estimate::join)),
        }
    }

    /// What was counted in all of these `ranges`.
    pub(crate) fn over_ranges<'c>(ranges: impl Iterator<Item = &'c Self> + Clone) -> Self {
        Self::of_all(ranges, "ranges")
    }

    fn of_part(self, part: Part) -> CountedPart {
        let Self { counters, hardware, estimate } = self;
        CountedPart { part, counters, hardware, estimate }
    }
}

/// The value of the hardware counter `name` over launches or ranges, as they are `called`, with
/// these `values`.
fn sum(name: &str, values: &[&HardwareValue], called: &str) -> HardwareValue {
    let known = |value: &&HardwareValue| match value {
        HardwareValue::Value(value) => Ok(*value),
        HardwareValue::Unavailable(reason) => Err(reason.clone()),
    };
    match values.iter().map(known).collect::<Result<Vec<f64>, String>>().as_deref() {
        Err(reason) => HardwareValue::Unavailable(reason.clone()),
        Ok([value]) => HardwareValue::Value(*value),
        Ok(several) if name.ends_with(".sum") => HardwareValue::Value(several.iter().sum()),
        Ok(several) if called == "launches" => HardwareValue::Unavailable(format!(
            "the range holds {} launches, and only sums add up over launches; --range closure \
             counts them together",
            several.len()
        )),
        Ok(several) => HardwareValue::Unavailable(format!(
            "{} {called} are counted apart, and only sums add up over them",
            several.len()
        )),
    }
}

/// The parts of a range of several `launches` with what was `counted` in each: its kernels, in the
/// order of their first launches, and after them the launches if `each` is a part. None if the
/// launches were counted together.
pub(crate) fn of_range(
    launches: &[LaunchRecord],
    counted: &[Counts],
    each: bool,
) -> Vec<CountedPart> {
    if launches.len() < 2 || launches.len() != counted.len() {
        return Vec::new();
    }
    let mut kernels: Vec<&String> = Vec::new();
    for LaunchRecord { kernel, .. } in launches.iter().filter(|launch| !launch.outside) {
        if !kernels.contains(&kernel) {
            kernels.push(kernel);
        }
    }
    let of_kernel = |kernel: &String| {
        let its = launches.iter().zip(counted);
        let its = its.filter(|(launch, _)| !launch.outside && launch.kernel == *kernel);
        Counts::over(its.map(|(_, counted)| counted)).of_part(Part::Kernel(kernel.clone()))
    };
    let mut parts: Vec<CountedPart> = kernels.into_iter().map(of_kernel).collect();
    if each {
        let launch = |(at, counted): (usize, &Counts)| {
            Counts::over([counted].into_iter()).of_part(Part::Launch(at))
        };
        let each = counted.iter().enumerate();
        parts.extend(each.filter(|(at, _)| !launches[*at].outside).map(launch));
    }
    parts
}

/// The parts of the named ranges `marks` with what was `counted` in each: ranges of one name
/// together, in the order of their first begins.
pub(crate) fn of_named(marks: &[Mark], counted: &[Counts]) -> Vec<CountedPart> {
    let mut paths: Vec<&String> = Vec::new();
    for Mark { path, .. } in marks {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    let of_path = |path: &String| {
        let its = marks.iter().zip(counted).filter(|(mark, _)| mark.path == *path);
        Counts::over_ranges(its.map(|(_, counted)| counted)).of_part(Part::Range(path.clone()))
    };
    paths.into_iter().map(of_path).collect()
}

/// What was `counted` in those of `launches` that belong to the range.
pub(crate) fn inside<'c>(
    launches: &'c [LaunchRecord],
    counted: &'c [Counts],
) -> impl Iterator<Item = &'c Counts> + Clone {
    let belongs = |at: usize| launches.get(at).is_none_or(|launch| !launch.outside);
    counted.iter().enumerate().filter(move |(at, _)| belongs(*at)).map(|(_, counted)| counted)
}

/// What was `counted` in those of `launches` that each of `marks` holds.
pub(crate) fn in_marks(
    marks: &[Mark],
    launches: &[LaunchRecord],
    counted: &[Counts],
) -> Vec<Counts> {
    let of_mark = |mark: &Mark| {
        let launches = launches.get(mark.launches.clone()).unwrap_or_default();
        Counts::over(inside(launches, counted.get(mark.launches.clone()).unwrap_or_default()))
    };
    marks.iter().map(of_mark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(values: &[(&str, f64)]) -> Counts {
        let value = |&(name, value): &(&str, f64)| (name.to_owned(), HardwareValue::Value(value));
        Counts { hardware: values.iter().map(value).collect(), ..Counts::default() }
    }

    fn launches(kernels: &[&str]) -> Vec<LaunchRecord> {
        let launch =
            |kernel: &&str| LaunchRecord { kernel: (*kernel).to_owned(), ..Default::default() };
        kernels.iter().map(launch).collect()
    }

    #[test]
    fn only_sums_are_added_up_over_launches() {
        let of = |values: &[&HardwareValue]| {
            (sum("a.sum", values, "launches"), sum("a.avg", values, "launches"))
        };
        let (one, two) = (HardwareValue::Value(1.0), HardwareValue::Value(2.0));
        assert_eq!(of(&[&one]), (one.clone(), one.clone()));
        let (sum, average) = of(&[&one, &two]);
        assert_eq!(sum, HardwareValue::Value(3.0));
        assert!(matches!(average, HardwareValue::Unavailable(why) if why.contains("only sums")));
        let none = HardwareValue::Unavailable("no".to_owned());
        assert_eq!(of(&[&one, &none]), (none.clone(), none.clone()));
    }

    #[test]
    fn kernels_have_the_sums_of_their_launches_and_launches_their_own_values() {
        let each = [
            counted(&[("a.sum", 1.0), ("a.ratio", 0.5)]),
            counted(&[("a.sum", 2.0), ("a.ratio", 0.25)]),
            counted(&[("a.sum", 4.0), ("a.ratio", 0.75)]),
        ];
        let launches = launches(&["scale", "sum", "scale"]);
        let parts = of_range(&launches, &each, true);
        let value = |part: &CountedPart, name: &str| match part.hardware[name] {
            HardwareValue::Value(value) => Some(value),
            HardwareValue::Unavailable(_) => None,
        };
        let told: Vec<_> = parts
            .iter()
            .map(|p| (p.part.clone(), value(p, "a.sum"), value(p, "a.ratio")))
            .collect();
        let expected = [
            (Part::Kernel("scale".into()), Some(5.0), None),
            (Part::Kernel("sum".into()), Some(2.0), Some(0.25)),
            (Part::Launch(0), Some(1.0), Some(0.5)),
            (Part::Launch(1), Some(2.0), Some(0.25)),
            (Part::Launch(2), Some(4.0), Some(0.75)),
        ];
        assert_eq!(told, expected);
        assert_eq!(of_range(&launches, &each, false), parts[..2]);
        // One launch has no parts, and a closure that was counted as a whole has none either.
        assert_eq!(of_range(&launches[..1], &each[..1], true), []);
        assert_eq!(of_range(&launches, &each[..1], true), []);
    }

    #[test]
    fn launches_outside_of_the_range_are_in_no_sum() {
        let each = [1.0, 2.0, 4.0].map(|count| counted(&[("a.sum", count)]));
        let mut launches = launches(&["scale", "sum", "scale"]);
        (launches[0].outside, launches[1].outside) = (true, true);
        let told: Vec<_> = of_range(&launches, &each, true)
            .into_iter()
            .map(|part| (part.part, part.hardware["a.sum"].clone()))
            .collect();
        let value = HardwareValue::Value(4.0);
        let kernel = Part::Kernel("scale".into());
        assert_eq!(told, [(kernel, value.clone()), (Part::Launch(2), value.clone())]);
        assert_eq!(Counts::over(inside(&launches, &each)).hardware["a.sum"], value);
    }

    #[test]
    fn named_ranges_of_one_name_are_added_up() {
        let mark = |path: &str, launches| Mark {
            path: path.to_owned(),
            depth: path.split('/').count(),
            outer_nvtx: false,
            launches,
        };
        let marks = [mark("a", 0..1), mark("b", 1..3), mark("b/c", 2..3), mark("a", 3..4)];
        let counts = [1.0, 2.0, 4.0, 8.0].map(|count| counted(&[("n.sum", count)]));
        let mut launches = launches(&["k", "k", "k", "k"]);
        let parts = of_named(&marks, &in_marks(&marks, &launches, &counts));
        let told: Vec<_> = parts.iter().map(|p| (&p.part, &p.hardware["n.sum"])).collect();
        let range = |path: &str| Part::Range(path.to_owned());
        let value = HardwareValue::Value;
        let expected =
            [(range("a"), value(9.0)), (range("b"), value(6.0)), (range("b/c"), value(4.0))];
        assert_eq!(told, expected.each_ref().map(|(part, value)| (part, value)));
        launches[2].outside = true;
        let parts = of_named(&marks, &in_marks(&marks, &launches, &counts));
        assert_eq!(parts[1].hardware["n.sum"], value(2.0));
    }

    #[test]
    fn a_counter_missing_in_one_launch_has_no_sum() {
        let launch = |claims: bool| Counts {
            counters: [("a".to_owned(), 2)].into(),
            hardware: match claims {
                true => BTreeMap::new(),
                false => [("a".to_owned(), HardwareValue::Unavailable("no".to_owned()))].into(),
            },
            estimate: None,
        };
        let all = |claims: &[bool]| {
            Counts::over(claims.iter().map(|&c| launch(c)).collect::<Vec<_>>().iter())
        };
        assert_eq!(all(&[true, true]).counters["a"], 4);
        assert_eq!(all(&[true, false]).counters, BTreeMap::new());
        assert_eq!(all(&[true, false]).hardware, launch(false).hardware);
    }
}
