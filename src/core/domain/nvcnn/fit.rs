//! Whether a training on photos can run on a host.
//!
//! Never looks at a host: the launcher does before the ranks start, and each rank does on its own host.

use super::settings::NvcnnSpec;
use crate::domain::benchmark::{Demand, HostRoom};

/// Batches that may be ready before the model asks.
pub const PREFETCH: usize = 2;
/// Batches that a rank holds at once: those that are ready, one that is filled, one that the model has, and its two copies.
const BATCHES_HELD: u64 = PREFETCH as u64 + 4;

impl NvcnnSpec {
    /// Why so many ranks of it cannot run on such a host, in one sentence with what to change; `None` where nothing is known that
    /// speaks against it.
    pub fn misfit(&self, host: &HostRoom, ranks: usize) -> Option<String> {
        let NvcnnSpec { model, batch_size, precision, no_cuda, .. } = *self;
        let input = self.input();
        let demand = Demand { model, input, batch_size, precision, no_cuda, batches: BATCHES_HELD, keeps_results: !self.eval };
        demand.misfit(host, ranks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::benchmark::NumberFormat;

    #[test]
    fn what_does_not_fit_is_named_with_what_to_change_and_a_test_needs_less() {
        let host = HostRoom { gpus: 0, numa_nodes: vec![0], free_memory: 16 << 30 };
        let spec = NvcnnSpec { batch_size: 2_000, ..NvcnnSpec::of_model("resnet50".parse().unwrap()) };
        let said = spec.misfit(&host, 2).unwrap();
        assert!(said.contains("--batch-size 2000 of 2 ranks") && said.contains("lower it, or --image-size"), "{said}");
        assert_eq!(NvcnnSpec { eval: true, ..spec.clone() }.misfit(&host, 2), None, "nothing is kept for a backward pass");
        assert_eq!(NvcnnSpec { batch_size: 32, ..spec.clone() }.misfit(&host, 2), None);
        assert_eq!(spec.misfit(&HostRoom { gpus: 1, ..host.clone() }, 2), None, "of a GPU's memory nothing is known");
        let tf32 = NvcnnSpec { batch_size: 1, precision: NumberFormat::Tf32, ..spec };
        assert!(tf32.misfit(&host, 1).unwrap().contains("needs an NVIDIA GPU"));
        assert_eq!(tf32.misfit(&HostRoom { gpus: 1, ..host }, 1), None);
    }
}
