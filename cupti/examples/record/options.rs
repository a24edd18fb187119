//! The command line.

use std::path::PathBuf;

use crate::outcome::Outcome;

pub(crate) const HELP: &str = "\
record --out DIR [OPTIONS]      collect, evaluate, compare the modes, and write the images into DIR
record evaluate DIR [OPTIONS]   evaluate a recorded DIR again (needs no GPU) and compare

  --mode LIST      application, user, kernel: which of them, in this order       [all three]
  --metrics LIST   metrics with roll-ups, separated by commas                     [fourteen common ones]
  --metrics-file F the same, one a line
  --blocks LIST    block sizes, one range each                                    [64,128,256,512,1024]
  --n N            elements                                                       [16777216]
  --ptx FILE       PTX with a kernel saxpy(u32 n, f32 a, x, y) of its own         [built in]
  --entry NAME     that kernel's name                                             [saxpy]
  --cupti PATH     libcupti.so or its folder                                      [searched]
  --device N       CUDA ordinal                                                   [0]
  --api MODE       CUPTI's replay mode for `application`: user or application     [user]
  --range KIND     in `application` and `user`: user (one pushed around each launch)
                   or auto (CUPTI's, one a launch)                                [user]
  --no-availability    do not ask for the counter availability image
  --no-nvperf-target   do not open libnvperf_target.so beforehand";

const METRICS: &str = "gpu__time_duration.sum,sm__cycles_elapsed.max,smsp__inst_executed.sum,\
l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,\
l1tex__t_requests_pipe_lsu_mem_global_op_st.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum,\
dram__bytes_read.sum,dram__bytes_write.sum,lts__t_sector_hit_rate.pct,\
sm__warps_active.avg.pct_of_peak_sustained_active,sm__throughput.avg.pct_of_peak_sustained_elapsed,\
smsp__sass_thread_inst_executed_op_ffma_pred_on.sum,smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum";

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Application,
    User,
    Kernel,
}

impl Mode {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Application => "application",
            Self::User => "user",
            Self::Kernel => "kernel",
        }
    }

    fn parse(text: &str) -> Outcome<Self> {
        match text {
            "application" => Ok(Self::Application),
            "user" => Ok(Self::User),
            "kernel" => Ok(Self::Kernel),
            other => Err(format!("`{other}` is not a mode: application, user or kernel").into()),
        }
    }
}

#[derive(Clone)]
pub(crate) struct Options {
    pub(crate) out: PathBuf,
    pub(crate) modes: Vec<Mode>,
    pub(crate) metrics: Vec<String>,
    pub(crate) blocks: Vec<u32>,
    pub(crate) n: u32,
    pub(crate) ptx: Option<PathBuf>,
    pub(crate) entry: String,
    pub(crate) cupti: Option<PathBuf>,
    pub(crate) device: usize,
    pub(crate) application_api: bool,
    pub(crate) auto_range: bool,
    pub(crate) availability: bool,
    pub(crate) nvperf_target: bool,
    /// The options as given, for the processes of the passes.
    pub(crate) arguments: Vec<String>,
}

pub(crate) enum Command {
    Help,
    Record(Options),
    Pass(Options, usize),
    Loop(Options, Mode),
    Evaluate(Options),
}

impl Command {
    pub(crate) fn parse(arguments: Vec<String>) -> Outcome<Self> {
        match arguments.first().map(String::as_str) {
            None | Some("--help" | "-h") => Ok(Self::Help),
            Some("evaluate") => {
                let folder = arguments.get(1).ok_or("evaluate what? Name the recorded folder")?;
                let rest = [&["--out".to_owned(), folder.clone()], &arguments[2..]].concat();
                Ok(Self::Evaluate(Options::parse(rest)?))
            }
            Some("pass") => {
                let index = arguments.get(1).ok_or("pass needs its index")?.parse()?;
                Ok(Self::Pass(Options::parse(arguments[2..].to_vec())?, index))
            }
            Some("loop") => {
                let mode = Mode::parse(arguments.get(1).ok_or("loop needs its mode")?)?;
                Ok(Self::Loop(Options::parse(arguments[2..].to_vec())?, mode))
            }
            Some(_) => Ok(Self::Record(Options::parse(arguments)?)),
        }
    }
}

impl Options {
    fn parse(arguments: Vec<String>) -> Outcome<Self> {
        let mut options = Self {
            out: PathBuf::new(),
            modes: vec![Mode::Application, Mode::User, Mode::Kernel],
            metrics: list(METRICS),
            blocks: vec![64, 128, 256, 512, 1024],
            n: 1 << 24,
            ptx: None,
            entry: "saxpy".into(),
            cupti: None,
            device: 0,
            application_api: false,
            auto_range: false,
            availability: true,
            nvperf_target: true,
            arguments: arguments.clone(),
        };
        let mut rest = arguments.into_iter();
        while let Some(option) = rest.next() {
            match option.as_str() {
                "--no-availability" => options.availability = false,
                "--no-nvperf-target" => options.nvperf_target = false,
                name => {
                    let value = rest.next().ok_or_else(|| format!("{name} needs a value"))?;
                    options.set(name, &value)?;
                }
            }
        }
        if options.out.as_os_str().is_empty() {
            return Err("--out DIR is missing; see record --help".into());
        }
        if options.blocks.is_empty() || options.blocks.contains(&0) {
            return Err("--blocks needs at least one block size above 0".into());
        }
        Ok(options)
    }

    /// Sets the field of `option` to `value`.
    fn set(&mut self, option: &str, value: &str) -> Outcome<()> {
        match option {
            "--out" => self.out = value.into(),
            "--mode" => {
                self.modes =
                    list(value).iter().map(|it| Mode::parse(it)).collect::<Outcome<_>>()?;
            }
            "--metrics" => self.metrics = list(value),
            "--metrics-file" => {
                let text = std::fs::read_to_string(value)?;
                let lines =
                    text.lines().map(str::trim).filter(|it| !it.is_empty() && !it.starts_with('#'));
                self.metrics = lines.map(Into::into).collect();
            }
            "--blocks" => {
                self.blocks = list(value).iter().map(|it| it.parse()).collect::<Result<_, _>>()?;
            }
            "--n" => self.n = value.parse()?,
            "--ptx" => self.ptx = Some(value.into()),
            "--entry" => value.clone_into(&mut self.entry),
            "--cupti" => self.cupti = Some(value.into()),
            "--device" => self.device = value.parse()?,
            "--api" => self.application_api = Mode::parse(value)? == Mode::Application,
            "--range" => self.auto_range = value == "auto",
            other => return Err(format!("unknown option {other}; see record --help").into()),
        }
        Ok(())
    }

    /// The name of the range of one block size: the same in every pass and mode.
    pub(crate) fn range(block: u32) -> String {
        format!("block={block}")
    }
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|it| !it.is_empty()).map(Into::into).collect()
}
