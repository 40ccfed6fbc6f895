//! The tensors that a model declares, layer by layer, before they exist.
//!
//! Never makes a tensor. A model declares its layers in the order of its forward pass: backward then completes the flat
//! gradients from their end.

use crate::domain::model::network::{Layer, Network};
use crate::trainer::params::{Init, TensorSpec};

/// Specs of all trained tensors, and of all buffers.
#[derive(Debug, Default)]
pub struct Layout {
    pub trained: Vec<TensorSpec>,
    pub kept: Vec<TensorSpec>,
}

impl Layout {
    /// The tensors of all layers of a network, under the layers' names.
    pub fn of(network: &Network) -> Layout {
        let mut layout = Layout::default();
        for node in &network.nodes {
            let to = node.shape.channels as i64;
            match &node.layer {
                Layer::Conv { name, from, window, bias } => {
                    layout.kernel(name, [window.height as i64, window.width as i64], *from as i64, to);
                    if *bias {
                        layout.trained.push(spec(format!("{name}.bias"), &[to], Init::Zeros, false));
                    }
                }
                Layer::BatchNorm { name } => layout.norm(name, to),
                Layer::FullyConnected { name, from } => layout.dense(name, *from as i64, to),
                _ => {}
            }
        }
        layout
    }

    /// A convolution: `NAME.kernel` `[to, from, side, side]` and `NAME.bias` `[to]`.
    fn conv(&mut self, name: &str, side: i64, from: i64, to: i64) {
        let init = Init::HeNormal { fan_in: (from * side * side) as usize };
        self.trained.push(spec(format!("{name}.kernel"), &[to, from, side, side], init, true));
        self.trained.push(spec(format!("{name}.bias"), &[to], Init::Zeros, false));
    }

    /// As nvcnn starts all its kernels: scores stay small without a batch norm, and it takes half as many random numbers.
    fn kernel(&mut self, name: &str, [height, width]: [i64; 2], from: i64, to: i64) {
        let window = height * width;
        let init = Init::GlorotUniform { fan_in: (from * window) as usize, fan_out: (to * window) as usize };
        self.trained.push(spec(format!("{name}.kernel"), &[to, from, height, width], init, true));
    }

    /// A 3x3 convolution `NAME.conv`, and the batch norm behind it: `NAME.norm` with `scale`, `shift`, `mean` and `var` `[to]`.
    pub fn conv_norm(&mut self, name: &str, from: i64, to: i64) {
        self.conv(&format!("{name}.conv"), 3, from, to);
        self.norm(&format!("{name}.norm"), to);
    }

    fn norm(&mut self, name: &str, channels: i64) {
        self.trained.push(spec(format!("{name}.scale"), &[channels], Init::Ones, false));
        self.trained.push(spec(format!("{name}.shift"), &[channels], Init::Zeros, false));
        self.kept.push(spec(format!("{name}.mean"), &[channels], Init::Zeros, false));
        self.kept.push(spec(format!("{name}.var"), &[channels], Init::Ones, false));
    }

    /// Two convolutions with batch norm, and a 1x1 convolution beside them where the number of channels changes:
    /// `NAME.first`, `NAME.second` and `NAME.shortcut`.
    pub fn residual(&mut self, name: &str, from: i64, to: i64) {
        self.conv_norm(&format!("{name}.first"), from, to);
        self.conv_norm(&format!("{name}.second"), to, to);
        if from != to {
            self.conv(&format!("{name}.shortcut"), 1, from, to);
        }
    }

    /// A dense layer: `NAME.kernel` `[to, from]` and `NAME.bias` `[to]`.
    pub fn dense(&mut self, name: &str, from: i64, to: i64) {
        let glorot = Init::GlorotUniform { fan_in: from as usize, fan_out: to as usize };
        self.trained.push(spec(format!("{name}.kernel"), &[to, from], glorot, true));
        self.trained.push(spec(format!("{name}.bias"), &[to], Init::Zeros, false));
    }
}

fn spec(name: String, shape: &[i64], init: Init, is_kernel: bool) -> TensorSpec {
    TensorSpec { name, shape: shape.to_vec(), init, is_kernel }
}
