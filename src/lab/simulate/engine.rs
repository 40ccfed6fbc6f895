//! Who fuses gradients into messages, and how: Horovod's cycles, or the buckets of PyTorch's DDP.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::constants::Constants;

hvd_lab_core::named! {
    /// A library that averages gradients.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    Engine {
        /// Horovod with its defaults since 0.21 and its response cache.
        #[default]
        Horovod = "horovod",
        /// Horovod with its defaults before 0.21, where one coordinator hears each rank in each cycle.
        OldHorovod = "old-horovod",
        /// The same with a tree of ranks in place of the coordinator, as on Summit.
        TreeHorovod = "tree-horovod",
        /// PyTorch's DistributedDataParallel.
        Ddp = "ddp",
    }
}

/// How gradients travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Method {
    pub engine: Engine,
    /// Several gradients share a message.
    pub fusion: bool,
    /// Messages travel beside backward.
    pub overlap: bool,
    /// Gradients travel as float16.
    pub fp16: bool,
    /// First within the node, then between nodes.
    pub hierarchical: bool,
}

impl Method {
    pub fn of(engine: Engine) -> Method {
        Method { engine, fusion: true, overlap: true, fp16: false, hierarchical: false }
    }
}

impl Engine {
    /// Seconds between two looks at what is ready, and the bytes of the fusion buffer.
    pub(super) fn cycle(self, constants: &Constants) -> (f64, f64) {
        match self {
            Engine::Horovod => (constants.cycle_ms.value * 1e-3, constants.fusion_mib.value * MIB),
            _ => (constants.old_cycle_ms.value * 1e-3, constants.old_fusion_mib.value * MIB),
        }
    }

    /// Seconds of the coordinator before a message of so many ranks.
    pub(super) fn negotiation_s(self, ranks: usize, constants: &Constants) -> f64 {
        let ranks = ranks as f64;
        match self {
            Engine::OldHorovod => constants.negotiation_us.value * 1e-6 * ranks,
            Engine::Horovod | Engine::TreeHorovod => constants.tree_negotiation_us.value * 1e-6 * ranks.log2(),
            Engine::Ddp => 0.0,
        }
    }
}

pub(super) const MIB: f64 = 1_048_576.0;

impl FromStr for Engine {
    type Err = String;

    fn from_str(text: &str) -> Result<Engine, String> {
        let found = Engine::ALL.into_iter().find(|engine| engine.name() == text);
        found.ok_or_else(|| format!("`{text}` is not an engine: use {}", Engine::ALL.map(Engine::name).join(", ")))
    }
}
