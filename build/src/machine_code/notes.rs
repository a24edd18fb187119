//! The data of a cubin on an entry point: its section `.nv.info.NAME`.
//!
//! It is a list of attributes: a byte for the form, a byte for the attribute, then two bytes with
//! its value, or with the length of the value that follows.

use crate::cuda_cpp::Layout;
use fatbin::elf::{number, slice_of};

/// The form of an attribute with a separate value.
const FOLLOWS: u8 = 4;

/// The attributes that matter here (`EIATTR_…`).
const MAX_THREADS: u8 = 0x05;
const REQUIRED_THREADS: u8 = 0x10;
const PARAMETER: u8 = 0x17;
const PARAMETER_BYTES: u8 = 0x19;
const CLUSTER: u8 = 0x3d;
const WIDE_PARAMETER: u8 = 0x45;

/// The launch limits and the parameters of an entry point.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Notes {
    /// The size of each parameter; an alignment of 0 says that it is not known.
    pub(super) parameters: Vec<Layout>,
    pub(super) max_block: Option<[u32; 3]>,
    pub(super) required_block: Option<[u32; 3]>,
    pub(super) required_cluster: Option<[u32; 3]>,
}

/// A parameter at its place among the others.
#[derive(Debug, Clone, Copy)]
struct Parameter {
    ordinal: usize,
    offset: usize,
    size: usize,
}

/// Reads the section.
///
/// # Errors
/// It is cut off, or does not describe every parameter once.
pub(super) fn read(section: &[u8]) -> Result<Notes, String> {
    let mut notes = Notes::default();
    let (mut parameters, mut all_bytes) = (Vec::new(), None);
    let mut at = 0;
    while at < section.len() {
        let [form, attribute] = [slice_of(section, at, 1)?[0], slice_of(section, at + 1, 1)?[0]];
        let short = number::<2>(section, at + 2)?;
        let value = slice_of(section, at + 4, if form == FOLLOWS { short } else { 0 })?;
        at += 4 + value.len();
        match attribute {
            MAX_THREADS => notes.max_block = Some(extents(value)?),
            REQUIRED_THREADS => notes.required_block = Some(extents(value)?),
            CLUSTER => notes.required_cluster = Some(extents(value)?),
            PARAMETER => {
                parameters.push(parameter(value, number::<2>(value, 6)?, size_of(value)?)?);
            }
            WIDE_PARAMETER => {
                parameters.push(parameter(value, number::<2>(value, 6)?, number::<2>(value, 8)?)?);
            }
            PARAMETER_BYTES => all_bytes = Some(short),
            _ => {}
        }
    }
    parameters.sort_by_key(|it| it.ordinal);
    check(&parameters, all_bytes)?;
    let layout = |it: &Parameter| Layout { size: it.size as u64, align: 0 };
    notes.parameters = parameters.iter().map(layout).collect();
    Ok(notes)
}

/// The size of a parameter, in the upper 14 bits of its last word.
fn size_of(value: &[u8]) -> Result<usize, String> {
    Ok(number::<4>(value, 8)? >> 18)
}

fn parameter(value: &[u8], offset: usize, size: usize) -> Result<Parameter, String> {
    Ok(Parameter { ordinal: number::<2>(value, 4)?, offset, size })
}

/// That `parameters` are numbered from 0 on, follow each other and end where all of them do.
fn check(parameters: &[Parameter], all_bytes: Option<usize>) -> Result<(), String> {
    let mut end = 0;
    for (at, it) in parameters.iter().enumerate() {
        if it.ordinal != at || it.offset < end || it.size == 0 {
            return Err(
                "its parameters are described in a way that gpuprof does not know".to_owned()
            );
        }
        end = it.offset + it.size;
    }
    if all_bytes.is_some_and(|all| all < end) || parameters.is_empty() && all_bytes > Some(0) {
        return Err("its parameters are not all described".to_owned());
    }
    Ok(())
}

/// Three extents.
fn extents(value: &[u8]) -> Result<[u32; 3], String> {
    let mut found = [1; 3];
    for (at, extent) in found.iter_mut().enumerate() {
        *extent = number::<4>(value, 4 * at)? as u32;
    }
    Ok(found)
}
