//! Models by name. Adding one is a file here and a line in `build`.
//!
//! Never trains: a model turns images into class scores.

mod dropout;
mod wide_resnet;

use rand_chacha::ChaCha8Rng;
use tch::{Device, Kind, Tensor};

pub use self::dropout::Dropout;
pub use self::wide_resnet::{DROPOUT_RATE, WideResNet};
use super::params::FlatTensors;
use crate::domain::run::ModelSpec;

/// Number of garment classes.
pub const CLASSES: i64 = 10;

/// What a forward pass does besides computing: a training pass drops units and updates batch norm statistics.
pub enum Mode<'a> {
    Training(&'a mut Dropout),
    Evaluation,
}

/// A network with its parameters and buffers.
pub trait Model {
    /// Class scores before the softmax.
    ///
    /// # Shapes
    /// `images`: [n, 1, 28, 28]. Returns [n, 10].
    fn forward(&self, images: &Tensor, mode: Mode<'_>) -> Tensor;
    /// Cast activations and kernels to this kind from now on; float32 at first.
    fn compute_in(&mut self, kind: Kind);
    /// What is trained.
    fn params(&self) -> &FlatTensors;
    fn params_mut(&mut self) -> &mut FlatTensors;
    /// What is not trained but belongs to the state: batch norm statistics.
    fn buffers(&self) -> &FlatTensors;
    fn buffers_mut(&mut self) -> &mut FlatTensors;
    /// As in `--model`.
    fn name(&self) -> String;
}

/// The model of that name with fresh weights; the same numbers give the same weights.
pub fn build(spec: ModelSpec, rng: &mut ChaCha8Rng, device: Device) -> Box<dyn Model> {
    Box::new(WideResNet::new(spec, rng, device))
}
