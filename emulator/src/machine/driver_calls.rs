//! The output of a kernel: the message of a failed assertion, and printed text.
//!
//! Input: the words of a call's arguments. Output: a fault with the message and its place, or text
//! that knows its thread.

use super::c_format;
use super::context::Context;
use super::fault::{Fault, FaultKind};
use super::printf_output::PrintfOutput;
use crate::lower::address::resolve;
use crate::lower::inst::{Slot, Space};

/// The longest text that is read of a kernel's memory.
const LONGEST: usize = 4096;

/// The fault of `__assertfail`, in the lowest lane.
pub fn failed_assertion(cx: &Context<'_>, arguments: u32, on: u32) -> Box<Fault> {
    let lane = on.trailing_zeros() as usize;
    let [message, file] = [0, 2].map(|at| text(cx, lane, address(cx, lane, arguments, at)));
    let line = word(cx, lane, arguments, 4);
    let detail = match message {
        Some(message) if !message.is_empty() => message,
        _ => "a device-side assertion failed".to_owned(),
    };
    let place = file.filter(|file| !file.is_empty()).map(|file| (file, line));
    Box::new(Fault { place, ..*cx.fault(FaultKind::Assert, on, detail) })
}

/// `vprintf` in every lane of `on`.
///
/// # Errors
/// A format or a text that is not in memory.
pub fn print(cx: &mut Context<'_>, arguments: u32, d: Slot, on: u32) -> Result<(), Box<Fault>> {
    let mut counts = [0; 32];
    for lane in (0..32).filter(|lane| on & (1 << lane) != 0) {
        let refuse = |cx: &Context<'_>, what: &str| {
            let detail = format!("vprintf: {what} is not in memory");
            cx.fault(FaultKind::Undefined, 1 << lane, detail)
        };
        let format = address(cx, lane, arguments, 0);
        if format == 0 {
            counts[lane] = u32::MAX;
            continue;
        }
        let Some(format) = text(cx, lane, format) else {
            return Err(refuse(cx, "its format"));
        };
        let values = address(cx, lane, arguments, 2);
        let printed = c_format::formatted(
            &format,
            |at, bytes| {
                let byte = |next| byte(cx, lane, values.wrapping_add(at + next)).map(u64::from);
                (0..bytes).rev().try_fold(0, |all, next| Some(all << 8 | byte(next)?))
            },
            |address| text(cx, lane, address),
        );
        match printed {
            Ok((text, count)) => {
                counts[lane] = count;
                cx.said.push(PrintfOutput { block: cx.block, text });
            }
            Err(address) => return Err(refuse(cx, &format!("the text at {address:#x}"))),
        }
    }
    cx.lanes.set32(d, &counts, on);
    Ok(())
}

fn word(cx: &Context<'_>, lane: usize, arguments: u32, at: usize) -> u32 {
    cx.lanes.get32(cx.program.copies[arguments as usize][at].0)[lane]
}

fn address(cx: &Context<'_>, lane: usize, arguments: u32, at: usize) -> u64 {
    let [low, high] = [at, at + 1].map(|at| u64::from(word(cx, lane, arguments, at)));
    high << 32 | low
}

/// The text up to a zero byte at a generic address, if there is one.
fn text(cx: &Context<'_>, lane: usize, address: u64) -> Option<String> {
    let mut bytes = Vec::new();
    for next in 0..LONGEST as u64 {
        match byte(cx, lane, address.wrapping_add(next))? {
            0 => break,
            byte => bytes.push(byte),
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The byte at a generic address, as `lane` sees it.
fn byte(cx: &Context<'_>, lane: usize, address: u64) -> Option<u8> {
    let (space, within) = resolve(address);
    let at = (within / 4) as usize;
    let word = match space {
        Space::Shared => cx.shared.get(at).copied(),
        Space::Local => cx.local.get(at * 32 + lane).copied(),
        Space::Param => cx.params.get(at).copied(),
        Space::Global | Space::Const | Space::Generic => {
            let mut byte = [0];
            return cx.memory.read(within, &mut byte).ok().map(|()| byte[0]);
        }
    };
    word.map(|word| (word >> (8 * (within % 4))) as u8)
}
