//! A line plot in braille dots.
//!
//! Input: a curve. Output: lines of text. The values of the axis are as far apart as they are in
//! its list, and the best has a `*`.

use super::curve::Curve;
use gpuprof_system::pad;

/// Lines of the plot, and the most characters across.
const HEIGHT: usize = 8;
const MOST_ACROSS: usize = 64;
const FEWEST_ACROSS: usize = 10;

/// The most characters from one value to the next.
const ACROSS_EACH: usize = 8;

/// Dots of a character.
const DOTS: (usize, usize) = (2, 4);

/// The bits of a character's dots, by line and column (Unicode, Braille Patterns).
const BITS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// The quotient of values from which on the plot is logarithmic.
const LOGARITHMIC: f64 = 30.0;

/// The lines of `curve` in at most `width` columns.
pub(super) fn lines(curve: &Curve<'_>, width: Option<u16>) -> Vec<String> {
    let Curve { low, high, values, .. } = curve;
    let logarithmic = *low > 0.0 && high / low > LOGARITHMIC;
    let mut out =
        vec![format!("{}{}", curve.title(), if logarithmic { ", logarithmic" } else { "" })];
    let (top, bottom) = (curve.scale.written(*high), curve.scale.written(*low));
    let margin = top.chars().count().max(bottom.chars().count());
    let room = width.map_or(MOST_ACROSS, usize::from).saturating_sub(margin + 3);
    let across = room.clamp(FEWEST_ACROSS, MOST_ACROSS).min(ACROSS_EACH * values.len());
    let height = |value: f64| match logarithmic {
        true => (value / low).ln() / (high / low).ln(),
        false => (value - low) / (high - low),
    };
    let heights: Vec<Option<f64>> = values.iter().map(|value| value.map(height)).collect();
    for (line, dots) in drawn(&heights, across, height(curve.best())).into_iter().enumerate() {
        let label = match line {
            0 => &top,
            _ if line + 1 == HEIGHT => &bottom,
            _ => "",
        };
        out.push(format!("{} ┤{dots}", pad::right(label, margin)).trim_end().to_owned());
    }
    let ends = curve.axis.values.first().zip(curve.axis.values.last());
    out.extend(ends.map(|(first, last)| {
        let (first, last) = (first.to_string(), last.to_string());
        let gap = across.saturating_sub(first.len()).max(last.len() + 1);
        format!("{}  {first}{}", pad::left("", margin), pad::right(&last, gap))
    }));
    out
}

/// The characters of a line through `heights` (from 0 to 1), at equal distances; `*` at the one
/// that is `best`.
fn drawn(heights: &[Option<f64>], across: usize, best: f64) -> Vec<String> {
    let (wide, high) = (across * DOTS.0, HEIGHT * DOTS.1);
    let mut cells = vec![vec![0_u32; across]; HEIGHT];
    let last = heights.len().saturating_sub(1).max(1);
    let place = |(at, height): (usize, f64)| {
        let x = at * (wide - 1) / last;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 1")]
        let y = ((1.0 - height.clamp(0.0, 1.0)) * (high - 1) as f64).round() as usize;
        (x, y)
    };
    let known = heights.iter().enumerate().filter_map(|(at, height)| Some((at, (*height)?)));
    let points: Vec<(usize, usize)> = known.clone().map(place).collect();
    for pair in points.windows(2) {
        for (x, y) in between(pair[0], pair[1]) {
            cells[y / DOTS.1][x / DOTS.0] |= BITS[y % DOTS.1][x % DOTS.0];
        }
    }
    let mark = known.clone().find(|(_, height)| (height - best).abs() < f64::EPSILON).map(place);
    let character = |(line, column): (usize, usize), bits: u32| match mark {
        Some((x, y)) if (y / DOTS.1, x / DOTS.0) == (line, column) => '*',
        _ if bits == 0 => ' ',
        _ => char::from_u32(0x2800 + bits).unwrap_or(' '),
    };
    let line = |(line, cells): (usize, &Vec<u32>)| {
        cells.iter().enumerate().map(|(column, &bits)| character((line, column), bits)).collect()
    };
    cells.iter().enumerate().map(line).collect()
}

/// The dots of the straight line from `from` to `to`, both included.
fn between(from: (usize, usize), to: (usize, usize)) -> impl Iterator<Item = (usize, usize)> {
    let steps = from.0.abs_diff(to.0).max(from.1.abs_diff(to.1)).max(1);
    let part = move |from: usize, to: usize, at: usize| {
        (from * (steps - at) + to * at + steps / 2) / steps
    };
    (0..=steps).map(move |at| (part(from.0, to.0, at), part(from.1, to.1, at)))
}
