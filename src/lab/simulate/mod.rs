//! What more GPUs would give: a model of data-parallel training, step by step, from a table of layers and of networks.
//!
//! Never starts a run, and never reads a clock or a random number: the same input gives the same figures. All that comes out of
//! here is simulated, and whoever shows it says so.
//!
//! Forward and backward take as long as one GPU needs alone, on the slowest of the ranks. Gradients get ready from the last layer
//! to the first, are fused into messages, and each message is an allreduce that begins when its gradients are ready and the one
//! before it is over. What is left of it behind backward is exposed.

mod allreduce;
mod constants;
mod engine;
mod layers;
mod normal;
mod numbers;
mod own;
mod predicted;
mod scaling;
mod step;
mod validate;

pub use allreduce::{Cluster, Link};
pub use constants::Constants;
pub use engine::{Engine, Method};
pub use layers::{Layer, Layers, MAX_LAYERS};
pub use numbers::{Network, Numbers, Published, Rate, numbers};
pub use own::{Own, OwnError, Sample};
pub use predicted::Predicted;
pub use scaling::{Knee, MAX_RANKS, Scaling, Size, Variant};
pub use step::{Bound, Simulation, Step};
pub use validate::{Checked, Validation};
