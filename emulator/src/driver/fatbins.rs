//! Fatbins, and the choice of the PTX for a device.
//!
//! Input: an image that a program passes. Output: the newest PTX in it that is not newer than the
//! device. Programs pass a fatbin or nvcc's wrapper of it: the address of the fatbin, or those of
//! several files that were compiled to be linked (`-rdc=true`).

use super::code::Code;
use super::pointers::{FatbinWrapper, Source};
use crate::ptx::link;
use fatbin::{Content, HEADER, MAGIC};
use std::collections::BTreeSet;

/// How nvcc's wrapper of fatbins begins.
pub const WRAPPER: &[u8] = b"\xb1\x43\x62\x46";

/// Version of a wrapper of files that were compiled to be linked.
const LINKED: u32 = 2;

/// Why an image is not run: the driver's code, and a sentence.
pub type Refusal = (Code, String);

/// The fatbins of `image`; none if it is something else.
pub fn fatbins<'f>(image: Source) -> Result<Option<Vec<&'f [u8]>>, Code> {
    if image.starts_with(MAGIC)? {
        return Ok(Some(vec![whole(image)?]));
    }
    if !image.starts_with(WRAPPER)? {
        return Ok(None);
    }
    let FatbinWrapper { version, data, linked, .. } = image.wrapper()?;
    let all = if version == LINKED { linked.until_null()? } else { vec![data] };
    all.into_iter().map(whole).collect::<Result<_, _>>().map(Some)
}

/// All bytes of a fatbin, as many as its header states.
fn whole<'f>(fatbin: Source) -> Result<&'f [u8], Code> {
    if !fatbin.starts_with(MAGIC)? {
        return Err(Code::INVALID_IMAGE);
    }
    let size = fatbin::size(fatbin.bytes(HEADER)?).map_err(|_| Code::INVALID_IMAGE)?;
    fatbin.bytes(size)
}

/// The PTX of `fatbins`, linked, for a device of this compute capability (90); none if they have
/// none.
///
/// # Errors
/// They are damaged.
pub fn newest_ptx(fatbins: &[&[u8]], capability: u32) -> Result<Option<String>, Refusal> {
    let damaged = |why: String| (Code::INVALID_IMAGE, format!("the fatbin is damaged: {why}"));
    let mut texts = Vec::new();
    for fatbin in fatbins {
        let members = fatbin::members(fatbin).map_err(damaged)?;
        let fits = |member: &&fatbin::Member<'_>| {
            member.content == Content::Ptx && member.architecture <= capability
        };
        let newest = members.iter().filter(fits).max_by_key(|member| member.architecture);
        if let Some(member) = newest {
            let bytes = member.unpacked().map_err(damaged)?;
            texts.push(String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    Ok(match texts.len() {
        0 | 1 => texts.pop(),
        _ => Some(link(&texts.iter().map(String::as_str).collect::<Vec<_>>())),
    })
}

/// What is embedded: `a fatbin with machine code for sm_80 and PTX for compute_100`.
pub fn describe(fatbins: &[&[u8]]) -> String {
    let members: Vec<_> = fatbins.iter().flat_map(|it| fatbin::members(it)).flatten().collect();
    let of = |content, prefix: &str| {
        let own = members.iter().filter(|member| member.content == content);
        let targets: BTreeSet<u32> = own.map(|member| member.architecture).collect();
        let targets: Vec<String> = targets.iter().map(|it| format!("{prefix}{it}")).collect();
        targets.join(", ")
    };
    let (code, ptx) = (of(Content::Cubin, "sm_"), of(Content::Ptx, "compute_"));
    match (code.is_empty(), ptx.is_empty()) {
        (true, true) => "a fatbin without code".to_owned(),
        (false, true) => format!("a fatbin with machine code for {code} alone"),
        (true, false) => format!("a fatbin with PTX for {ptx} alone"),
        (false, false) => format!("a fatbin with machine code for {code} and PTX for {ptx}"),
    }
}
