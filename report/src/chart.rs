//! Charts of a series, as SVG.
//!
//! Input: values and their noise. Output: one `svg` element each, with classes that the page's
//! style colours, so that it is legible in the dark and on paper. Every chart has a title for
//! screen readers, and says nothing by colour alone: the best is a star, a value indistinguishable
//! from it a ring.

mod bars;
mod heat;
mod lines;
mod marks;
mod memory;
mod parallel;
mod point;
mod roofline;
mod scale;
mod shares;
mod strips;

pub(super) use bars::{Bar, bars};
pub(super) use heat::{Cell, Heat, heat};
pub(super) use lines::{Line, Lines, MOST_LINES, lines};
pub(super) use marks::interval;
pub(super) use memory::memory;
pub(super) use parallel::{Course, Parallel, parallel};
pub(super) use point::Point;
pub(super) use roofline::{Ceiling, Roofline, Slope, Spot, Trail, roofline};
pub(super) use scale::Scale;
pub(super) use shares::{Bar as ShareBar, shares};
pub(super) use strips::{Strip, strips};
