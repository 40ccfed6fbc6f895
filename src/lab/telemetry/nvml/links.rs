//! What lies between the GPUs of a host: NVLinks, switches and bridges, as NVML tells them.

use std::collections::BTreeMap;

use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::TopologyLevel;
use nvml_wrapper::error::NvmlError;

use crate::domain::units;

/// Most links that any GPU has.
const MOST: u32 = 18;

/// The numbers of the links that are up.
fn active<'a>(device: &'a Device<'static>) -> impl Iterator<Item = u32> + 'a {
    (0..MOST).filter(|link| device.link_wrapper_for(*link).is_active().unwrap_or(false))
}

pub fn is_linked(device: &Device<'static>) -> bool {
    active(device).next().is_some()
}

/// `gen 5 x16`, as it runs now: an idle GPU saves power with a lower generation.
pub fn pcie(device: &Device) -> Result<String, NvmlError> {
    Ok(format!("gen {} x{}", device.current_pcie_link_gen()?, device.current_pcie_link_width()?))
}

/// `GPU 1 by NVLink x4, GPU 2-3 by one PCIe switch`, nearest first; empty where NVML says nothing of any.
pub fn ways(device: &Device<'static>, others: Vec<(usize, Device<'static>)>) -> String {
    let bus = |device: &Device| device.pci_info().map(|info| info.bus_id.to_lowercase());
    let ends: Vec<Option<String>> = active(device)
        .map(|link| device.link_wrapper_for(link).remote_pci_info().ok().map(|info| info.bus_id.to_lowercase()))
        .collect();
    let buses: Vec<Option<String>> = others.iter().map(|(_, other)| bus(other).ok()).collect();
    // The other end of a link that is no GPU is a switch, which reaches all of them.
    let switched = ends.iter().flatten().filter(|end| !buses.iter().flatten().any(|bus| bus == *end)).count();
    let mut ways: BTreeMap<(u8, String), Vec<usize>> = BTreeMap::new();
    for ((index, other), bus) in others.into_iter().zip(&buses) {
        let direct = ends.iter().filter(|end| end.is_some() && *end == bus).count();
        let way = match (direct, switched) {
            (0, 0) => device.topology_common_ancestor(other).ok().map(over_pcie),
            (0, links) => Some((1, format!("NVSwitch x{links}"))),
            (links, _) => Some((0, format!("NVLink x{links}"))),
        };
        if let Some(way) = way {
            ways.entry(way).or_default().push(index);
        }
    }
    let words = ways.iter().map(|((_, way), indices)| format!("GPU {} by {way}", units::ranges(indices)));
    words.collect::<Vec<_>>().join(", ")
}

/// The further apart, the later.
fn over_pcie(level: TopologyLevel) -> (u8, String) {
    let (rank, words) = match level {
        TopologyLevel::Internal => (2, "the same board"),
        TopologyLevel::Single => (3, "one PCIe switch"),
        TopologyLevel::Multiple => (4, "several PCIe switches"),
        TopologyLevel::HostBridge => (5, "the PCIe host bridge"),
        TopologyLevel::Node => (6, "the same NUMA node"),
        TopologyLevel::System => (7, "the link between CPU sockets"),
    };
    (rank, words.to_owned())
}
