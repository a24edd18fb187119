//! The launch limits of an entry, from its PTX.

use crate::cuda_cpp::program::Layout;

/// An entry of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name in the PTX.
    pub name: String,
    /// The size and alignment of each parameter. Signedness and pointees are not in PTX.
    pub parameters: Vec<Layout>,
    /// `.maxntid`: the most threads that a block has in each dimension.
    pub max_block: Option<[u32; 3]>,
    /// `.reqntid`: the block that it must be launched with.
    pub required_block: Option<[u32; 3]>,
    /// `.minnctapersm`: the blocks that are to fit on a multiprocessor.
    pub min_blocks_per_multiprocessor: Option<u32>,
    /// `.maxnreg`: the most registers of a thread.
    pub max_registers: Option<u32>,
    /// `.reqnctapercluster`: the blocks of a cluster in each dimension.
    pub required_cluster: Option<[u32; 3]>,
    /// `.maxclusterrank`: the most blocks of a cluster.
    pub max_cluster_rank: Option<u32>,
    /// Shared memory that it declares, in bytes, without padding between variables.
    pub static_shared: u64,
    /// Whether it uses shared memory that the launch sizes.
    pub dynamic_shared: bool,
}

impl Entry {
    pub(super) fn parse<'a>(
        name: &str,
        text: &'a str,
        module_shared: impl Iterator<Item = &'a str>,
    ) -> Self {
        let (head, body) = text.split_once('{').unwrap_or((text, ""));
        let (before, after) = head.split_once(')').unwrap_or((head, ""));
        let parameters = before.split(['(', ',']).filter_map(|it| variable(it, ".param"));
        let one = |directive| numbers(after, directive).map(|it| it[0]);
        let own = body.lines().filter(|line| line.trim_start().starts_with(".shared"));
        let shared: Vec<&str> = module_shared.chain(own).collect();
        let sizes = shared.iter().filter_map(|it| variable(it, ".shared"));
        Self {
            name: name.to_owned(),
            parameters: parameters.collect(),
            max_block: numbers(after, ".maxntid"),
            required_block: numbers(after, ".reqntid"),
            min_blocks_per_multiprocessor: one(".minnctapersm"),
            max_registers: one(".maxnreg"),
            required_cluster: numbers(after, ".reqnctapercluster"),
            max_cluster_rank: one(".maxclusterrank"),
            static_shared: sizes.map(|it| it.size).sum(),
            dynamic_shared: shared.iter().any(|it| it.contains(".extern")),
        }
    }
}

/// Up to three numbers after a directive; what is not written is 1.
fn numbers(text: &str, directive: &str) -> Option<[u32; 3]> {
    let rest = text.split_once(directive)?.1;
    // The next directive may stand on the same line.
    let line = rest.split(['\n', '.']).next().unwrap_or(rest);
    let mut found = [1; 3];
    for (slot, number) in found.iter_mut().zip(line.split(',')) {
        *slot = number.trim().parse().ok()?;
    }
    Some(found)
}

/// The layout of a variable: `.param .align 8 .b8 name[24]`. An array without a size has none.
pub(super) fn variable(text: &str, space: &str) -> Option<Layout> {
    let rest = text.split_once(space)?.1;
    let mut words = rest.split_whitespace();
    let (mut align, mut element) = (None, None);
    while let Some(word) = words.next() {
        match word {
            ".align" => align = words.next().and_then(|it| it.parse().ok()),
            _ if element.is_none() => element = bytes(word),
            _ => {}
        }
    }
    let element = element?;
    let count = match rest.split_once('[') {
        Some((_, size)) => size.split(']').next()?.trim().parse().unwrap_or(0),
        None => 1,
    };
    Some(Layout { size: element * count, align: align.unwrap_or(element) })
}

/// The size of `.u64`, `.f32` or `.b8`.
fn bytes(kind: &str) -> Option<u64> {
    let bits = kind.strip_prefix('.')?.trim_start_matches(['u', 's', 'f', 'b']);
    bits.parse::<u64>().ok().map(|bits| bits / 8)
}
