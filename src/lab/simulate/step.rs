//! One training step of so many ranks: when gradients are ready, when their messages are through, and what of that is exposed.

use serde::Serialize;

use super::allreduce::{Cluster, Cost, Link};
use super::constants::Constants;
use super::engine::{Engine, MIB, Method};
use super::layers::Layers;
use super::normal::largest_of;

const FLOAT32_BYTES: f64 = 4.0;

hvd_lab_core::named! {
    /// What keeps a step from being as short as on one GPU.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "lowercase")]
    Bound {
        Bandwidth = "bandwidth",
        Latency = "latency",
        Stragglers = "stragglers",
        /// The library's own time: cycles, negotiation, copies.
        Overhead = "overhead",
    }
}

/// What is trained, on what, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    pub layers: Layers,
    /// Images of a rank in a step.
    pub batch: usize,
    /// Of one GPU that trains alone.
    pub images_per_s: f64,
    pub cluster: Cluster,
    pub method: Method,
    /// Those of the table, unless a run tells better.
    pub constants: Constants,
}

/// Where the time of a step goes, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Step {
    /// What one GPU alone needs.
    pub compute_s: f64,
    /// What the slowest rank needs beyond that.
    pub straggler_s: f64,
    /// Communication that no computation hides.
    pub exposed_s: f64,
    /// What the library costs beside.
    pub framework_s: f64,
}

impl Step {
    pub fn total_s(&self) -> f64 {
        self.compute_s + self.straggler_s + self.exposed_s + self.framework_s
    }
}

/// The gradients of a layer.
#[derive(Clone, Copy, Debug)]
struct Gradient {
    ready_s: f64,
    bytes: f64,
}

impl Simulation {
    /// A step of so many ranks, at least 1.
    pub fn step(&self, ranks: usize) -> Step {
        self.step_without(ranks, None)
    }

    /// The same if one of the things that bound it cost nothing.
    pub fn step_without(&self, ranks: usize, without: Option<Bound>) -> Step {
        let compute_s = self.batch as f64 / self.images_per_s;
        if ranks <= 1 {
            return Step { compute_s, ..Step::default() };
        }
        let has = |bound: Bound| without != Some(bound);
        let jitter = if has(Bound::Stragglers) { self.constants.jitter.value } else { 0.0 };
        let slowest_s = compute_s * (1.0 + jitter * largest_of(ranks));
        let gradients = self.gradients(slowest_s, self.constants.backward_share.value);

        let free = |link: Link| Link {
            bandwidth: if has(Bound::Bandwidth) { link.bandwidth } else { f64::INFINITY },
            latency_s: if has(Bound::Latency) { link.latency_s } else { 0.0 },
        };
        let cluster = Cluster { within: free(self.cluster.within), between: free(self.cluster.between), ..self.cluster };
        let mut all = self.constants.clone();
        if !has(Bound::Latency) {
            all.ring_base_us.value = 0.0;
        }
        let cost = Cost::of(&cluster, ranks, self.method.hierarchical, &all);
        // Into the fusion buffer, and out of it.
        let copy = |bytes: f64| if has(Bound::Overhead) { 2.0 * bytes / (all.copy_gb_per_s.value * 1e9) } else { 0.0 };
        let seconds = |bytes: f64| copy(bytes) + cost.seconds(bytes);

        let through_s = if self.method.engine == Engine::Ddp {
            // Buckets are filled before they are compressed.
            let size = |mib: f64| mib * MIB * self.number_bytes() / FLOAT32_BYTES;
            buckets(&gradients, size(all.ddp_first_mib.value), size(all.ddp_bucket_mib.value), self.method.fusion, seconds)
        } else {
            let (cycle_s, fusion_bytes) = self.method.engine.cycle(&all);
            let (cycle_s, negotiation_s) = match has(Bound::Overhead) {
                true => {
                    // Ranks of one node hear each other within it.
                    let way = if ranks > cluster.per_node { cluster.between } else { cluster.within };
                    let heard_s = 2.0 * (ranks as f64).log2() * way.latency_s;
                    (cycle_s, self.method.engine.negotiation_s(ranks, &all) + heard_s)
                }
                false => (0.0, 0.0),
            };
            let fusion_bytes = if self.method.fusion { fusion_bytes } else { 0.0 };
            cycles(&gradients, cycle_s, fusion_bytes, negotiation_s, seconds)
        };
        let exposed_s = (through_s - slowest_s).max(0.0);
        let framework = if has(Bound::Overhead) { self.constants.framework.value } else { 0.0 };
        Step { compute_s, straggler_s: slowest_s - compute_s, exposed_s, framework_s: framework * (slowest_s + exposed_s) }
    }

