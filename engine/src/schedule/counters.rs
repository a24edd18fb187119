//! Hardware counters: the steps of their collection, and the progress of one configuration.
//!
//! Input: the plan of a run's counters, and the result of each counter pass. Output: a value, or a
//! reason, for every planned counter. Every pass must have the same launches as pass 0.

use std::collections::BTreeMap;

use camino::Utf8PathBuf;
use gpuprof_model::measurement::{CountedPart, HardwareValue, PassResult};
use gpuprof_model::protocol::{CounterGroup, Replay};
use serde::{Deserialize, Serialize};

use super::Image;
use gpuprof_analysis::metrics::replay::{self, Discipline, Divergence};

/// The counters of a run, planned before anything runs.
#[derive(Debug, Clone)]
pub struct Counters {
    /// CUPTI's library.
    pub cupti: Utf8PathBuf,
    /// The chip, as CUPTI calls it.
    pub chip: String,
    /// The counters that are collected together; one group unless CUPTI refuses to combine
    /// counters.
    pub groups: Vec<CounterGroup>,
    /// How passes are replayed.
    pub replay: Replay,
    /// How far the launches of passes may differ.
    pub discipline: Discipline,
}

/// The collected counters of a configuration.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Collected {
    /// Steps that are done.
    pub steps: usize,
    /// The values of the groups that are complete.
    pub hardware: BTreeMap<String, HardwareValue>,
    /// Those of parts of the measured range.
    #[serde(default)]
    pub parts: Vec<CountedPart>,
    /// Why the range as a whole has no counters, where `--app-replay-mode relaxed` left it out.
    pub left_out: Option<String>,
    /// The counter data of the passes so far, if the next step continues from it.
    #[serde(default)]
    pub image: Option<Image>,
}

impl Counters {
    /// Passes that the counters of one configuration need.
    pub fn passes(&self) -> u32 {
        self.groups.iter().map(|group| group.passes).sum()
    }

    /// Every counter.
    pub fn metrics(&self) -> impl Iterator<Item = &String> {
        self.groups.iter().flat_map(|group| &group.metrics)
    }

    /// Processes, one after the other, that collect the counters of a configuration.
    pub fn steps(&self) -> usize {
        self.groups.iter().map(|group| self.of_group(group)).sum()
    }

    /// The group and the pass in it that a step collects.
    pub fn step(&self, step: usize) -> Option<(&CounterGroup, u32)> {
        let mut left = step;
        for group in &self.groups {
            let steps = self.of_group(group);
            if left < steps {
                return Some((group, u32::try_from(left).unwrap_or(u32::MAX)));
            }
            left -= steps;
        }
        None
    }

    /// Whether a step continues from the counter data of the one before it.
    pub fn goes_on(&self, step: usize) -> bool {
        self.step(step).is_some_and(|(_, pass)| pass > 0)
    }

    /// The counters of a configuration if the machine refuses them for this reason.
    pub fn denied(&self, reason: &str) -> Collected {
        let none = |name: &String| (name.clone(), HardwareValue::Unavailable(reason.to_owned()));
        Collected {
            steps: self.steps(),
            hardware: self.metrics().map(none).collect(),
            ..Collected::default()
        }
    }

    fn of_group(&self, group: &CounterGroup) -> usize {
        match self.replay {
            Replay::Application => group.passes as usize,
            Replay::Range | Replay::Kernel => 1,
        }
    }

