//! Calls through pointers, recursive calls, and the stacks of threads.
//!
//! An activation of a recursive function begins with the registers of its lanes saved, and its
//! return restores them, lane by lane. Its local variables lie on the stack of each lane, which
//! grows upwards after the other local memory. Lanes that call several functions through one
//! instruction go there in groups, and meet after the call.

use super::access_log::lanes_of;
use super::activation::{Activation, Entry};
use super::context::Context;
use super::fault::{Fault, FaultKind, Outcome};
use super::lanes::Lanes64;
use super::undefined::Taint;
use crate::lower::inst::{ControlOp, File, Slot};
use crate::lower::program::{Call, Callee};

/// A value of each lane, and the lanes in which it is undefined.
struct Word {
    to: Slot,
    value: [u32; 32],
    taint: Taint,
}

/// Pairs of registers of parameters: from, to.
fn pairs<'p>(
    from: impl Iterator<Item = Slot> + 'p,
    to: impl Iterator<Item = Slot> + 'p,
    sizes: &'p [(Slot, u32)],
) -> impl Iterator<Item = (Slot, Slot)> + 'p {
    from.zip(to).zip(sizes).flat_map(|((from, to), (_, bytes))| {
        let words = 0..bytes.div_ceil(4) as u16;
        words.map(move |at| (Slot(from.0 + at), Slot(to.0 + at)))
    })
}

fn read_words(cx: &Context<'_>, pairs: impl Iterator<Item = (Slot, Slot)>, on: u32) -> Vec<Word> {
    let table = &cx.warp.definedness;
    let word = |(from, to)| {
        let taint = table.get(File::R32, from).restrict(on);
        Word { to, value: *cx.lanes.get32(from), taint }
    };
    pairs.map(word).collect()
}

fn write_words(cx: &mut Context<'_>, words: &[Word], on: u32) {
    for Word { to, value, taint } in words {
        cx.lanes.set32(*to, value, on);
        cx.warp.definedness.set((File::R32, *to), on, *taint);
    }
}

/// Calls of functions with a frame, calls through pointers, and stack memory.
#[inline(never)]
pub fn execute(cx: &mut Context<'_>, op: &ControlOp, on: u32) -> Outcome {
    match *op {
        _ if on == 0 => {}
        ControlOp::CallWithFrame { callee, call } => {
            let entry = enter(cx, (callee, call), on)?;
            let back = cx.warp.pc;
            cx.warp.call_one(entry, back);
        }
        ControlOp::CallIndirect { address, call } => call_indirect(cx, address, call, on)?,
        ControlOp::Refused { why } => {
            let why = &cx.program.refusals[why as usize];
            return Err(cx.fault(FaultKind::Unsupported, on, why.clone()));
        }
        ControlOp::Alloca { wide, d, size, align } => {
            let sizes = cx.lanes.any(size, wide);
            let addresses = allocate(cx, &sizes, align, on)?;
            cx.lanes.set_any(d, wide, &addresses, on);
        }
        ControlOp::StackSave { wide, d } => {
            let ends = cx.warp.stack_ends.map(u64::from);
            cx.lanes.set_any(d, wide, &ends, on);
        }
        ControlOp::StackRestore { wide, a } => {
            let ends = cx.lanes.any(a, wide);
            for lane in lanes_of(on) {
                let start = u64::from(cx.program.stack_start());
                if !(start..=u64::from(cx.warp.stack_ends[lane])).contains(&ends[lane]) {
                    let detail = format!(
                        "stackrestore takes {:#x}, which no stacksave of this call gave",
                        ends[lane]
                    );
                    return Err(cx.fault(FaultKind::Undefined, 1 << lane, detail));
                }
                cx.warp.stack_ends[lane] = ends[lane] as u32;
            }
        }
        _ => {}
    }
    Ok(())
}

