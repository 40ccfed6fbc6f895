//! The tensors that a model declares, layer by layer, before they exist.
//!
//! Never makes a tensor. A model declares its layers in the order of its forward pass: backward then completes the flat
//! gradients from their end.

use crate::trainer::params::{Init, TensorSpec};

/// Specs of all trained tensors, and of all buffers.
#[derive(Debug, Default)]
pub struct Layout {
    pub trained: Vec<TensorSpec>,
    pub kept: Vec<TensorSpec>,
}

impl Layout {
    /// A convolution: `NAME.kernel` [to, from, side, side] and `NAME.bias` [to].
    pub fn conv(&mut self, name: &str, side: i64, from: i64, to: i64) {
        let init = Init::HeNormal { fan_in: (from * side * side) as usize };
        self.trained.push(spec(format!("{name}.kernel"), &[to, from, side, side], init, true));
        self.trained.push(spec(format!("{name}.bias"), &[to], Init::Zeros, false));
    }

    /// A convolution `NAME.conv`, and the batch norm behind it: `NAME.norm` with `scale`, `shift`, `mean` and `var` [to].
    pub fn conv_norm(&mut self, name: &str, side: i64, from: i64, to: i64) {
        self.conv(&format!("{name}.conv"), side, from, to);
        self.trained.push(spec(format!("{name}.norm.scale"), &[to], Init::Ones, false));
        self.trained.push(spec(format!("{name}.norm.shift"), &[to], Init::Zeros, false));
        self.kept.push(spec(format!("{name}.norm.mean"), &[to], Init::Zeros, false));
        self.kept.push(spec(format!("{name}.norm.var"), &[to], Init::Ones, false));
    }

    /// Two convolutions with batch norm, and a 1x1 convolution beside them where the number of channels changes:
    /// `NAME.first`, `NAME.second` and `NAME.shortcut`.
    pub fn residual(&mut self, name: &str, side: i64, from: i64, to: i64) {
        self.conv_norm(&format!("{name}.first"), side, from, to);
        self.conv_norm(&format!("{name}.second"), side, to, to);
        if from != to {
            self.conv(&format!("{name}.shortcut"), 1, from, to);
        }
    }

    /// A dense layer: `NAME.kernel` [to, from] and `NAME.bias` [to].
    pub fn dense(&mut self, name: &str, from: i64, to: i64) {
        let glorot = Init::GlorotUniform { fan_in: from as usize, fan_out: to as usize };
        self.trained.push(spec(format!("{name}.kernel"), &[to, from], glorot, true));
        self.trained.push(spec(format!("{name}.bias"), &[to], Init::Zeros, false));
    }
}

fn spec(name: String, shape: &[i64], init: Init, is_kernel: bool) -> TensorSpec {
    TensorSpec { name, shape: shape.to_vec(), init, is_kernel }
}
