//! How long an allreduce takes on a cluster: alpha and beta of a ring as NCCL has it, or hierarchical.

use super::constants::Constants;

/// One way for messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Bytes a second that an allreduce gets, one direction.
    pub bandwidth: f64,
    /// Seconds of one step of a ring.
    pub latency_s: f64,
}

/// The nodes that the ranks are spread over, all alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cluster {
    /// Between GPUs of a node.
    pub within: Link,
    /// Of a node to the others, with all its network cards.
    pub between: Link,
    /// GPUs of a node, at least 1.
    pub per_node: usize,
}

/// Seconds of an allreduce, by its size in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cost {
    latency_s: f64,
    /// From this size on the latency counts that many times.
    plateau: Option<(f64, f64)>,
    byte_s: f64,
}

impl Cost {
    pub fn of(cluster: &Cluster, ranks: usize, is_hierarchical: bool, constants: &Constants) -> Cost {
        let local = cluster.per_node.clamp(1, ranks.max(1));
        let nodes = ranks.div_ceil(local) as f64;
        let (p, local) = (ranks as f64, local as f64);
        let (within, between) = (cluster.within, cluster.between);
        if ranks <= 1 {
            return Cost { latency_s: 0.0, plateau: None, byte_s: 0.0 };
        }
        if is_hierarchical {
            // Reduce-scatter within the node, halving and doubling between nodes, allgather within the node.
            let inside = 2.0 * (local - 1.0);
            let outside = 2.0 * (nodes - 1.0) / nodes;
            return Cost {
                latency_s: inside * within.latency_s + 2.0 * nodes.log2().max(0.0) * between.latency_s,
                plateau: None,
                byte_s: inside / local / within.bandwidth + outside / between.bandwidth,
            };
        }
        let (steps, hops) = (2.0 * (p - 1.0), if nodes > 1.0 { 2.0 * (nodes - 1.0) } else { 0.0 });
        let bandwidth = if nodes > 1.0 { within.bandwidth.min(between.bandwidth) } else { within.bandwidth };
        Cost {
            latency_s: constants.ring_base_us.value * 1e-6 + (steps - hops) * within.latency_s + hops * between.latency_s,
            plateau: (nodes > 1.0).then(|| (p / 16.0 * 65_536.0, constants.ring_plateau.value)),
            byte_s: steps / p / bandwidth,
        }
    }

    pub fn seconds(&self, bytes: f64) -> f64 {
        let factor = self.plateau.filter(|(from, _)| bytes >= *from).map_or(1.0, |(_, factor)| factor);
        self.latency_s * factor + bytes * self.byte_s
    }
}