/// The lanes of `on` call the functions at their addresses.
fn call_indirect(cx: &mut Context<'_>, address: Slot, call: u32, on: u32) -> Outcome {
    let addresses = *cx.lanes.get64(address);
    let mut groups: Vec<(u32, u32)> = Vec::new();
    for lane in lanes_of(on) {
        let callee = find_target(cx, call, addresses[lane])
            .map_err(|detail| cx.fault(FaultKind::Undefined, 1 << lane, detail))?;
        match groups.iter_mut().find(|(known, _)| *known == callee) {
            Some((_, lanes)) => *lanes |= 1 << lane,
            None => groups.push((callee, 1 << lane)),
        }
    }
    let back = cx.warp.pc;
    let mut entries = Vec::new();
    for (callee, lanes) in groups {
        entries.push(enter(cx, (callee, call), lanes)?);
    }
    match <[Entry; 1]>::try_from(entries) {
        Ok([entry]) => cx.warp.call_one(entry, back),
        Err(entries) => cx.warp.call_several(entries, back, on),
    }
    Ok(())
}

/// The function at an address, or what is wrong with it.
fn find_target(cx: &Context<'_>, call: u32, address: u64) -> Result<u32, String> {
    let program = cx.program;
    let targets = &program.calls[call as usize].targets;
    let is_at = |target: &&u32| program.callees[**target as usize].address == address;
    if let Some(target) = targets.iter().find(is_at) {
        return Ok(*target);
    }
    let other = program.callees.iter().find(|callee| callee.address == address);
    Err(match other {
        Some(callee) => format!(
            "it calls '{}' through a pointer, which is not among the targets of the call or has \
             other parameters",
            callee.name
        ),
        None if address == 0 => "it calls a function through a null pointer".to_owned(),
        None => format!("it calls {address:#x} through a pointer, but no function is there"),
    })
}

/// An activation begins: arguments become parameters.
fn enter(cx: &mut Context<'_>, (callee, call): (u32, u32), on: u32) -> Result<Entry, Box<Fault>> {
    let program = cx.program;
    let number = callee;
    let (callee, site): (&Callee, &Call) =
        (&program.callees[callee as usize], &program.calls[call as usize]);
    let params = callee.params.iter().map(|(slot, _)| *slot);
    let moves = pairs(site.arguments.iter().copied(), params, &callee.params);
    let arguments = read_words(cx, moves, on);
    let mut activation = Activation {
        callee: number,
        call,
        lanes: on,
        stack_ends: cx.warp.stack_ends,
        ..Activation::default()
    };
    save(cx, callee, &mut activation);
    if callee.stack_bytes > 0 {
        let bytes = u64::from(callee.stack_bytes);
        let Some(frames) = grow(cx, bytes, callee.stack_align, on) else {
            let (name, depth) = (&callee.name, cx.warp.depth());
            let what = format!("'{name}' is called at a depth of {depth} calls");
            return Err(overflow(cx, &what, on));
        };
        for address in &callee.frame_addresses {
            let values = frames.map(|frame| u64::from(frame).wrapping_add_signed(address.offset));
            cx.lanes.set_any(address.slot, address.file == File::R64, &values, on);
        }
    }
    write_words(cx, &arguments, on);
    Ok(Entry { target: callee.start, lanes: on, activation: Box::new(activation) })
}

/// Saves the registers that an activation of `callee` has for itself.
fn save(cx: &mut Context<'_>, callee: &Callee, activation: &mut Activation) {
    let on = activation.lanes;
    for (file, registers) in &callee.registers {
        for register in registers.clone() {
            let slot = Slot::private(register);
            match file {
                File::Pred => activation.predicates.push(cx.lanes.pred(slot)),
                File::R32 => {
                    let value = cx.lanes.get32(slot);
                    activation.words.extend(lanes_of(on).map(|lane| value[lane]));
                }
                File::R64 => {
                    let value = cx.lanes.get64(slot);
                    activation.doubles.extend(lanes_of(on).map(|lane| value[lane]));
                }
            }
            if cx.tracks_definedness() {
                let taint = cx.warp.definedness.get(*file, slot).restrict(on);
                if taint.lanes != 0 {
                    activation.undefined.push(((*file, slot), taint));
                    cx.warp.definedness.set((*file, slot), on, Taint::default());
                }
            }
        }
    }
}

