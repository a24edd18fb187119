//! The tables of `docs/claims.md` on runs that are measured in rounds:
//!
//!     cargo run --release -p cargo-gpuprof --example rates -- [CONFIGURATIONS] [SLOWER] [FIXED]
//!
//! CONFIGURATIONS (default 20,000) are simulated for each row where nothing changed, and SLOWER
//! (default 2,000) that are 3 % slower. The second table is of limits that are numbers: FIXED
//! (default 2,000) configurations for each cell. All are judged by the code that judges a run.
//! Series make no difference: all configurations of a run share one error budget, so that 50 series
//! of one configuration are one series of 50.

use std::error::Error;

use camino::Utf8Path;
use gpuprof_analysis::gate::budget::Budget;
use gpuprof_analysis::gate::forecast;
use gpuprof_analysis::gate::simulate::{FixedTrial, Pool, Shares, Trial};
use gpuprof_analysis::sequential::{Bounds, LOOKS, Most};
use gpuprof_engine::store::document;

const SIZES: [usize; 3] = [5, 50, 500];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u32>());
    let unchanged = arguments.next().transpose()?.unwrap_or(20_000);
    let slower = arguments.next().transpose()?.unwrap_or(2_000);
    let fixed = arguments.next().transpose()?.unwrap_or(2_000);
    let pools = pools()?;
    for undecided in [1, usize::MAX] {
        let most = Most::DEFAULT.limit(undecided);
        relative(&pools, most, unchanged, slower);
        println!();
    }
    fixed_limits(&pools, fixed);
    Ok(())
}

/// Limits relative to the base, with at most so many rounds.
fn relative(pools: &[Named], most: u32, unchanged: u32, slower: u32) {
    let bounds = SIZES.map(|size| Bounds::new(size, most));
    println!(
        "{unchanged} configurations unchanged, {slower} 3 % slower, limit 2 %; runs of 5/50/500; \
         at most {most} rounds"
    );
    println!(
        "| pool | run fails (95 % bound) | run undecided | rounds | 3 % slower: caught | rounds |"
    );
    println!("|---|---|---|---:|---|---|");
    for (name, pool, resolution) in pools {
        let trial = |draws| Trial {
            pool,
            limit_percent: 2.0,
            resolution: *resolution,
            most,
            draws,
            seed: 1,
        };
        let same = bounds.each_ref().map(|bounds| trial(unchanged).simulate(bounds, 0.0));
        let slow = bounds.each_ref().map(|bounds| trial(slower).simulate(bounds, 3.0));
        let each = |of: &dyn Fn(usize) -> String| [0, 1, 2].map(of).join(" / ");
        println!(
            "| {name} | {} | {} | {:.2} | {} | {} |",
            each(&|at| {
                let found = &same[at];
                let run = Shares::of_run(found.fail, SIZES[at]);
                format!("{run:.4} ({:.4})", Shares::of_run(found.fail_at_most(), SIZES[at]))
            }),
            each(&|at| format!("{:.4}", Shares::of_run(same[at].undecided, SIZES[at]))),
            same[1].rounds,
            each(&|at| format!("{:.4}", slow[at].fail)),
            each(&|at| format!("{:.1}", slow[at].rounds)),
        );
    }
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
        let each = |of: &dyn Fn(usize) -> String| [0, 1, 2].map(of).join(" / ");
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
    let of_slow = Pool::Mixed { noise: 0.8, share: 0.03, percent: 30.0 };
    let of_placements = Pool::Mixed { noise: 0.5, share: 0.3, percent: 2.0 };
    let neighbours = Pool::Correlated { noise: 0.8, rho: 0.7 };
    let mut all: Vec<Named> = [0.8, 1.3, 2.0]
        .map(|noise| (format!("normal {noise} %"), Pool::Normal(noise), 0.0))
        .into_iter()
        .chain([
            ("0.8 %, 3 % of processes +30 %".to_owned(), of_slow, 0.0),
            ("0.5 %, 30 % of processes +2 % (two placements)".to_owned(), of_placements, 0.0),
            ("0.8 %, neighbours correlate (0.7)".to_owned(), neighbours, 0.0),
        ])
        .collect();
    let mut together = Vec::new();
    for (file, kernel) in [
        ("h200-saxpy-60.json", "saxpy"),
        ("h200-others-20.json", "reduce"),
        ("h200-others-20.json", "transpose_padded"),
    ] {
        let recorded = recorded(file, kernel)?;
        together.extend(recorded.clone());
        all.push((format!("H200, {kernel}"), Pool::Recorded(recorded), STEP));
    }
    all.push((format!("H200, all {}", together.len()), Pool::Recorded(together), STEP));
    Ok(all)
}

/// The fewest processes of a configuration that is drawn from.
const LEAST: usize = 6;

/// CUDA events count in steps of 32 ns.
const STEP: f64 = 32.0;

/// The median duration of each process of each configuration of `kernel` in `file`.
fn recorded(file: &str, kernel: &str) -> Result<Vec<Vec<f64>>, Box<dyn Error>> {
    let path = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    let mut run = document::read(&path).map_err(|failure| failure.to_string())?;
    run.series.retain(|series| series.id.kernel == kernel);
    match forecast::recorded(&run, LEAST) {
        none if none.is_empty() => Err(format!("{path} does not hold {kernel}").into()),
        recorded => Ok(recorded),
    }
}
