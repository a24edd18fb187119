//! The name that a scheduler or a CI gives this process's job.
//!
//! Input: the environment. Output: the variables that say which job, which task of an array and
//! which attempt it is. They are recorded, and nothing is decided by them: a task that is submitted
//! again has other numbers.

use std::collections::BTreeMap;
use std::env;

use gpuprof_engine::store::journal::Start;
use gpuprof_system::error::Result;

/// The variables of Slurm, PBS, LSF, GitHub and GitLab.
const VARIABLES: [&str; 18] = [
    "SLURM_CLUSTER_NAME",
    "SLURM_JOB_ID",
    "SLURM_ARRAY_JOB_ID",
    "SLURM_ARRAY_TASK_ID",
    "SLURM_RESTART_COUNT",
    "SLURM_JOB_PARTITION",
    "SLURMD_NODENAME",
    "PBS_JOBID",
    "PBS_ARRAY_INDEX",
    "LSB_JOBID",
    "LSB_JOBINDEX",
    "GITHUB_RUN_ID",
    "GITHUB_RUN_ATTEMPT",
    "GITHUB_JOB",
    "CI_PIPELINE_ID",
    "CI_JOB_ID",
    "CI_NODE_INDEX",
    "RUNNER_NAME",
];

/// A start of a run by this process.
///
/// # Errors
/// The system gives it no random name (exit code 107).
pub(in crate::commands) fn start() -> Result<Start> {
    let variable = |&name: &&str| Some((name.to_owned(), env::var(name).ok()?));
    Start::now(VARIABLES.iter().filter_map(variable).collect::<BTreeMap<_, _>>())
}
