use super::*;
use crate::commands::selection::selection;
use crate::commands::view_settings;
use crate::options::parsed;

fn settings(file: &str, line: &str) -> Settings {
    let config = Config::parse(file, DEFAULT_PATH.into()).unwrap();
    let options = parsed(line);
    let layers = Layers::new(&config, options.configuration.preset.as_deref()).unwrap();
    Settings::new(options.given.clone(), &layers)
}

#[test]
fn command_line_overrides_preset_and_preset_overrides_file() {
    let file =
        "repeat = 4\ntimeout = 7\n[preset.ci]\nrepeat = 5\nstrict = true\nbaseline = \"main\"\n";
    let plain = settings(file, "cargo-gpuprof");
    assert_eq!(plain.repeat.to_string(), "4  [.config/gpuprof.toml]");
    assert_eq!(plain.strict.to_string(), "false  [default]");
    let ci = settings(file, "cargo-gpuprof -P ci");
    assert_eq!(ci.repeat.to_string(), "5  [preset ci]");
    assert_eq!(ci.timeout.to_string(), "7  [.config/gpuprof.toml]");
    assert_eq!(ci.baseline.value.as_deref(), Some("main"));
    let all = settings(file, "cargo-gpuprof -P ci --repeat 9 --no-strict --baseline other");
    assert_eq!(all.repeat.to_string(), "9  [--repeat]");
    assert_eq!(all.strict.to_string(), "false  [--no-strict]");
    assert_eq!(all.baseline.value.as_deref(), Some("other"));
}

#[test]
fn a_table_that_matches_no_series_is_reported_with_its_layer() {
    let file = "[series.sxapy]\nthresholds = [\"registers <= 32\"]\n[series.\"examples::\"]\n\
                [preset.ci.series.other]\nthresholds = [\"registers <= 32\"]\n";
    let config = Config::parse(file, DEFAULT_PATH.into()).unwrap();
    let id = SeriesId::new("examples", "kernels", "saxpy");
    let told = |preset| Layers::new(&config, preset).unwrap().tables_of_no_series(&[&id]);
    let misspelt =
        ".config/gpuprof.toml: no series matches [series.\"sxapy\"]: did you mean `saxpy`?";
    assert_eq!(told(None), [misspelt]);
    let other = "preset ci: no series matches [series.\"other\"]: `cargo gpuprof list` names them";
    assert_eq!(told(Some("ci")), [misspelt, other]);
}

#[test]
fn a_relative_baseline_path_starts_at_its_layer() {
    let file = "baseline = \"./base.json\"\n[preset.ci]\nbaseline = \"main\"\n";
    let of = |line: &str| settings(file, line).baseline_of("/work/shop".into()).unwrap();
    assert_eq!(of("cargo-gpuprof"), "/work/shop/./base.json");
    assert_eq!(of("cargo-gpuprof --baseline ./base.json"), "./base.json");
    assert_eq!(of("cargo-gpuprof -P ci"), "main");
}

#[test]
fn axes_of_the_preset_come_after_those_of_the_file() {
    let file = "[series.saxpy]\naxes = [\"block = 64\"]\n[preset.ci.series.saxpy]\naxes = [\"block = 128\"]\n";
    let config = Config::parse(file, DEFAULT_PATH.into()).unwrap();
    let options = parsed("cargo-gpuprof --series block=256");
    let axes = |preset| -> Vec<String> {
        let layers = Layers::new(&config, preset).unwrap();
        let settings = Settings::new(options.given.clone(), &layers);
        let selection = selection(&(&options.selection).into(), (&layers, &settings), []).unwrap();
        selection.overrides.into_iter().map(|axes| axes.change.text).collect()
    };
    assert_eq!(axes(None), ["block = 64", "block=256"]);
    assert_eq!(axes(Some("ci")), ["block = 64", "block = 128", "block=256"]);
}

