//! Flat parameters in chunks. An optimizer's temporaries are then only as large as a chunk, and stay in the cache from one
//! operation to the next.
//!
//! Never splits a block: tensors with one number per block are split at the same places.

use tch::Tensor;

use crate::trainer::params::{BLOCK, FlatTensors};

/// Numbers of a chunk: 1 MiB. Measured on 17 million parameters; half or twice as many are as good.
const NUMBERS: i64 = 1 << 18;
/// libtorch uses no second thread for fewer.
const NUMBERS_PER_THREAD: i64 = 1 << 15;
/// On a GPU, each operation has a launch cost, and memory is fast.
const NUMBERS_ON_GPU: i64 = 1 << 22;

/// Consecutive blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    start: i64,
    len: i64,
    /// Of all chunks together.
    blocks: i64,
}

impl Chunk {
    /// This chunk's views of the tensors.
    ///
    /// # Shapes
    /// Flat tensors become [len, BLOCK], and tensors with one number per block become [len, 1].
    pub fn views_of<const N: usize>(self, tensors: [&Tensor; N]) -> [Tensor; N] {
        tensors.map(|tensor| tensor.view([self.blocks, -1]).narrow(0, self.start, self.len))
    }
}

/// All parameters, chunk by chunk.
pub fn chunks(params: &FlatTensors) -> impl Iterator<Item = Chunk> + use<> {
    let on_cpu = NUMBERS.max(NUMBERS_PER_THREAD * i64::from(tch::get_num_threads()));
    let numbers = if params.flat.device().is_cuda() { NUMBERS_ON_GPU } else { on_cpu };
    split(params.flat.numel() as i64 / BLOCK, numbers / BLOCK)
}

fn split(blocks: i64, most: i64) -> impl Iterator<Item = Chunk> {
    (0..blocks).step_by(most as usize).map(move |start| Chunk { start, len: most.min(blocks - start), blocks })
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind};

    use super::*;

    #[test]
    fn chunks_are_all_blocks_once_and_in_order() {
        for (blocks, most) in [(1, 4), (4, 4), (5, 4), (23, 4), (8, 1)] {
            let numbers = Tensor::arange(blocks * BLOCK, (Kind::Float, Device::Cpu));
            let per_block = Tensor::arange(blocks, (Kind::Float, Device::Cpu)).unsqueeze(1);
            let views: Vec<[Tensor; 2]> = split(blocks, most).map(|chunk| chunk.views_of([&numbers, &per_block])).collect();
            for [rows, tops] in &views {
                assert!(rows.size()[0] <= most && rows.size() == [tops.size()[0], BLOCK]);
            }
            let joined = |index: usize| Tensor::cat(&views.iter().map(|views| &views[index]).collect::<Vec<_>>(), 0);
            assert_eq!((joined(0).view_as(&numbers), joined(1)), (numbers, per_block), "{blocks} by {most}");
        }
    }
}
