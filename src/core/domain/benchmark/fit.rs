//! Whether a benchmark or a training on photos can run on a host: its GPUs, its NUMA nodes and its memory.
//!
//! Never looks at a host: the launcher does before the ranks start, and each rank does on its own host.

use super::choices::NumberFormat;
use super::settings::BenchmarkSpec;
use crate::domain::images::InputShape;
use crate::domain::model::ModelSpec;
use crate::domain::model::network::Layer;
use crate::domain::units;

/// What a host has, as far as it tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostRoom {
    pub gpus: usize,
    /// Their numbers; empty where the system does not say.
    pub numa_nodes: Vec<usize>,
    /// Bytes that programs can still get; 0 where the system does not say.
    pub free_memory: u64,
}

impl BenchmarkSpec {
    /// Why the ranks do not fit on this host and what to change, in one sentence; `None` if they fit, as far as is known.
    pub fn misfit(&self, host: &HostRoom, ranks: usize) -> Option<String> {
        let demand = self.demand();
        let gpu = self.without_gpu(host).or_else(|| demand.without_gpu(host));
        gpu.or_else(|| self.without_node(host)).or_else(|| demand.without_memory(host, ranks))
    }

    fn demand(&self) -> Demand {
        let BenchmarkSpec { model, batch_size, precision, no_cuda, .. } = *self;
        // The images are drawn and then copied.
        Demand { model, input: self.input(), batch_size, precision, no_cuda, batches: 2, keeps_results: true }
    }

    fn without_gpu(&self, host: &HostRoom) -> Option<String> {
        let is_missing = self.cuda && (host.gpus == 0 || self.no_cuda);
        is_missing.then(|| {
            "a GPU was asked for (--cuda, --device gpu), and none was found: leave that out to measure on the CPU".into()
        })
    }

    fn without_node(&self, host: &HostRoom) -> Option<String> {
        let node = self.mem_node.filter(|node| !host.numa_nodes.is_empty() && !host.numa_nodes.contains(node))?;
        let has = match host.numa_nodes.as_slice() {
            [only] => format!("has only NUMA node {only}"),
            nodes => format!("has NUMA nodes {}", nodes.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
        };
        Some(format!("--mem-node {node}: this host {has}"))
    }
}

/// What a program that trains asks of a host.
#[derive(Clone, Copy, Debug)]
pub(in crate::domain) struct Demand {
    pub model: ModelSpec,
    pub input: InputShape,
    /// Of one rank.
    pub batch_size: usize,
    pub precision: NumberFormat,
    pub no_cuda: bool,
    /// Batches of images that a rank holds at once.
    pub batches: u64,
    /// What each convolution gives is kept for a backward pass, and there are gradients.
    pub keeps_results: bool,
}

impl Demand {
    /// Why so many ranks of it cannot run on such a host.
    pub fn misfit(&self, host: &HostRoom, ranks: usize) -> Option<String> {
        self.without_gpu(host).or_else(|| self.without_memory(host, ranks))
    }

    fn without_gpu(&self, host: &HostRoom) -> Option<String> {
        self.precision.misfit(if self.no_cuda { 0 } else { host.gpus })
    }

    fn without_memory(&self, host: &HostRoom, ranks: usize) -> Option<String> {
        let needed = self.least_bytes().saturating_mul(ranks as u64);
        // On a GPU most of it is the GPU's memory, of which the launcher knows nothing.
        let is_known = host.free_memory > 0 && (host.gpus == 0 || self.no_cuda);
        (is_known && needed > host.free_memory).then(|| {
            let of = if ranks == 1 { String::new() } else { format!(" of {ranks} ranks") };
            format!(
                "--batch-size {}{of} with {} needs {} of memory at least, and {} are free here: lower it, or --image-size",
                self.batch_size,
                self.model,
                units::bytes(needed),
                units::bytes(host.free_memory)
            )
        })
    }

