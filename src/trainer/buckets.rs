//! Which gradients travel together: neighbours of the flat buffer, in the order in which backward finishes them.
//!
//! Never moves a number: a bucket is a piece of the flat buffer where it lies, so fusing costs no copy.

use tch::Tensor;

use super::optimizer::Optimizer;
use super::params::{BLOCK, FlatTensors, Segment};

/// The first bucket is small, so that something travels early. PyTorch's DDP has the same figure.
const FIRST_BUCKET_BYTES: usize = 1 << 20;

/// One allreduce: some neighbouring tensors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Place of the first number in the flat buffer, and how many there are.
    pub start: i64,
    pub len: i64,
    /// How many tensors.
    pub tensors: usize,
}

/// Cut the flat buffer into buckets of up to `threshold_bytes`, from its end to its beginning: backward's order.
///
/// A tensor is never cut, so a large one may exceed the threshold. 0 gives every tensor a bucket of its own: no fusion.
pub fn cut(segments: &[Segment], threshold_bytes: usize) -> Vec<Bucket> {
    let mut buckets: Vec<Bucket> = Vec::new();
    for segment in segments.iter().rev() {
        let len = segment.blocks() * BLOCK;
        let limit = if buckets.len() == 1 { threshold_bytes.min(FIRST_BUCKET_BYTES) } else { threshold_bytes };
        match buckets.last_mut() {
            Some(bucket) if (bucket.len + len) as usize * size_of::<f32>() <= limit => {
                bucket.start = segment.start;
                bucket.len += len;
                bucket.tensors += 1;
            }
            _ => buckets.push(Bucket { start: segment.start, len, tensors: 1 }),
        }
    }
    buckets
}

/// `--backward-passes-per-step`: how many backward passes, one a batch, add up to one update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// The first pass of an update starts from zero gradients.
    pub is_first: bool,
    /// After the last pass, the ranks' gradients are averaged and applied.
    pub is_last: bool,
    /// Passes of this update: fewer than asked for at the end of an epoch, if it does not come out even.
    pub of: usize,
}

impl Pass {
    /// The pass of batch `index` among the epoch's `batches`.
    pub fn at(index: usize, batches: usize, passes_per_step: usize) -> Pass {
        let first = index - index % passes_per_step;
        let of = passes_per_step.min(batches - first);
        Pass { is_first: index == first, is_last: index + 1 == first + of, of }
    }

    /// Add this batch's gradients to those of the update, as its share of their mean.
    pub fn backward(&self, loss: &Tensor, params: &mut FlatTensors, optimizer: &mut dyn Optimizer) {
        if self.is_first {
            params.zero_gradients();
        }
        if self.is_last {
            optimizer.expect_gradients();
        }
        match self.of {
            1 => loss.backward(),
            passes => (loss / passes as f64).backward(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(lens: &[i64]) -> Vec<Segment> {
        let mut start = 0;
        let segment = |&len: &i64| {
            let segment = Segment { name: String::new(), shape: vec![len], start, len, is_kernel: true };
            start += segment.blocks() * BLOCK;
            segment
        };
        lens.iter().map(segment).collect()
    }

    #[test]
    fn buckets_cover_the_buffer_once_from_its_end() {
        let lens = [10, 400_000, 3, 200_000, 1, 70_000, 100_000, 50];
        for threshold in [0, 1, 4_000, 1 << 20, 2 << 20, 64 << 20] {
            let buckets = cut(&segments(&lens), threshold);
            let mut end = lens.iter().map(|len| (len + BLOCK - 1) / BLOCK * BLOCK).sum();
            for bucket in &buckets {
                assert_eq!(bucket.start + bucket.len, end, "threshold {threshold}: a gap");
                assert!(bucket.tensors == 1 || bucket.len as usize * 4 <= threshold);
                end = bucket.start;
            }
            assert_eq!((end, buckets.iter().map(|bucket| bucket.tensors).sum::<usize>()), (0, lens.len()));
        }
        assert_eq!(cut(&segments(&lens), 0).len(), lens.len());
        assert_eq!(cut(&[], 1 << 20), []);
    }

    #[test]
    fn the_first_bucket_is_small_and_the_others_are_filled() {
        let buckets = cut(&segments(&[100_000; 100]), 8 << 20);
        assert_eq!(buckets.iter().map(|bucket| bucket.tensors).collect::<Vec<_>>(), [2, 20, 20, 20, 20, 18]);
    }

    #[test]
    fn passes_add_up_to_updates() {
        let passes = |batches, k| (0..batches).map(|index| Pass::at(index, batches, k)).collect::<Vec<_>>();
        assert!(passes(3, 1).iter().all(|pass| pass.is_first && pass.is_last && pass.of == 1));
        let five = passes(5, 2);
        assert_eq!(five.iter().map(|pass| pass.is_first).collect::<Vec<_>>(), [true, false, true, false, true]);
        assert_eq!(five.iter().map(|pass| pass.is_last).collect::<Vec<_>>(), [false, true, false, true, true]);
        assert_eq!(five.iter().map(|pass| pass.of).collect::<Vec<_>>(), [2, 2, 2, 2, 1]);
    }
}