#[test]
fn sets_sections_and_passes_have_layers_as_well() {
    let file = "sets = [\"basic\"]\nmax-passes = 9\n[preset.ci]\nsections = [\"Occupancy\"]\n";
    let all = settings(file, "cargo-gpuprof -P ci --set memory,roofline");
    assert_eq!(all.sets.value, [Set::Memory, Set::Roofline]);
    assert_eq!(all.sets.origin, Origin::CommandLine("--set".into()));
    assert_eq!(all.sections.origin, Origin::Configuration("preset ci".into()));
    assert_eq!(all.max_passes.to_string(), "9  [.config/gpuprof.toml]");
    let blamed = all.sections.blamed(Failure::usage("no section is named `x`"));
    assert_eq!(blamed.code, ExitCode::Configuration);
    assert_eq!(blamed.message, "preset ci: no section is named `x`");
    assert_eq!(all.sets.blamed(Failure::usage("no")).code, ExitCode::Usage);
}

#[test]
fn devices_have_layers_as_well() {
    let file = "devices = \"all\"\n[preset.ci]\ndevices = [0, 1]\n";
    let told = |line: &str| {
        let devices = settings(file, line).devices;
        (
            devices.value.map(|asked| asked.to_string()).unwrap_or_default(),
            devices.origin.to_string(),
        )
    };
    let is = |value: &str, origin: &str| (value.to_owned(), origin.to_owned());
    assert_eq!(told("cargo-gpuprof"), is("all", ".config/gpuprof.toml"));
    assert_eq!(told("cargo-gpuprof -P ci"), is("0,1", "preset ci"));
    assert_eq!(told("cargo-gpuprof -P ci --devices 1"), is("1", "--devices"));
    assert_eq!(settings("", "cargo-gpuprof").devices.value, None);
}

#[test]
fn an_unknown_preset_is_refused_with_the_nearest() {
    let config = Config::parse("[preset.ci]\n[preset.nightly]\n", DEFAULT_PATH.into()).unwrap();
    let failure = Layers::new(&config, Some("nightli")).unwrap_err();
    assert_eq!(failure.code, ExitCode::Configuration);
    assert_eq!(
        failure.message,
        ".config/gpuprof.toml has no preset `nightli`: did you mean `nightly`?"
    );
    let failure = Layers::new(&Config::default(), Some("ci")).unwrap_err();
    assert_eq!(
        failure.message,
        "no configuration file is read, so there is no preset `ci`: add a table [preset.ci] to \
         .config/gpuprof.toml"
    );
}

/// Every setting, in the file and on the command line, with a value that is not the default.
const EVERY: &str = r#"
backend = "emulator"
chip = ["a100", "l4"]
devices = "all"
expect-device = "H100"
repeat = "3..5"
timeout = 7
fail-fast = true
retries = 2
cache-control = "none"
clock-control = "base"
nvml-path = "lib/nvml.so"
wait = false
replay-mode = "range"
range = "closure"
nvtx = ["phase/*", "lib@step"]
isolate = "kernel"
ahead = 2
interleave = "none"
cupti-path = "libcupti.so.13"
verify = false
sets = ["basic"]
sections = ["Occupancy"]
advice = true
rules = "rules"
max-passes = 4
app-replay-match = "grid"
app-replay-mode = "relaxed"
sample = 5
sample-seed = 6
max-configs = 8
kernel-arch = "sm_90"
kernel-toolchain = "nightly"
gate = false
strict = true
check = "race"
estimate = false
baseline = "main"
max-repeat = 57
time-budget = "10min"
base = "origin/main"
across-devices = true
keep-runs = "all"
best-by = "duration"
reference = "block=64"
filter = "block > 64"
columns = ["block", "duration"]
sort = "duration desc"
top = 3
pareto = ["duration", "occupancy"]
message-format = "json"
export-csv = "out/all.csv"
export-html = "out/all.html"
export-svg = "out/charts"
export-json = "out/all.json"
export-junit = "out/all.xml"
export-markdown = "out/all.md"
color = "never"
quiet = true
profile = "dist"
features = ["wide"]
all-features = true
default-features = false
bench = ["kernels"]
"#;

