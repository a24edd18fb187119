//! The tables of `docs/claims.md` on runs that are measured in rounds:
//!
//!     cargo run --release -p gpuprof-analysis --example rates -- [CONFIGURATIONS] [SLOWER] [FIXED] [STORED]
//!
//! CONFIGURATIONS (default 20,000) are simulated for each row where nothing changed, and SLOWER
//! (default 2,000) that are 3 % slower, or of which a share of the processes is. STORED (default
//! 100,000) are compared with a stored baseline, and FIXED (default 2,000) with a limit that is a
//! number. All are judged by the code that judges a run.
//! Series make no difference: all configurations of a run share one error budget, so that 50 series
//! of one configuration are one series of 50.

use std::error::Error;
use std::fs;
use std::path::Path;

use gpuprof_analysis::gate::budget::Budget;
use gpuprof_analysis::gate::default_time_limit::default_gate;
use gpuprof_analysis::gate::forecast;
use gpuprof_analysis::gate::rates::{Draw, Rates, Trial as StoredTrial, rates};
use gpuprof_analysis::gate::simulate::{FixedTrial, Pool, Shares, Trial};
use gpuprof_analysis::sequential::{CriticalValues, LOOKS, Most};
use gpuprof_analysis::stats::random::SplitMix;
use gpuprof_analysis::stats::repeats::Repeats;
use gpuprof_model::axis::AxisValue;
use gpuprof_model::clock::STEP_NS;
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::{ConfigurationResult, ProcessValue, Run};

const SIZES: [usize; 3] = [5, 50, 500];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u32>());
    let unchanged = arguments.next().transpose()?.unwrap_or(20_000);
    let slower = arguments.next().transpose()?.unwrap_or(2_000);
    let fixed = arguments.next().transpose()?.unwrap_or(2_000);
    let stored = arguments.next().transpose()?.unwrap_or(100_000);
    let pools = pools()?;
    relative(&[&pools[..], &short_kernels()].concat(), unchanged, slower);
    slow_shares(slower);
    stored_baselines(stored)?;
    fixed_limits(&pools, fixed);
    Ok(())
}

/// Limits relative to the base: runs that did not change, and single configurations that did.
fn relative(pools: &[Named], unchanged: u32, slower: u32) {
    println!(
        "{unchanged} configurations unchanged, {slower} 3 % slower, limit 2 %; runs of 5/50/500\n\n\
         | noise | run fails (95 % bound) | run undecided | rounds | 3 % slower: caught | rounds | \
         caught if all are slower |\n|---|---|---|---:|---|---|---|"
    );
    let [single, common] = [Most::DEFAULT.single_limit(), Most::DEFAULT.common_limit()];
    for (name, pool, resolution) in pools {
        let simulate = |most, draws, percent| {
            let (limit_percent, resolution) = (2.0, *resolution);
            let trial = Trial { pool, limit_percent, share: 1.0, resolution, most, draws, seed: 1 };
            SIZES.map(|size| trial.simulate(&CriticalValues::new(size, most), percent))
        };
        let (same, many) = (simulate(single, unchanged, 0.0), simulate(common, unchanged, 0.0));
        let (slow, all_slow) = (simulate(single, slower, 3.0), simulate(common, slower, 3.0));
        let fails = |at: usize| {
            let of_run = |share| 100.0 * Shares::of_run(share, SIZES[at]);
            format!("{:.2} ({:.2})", of_run(same[at].fail), of_run(same[at].fail_at_most()))
        };
        let undecided = |at: usize| {
            let (common, single) = (many[at].undecided, same[at].undecided);
            format!("{:.2}", 100.0 * Shares::run_undecided(common, single, SIZES[at]))
        };
        let percent = |share: f64| format!("{:.1}", 100.0 * share);
        println!(
            "| {name} | {} | {} | {:.1} | {} | {} | {} |",
            each(&fails),
            each(&undecided),
            same[1].rounds,
            each(&|at| percent(slow[at].fail)),
            each(&|at| format!("{:.0}", slow[at].rounds)),
            each(&|at| percent(all_slow[at].fail)),
        );
    }
    println!();
}

/// The results of `of` for each of [`SIZES`].
fn each(of: &dyn Fn(usize) -> String) -> String {
    [0, 1, 2].map(of).join(" / ")
}