/// Restores the registers of `on` that an activation of `callee` had for itself.
fn restore(cx: &mut Context<'_>, callee: &Callee, activation: &Activation, on: u32) {
    let (mut words, mut doubles) = (activation.words.iter(), activation.doubles.iter());
    let mut predicates = activation.predicates.iter().copied();
    for (file, registers) in &callee.registers {
        for register in registers.clone() {
            let slot = Slot::private(register);
            match file {
                File::Pred => cx.lanes.set_pred(slot, predicates.next().unwrap_or(0), on),
                File::R32 => {
                    let mut value = [0; 32];
                    lanes_of(activation.lanes).zip(&mut words).for_each(|(at, v)| value[at] = *v);
                    cx.lanes.set32(slot, &value, on);
                }
                File::R64 => {
                    let mut value = [0; 32];
                    lanes_of(activation.lanes).zip(&mut doubles).for_each(|(at, v)| value[at] = *v);
                    cx.lanes.set64(slot, &value, on);
                }
            }
            if cx.tracks_definedness() {
                cx.warp.definedness.set((*file, slot), on, Taint::default());
            }
        }
    }
    for (place, taint) in &activation.undefined {
        cx.warp.definedness.set(*place, on, taint.restrict(on));
    }
}

/// The lanes of `on` return: results go where the call wants them.
#[inline(never)]
pub fn leave(cx: &mut Context<'_>, activation: &Activation, on: u32) {
    let program = cx.program;
    let callee = &program.callees[activation.callee as usize];
    let site = &program.calls[activation.call as usize];
    let returns = callee.returns.iter().map(|(slot, _)| *slot);
    let moves = pairs(returns, site.results.iter().copied(), &callee.returns);
    let results = read_words(cx, moves, on);
    restore(cx, callee, activation, on);
    if callee.has_frame {
        for lane in lanes_of(on) {
            cx.warp.stack_ends[lane] = activation.stack_ends[lane];
        }
    }
    write_words(cx, &results, on);
}

/// `alloca`: the addresses of `sizes` bytes on the stacks of `on`.
fn allocate(
    cx: &mut Context<'_>,
    sizes: &Lanes64,
    align: u32,
    on: u32,
) -> Result<Lanes64, Box<Fault>> {
    let mut addresses = [0; 32];
    for lane in lanes_of(on) {
        let Some(begins) = grow(cx, sizes[lane], align, 1 << lane) else {
            let what = format!("alloca asks for {} bytes", sizes[lane]);
            return Err(overflow(cx, &what, 1 << lane));
        };
        addresses[lane] = u64::from(begins[lane]);
    }
    Ok(addresses)
}

/// Adds `bytes` at a multiple of `align` to the stacks of `on`. Returns their start, unless they do
/// not fit.
fn grow(cx: &mut Context<'_>, bytes: u64, align: u32, on: u32) -> Option<[u32; 32]> {
    let mut begins = [0; 32];
    let mut highest = 0;
    for lane in lanes_of(on) {
        let begin = cx.warp.stack_ends[lane].next_multiple_of(align.max(1));
        let end = u64::from(begin).checked_add(bytes)?;
        let end = u32::try_from(end).ok().filter(|end| *end <= cx.stack_limit)?;
        begins[lane] = begin;
        cx.warp.stack_ends[lane] = end;
        highest = highest.max(end);
        cx.warp.definedness.define_local(begin / 4..end.div_ceil(4), 1 << lane);
    }
    let words = highest.div_ceil(4) as usize * 32;
    if cx.local.len() < words {
        cx.local.resize(words, 0);
    }
    Some(begins)
}

/// The fault of `lanes`, which do something that the stack has no room for.
fn overflow(cx: &Context<'_>, what: &str, lanes: u32) -> Box<Fault> {
    let bytes = cx.stack_bytes;
    let detail = format!(
        "stack overflow: {what}, and the stack of a thread has {bytes} bytes (CU_LIMIT_STACK_SIZE)"
    );
    cx.fault(FaultKind::StackOverflow, lanes, detail)
}