#[test]
fn every_setting_works_in_file_and_preset() {
    let shown = |settings: &Settings| -> Vec<String> {
        settings.all().into_iter().map(|(key, it)| format!("{key} {}", it.text())).collect()
    };
    let default = shown(&settings("", "cargo-gpuprof"));
    let file = shown(&settings(EVERY, "cargo-gpuprof"));
    let preset = shown(&settings(&format!("[preset.ci]\n{EVERY}"), "cargo-gpuprof -P ci"));
    assert_eq!(EVERY.lines().filter(|line| line.contains('=')).count(), default.len());
    for ((default, file), preset) in default.iter().zip(&file).zip(&preset) {
        assert!(default.ends_with("  [default]"), "{default}");
        let value =
            file.strip_suffix("  [.config/gpuprof.toml]").unwrap_or_else(|| panic!("{file}"));
        assert!(!default.starts_with(&format!("{value} ")), "{value} is the default");
        assert_eq!(preset, &format!("{value}  [preset ci]"));
    }
}

#[test]
fn every_setting_works_on_the_command_line() {
    for line in EVERY.lines().filter(|line| !line.is_empty()) {
        let (key, value) = line.split_once(" = ").unwrap();
        let value = value.replace(['"', '[', ']', ' '], "");
        let option = match (key, &*value) {
            ("sets" | "sections", _) => format!("--{} {value}", &key[..key.len() - 1]),
            (_, "true") => format!("--{key}"),
            (_, "false") => format!("--no-{key}"),
            _ => format!("--{key} {value}"),
        };
        let settings = settings("", &format!("cargo-gpuprof {option}"));
        let text = settings.all().into_iter().find(|(name, _)| name == key).unwrap().1.text();
        let flag = option.split(' ').next().unwrap();
        assert!(text.ends_with(&format!("  [{flag}]")), "{option}: {text}");
    }
}

#[test]
fn a_flag_overrides_the_opposite_in_the_file() {
    let line = "cargo-gpuprof --wait --verify --gate --no-strict --no-across-devices --no-quiet \
                --no-fail-fast";
    let all = settings(EVERY, line);
    assert_eq!(all.wait.to_string(), "true  [--wait]");
    assert_eq!(all.verify.to_string(), "true  [--verify]");
    assert_eq!(all.gate.to_string(), "true  [--gate]");
    assert_eq!(all.strict.to_string(), "false  [--no-strict]");
    assert_eq!(all.across_devices.to_string(), "false  [--no-across-devices]");
    assert_eq!(all.quiet.to_string(), "false  [--no-quiet]");
    assert_eq!(all.fail_fast.to_string(), "false  [--no-fail-fast]");
    let later = settings("", "cargo-gpuprof --no-verify --verify --gate --no-gate");
    assert!(later.verify.value && !later.gate.value);
}

#[test]
fn a_relative_library_path_starts_at_the_file() {
    let all = settings(EVERY, "cargo-gpuprof");
    assert_eq!(all.nvml_path("/work/shop".into()).unwrap(), "/work/shop/lib/nvml.so");
    assert_eq!(all.cupti_path("/work/shop".into()).unwrap(), "libcupti.so.13");
    let given = settings(EVERY, "cargo-gpuprof --nvml-path /lib/nvml.so");
    assert_eq!(given.nvml_path("/work/shop".into()).unwrap(), "/lib/nvml.so");
}

#[test]
fn an_export_path_of_the_file_starts_at_the_file() {
    let root: &Utf8Path = "/work/shop".into();
    let all = settings(EVERY, "cargo-gpuprof --export-json here.json");
    assert_eq!(Settings::export(&all.export_csv, root).unwrap(), "/work/shop/out/all.csv");
    assert_eq!(Settings::export(&all.export_json, root).unwrap(), "here.json");
    let piped = settings("export-csv = \"-\"", "cargo-gpuprof");
    assert_eq!(Settings::export(&piped.export_csv, root).unwrap(), "-");
    assert_eq!(Settings::export(&piped.export_json, root), None);
}

