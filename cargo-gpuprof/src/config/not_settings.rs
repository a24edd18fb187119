//! Options that are not settings, so the configuration file cannot have them.
//!
//! Input: an unknown key. Output: the place for its setting.

/// The options of `run` without a key, by their names without dashes, and their places.
const ELSEWHERE: &[(&[&str], &str)] = &[
    (&["package", "workspace", "exclude"], "what is built is chosen on the command line"),
    (
        &["manifest-path", "config-file", "no-config"],
        "it says which configuration file is read: give it on the command line",
    ),
    (&["target-dir"], "it is cargo's setting: `build.target-dir` in .cargo/config.toml"),
    (&["jobs"], "it is cargo's setting: `build.jobs` in .cargo/config.toml"),
    (&["offline"], "it is cargo's setting: `net.offline` in .cargo/config.toml"),
    (&["locked", "frozen", "verbose"], "it is an option of a single build: give it there"),
    (
        &[
            "filters",
            "exact",
            "filterset",
            "exclude-series",
            "dry-run",
            "resume",
            "wait-lock",
            "partition",
            "partition-by",
            "partition-costs",
            "slices",
            "save-baseline",
            "load-baseline",
            "archive-file",
            "base-archive",
            "extract-to",
            "open",
            "no-capture",
            "quick",
        ],
        "it is an option of a single run: give it on the command line",
    ),
    (&["threshold"], "the key is `thresholds`"),
    (&["set"], "the key is `sets`"),
    (&["section"], "the key is `sections`"),
    (&["release"], "the bench profile, which is the default, is optimised already"),
    (&["all"], "it is an option of a single run: give it on the command line"),
    (&["no-default-features"], "the key is `default-features = false`"),
    (&["no-wait"], "the key is `wait = false`"),
    (&["no-advice"], "the key is `advice = false`"),
    (&["no-estimate"], "the key is `estimate = false`"),
    (&["no-verify"], "the key is `verify = false`"),
    (&["no-gate"], "the key is `gate = false`"),
    (&["no-strict"], "the key is `strict = false`"),
    (&["no-across-devices"], "the key is `across-devices = false`"),
    (&["no-quiet"], "the key is `quiet = false`"),
    (&["no-fail-fast"], "the key is `fail-fast = false`"),
];

/// The place of the option that `key` names, if it is one without a setting.
pub fn elsewhere(key: &str) -> Option<&'static str> {
    let of_key = ELSEWHERE.iter().find(|(keys, _)| keys.contains(&key));
    of_key.map(|(_, place)| *place)
}
