//! What a model is to the training loop: a forward pass, and the tensors behind it.

use rand_chacha::ChaCha8Rng;
use tch::{Device, Kind, Tensor};

use super::dropout::Dropout;
use super::layout::Layout;
use crate::domain::model::ModelSpec;
use crate::trainer::params::FlatTensors;

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
    /// `images`: [n, channels, height, width] as in [`ModelSpec::input`], float32, channels last in memory.
    /// Returns [n, classes], float32.
    fn forward(&self, images: &Tensor, mode: Mode<'_>) -> Tensor;
    fn state(&self) -> &ModelState;
    fn state_mut(&mut self) -> &mut ModelState;

    /// Fraction of activations that its dropout layers drop in training; 0 for a model without dropout.
    fn dropout_rate(&self) -> f64 {
        0.0
    }
    /// Casts activations and kernels to this kind from now on; float32 at first.
    fn compute_in(&mut self, kind: Kind) {
        self.state_mut().kind = kind;
    }
    /// What is trained.
    fn params(&self) -> &FlatTensors {
        &self.state().params
    }
    fn params_mut(&mut self) -> &mut FlatTensors {
        &mut self.state_mut().params
    }
    /// What is not trained but belongs to the state: batch norm statistics.
    fn buffers(&self) -> &FlatTensors {
        &self.state().buffers
    }
    fn buffers_mut(&mut self) -> &mut FlatTensors {
        &mut self.state_mut().buffers
    }
    /// As in `--model`.
    fn name(&self) -> String {
        self.state().spec.to_string()
    }
}

/// What every model has.
pub struct ModelState {
    pub spec: ModelSpec,
    /// What convolutions compute in.
    pub kind: Kind,
    pub params: FlatTensors,
    pub buffers: FlatTensors,
}

impl ModelState {
    /// The tensors of a layout with fresh numbers: the same stream gives the same numbers.
    pub fn build(spec: ModelSpec, layout: Layout, rng: &mut ChaCha8Rng, device: Device) -> ModelState {
        let params = FlatTensors::build(layout.trained, rng, true, device);
        let buffers = FlatTensors::build(layout.kept, rng, false, device);
        ModelState { spec, kind: Kind::Float, params, buffers }
    }
}
