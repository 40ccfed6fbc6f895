//! What optimizers do tensor by tensor, as a few operations over the blocks of flat parameters.
//!
//! Never loops over tensors: their number would be the number of small operations, each of which costs more than its
//! arithmetic.

use tch::{Kind, Tensor};

use crate::trainer::params::{BLOCK, FlatTensors};

/// Which block belongs to which tensor.
pub struct PerTensor {
    /// Blocks of each tensor: `[tensors]`, int64.
    blocks: Tensor,
    /// Tensor of each block: `[blocks]`, int64.
    owner: Tensor,
}

impl PerTensor {
    /// Of parameters with these segments.
    pub fn new(params: &FlatTensors) -> PerTensor {
        let counts: Vec<i64> = params.segments.iter().map(|segment| segment.blocks()).collect();
        let owner: Vec<i64> = (0..).zip(&counts).flat_map(|(tensor, &count)| (0..count).map(move |_| tensor)).collect();
        let on_device = |numbers: &[i64]| Tensor::from_slice(numbers).to_device(params.flat.device());
        PerTensor { blocks: on_device(&counts), owner: on_device(&owner) }
    }

    /// The square of each tensor's Euclidean norm: `[tensors]`, float32. The blocks are summed in double precision.
    pub fn squared_norms(&self, flat: &Tensor) -> Tensor {
        let of_blocks = rows(flat).norm_scalaropt_dim(2.0, [1i64].as_slice(), false).to_kind(Kind::Double).square_();
        // Not checked (`true`): the lengths are our own, and looking at them would wait for the GPU.
        Tensor::segment_reduce(&of_blocks, "sum", Some(&self.blocks), None, None, 0, true, 0.0).to_kind(Kind::Float)
    }

    /// One number per tensor to one per block: `[tensors]` to `[blocks, 1]`, which broadcasts over [`rows`].
    pub fn spread(&self, numbers: &Tensor) -> Tensor {
        numbers.index_select(0, &self.owner).unsqueeze(1)
    }

    /// The weight decay of each block: `wd` in kernels, and 0 elsewhere: [blocks, 1].
    pub fn decay(&self, params: &FlatTensors, wd: f64) -> Tensor {
        let numbers: Vec<f32> = params.segments.iter().map(|segment| if segment.is_kernel { wd as f32 } else { 0.0 }).collect();
        self.spread(&Tensor::from_slice(&numbers).to_device(params.flat.device()))
    }
}

/// A view of flat numbers block by block: [blocks, BLOCK].
pub fn rows(flat: &Tensor) -> Tensor {
    flat.view([-1, BLOCK])
}