/// A share of the head's processes is slower, and none of the base's.
fn slow_shares(draws: u32) {
    println!(
        "{draws} configurations a cell, of which a share of the processes is slower; runs of \
         5/50/500, in percent\n\n\
         | noise | share | slower by | fails | undecided | passes |\n|---|---:|---:|---|---|---|"
    );
    let most = Most::DEFAULT.single_limit();
    for noise in [0.8, 2.0] {
        let pool = Pool::Normal(noise);
        for (share, percent) in [(0.2, 20.0), (0.2, 30.0), (0.3, 20.0), (0.3, 30.0), (0.5, 30.0)] {
            let trial = Trial {
                pool: &pool,
                limit_percent: 2.0,
                share,
                resolution: 0.0,
                most,
                draws,
                seed: 1,
            };
            let found = SIZES.map(|size| trial.simulate(&CriticalValues::new(size, most), percent));
            let column =
                |of: fn(&Shares) -> f64| each(&|at| format!("{:.1}", 100.0 * of(&found[at])));
            println!(
                "| normal {noise} % | {share} | {percent} % | {} | {} | {} |",
                column(|found| found.fail),
                column(|found| found.undecided),
                column(|found| found.pass),
            );
        }
    }
    println!();
}

/// A stored baseline, recorded and compared with the processes that a run has by default.
fn stored_baselines(draws: u32) -> Result<(), Box<dyn Error>> {
    println!(
        "stored baselines, {draws} configurations a cell; runs of 5/50/500, in percent of runs\n\n\
         | noise | run fails | run undecided | 3 % slower: caught |\n|---|---|---|---|"
    );
    let named = |percent: f64, rho: f64| match rho {
        0.0 => (format!("normal {percent} %"), Pool::Normal(percent)),
        _ => (format!("{percent} %, neighbours {rho}"), Pool::Correlated { noise: percent, rho }),
    };
    let all = [
        (0.5, 0.0),
        (0.8, 0.0),
        (1.0, 0.0),
        (1.3, 0.0),
        (0.8, 0.5),
        (1.3, 0.5),
        (1.3, 0.8),
        (1.3, 0.9),
        (2.0, 0.9),
    ];
    for (name, pool) in all.map(|(percent, rho)| named(percent, rho)) {
        let found = SIZES.map(|size| of_stored(&pool, size, draws as usize));
        let found = found.into_iter().collect::<Result<Vec<Rates>, _>>()?;
        let of_run = |at: usize, percent: f64| {
            format!("{:.2}", 100.0 * Shares::of_run(percent / 100.0, SIZES[at]))
        };
        println!(
            "| {name} | {} | {} | {} |",
            each(&|at| of_run(at, found[at].false_alarms_percent)),
            each(&|at| of_run(at, found[at].undecided_percent)),
            each(&|at| format!("{:.1}", found[at].caught_percent)),
        );
    }
    println!();
    Ok(())
}

/// The rates of runs with a stored baseline of `size` configurations, `draws` of these in all. Each
/// run is drawn from long recordings, as stretches of neighbours.
fn of_stored(pool: &Pool, size: usize, draws: usize) -> Result<Rates, Box<dyn Error>> {
    let golden = golden("h200-saxpy-60.json")?;
    let row = &golden.series[0].configurations[0];
    let processes = 40_000 / size;
    let mut seed = SplitMix(11);
    let mut recorded = |at: usize| {
        let mut row = row.clone();
        row.configuration.0[0].1 = AxisValue::Int(at as u64);
        let mut metric = row.metrics["duration"].clone();
        let value = |median| ProcessValue { median, p95: median, min: median, mean: median };
        metric.processes = pool.processes(processes, &mut seed).into_iter().map(value).collect();
        row.metrics = std::iter::once(("duration".to_owned(), metric)).collect();
        row
    };
    let rows: Vec<ConfigurationResult> = (0..size).map(&mut recorded).collect();
    let threshold = default_gate();
    let trial = StoredTrial {
        catalogue: &Catalogue::built_in(),
        threshold: &threshold,
        processes: Repeats::stored(size),
        slowdown_percent: 3.0,
        draws: draws / size,
        draw: Draw::Stretches,
    };
    rates(&rows, trial).ok_or_else(|| "too few processes".into())
}

/// How many processes there are at the first look at a limit that is a number.
const FIRST: u32 = 7;

