//! The keys of `#[kernel]`: their list, their syntax, and suggestions for misspelt ones.

use gpuprof_model::suggest;

use crate::declared;

/// Keys written `key = value`.
pub(crate) const VALUE_KEYS: [&str; 19] = [
    "grid",
    "block",
    "shared",
    "cluster",
    "cooperative",
    "max_block",
    "min_blocks",
    "bytes",
    "flops",
    "verify",
    "tolerance",
    "compare",
    "reset",
    "name",
    "seed",
    "launcher",
    "crate",
    "symbol",
    "module",
];

/// Keys that may also be written `key(BUFFER = VALUE, …)`.
pub(crate) const OF_BUFFERS: [&str; 2] = ["tolerance", "compare"];

/// The keys of declared kernels alone.
pub(crate) const OF_DECLARED: [&str; 2] = ["symbol", "globals"];

/// The keys of kernels of cuda-oxide alone.
pub(crate) const OF_OXIDE: [&str; 1] = ["module"];

/// The keys that kernels of cuda-oxide do not have.
pub(crate) const OF_RUST: [&str; 1] = ["launcher"];

/// Keys written `key(list)`.
pub(crate) const LIST_KEYS: [&str; 6] =
    ["series", "args", "metrics", "threshold", "check", "globals"];

/// The generators of a buffer, in `args`.
pub(crate) const GENERATORS: [&str; 8] =
    ["random", "random_in", "zeros", "iota", "normal", "permutation", "sorted", "from_file"];

/// Every key.
pub(crate) fn keys() -> impl Iterator<Item = &'static str> {
    LIST_KEYS
        .iter()
        .chain(&VALUE_KEYS)
        .copied()
        .filter(|key| !OF_DECLARED.contains(key) && !OF_OXIDE.contains(key))
}

/// The message for a key that is none of [`keys`].
pub(crate) fn unknown_key(key: &str) -> String {
    let near = suggest::did_you_mean(key, keys())
        .unwrap_or_else(|| format!("the keys are {}", keys().collect::<Vec<_>>().join(", ")));
    format!("unknown key `{key}`: {near}")
}

/// How `key` is written.
pub(crate) fn example(key: &str) -> &'static str {
    match key {
        "series" => "series(block = 64..=1024)",
        "args" => "args(n, 2.0, random(n))",
        "metrics" => "metrics(throughput, registers)",
        "threshold" => "threshold(\"every duration <= 100 us\")",
        "check" => "check(memory, init, race, sync)",
        "globals" => declared::GLOBALS_EXAMPLE,
        "grid" => "grid = n.div_ceil(block)",
        "block" => "block = 256",
        "shared" => "shared = 4 * block",
        "cluster" => "cluster = 2",
        "cooperative" => "cooperative = true",
        "max_block" => "max_block = 256",
        "min_blocks" => "min_blocks = 2",
        "bytes" => "bytes = 12 * n",
        "flops" => "flops = 2 * n",
        "verify" => "verify = function_on_host",
        "tolerance" => "tolerance = 1e-5",
        "compare" => "compare = same_elements",
        "reset" => "reset = once",
        "name" => "name = \"saxpy\"",
        "seed" => "seed = 42",
        "launcher" => "launcher = Saxpy",
        "module" => "module = super",
        "symbol" => "symbol = \"scan<{ITEMS}, float>\"",
        _ => "crate = ::gpuprof",
    }
}

/// How `key`, one of [`OF_BUFFERS`], is written for some buffers.
pub(crate) fn example_of_buffers(key: &str) -> &'static str {
    match key {
        "tolerance" => "tolerance(y = 1e-5, sums = relative(1e-3))",
        _ => "compare(found = same_elements)",
    }
}

/// `1 parameter`, `2 parameters`.
pub(crate) fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}
