//! Samples: some configurations of a series, spread evenly over all its axes.
//!
//! Input: a series, how many to take, and a seed. Output: that many different configurations
//! in series order, or all where there are no more; the same for the same seed on every machine.
//!
//! Points come from Latin hypercubes (McKay, Beckman and Conover, Technometrics 1979): every axis
//! is cut into as many equal parts as there are points, and each part is used once. Conditions are
//! evaluated only at generated points, so a space of any size can be sampled. If the conditions
//! keep so little that some rounds do not find enough, all kept points are listed, cut into equal
//! parts, and one is taken at random from each.

use std::collections::BTreeMap;

use gpuprof_analysis::stats::random::{SplitMix, shuffle};
use gpuprof_model::Configuration;
use gpuprof_model::protocol::SeriesDescription;

use super::selection::{MAX_VISITED, Selection, too_large, without_value};
use gpuprof_system::error::{Failure, Result};

/// How many hypercubes are tried.
const ROUNDS: usize = 16;

/// At most `count` configurations of `series` that `selection` takes.
///
/// # Errors
/// An expression without a value; a space beyond 64 bits, or too large to be searched.
pub(super) fn spread(
    series: &SeriesDescription,
    selection: &Selection,
    count: usize,
) -> Result<Vec<Configuration>> {
    let space = &series.space;
    let Some(combinations) = space.combinations() else {
        return Err(Failure::usage(format!(
            "{} has more than 2^64 combinations; give fewer values with --series",
            series.id
        )));
    };
    let own = selection.on(series);
    let mut random = SplitMix(selection.seed);
    let mut taken: BTreeMap<u64, Configuration> = BTreeMap::new();
    // If most points are requested, hypercubes would mostly find points that are taken.
    if combinations / 4 >= count as u64 {
        let points = space.points();
        let lengths = space.lengths();
        for _ in 0..ROUNDS {
            for index in hypercube(&lengths, count - taken.len(), &mut random) {
                if taken.contains_key(&index) {
                    continue;
                }
                let point = points.get(index).map_err(|e| without_value(series, &e))?;
                if let Some(point) = point
                    && own.takes(&point)?
                {
                    taken.insert(index, point);
                }
            }
        }
    }
    if taken.len() < count {
        let mut rest = Vec::new();
        let mut points = space.points();
        while let Some(found) = points.next_indexed() {
            let (index, point) = found.map_err(|e| without_value(series, &e))?;
            if !taken.contains_key(&index) && own.takes(&point)? {
                rest.push(index);
            }
            if points.visited() > MAX_VISITED {
                return Err(too_large(series));
            }
        }
        for index in stratified(&rest, count - taken.len(), &mut random) {
            let point = points.get(index).map_err(|e| without_value(series, &e))?;
            taken.extend(point.map(|point| (index, point)));
        }
    }
    Ok(taken.into_values().collect())
}

/// One of each of `count` equal parts of `all`; all of it where there is no more.
fn stratified(all: &[u64], count: usize, random: &mut SplitMix) -> Vec<u64> {
    let count = count.min(all.len());
    (0..count)
        .map(|part| {
            let (start, end) = (part * all.len() / count, (part + 1) * all.len() / count);
            all[start + random.below(end - start)]
        })
        .collect()
}

/// `count` points of a grid of these lengths, as indices of its cross product: each of `count`
/// equal parts of every axis holds one.
fn hypercube(lengths: &[usize], count: usize, random: &mut SplitMix) -> Vec<u64> {
    let mut indices = vec![0_u64; count];
    for &length in lengths {
        let mut parts: Vec<u64> = (0..count as u64).collect();
        shuffle(&mut parts, random);
        for (index, part) in indices.iter_mut().zip(parts) {
            // The part spans part/count to (part + 1)/count of the axis; 53 bits place the point in
            // it.
            let within = u128::from(random.next() >> 11);
            let place = ((u128::from(part) << 53) + within) * length as u128;
            let digit = (place / (count as u128)) >> 53;
            *index = *index * length as u64 + digit as u64;
        }
    }
    indices
}
