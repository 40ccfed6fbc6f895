//! Which gradients share an allreduce: neighbours in the flat buffer, in the order in which backward completes them.
//!
//! Never moves a number: a bucket is a piece of the flat buffer where it lies, so tensor fusion costs no copy.

use super::params::{BLOCK, Segment};

/// The first bucket is small, so that communication begins early. PyTorch's DDP has the same figure.
const FIRST_BUCKET_BYTES: usize = 1 << 20;

/// One allreduce: some tensors that are neighbours in the flat buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Index of the first number in the flat buffer, and how many there are.
    pub start: i64,
    pub len: i64,
    /// How many tensors.
    pub tensors: usize,
}

/// Assigns the tensors to buckets of up to `threshold_bytes`, from the end of the flat buffer to its beginning: backward's
/// order.
///
/// A tensor is never split, so a large one may exceed the threshold. 0 gives every tensor a bucket of its own: no fusion.
///
/// # Horovod
/// `HOROVOD_FUSION_THRESHOLD`; DDP's `bucket_cap_mb`.
pub fn assign_buckets(segments: &[Segment], threshold_bytes: usize) -> Vec<Bucket> {
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
            let buckets = assign_buckets(&segments(&lens), threshold);
            let mut end = lens.iter().map(|len| (len + BLOCK - 1) / BLOCK * BLOCK).sum();
            for bucket in &buckets {
                assert_eq!(bucket.start + bucket.len, end, "threshold {threshold}: a gap");
                assert!(bucket.tensors == 1 || bucket.len as usize * 4 <= threshold);
                end = bucket.start;
            }
            assert_eq!((end, buckets.iter().map(|bucket| bucket.tensors).sum::<usize>()), (0, lens.len()));
        }
        assert_eq!(assign_buckets(&segments(&lens), 0).len(), lens.len());
        assert_eq!(assign_buckets(&[], 1 << 20), []);
    }

    #[test]
    fn the_first_bucket_is_small_and_the_others_are_filled() {
        let buckets = assign_buckets(&segments(&[100_000; 100]), 8 << 20);
        assert_eq!(buckets.iter().map(|bucket| bucket.tensors).collect::<Vec<_>>(), [2, 20, 20, 20, 20, 18]);
    }
}