#[test]
fn build_options_have_layers() {
    let config = Config::parse(EVERY, DEFAULT_PATH.into()).unwrap();
    let layers = Layers::new(&config, None).unwrap();
    let built = |line| {
        let options = parsed(line);
        Settings::new(options.given.clone(), &layers).build_options((&options.cargo).into())
    };
    let of_file = built("cargo-gpuprof");
    assert_eq!(of_file.profile, "dist");
    let features = ["--features", "wide", "--all-features", "--no-default-features"];
    assert_eq!(of_file.feature_args(), features);
    assert_eq!(of_file.cargo.bench, ["kernels"]);
    let given = built("cargo-gpuprof --profile bench --features narrow --bench other");
    assert_eq!(given.cargo.bench, ["other"]);
    assert_eq!(given.profile, "bench");
    assert_eq!(given.feature_args()[..2], ["--features", "narrow"]);
    let options = parsed("cargo-gpuprof");
    let plain = Settings::new(options.given.clone(), &Layers::default());
    let plain = plain.build_options((&options.cargo).into());
    assert_eq!((plain.profile.as_str(), plain.feature_args()), ("bench", Vec::new()));
}

#[test]
fn errors_in_a_view_name_their_layer() {
    let config = Config::parse(
        "sort = \"duration desc\"\ntop = 3\n[preset.ci]\nsort = \"block\"\nfilter = \"n >\"\n",
        DEFAULT_PATH.into(),
    )
    .unwrap();
    let placed = |preset, line| {
        let layers = Layers::new(&config, preset).unwrap();
        view_settings::placed(&Settings::new(parsed(line).given, &layers), false, false)
    };
    let view = placed(None, "cargo-gpuprof --top 5").unwrap().view;
    assert_eq!((view.sort.unwrap().descending, view.top), (true, Some(5)));
    let failure = placed(Some("ci"), "cargo-gpuprof").unwrap_err();
    assert_eq!(failure.code, ExitCode::Configuration);
    assert!(failure.message.contains("--> preset ci: `filter`\n"), "{}", failure.message);
    let failure = placed(None, "cargo-gpuprof --filter n>").unwrap_err();
    assert_eq!(failure.code, ExitCode::Usage);
    assert!(failure.message.contains("--> --filter\n"), "{}", failure.message);

    let axes = [vec![("n", gpuprof_model::expression::Type::Int)]];
    let catalogue = gpuprof_model::metric::Catalogue::built_in();
    let failure =
        placed(Some("ci"), "cargo-gpuprof --filter n>1").unwrap().check(&catalogue, &axes);
    let failure = failure.unwrap_err();
    assert_eq!(failure.code, ExitCode::Configuration);
    assert!(failure.message.starts_with("preset ci: `sort`: "), "{}", failure.message);
    let both = placed(Some("ci"), "cargo-gpuprof --filter n>1 --columns nothing").unwrap();
    assert_eq!(both.check(&catalogue, &axes).unwrap_err().code, ExitCode::Usage);
}

/// The book's table of settings is checked against the table in the code.
#[test]
fn the_book_lists_every_setting_with_its_default() {
    let book = include_str!("../../../docs/book/src/configuration.md");
    for (key, setting) in settings("", "cargo-gpuprof").all() {
        let default = setting.text().replace("  [default]", "");
        let row = format!("| `{key}` | `{default}` |");
        assert!(book.contains(&row), "configuration.md has no row that begins {row}");
    }
}

#[test]
fn a_value_from_the_environment_names_its_variable() {
    let by_variable = true;
    let given = Given {
        timeout: NonZeroU32::new(9).map(|value| GivenValue { value, by_variable }),
        strict: Some(GivenValue { value: false, by_variable }),
        cupti_path: Some(GivenValue { value: "lib".into(), by_variable }),
        color: Some(GivenValue { value: Color::Never, by_variable }),
        ..Given::default()
    };
    let settings = Settings::new(given, &Layers::default());
    assert_eq!(settings.timeout.to_string(), "9  [GPUPROF_TIMEOUT]");
    assert_eq!(settings.strict.to_string(), "false  [GPUPROF_STRICT]");
    assert_eq!(settings.cupti_path.to_string(), "lib  [GPUPROF_CUPTI]");
    assert_eq!(settings.color.to_string(), "never  [CARGO_TERM_COLOR]");
}