    /// Adds the results of a step to a configuration; `timed` is its pass 0, and `image` is the new
    /// counter data.
    ///
    /// # Errors
    /// A launch that differs, or fewer passes than planned: the configuration fails.
    pub fn add(
        &self,
        step: usize,
        timed: Option<&PassResult>,
        found: PassResult,
        image: Option<Image>,
        to: &mut Collected,
    ) -> Result<(), String> {
        let dropped = match timed.map(|t| replay::same_program(t, &found, self.discipline)) {
            None => None,
            Some(Ok(dropped)) => dropped,
            Some(Err(Divergence { what, first, other, rule, .. })) => {
                return Err(format!(
                    "counter pass {}: replay diverged: {what} is {first} in pass 0 and {other} \
                     there; {rule}",
                    step + 1
                ));
            }
        };
        if let Some(Divergence { what, first, other, .. }) = dropped {
            to.left_out = Some(format!(
                "the launches of counter pass {} do not match ({what} is {first} in pass 0 and \
                 {other} there); --app-replay-mode relaxed discards such a range",
                step + 1
            ));
        }
        let complete = found.counter_pass.as_ref().is_some_and(|pass| pass.complete);
        let last_of_group = self.step(step + 1).is_none_or(|(_, pass)| pass == 0);
        if last_of_group && !complete {
            return Err(format!("{} passes were planned, but CUPTI needs more", self.passes()));
        }
        to.hardware.extend(found.hardware);
        for part in found.parts {
            match to.parts.iter_mut().find(|known| known.part == part.part) {
                Some(known) => known.hardware.extend(part.hardware),
                None => to.parts.push(part),
            }
        }
        to.steps = step + 1;
        to.image = image.filter(|_| self.goes_on(step + 1));
        if let Some(reason) = &to.left_out
            && to.steps == self.steps()
        {
            *to = Collected { left_out: to.left_out.clone(), ..self.denied(reason) };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuprof_model::measurement::{CounterPass, LaunchRecord};
    use gpuprof_model::parts::Part;

    fn counters(replay: Replay) -> Counters {
        let group = |name: &str, passes| CounterGroup {
            metrics: vec![name.to_owned()],
            config_image: name.into(),
            passes,
        };
        Counters {
            cupti: "cupti".into(),
            chip: "gh100".into(),
            groups: vec![group("a", 2), group("b", 1)],
            replay,
            discipline: Discipline::default(),
        }
    }

    fn found(complete: bool, values: &[(&str, f64)], blocks: u32) -> PassResult {
        let launch = LaunchRecord {
            kernel: "k".into(),
            grid: [blocks, 1, 1],
            block: [32, 1, 1],
            ..LaunchRecord::default()
        };
        let value = |&(name, value): &(&str, f64)| (name.to_owned(), HardwareValue::Value(value));
        PassResult {
            launches: vec![launch],
            hardware: values.iter().map(value).collect(),
            counter_pass: Some(CounterPass { complete, steps_ms: Vec::new() }),
            ..PassResult::default()
        }
    }

    #[test]
    fn steps_cover_the_passes_of_all_groups() {
        let application = counters(Replay::Application);
        let steps: Vec<_> =
            (0..4).map(|s| application.step(s).map(|(g, pass)| (&*g.metrics[0], pass))).collect();
        assert_eq!(steps, [Some(("a", 0)), Some(("a", 1)), Some(("b", 0)), None]);
        assert_eq!((application.steps(), application.passes()), (3, 3));
        let kernel = counters(Replay::Kernel);
        assert_eq!(
            (kernel.steps(), kernel.step(1).map(|(g, p)| (g.metrics[0].as_str(), p))),
            (2, Some(("b", 0)))
        );
    }

    #[test]
    fn values_of_all_groups_are_joined() {
        let counters = counters(Replay::Application);
        let timed = found(true, &[], 4);
        let mut collected = Collected::default();
        counters.add(0, Some(&timed), found(false, &[], 4), None, &mut collected).unwrap();
        counters.add(1, Some(&timed), found(true, &[("a", 1.0)], 4), None, &mut collected).unwrap();
        counters.add(2, Some(&timed), found(true, &[("b", 2.0)], 4), None, &mut collected).unwrap();
        assert_eq!(collected.hardware, found(true, &[("a", 1.0), ("b", 2.0)], 4).hardware);
    }

    #[test]
    fn values_of_a_part_are_joined_over_groups() {
        let counters = counters(Replay::Application);
        let mut collected = Collected::default();
        let counted = |values: &[(&str, f64)]| {
            let found = found(true, values, 4);
            let hardware = found.hardware.clone();
            let part = CountedPart {
                part: Part::Kernel("k".into()),
                counters: BTreeMap::new(),
                hardware,
                estimate: None,
            };
            PassResult { parts: vec![part], ..found }
        };
        counters.add(1, None, counted(&[("a", 1.0)]), None, &mut collected).unwrap();
        counters.add(2, None, counted(&[("b", 2.0)]), None, &mut collected).unwrap();
        assert_eq!(collected.parts.len(), 1);
        assert_eq!(collected.parts[0].hardware, collected.hardware);
        assert_eq!(collected.hardware.len(), 2);
    }

    #[test]
    fn an_incomplete_group_after_its_passes_is_an_error() {
        let counters = counters(Replay::Application);
        let error = counters.add(1, None, found(false, &[], 4), None, &mut Collected::default());
        assert_eq!(error.unwrap_err(), "3 passes were planned, but CUPTI needs more");
    }

    #[test]
    fn a_differing_launch_names_the_pass_and_both_sides() {
        let counters = counters(Replay::Application);
        let error = counters.add(
            1,
            Some(&found(true, &[], 4)),
            found(true, &[], 5),
            None,
            &mut Collected::default(),
        );
        let text = error.unwrap_err();
        assert!(text.starts_with("counter pass 2: replay diverged: launch 1 is "), "{text}");
    }
}
