//! What a kernel says: the message of a failed assertion, and what it prints.
//!
//! Input: the words of a call's arguments. Output: a fault with the message and its place, or text
//! that knows its thread. Text is told once the launch is over, in the order of blocks and threads,
//! where a GPU tells it in the order in which its threads happened to come.

use super::context::Context;
use super::fault::{Fault, FaultKind};
use super::print;
use crate::lower::address::resolve;
use crate::lower::inst::{Slot, Space};

/// The longest text that is read of a kernel's memory.
const LONGEST: usize = 4096;

/// What a launch prints at most, as a GPU's buffer holds by default.
const MOST: usize = 1 << 20;

/// What one thread printed in one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    block: u64,
    thread: u32,
    text: String,
}

/// All that was said in blocks up to `last`, in the order of blocks and threads; each thread's own
/// in the order in which it said it.
pub fn in_order(mut said: Vec<Said>, last: u64) -> String {
    said.retain(|one| one.block <= last);
    said.sort_by_key(|one| (one.block, one.thread));
    let mut text = String::new();
    for (at, one) in said.iter().enumerate() {
        if text.len() + one.text.len() > MOST {
            let left = said.len() - at;
            text += &format!("[{left} more prints do not fit in the {MOST} bytes of a launch]\n");
            break;
        }
        text += &one.text;
    }
    text
}

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
/// A format that is not in memory, or that asks for more than C's does.
pub fn print(cx: &mut Context<'_>, arguments: u32, d: Slot, on: u32) -> Result<(), Box<Fault>> {
    let mut counts = [0; 32];
    for lane in (0..32).filter(|lane| on & (1 << lane) != 0) {
        let refuse = |cx: &Context<'_>, why: &str| {
            cx.fault(FaultKind::Undefined, 1 << lane, format!("vprintf: {why}"))
        };
        let format = address(cx, lane, arguments, 0);
        let Some(format) = text(cx, lane, format) else {
            return Err(refuse(cx, "its format is not in memory"));
        };
        let values = address(cx, lane, arguments, 2);
        let printed = print::formatted(
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
                let thread = 32 * cx.warp.index + lane as u32;
                cx.said.push(Said { block: cx.block, thread, text });
            }
            Err(why) => return Err(refuse(cx, &why)),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn said(block: u64, thread: u32, text: &str) -> Said {
        Said { block, thread, text: text.to_owned() }
    }

    #[test]
    fn text_comes_in_the_order_of_blocks_and_threads_up_to_the_block_that_failed() {
        let all = || {
            vec![
                said(1, 0, "d"),
                said(0, 5, "b"),
                said(2, 0, "e"),
                said(0, 5, "c"),
                said(0, 1, "a"),
            ]
        };
        assert_eq!(in_order(all(), u64::MAX), "abcde");
        assert_eq!(in_order(all(), 1), "abcd");
    }

    #[test]
    fn a_launch_says_no_more_than_a_gpus_buffer_holds() {
        let long = "x".repeat(MOST);
        let told = in_order(vec![said(0, 0, &long), said(0, 1, "y"), said(0, 2, "z")], 0);
        assert!(told.starts_with(&long));
        assert_eq!(&told[MOST..], "[2 more prints do not fit in the 1048576 bytes of a launch]\n");
    }
}
