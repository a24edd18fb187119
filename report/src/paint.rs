//! Colour: the few styles that the table uses, or none at all.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};
use gpuprof_model::verdict::Weight;

/// Whether text gets a style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Paint(pub bool);

impl Paint {
    /// Headings.
    pub fn bold(self, text: impl Display) -> String {
        self.with(Style::new().bold(), text)
    }

    /// Places and origins.
    pub fn faint(self, text: impl Display) -> String {
        self.with(Style::new().dimmed(), text)
    }

    /// What is best or passed.
    pub fn good(self, text: impl Display) -> String {
        self.with(AnsiColor::Green.on_default().bold(), text)
    }

    /// A failure.
    pub fn bad(self, text: impl Display) -> String {
        self.with(AnsiColor::Red.on_default().bold(), text)
    }

    /// An undecided entry.
    pub fn doubtful(self, text: impl Display) -> String {
        self.with(AnsiColor::Yellow.on_default().bold(), text)
    }

    /// A value between the best (0) and the worst (1), from green to red.
    pub fn heat(self, place: f64, text: impl Display) -> String {
        const COLOURS: [u8; 5] = [34, 112, 220, 208, 196];
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
        let step = (place * 5.0).clamp(0.0, 4.0) as usize;
        let colour = anstyle::Ansi256Color(COLOURS[step]);
        self.with(Style::new().fg_color(Some(colour.into())), text)
    }

    /// A text in the colour of a judgement's `weight`.
    pub fn weight(self, weight: Weight, text: impl Display) -> String {
        match weight {
            Weight::Fine => self.good(text),
            Weight::Bad => self.bad(text),
            Weight::Warning | Weight::Doubtful => self.doubtful(text),
        }
    }

    fn with(self, style: Style, text: impl Display) -> String {
        if self.0 { format!("{style}{text}{style:#}") } else { text.to_string() }
    }
}
