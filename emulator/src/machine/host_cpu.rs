//! Selects the instruction set that executes warps.
//!
//! The execution loop is compiled twice on x86-64: for any such processor, and for those with AVX2
//! and FMA, which execute a whole warp's arithmetic in a few instructions. Results are the same bit
//! for bit.

use super::Runner;
use super::context::{Context, Stop};
use super::execute::run;
use super::fault::Fault;

fn portable(context: &mut Context<'_>) -> Result<Stop, Box<Fault>> {
    run(context)
}

/// The best way to execute warps on this processor.
#[cfg(not(target_arch = "x86_64"))]
pub fn runner() -> Runner {
    portable
}

/// The best way to execute warps on this processor.
#[cfg(target_arch = "x86_64")]
pub fn runner() -> Runner {
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    fn vectorised(context: &mut Context<'_>) -> Result<Stop, Box<Fault>> {
        run(context)
    }
    let capable = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt");
    if !capable {
        return portable;
    }
    // SAFETY: the processor was just found to have every feature that `vectorised` is compiled for.
    |context| unsafe { vectorised(context) }
}
