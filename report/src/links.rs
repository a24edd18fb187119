//! The links of a device, in words.
//!
//! Input: the links of a device. Output: one sentence.

use gpuprof_model::links::{DeviceLinks, LinkEnd, NvLinks, PcieLink, Peer};
use gpuprof_model::quantity::Quantity;

/// `18 NVLinks 4.0 to a switch, each 26.56 GB/s in a direction; PCIe 5 x16; access to the memory of
/// device 1: yes`.
pub(super) fn sentence(links: &DeviceLinks) -> String {
    let mut parts = match &links.unknown {
        Some(reason) => vec![format!("links unknown: {reason}")],
        None => nvlinks(links),
    };
    parts.extend(links.pcie.map(pcie));
    parts.push(peers(&links.peers));
    parts.join("; ")
}

fn nvlinks(links: &DeviceLinks) -> Vec<String> {
    if links.active() == 0 {
        return vec![match links.most_nvlinks {
            0 => "no NVLink".to_owned(),
            most => format!("none of its {most} NVLinks is active"),
        }];
    }
    links.nvlinks.iter().map(some_nvlinks).collect()
}

fn some_nvlinks(links: &NvLinks) -> String {
    let NvLinks { count, version, to, address, bytes_per_second, .. } = links;
    let plural = if *count == 1 { "" } else { "s" };
    let version = version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let to = match (to, address) {
        (LinkEnd::Gpu, Some(address)) => format!(" to the GPU {address}"),
        (LinkEnd::Gpu, None) => " to a GPU".to_owned(),
        (LinkEnd::Switch, _) => " to a switch".to_owned(),
        (LinkEnd::Cpu, _) => " to the processor".to_owned(),
        (LinkEnd::Unknown, _) => String::new(),
    };
    let rate =
        bytes_per_second.map(|rate| format!(", each {} in a direction", Quantity::from(rate)));
    format!("{count} NVLink{plural}{version}{to}{}", rate.unwrap_or_default())
}

fn pcie(link: PcieLink) -> String {
    let PcieLink { generation, width, most_generation, most_width } = link;
    let most = match (generation, width) == (most_generation, most_width) {
        true => String::new(),
        false => format!(" of at most {most_generation} x{most_width}"),
    };
    format!("PCIe {generation} x{width}{most}")
}

fn peers(peers: &[Peer]) -> String {
    if peers.is_empty() {
        return "no other GPU in the process".to_owned();
    }
    let access_text = |peer: &Peer| {
        let word = if peer.access { "yes" } else { "no" };
        format!("device {}: {word}", peer.device)
    };
    let all: Vec<String> = peers.iter().map(access_text).collect();
    format!("access to the memory of {}", all.join(", "))
}

#[cfg(test)]
mod tests {
    use gpuprof_analysis::fixture::h200_links;

    use super::*;

    #[test]
    fn links_are_described_in_one_sentence() {
        assert_eq!(
            sentence(&h200_links()),
            "18 NVLinks 4.0 to a switch, each 26.56 GB/s in a direction; PCIe 5 x16; access to the \
             memory of device 1: yes"
        );
    }

    #[test]
    fn missing_links_are_reported() {
        let mut links = DeviceLinks { peers: Vec::new(), ..h200_links() };
        links.pcie = links.pcie.map(|link| PcieLink { generation: 1, width: 8, ..link });
        links.nvlinks.clear();
        assert_eq!(
            sentence(&links),
            "none of its 18 NVLinks is active; PCIe 1 x8 of at most 5 x16; no other GPU in the process"
        );
        links.most_nvlinks = 0;
        links.pcie = None;
        assert_eq!(sentence(&links), "no NVLink; no other GPU in the process");
        links.unknown = Some("nvmlInit_v2 returned 999".to_owned());
        let unknown = "links unknown: nvmlInit_v2 returned 999; no other GPU in the process";
        assert_eq!(sentence(&links), unknown);
    }

    #[test]
    fn links_to_other_gpus_name_their_addresses() {
        let mut links = h200_links();
        links.nvlinks[0] = NvLinks {
            count: 1,
            to: LinkEnd::Gpu,
            address: Some("00000000:07:00.0".to_owned()),
            bytes_per_second: None,
            ..links.nvlinks[0].clone()
        };
        links.peers[0].access = false;
        let said = sentence(&links);
        assert!(said.starts_with("1 NVLink 4.0 to the GPU 00000000:07:00.0; PCIe"), "{said}");
        assert!(said.ends_with("device 1: no"), "{said}");
    }
}
