//! The settings that a command line gives.
//!
//! Input: the options of a subcommand. Output: one optional value per row of the settings.

use super::types::*;
use super::{
    ArchiveOptions, CheckOptions, CompareOptions, GateOptions, ListOptions, MergeOptions,
    OutputOptions, ReportOptions, RunOptions, settings,
};

macro_rules! of_a_command_line {
    ($($(#[$doc:meta])* $name:ident $option:literal:
        $type:ty => $value:ty = $default:expr, |$o:ident| $given:expr;)*) => {
        /// The settings that the command line gives.
        #[derive(Debug, Clone, Default)]
        pub struct Given {
            $($(#[$doc])* pub $name: Option<$type>,)*
        }

        impl From<&RunOptions> for Given {
            fn from(options: &RunOptions) -> Self {
                $(let $name: fn(&RunOptions) -> Option<$type> = |$o| $given;)*
                Self { $($name: $name(options),)* }
            }
        }
    };
}

settings!(of_a_command_line);

// Other subcommands have groups of the options of `run`, which give the same settings there.

impl From<&MergeOptions> for Given {
    fn from(options: &MergeOptions) -> Self {
        let (baseline, judging) = (options.baseline.clone(), options.judging.clone());
        let gate = GateOptions { baseline, judging, ..GateOptions::default() };
        let (view, output) = (options.view.clone(), options.output.clone());
        (&RunOptions { gate, view, output, ..RunOptions::default() }).into()
    }
}

impl From<&CompareOptions> for Given {
    fn from(options: &CompareOptions) -> Self {
        let gate = GateOptions { judging: options.judging.clone(), ..GateOptions::default() };
        let output = OutputOptions { color: options.color, ..OutputOptions::default() };
        let view = options.view.clone();
        (&RunOptions { gate, view, output, ..RunOptions::default() }).into()
    }
}

impl From<&ReportOptions> for Given {
    fn from(options: &ReportOptions) -> Self {
        let output = OutputOptions { color: options.color, ..OutputOptions::default() };
        let (view, rules) = (options.view.clone(), options.rules.clone());
        (&RunOptions { view, rules, output, ..RunOptions::default() }).into()
    }
}

impl From<&ListOptions> for Given {
    fn from(options: &ListOptions) -> Self {
        let (message_format, quiet) = (options.message_format, options.quiet);
        let output = OutputOptions { message_format, quiet, ..OutputOptions::default() };
        let (selection, cargo) = (options.selection.clone(), options.cargo.clone());
        (&RunOptions { selection, cargo, output, ..RunOptions::default() }).into()
    }
}

impl From<&CheckOptions> for Given {
    fn from(options: &CheckOptions) -> Self {
        let CheckOptions { selection, cargo, kernels, timeout, output, .. } = options.clone();
        let run =
            RunOptions { selection, cargo, kernels, timeout, output, ..RunOptions::default() };
        Self {
            backend: Some(BackendChoice::Emulator),
            check: Some(Checks::ALL),
            verify: Some(true),
            gate: Some(false),
            ..Self::from(&run)
        }
    }
}

impl From<&ArchiveOptions> for Given {
    fn from(options: &ArchiveOptions) -> Self {
        let output = OutputOptions { quiet: options.quiet, ..OutputOptions::default() };
        let (cargo, kernels) = (options.cargo.clone(), options.kernels.clone());
        (&RunOptions { cargo, kernels, output, ..RunOptions::default() }).into()
    }
}
