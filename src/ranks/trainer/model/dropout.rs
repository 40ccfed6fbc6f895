//! Dropout in two forms: one that costs next to nothing at a small rate behind a ReLU, and one for any place and rate.
//!
//! A mask for every activation takes a fifth of a training step of a Wide ResNet on a CPU. The gaps between dropped positions
//! follow a geometric distribution, so one random number per dropped position gives exactly the same independent choices. The
//! survivors' factor 1 / (1 - rate) is then folded into the batch norm before the ReLU (`scale`). Where half of the numbers are
//! dropped, a mask is cheaper (`drop`).
//!
//! A GPU would wait for numbers drawn here: WRN-16-10 drops two million in a step. So it draws its own, from a seed of this stream.

use rand_chacha::ChaCha8Rng;
use rand_core::Rng;
use tch::{Device, Kind, Tensor};

use crate::trainer::random::unit;

/// Drops activations independently of each other.
pub struct Dropout {
    /// Of `drop_in_place`.
    rate: f64,
    rng: ChaCha8Rng,
}

impl Dropout {
    /// `rate` in 0 to 1; 0 drops nothing.
    pub fn new(rate: f64, rng: ChaCha8Rng) -> Dropout {
        Dropout { rate, rng }
    }

    /// How many random numbers it has drawn, in words of its stream.
    pub fn position(&self) -> u128 {
        self.rng.get_word_pos()
    }

    /// What survivors are multiplied by, so that the expected sum stays the same.
    pub fn scale(&self) -> f64 {
        1.0 / (1.0 - self.rate)
    }

    /// Sets the dropped positions of a ReLU's result to zero, in place and unknown to the autograd graph.
    ///
    /// That is correct only for a ReLU: its backward pass stops the gradient wherever the result is zero.
    pub fn drop_in_place(&mut self, relu_result: &Tensor) {
        if self.rate <= 0.0 {
            return;
        }
        let numbers = relu_result.numel() as i64;
        // A line over the same memory in whatever order it lies: only which positions are dropped depends on it.
        let mut line = relu_result.data().as_strided([numbers], [1], None);
        let _ = tch::no_grad(|| match relu_result.device() {
            Device::Cpu => line.index_fill_(0, &Tensor::from_slice(&self.positions(numbers)), 0.0),
            _ => line.masked_fill_(&self.draw_there(&line, self.rate), 0.0),
        });
    }

    /// A copy in which each number is 0 with the probability `rate`, and divided by 1 - `rate` otherwise.
    ///
    /// # Shapes
    /// `x`: any. Returns the same shape, in the same order in memory.
    pub fn drop(&mut self, x: &Tensor, rate: f64) -> Tensor {
        if x.device() != Device::Cpu {
            let is_dropped = self.draw_there(x, rate);
            return x.masked_fill(&is_dropped, 0.0) / (1.0 - rate);
        }
        // In steps of 1 / 65536.
        let threshold = (rate * 65536.0).round() as i32;
        let keep = (65536.0 / (65536.0 - f64::from(threshold))) as f32;
        let mut random = vec![0u8; 2 * x.numel()];
        self.rng.fill_bytes(&mut random);
        // Without a branch, which a processor would guess wrong every fourth time: the sign of the difference as a mask of bits.
        let bits = move |pair: &[u8; 2]| {
            let is_dropped = (i32::from(u16::from_le_bytes(*pair)) - threshold) >> 31;
            keep.to_bits() & !is_dropped as u32
        };
        let mask: Vec<f32> = random.as_chunks().0.iter().map(|pair| f32::from_bits(bits(pair))).collect();
        let mask = Tensor::from_slice(&mask).to_kind(x.kind());
        // Every place is as likely as any other, so the mask takes the order of `x`, in which multiplying is fastest.
        let (sides, strides) = (x.size(), x.stride());
        let reach: i64 = sides.iter().zip(&strides).map(|(side, stride)| (side - 1) * stride).sum();
        x * if reach < x.numel() as i64 { mask.as_strided(&sides, &strides, None) } else { mask.view(&sides[..]) }
    }

    /// Which numbers of `x` to drop, drawn on its device: true with the probability `rate`.
    fn draw_there(&mut self, x: &Tensor, rate: f64) -> Tensor {
        // libtorch keeps one generator for each device, and nothing else draws from it.
        tch::manual_seed((self.rng.next_u64() >> 1) as i64);
        Tensor::empty(x.size(), (Kind::Bool, x.device())).bernoulli_float_(rate)
    }

