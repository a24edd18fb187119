//! Calls of functions that the driver defines: failed assertions, printed text, the device heap.
//!
//! Input: the words of a call's arguments. Output: a fault with the message and its place, text
//! that knows its thread, or blocks of the heap.

use super::access_log::lanes_of;
use super::c_format;
use super::context::Context;
use super::fault::{Fault, FaultKind, Outcome};
use super::heap::BadFree;
use super::printf_output::PrintfOutput;
use crate::lower::address::resolve;
use crate::lower::inst::{Slot, Space};
use std::sync::atomic::Ordering::Relaxed;

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
    for lane in lanes_of(on) {
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

/// `malloc` in every lane of `on`, one after the other: of the size, and at a multiple of the
/// alignment if there is one. A lane for which the heap has no room gets a null pointer.
pub fn allocate(cx: &mut Context<'_>, arguments: u32, d: Slot, on: u32) {
    let mut words = [[0; 32]; 2];
    let is_aligned = cx.program.copies[arguments as usize].len() > 2;
    for lane in lanes_of(on) {
        let bytes = address(cx, lane, arguments, 0);
        let align = if is_aligned { address(cx, lane, arguments, 2) } else { 1 };
        let block = cx.memory.heap.allocate(bytes, align).unwrap_or(0);
        [words[0][lane], words[1][lane]] = [block as u32, (block >> 32) as u32];
    }
    for (next, words) in (0..).zip(&words) {
        cx.lanes.set32(Slot(d.0 + next), words, on);
    }
}

/// `free` in every lane of `on`.
///
/// # Errors
/// No block begins at the address, or it was freed.
pub fn free(cx: &Context<'_>, arguments: u32, on: u32) -> Outcome {
    for lane in lanes_of(on) {
        let address = address(cx, lane, arguments, 0);
        if address == 0 {
            continue;
        }
        let (kind, why) = match cx.memory.heap.free(address) {
            Ok(()) => continue,
            Err(BadFree::Twice(bytes)) => (
                FaultKind::UseAfterFree,
                format!("a {bytes}-byte block of the device heap that was freed already"),
            ),
            Err(BadFree::Inside(bytes, base)) => (
                FaultKind::Undefined,
                format!(
                    "{bytes} bytes into a block of the device heap: free its first address, {base:#x}"
                ),
            ),
            Err(BadFree::NoBlock) => (
                FaultKind::Undefined,
                "which is no block of the device heap: a kernel can free only what malloc or new \
                 returned to a kernel"
                    .to_owned(),
            ),
        };
        return Err(cx.fault(kind, 1 << lane, format!("frees {address:#x}, {why}")));
    }
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
            let block = cx.memory.block(within).filter(|block| block.contains(within, 1))?;
            block.words.get(((within - block.base) / 4) as usize).map(|word| word.load(Relaxed))
        }
    };
    word.map(|word| (word >> (8 * (within % 4))) as u8)
}