/// Limits that are numbers.
fn fixed_limits(pools: &[Named], draws: u32) {
    let [.., most] = LOOKS;
    let budgets = SIZES.map(|size| Budget::up_to(most, 0, size));
    println!("{draws} configurations a cell, the median process at a limit, or 2 % from it");
    println!(
        "| pool | at the limit: pass | fail | 2 % inside: fail | undecided | processes | \
         2 % beyond: fail | pass | processes |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (name, pool, resolution) in pools {
        let trial =
            FixedTrial { pool, resolution: *resolution, first: FIRST, most, draws, seed: 1 };
        let of = |above| budgets.each_ref().map(|budget| trial.simulate(budget, above));
        let (at, inside, beyond) = (of(0.0), of(-2.0), of(2.0));
        let share = |shares: &[Shares; 3], of: fn(&Shares) -> f64| {
            each(&|size| format!("{:.2}", 100.0 * of(&shares[size])))
        };
        let took = |shares: &[Shares; 3]| each(&|size| format!("{:.1}", shares[size].rounds));
        println!(
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {} |",
            share(&at, |found| found.pass),
            share(&at, |found| found.fail),
            share(&inside, |found| found.fail),
            share(&inside, |found| found.undecided),
            took(&inside),
            share(&beyond, |found| found.fail),
            share(&beyond, |found| found.pass),
            took(&beyond),
        );
    }
}

/// A pool with its name, and the step in which its numbers are read.
type Named = (String, Pool, f64);

fn pools() -> Result<Vec<Named>, Box<dyn Error>> {
    let mixed = |noise, share, percent| Pool::Mixed { noise, share, percent };
    let correlated = |rho| Pool::Correlated { noise: 0.8, rho };
    let known = [
        ("normal 0.8 %", Pool::Normal(0.8)),
        ("normal 1.3 %", Pool::Normal(1.3)),
        ("normal 2 %", Pool::Normal(2.0)),
        ("log-normal, 1.2 %", drawn(|random| 1.0 + 0.01 * (0.75 * random.normal()).exp())),
        ("Student's t, 3 degrees, 0.75 %", drawn(|random| 1.0 + 0.0075 * student(random))),
        ("0.8 %, 3 % of processes +30 %", mixed(0.8, 0.03, 30.0)),
        ("0.8 %, 20 % of processes +10 %", mixed(0.8, 0.2, 10.0)),
        ("0.5 %, 30 % of processes +2 % (two placements)", mixed(0.5, 0.3, 2.0)),
        ("0.8 %, neighbours correlate (0.7)", correlated(0.7)),
        ("0.8 %, neighbours correlate (0.9)", correlated(0.9)),
    ];
    let mut all: Vec<Named> =
        known.into_iter().map(|(name, pool)| (name.to_owned(), pool, 0.0)).collect();
    let mut together = Vec::new();
    for (file, kernel) in [
        ("h200-saxpy-60.json", "saxpy"),
        ("h200-others-20.json", "reduce"),
        ("h200-others-20.json", "transpose_padded"),
    ] {
        let recorded = recorded(file, kernel)?;
        together.extend(recorded.clone());
        all.push((format!("H200, {kernel}"), Pool::Recorded(recorded), STEP_NS));
    }
    all.push((format!("H200, all {}", together.len()), Pool::Recorded(together), STEP_NS));
    Ok(all)
}

/// A large recording of one configuration.
fn drawn(process: impl Fn(&mut SplitMix) -> f64) -> Pool {
    let mut random = SplitMix(7);
    Pool::Recorded(vec![(0..20_001).map(|_| 100_000.0 * process(&mut random)).collect()])
}

/// A number of Student's distribution with three degrees of freedom.
fn student(random: &mut SplitMix) -> f64 {
    let squares: f64 = (0..3).map(|_| random.normal().powi(2)).sum();
    random.normal() / (squares / 3.0).sqrt()
}

/// Kernels that take few steps of the clock, with the fewest samples that a process takes.
fn short_kernels() -> Vec<Named> {
    let samples = 24;
    let resolution = 6.0 * STEP_NS / f64::from(samples);
    let of = |noise: f64, ns: f64| {
        (format!("{ns} ns, {noise} %"), Pool::Short { ns, noise, samples }, resolution)
    };
    // Durations at and between steps.
    let all = [640.0, 656.0, 1000.0, 1008.0, 1600.0, 2000.0, 3000.0, 6000.0];
    [0.1, 0.5].iter().flat_map(|&noise| all.map(|ns| of(noise, ns))).collect()
}

/// The fewest processes of a configuration that is drawn from.
const LEAST: usize = 6;

/// The median duration of each process of each configuration of `kernel` in `file`.
fn recorded(file: &str, kernel: &str) -> Result<Vec<Vec<f64>>, Box<dyn Error>> {
    let mut run = golden(file)?;
    run.series.retain(|series| series.id.kernel == kernel);
    match forecast::recorded(&run, LEAST) {
        none if none.is_empty() => Err(format!("{file} does not hold {kernel}").into()),
        recorded => Ok(recorded),
    }
}

/// A recorded run.
fn golden(file: &str) -> Result<Run, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cargo-gpuprof/tests/golden");
    Ok(serde_json::from_slice(&fs::read(folder.join(file))?)?)
}
