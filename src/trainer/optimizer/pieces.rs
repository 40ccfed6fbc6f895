//! Flat parameters in pieces, so that what an optimizer works out on its way is only ever as large as a piece, and stays
//! in the cache from one operation to the next.
//!
//! Never splits a block: what holds one number per block is split beside the parameters.

use tch::Tensor;

use crate::trainer::params::{BLOCK, FlatTensors};

/// Numbers of a piece: 1 MiB. Measured on 17 million parameters; half or twice as many are as good.
const NUMBERS: i64 = 1 << 18;
/// libtorch takes fewer for not worth a thread.
const NUMBERS_PER_THREAD: i64 = 1 << 15;
/// To a GPU, operations are dear and memory is fast.
const NUMBERS_ON_GPU: i64 = 1 << 22;

/// Neighbouring blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    start: i64,
    len: i64,
    /// Of all pieces together.
    blocks: i64,
}

impl Piece {
    /// The piece's views, block by block: flat numbers as [len, BLOCK], and what has one number per block as [len, 1].
    pub fn of<const N: usize>(self, tensors: [&Tensor; N]) -> [Tensor; N] {
        tensors.map(|tensor| tensor.view([self.blocks, -1]).narrow(0, self.start, self.len))
    }
}

/// All parameters, piece by piece.
pub fn pieces(params: &FlatTensors) -> impl Iterator<Item = Piece> + use<> {
    let numbers = match params.flat.device().is_cuda() {
        true => NUMBERS_ON_GPU,
        false => NUMBERS.max(NUMBERS_PER_THREAD * i64::from(tch::get_num_threads())),
    };
    split(params.flat.numel() as i64 / BLOCK, numbers / BLOCK)
}

fn split(blocks: i64, most: i64) -> impl Iterator<Item = Piece> {
    (0..blocks).step_by(most as usize).map(move |start| Piece { start, len: most.min(blocks - start), blocks })
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind};

    use super::*;

    #[test]
    fn pieces_are_all_blocks_once_and_in_order() {
        for (blocks, most) in [(1, 4), (4, 4), (5, 4), (23, 4), (8, 1)] {
            let numbers = Tensor::arange(blocks * BLOCK, (Kind::Float, Device::Cpu));
            let per_block = Tensor::arange(blocks, (Kind::Float, Device::Cpu)).unsqueeze(1);
            let views: Vec<[Tensor; 2]> = split(blocks, most).map(|piece| piece.of([&numbers, &per_block])).collect();
            for [rows, tops] in &views {
                assert!(rows.size()[0] <= most && rows.size() == [tops.size()[0], BLOCK]);
            }
            let joined = |index: usize| Tensor::cat(&views.iter().map(|views| &views[index]).collect::<Vec<_>>(), 0);
            assert_eq!((joined(0).view_as(&numbers), joined(1)), (numbers, per_block), "{blocks} by {most}");
        }
    }
}