    /// Memory that a rank needs in any case, in bytes: the images; what each convolution gives, where that is kept for the backward
    /// pass; weights and gradients. What it really needs is more.
    fn least_bytes(&self) -> u64 {
        let (input, batch) = (self.input, self.batch_size as u64);
        let of_number: u64 = if self.precision == NumberFormat::Bf16 { 2 } else { 4 };
        let images = (input.numbers() as u64).saturating_mul(self.batches).saturating_mul(4);
        let kept = match self.model {
            _ if !self.keeps_results => 0,
            ModelSpec::Named(named) => named.network(input).map_or(0, |network| {
                let convolutions = network.nodes.iter().filter(|node| matches!(node.layer, Layer::Conv { .. }));
                convolutions.map(|node| node.shape.numbers() as u64).sum()
            }),
            ModelSpec::WideResNet(_) => 0,
        };
        let of_weight = if self.keeps_results { 2 * 4 } else { 4 };
        let weights = self.model.parameters_at(input).unwrap_or(0).saturating_mul(of_weight);
        images.saturating_add(kept.saturating_mul(of_number)).saturating_mul(batch).saturating_add(weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn host() -> HostRoom {
        HostRoom { gpus: 0, numa_nodes: vec![0], free_memory: 16 * GIB }
    }

    fn resnet(batch_size: usize) -> BenchmarkSpec {
        let model = "resnet50".parse().unwrap();
        BenchmarkSpec { model, batch_size, ..BenchmarkSpec::sample() }
    }

    #[test]
    fn what_a_host_does_not_have_is_named_with_what_to_change() {
        let spec = BenchmarkSpec::sample;
        let cases = [
            (BenchmarkSpec { cuda: true, ..spec() }, "a GPU was asked for (--cuda, --device gpu), and none was found"),
            (BenchmarkSpec { precision: NumberFormat::Tf32, ..spec() }, "--precision tf32 needs an NVIDIA GPU"),
            (BenchmarkSpec { mem_node: Some(99), ..spec() }, "--mem-node 99: this host has only NUMA node 0"),
            (resnet(5_000), "lower it, or --image-size"),
        ];
        for (spec, words) in cases {
            let said = spec.misfit(&host(), 2).unwrap_or_default();
            assert!(said.contains(words) && !said.contains('\n'), "{words}: {said}");
        }
        let two = HostRoom { numa_nodes: vec![0, 1], ..host() };
        let said = BenchmarkSpec { mem_node: Some(2), ..spec() }.misfit(&two, 1).unwrap();
        assert_eq!(said, "--mem-node 2: this host has NUMA nodes 0, 1");
    }

    #[test]
    fn what_fits_or_is_not_known_is_let_through() {
        let with_gpu = HostRoom { gpus: 1, ..host() };
        let unknown = HostRoom::default();
        let wants = BenchmarkSpec { cuda: true, precision: NumberFormat::Tf32, mem_node: Some(0), ..BenchmarkSpec::sample() };
        assert_eq!((wants.misfit(&with_gpu, 1), resnet(5_000).misfit(&with_gpu, 1)), (None, None));
        assert!(BenchmarkSpec { no_cuda: true, ..wants }.misfit(&with_gpu, 1).is_some(), "a GPU that is not to be used");
        assert_eq!(BenchmarkSpec { mem_node: Some(7), ..resnet(100_000) }.misfit(&unknown, 64), None);
        assert_eq!(resnet(32).misfit(&host(), 2), None);
    }

    /// ResNet-50 was measured: 4.7 GiB of fp32 at a batch of 32, 2.6 GiB of bf16.
    #[test]
    fn the_least_is_less_than_what_was_measured_and_no_trifle() {
        let fp32 = resnet(32).demand().least_bytes();
        let bf16 = BenchmarkSpec { precision: NumberFormat::Bf16, ..resnet(32) }.demand().least_bytes();
        assert!((GIB..4 * GIB).contains(&fp32) && bf16 < fp32 && bf16 > GIB / 2, "{fp32} {bf16}");
    }
}