    /// Part of what as many GPUs would do if each were as fast as one alone: 1 of one.
    pub fn efficiency(&self, ranks: usize) -> f64 {
        self.step(1).total_s() / self.step(ranks).total_s()
    }

    /// Bytes of a number as it is sent.
    fn number_bytes(&self) -> f64 {
        if self.method.fp16 { 2.0 } else { FLOAT32_BYTES }
    }

    /// From the last layer to the first, in the order in which backward has them.
    fn gradients(&self, slowest_s: f64, backward_share: f64) -> Vec<Gradient> {
        let backward_s = slowest_s * backward_share;
        let (work, number_bytes) = (self.layers.work(), self.number_bytes());
        let mut now_s = slowest_s - backward_s;
        let ready = self.layers.all().iter().rev().map(|layer| {
            now_s += backward_s * layer.work / work;
            let ready_s = if self.method.overlap { now_s.min(slowest_s) } else { slowest_s };
            Gradient { ready_s, bytes: number_bytes * layer.parameters as f64 }
        });
        ready.collect()
    }
}

/// DDP: buckets in a fixed order, each sent when its last gradient is ready. When the last is through.
fn buckets(gradients: &[Gradient], first: f64, size: f64, fuses: bool, seconds: impl Fn(f64) -> f64) -> f64 {
    let (mut through_s, mut bytes, mut most) = (0.0f64, 0.0, first);
    for (at, gradient) in gradients.iter().enumerate() {
        bytes += gradient.bytes;
        if bytes >= most || !fuses || at + 1 == gradients.len() {
            through_s = through_s.max(gradient.ready_s) + seconds(bytes);
            (bytes, most) = (0.0, size);
        }
    }
    through_s
}

/// Horovod: in each cycle what is ready is agreed on and fused, as well as can be. When the last is through.
///
/// Which gradients share a message depends in the library on when the one before is through. Here it is the choice with the
/// earliest end, so that nothing that gets faster ever makes a step slower.
fn cycles(gradients: &[Gradient], cycle_s: f64, fusion_bytes: f64, negotiation_s: f64, seconds: impl Fn(f64) -> f64) -> f64 {
    let tick = |gradient: &Gradient| if cycle_s > 0.0 { (gradient.ready_s / cycle_s).ceil() * cycle_s } else { gradient.ready_s };
    let ticks: Vec<f64> = gradients.iter().map(tick).collect();
    // What is found ready in the same cycle is agreed on at once.
    let is_first = |at: usize| at == 0 || ticks[at] > ticks[at - 1];
    let mut through = vec![0.0f64; gradients.len() + 1];
    for end in 1..=gradients.len() {
        let (mut bytes, mut agrees, mut best) = (0.0, false, f64::INFINITY);
        for start in (0..end).rev() {
            bytes += gradients[start].bytes;
            if start + 1 < end && bytes > fusion_bytes {
                break;
            }
            agrees |= is_first(start);
            let agreed_s = if agrees { negotiation_s } else { 0.0 };
            best = best.min(through[start].max(ticks[end - 1]) + agreed_s + seconds(bytes));
        }
        through[end] = best;
    }
    through[gradients.len()]
}