    fn positions(&mut self, numbers: i64) -> Vec<i64> {
        let log_keep = (-self.rate).ln_1p() as f32;
        let mut positions = Vec::with_capacity((numbers as f64 * self.rate * 1.1) as usize + 16);
        let mut position = -1i64;
        loop {
            // 1 - unit is in (0, 1], so the logarithm is finite.
            let gap = ((1.0 - unit(&mut self.rng)).ln() / log_keep) as i64;
            position += 1 + gap;
            if position >= numbers {
                return positions;
            }
            positions.push(position);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trainer::random::{Purpose, stream};

    #[test]
    fn positions_are_dropped_independently_at_the_rate() {
        for rate in [0.01, 0.2, 0.5] {
            let mut dropout = Dropout::new(rate, stream(1, 0, 0, Purpose::Dropout));
            let numbers = 400_000;
            let positions = dropout.positions(numbers);
            let expected = numbers as f64 * rate;
            let deviation = (numbers as f64 * rate * (1.0 - rate)).sqrt();
            assert!((positions.len() as f64 - expected).abs() < 5.0 * deviation, "{} of {expected}", positions.len());
            assert!(positions.windows(2).all(|pair| pair[0] < pair[1]));
            // Neighbours are dropped together as often as chance has it.
            let pairs = positions.windows(2).filter(|pair| pair[1] - pair[0] == 1).count() as f64;
            let by_chance = numbers as f64 * rate * rate;
            assert!((pairs - by_chance).abs() < 6.0 * by_chance.sqrt() + 5.0, "{pairs} neighbours, {by_chance} by chance");
        }
    }

    #[test]
    fn a_mask_drops_at_its_rate_and_keeps_the_mean() {
        let channels_last = Tensor::ones([16, 20, 20, 32], (tch::Kind::Float, tch::Device::Cpu)).permute([0, 3, 1, 2]);
        for (rate, kept) in [(0.25, 1.0 / 0.75), (0.5, 2.0)] {
            let mut dropout = Dropout::new(0.0, stream(1, 0, 0, Purpose::Dropout));
            let x = channels_last.detach().set_requires_grad(true);
            let y = dropout.drop(&x, rate);
            assert_eq!((y.size(), y.stride()), (x.size(), x.stride()));
            let numbers = crate::trainer::params::to_vec(&y.contiguous());
            assert!(numbers.iter().all(|&number| number == 0.0 || (number - kept).abs() < 1e-6));
            let dropped = numbers.iter().filter(|&&number| number == 0.0).count() as f64 / numbers.len() as f64;
            assert!((dropped - rate).abs() < 0.006, "{dropped}");
            y.sum(tch::Kind::Float).backward();
            assert!(x.grad().equal(&y.detach()), "gradients pass where numbers do");
            assert!(!dropout.drop(&x, rate).equal(&y), "drawn anew each time");
        }
    }

    /// What a GPU draws, drawn by the CPU's generator.
    #[test]
    fn what_a_device_draws_by_itself_follows_from_the_stream() {
        let x = Tensor::ones([400, 1000], (Kind::Float, Device::Cpu));
        let drawn = |place: usize| {
            let mut dropout = Dropout::new(0.01, stream(1, 0, place, Purpose::Dropout));
            let first = dropout.draw_there(&x, 0.01);
            (first, dropout.draw_there(&x, 0.01))
        };
        let ((first, second), (again, _), (other, _)) = (drawn(0), drawn(0), drawn(1));
        assert!(first.equal(&again) && !first.equal(&second) && !first.equal(&other));
        let dropped = first.sum(Kind::Float).double_value(&[]);
        assert!((dropped - 4000.0).abs() < 5.0 * (4000.0f64 * 0.99).sqrt(), "{dropped} of 4000");
    }

    #[test]
    fn gradients_stop_at_dropped_positions() {
        let input = Tensor::ones([1000], (tch::Kind::Float, tch::Device::Cpu)).set_requires_grad(true);
        let mut dropout = Dropout::new(0.3, stream(2, 0, 0, Purpose::Dropout));
        let output = (&input * dropout.scale()).relu();
        dropout.drop_in_place(&output);
        output.sum(tch::Kind::Float).backward();
        let (kept, gradient) = (crate::trainer::params::to_vec(&output), crate::trainer::params::to_vec(&input.grad()));
        assert_eq!(kept, gradient);
        assert!(kept.contains(&0.0) && kept.iter().any(|&value| (value - 1.0 / 0.7).abs() < 1e-6));
    }
}
