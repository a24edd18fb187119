//! Times of a replay: whole sixteenths of a clock, so that no sum depends on its order.

/// A time or a span.
pub type Ticks = u64;

/// Ticks of a clock.
pub const TICK: Ticks = 16;

/// Converts clocks to ticks.
pub fn ticks(clocks: f64) -> Ticks {
    (clocks * TICK as f64).round() as Ticks
}
