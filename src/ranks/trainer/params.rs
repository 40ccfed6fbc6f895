//! Parameters, their gradients and buffers as named views into flat tensors, in the order in which a model declares them.
//!
//! Never names a layer: a model says what it needs, and looks its views up by name.
//!
//! One flat tensor makes the optimizer a handful of operations, the broadcast one message and the checkpoint one copy,
//! and gives every rank the same order without asking. Trained tensors start on whole blocks of [`BLOCK`] numbers; the
//! few zeros between them stay zeros. A model declares its tensors in the order of its forward pass, so that backward
//! finishes the flat gradients from the end to the beginning, and what is finished lies side by side.

use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;
use tch::{Device, Kind, Tensor};

use super::gradients::set_gradient;
use super::random::{normal, unit};

/// Read as rows of this many numbers, flat parameters have no row in two tensors: what an optimizer does tensor by
/// tensor (norms, weight decay) is then a few operations over rows, however many tensors there are. As 256 bytes it also
/// gives every tensor the alignment that vector instructions and GPU libraries like best.
pub const BLOCK: i64 = 64;

/// How a tensor starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Init {
    Zeros,
    Ones,
    /// Normal with standard deviation sqrt(2 / fan_in) (He et al. 2015).
    HeNormal {
        fan_in: usize,
    },
    /// Uniform in plus or minus sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010).
    GlorotUniform {
        fan_in: usize,
        fan_out: usize,
    },
}

/// One tensor that a model asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorSpec {
    pub name: String,
    pub shape: Vec<i64>,
    pub init: Init,
    /// A kernel takes weight decay; biases and batch norm do not.
    pub is_kernel: bool,
}

/// Where one tensor lies in the flat one.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    pub name: String,
    pub shape: Vec<i64>,
    pub start: i64,
    pub len: i64,
    pub is_kernel: bool,
}

impl Segment {
    /// The view of this segment in `flat`, with the segment's shape.
    ///
    /// Convolution kernels [out, in, h, w] lie in memory as [out, h, w, in] (channels last), the order in which the
    /// convolutions of both CPU and GPU read them fastest.
    pub fn view(&self, flat: &Tensor) -> Tensor {
        let piece = flat.narrow(0, self.start, self.len);
        match self.shape[..] {
            [out, inner, height, width] => piece.view([out, height, width, inner]).permute([0, 3, 1, 2]),
            _ => piece.view(&self.shape[..]),
        }
    }

    /// Whole blocks that the segment takes up in flat parameters.
    pub fn blocks(&self) -> i64 {
        (self.len + BLOCK - 1) / BLOCK
    }

    /// The shape as counts.
    pub fn dims(&self) -> Vec<usize> {
        self.shape.iter().map(|&side| side as usize).collect()
    }
}

/// A flat tensor and the names in it.
#[derive(Debug)]
pub struct FlatTensors {
    /// # Shapes
    /// Parameters: [`BLOCK` times the sum of all segments' blocks]; buffers: [sum of all segments' lengths]; float32.
    pub flat: Tensor,
    /// What backward adds up, number by number beside `flat`; empty where nothing is trained.
    pub gradients: Tensor,
    pub segments: Vec<Segment>,
    /// In the order of the segments.
    pub views: Vec<Tensor>,
    places: BTreeMap<String, usize>,
}

impl FlatTensors {
    /// Lay the tensors out and fill them with numbers from `rng`: the same on every machine and device, with any number of
    /// threads.
    ///
    /// With `trainable`, every view is a leaf of the autograd graph, starts on a whole block, and has a view of the flat
    /// gradients for its gradient.
    pub fn build(specs: Vec<TensorSpec>, rng: &mut ChaCha8Rng, trainable: bool, device: Device) -> FlatTensors {
        let mut segments = Vec::with_capacity(specs.len());
        let mut inits = Vec::with_capacity(specs.len());
        let mut start = 0;
        for spec in specs {
            let len = spec.shape.iter().product();
            inits.push((start as usize, len as usize, spec.init));
            let segment = Segment { name: spec.name, shape: spec.shape, start, len, is_kernel: spec.is_kernel };
            start += if trainable { segment.blocks() * BLOCK } else { len };
            segments.push(segment);
        }
        let mut numbers = vec![0.0; start as usize];
        draw(&mut numbers, &inits, rng, tch::get_num_threads().max(1) as usize);
        let flat = Tensor::from_slice(&numbers).to_device(device);
        let gradients = if trainable { flat.zeros_like() } else { Tensor::zeros([0], (Kind::Float, device)) };
        let view = |segment: &Segment| {
            // `data` gives the view a version counter of its own, so it can be a leaf.
            let view = segment.view(&flat).data();
            if !trainable {
                return view;
            }
            let leaf = view.set_requires_grad(true);
            set_gradient(&leaf, &segment.view(&gradients));
            leaf
        };
        let views = segments.iter().map(view).collect();
        let places = segments.iter().enumerate().map(|(place, segment)| (segment.name.clone(), place)).collect();
        FlatTensors { flat, gradients, segments, views, places }
    }

    /// From now on backward adds up in this memory, which has as many numbers: those of before are there already.
    pub fn move_gradients(&self, memory: &Tensor) {
        let mut gradients = self.gradients.shallow_clone();
        memory.shallow_clone().copy_(&gradients);
        // Whoever holds the flat gradients now holds the new memory.
        gradients.set_data(memory);
        for (segment, leaf) in self.segments.iter().zip(&self.views) {
            set_gradient(leaf, &segment.view(memory));
        }
    }

    /// The tensor of that name, sharing memory with the flat one.
    ///
    /// # Panics
    /// If the model asks for a name that it did not declare: an error of the model's code.
    pub fn get(&self, name: &str) -> Tensor {
        self.views[*self.places.get(name).unwrap_or_else(|| panic!("the model did not declare `{name}`"))].shallow_clone()
    }

    /// Number of scalars, without the zeros between tensors.
    pub fn len(&self) -> usize {
        self.segments.iter().map(|segment| segment.len as usize).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Before a backward pass, which adds to what is there.
    pub fn zero_gradients(&mut self) {
        let _ = self.gradients.zero_();
    }

    /// A copy of the whole flat tensor on the host.
    pub fn to_vec(&self) -> Vec<f32> {
        to_vec(&self.flat)
    }

    /// The numbers of each segment, row-major whatever their order in memory.
    pub fn rows(&self) -> Vec<Vec<f32>> {
        self.segments.iter().map(|segment| to_vec(&segment.view(&self.flat).contiguous())).collect()
    }

    /// Overwrite the whole flat tensor.
    pub fn set(&mut self, values: &[f32]) {
        set(&mut self.flat, values);
    }
}

/// A copy of a float32 tensor's numbers on the host.
pub fn to_vec(tensor: &Tensor) -> Vec<f32> {
    let mut values = vec![0.0; tensor.numel()];
    tensor.to_device(Device::Cpu).copy_data(&mut values, tensor.numel());
    values
}

/// Overwrite a float32 tensor with numbers from the host, in place.
pub fn set(tensor: &mut Tensor, values: &[f32]) {
    tch::no_grad(|| tensor.copy_(&Tensor::from_slice(values).view_as(tensor)));
}

/// Fills tensors, each given by start, length and kind, with numbers from `rng`, one tensor after the other.
///
/// A stream can be entered anywhere, and it is known how much of it a number takes. So threads draw pieces of it at the same
/// time, and the numbers are those that one thread would have drawn. Kernels are drawn in memory order, which changes nothing:
/// all their numbers have one distribution.
fn draw(numbers: &mut [f32], tensors: &[(usize, usize, Init)], rng: &mut ChaCha8Rng, threads: usize) {
    /// Numbers of a piece: many pieces for each thread, however large the largest tensor.
    const PIECE: usize = 1 << 16;
    let mut word = rng.get_word_pos();
    let mut shares: Vec<Vec<(&mut [f32], Init, u128)>> = (0..threads).map(|_| Vec::new()).collect();
    let (mut rest, mut at, mut pieces) = (numbers, 0, 0);
    for &(start, len, init) in tensors {
        let (tensor, after) = std::mem::take(&mut rest).split_at_mut(start - at).1.split_at_mut(len);
        (rest, at) = (after, start + len);
        for piece in tensor.chunks_mut(PIECE) {
            let words = piece.len() as u128 * init.words();
            shares[pieces % threads].push((piece, init, word));
            (word, pieces) = (word + words, pieces + 1);
        }
    }
    let stream = rng.clone();
    let fill = |share: Vec<(&mut [f32], Init, u128)>| {
        let mut rng = stream.clone();
        for (piece, init, word) in share {
            rng.set_word_pos(word);
            init.fill(piece, &mut rng);
        }
    };
    std::thread::scope(|scope| {
        let own = shares.pop();
        for share in shares {
            scope.spawn(|| fill(share));
        }
        own.map(fill);
    });
    rng.set_word_pos(word);
}

impl Init {
    /// Words of 32 random bits that a number takes.
    fn words(self) -> u128 {
        match self {
            Init::Zeros | Init::Ones => 0,
            Init::GlorotUniform { .. } => 1,
            Init::HeNormal { .. } => 2,
        }
    }

    fn fill(self, numbers: &mut [f32], rng: &mut ChaCha8Rng) {
        match self {
            Init::Zeros => numbers.fill(0.0),
            Init::Ones => numbers.fill(1.0),
            Init::HeNormal { fan_in } => {
                let deviation = (2.0 / fan_in as f32).sqrt();
                numbers.fill_with(|| normal(rng) * deviation);
            }
            Init::GlorotUniform { fan_in, fan_out } => {
                let limit = (6.0 / (fan_in + fan_out) as f32).sqrt();
                numbers.fill_with(|| (unit(rng) * 2.0 - 1.0) * limit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trainer::random::{Purpose, stream};

    #[test]
    fn any_number_of_threads_draws_what_one_draws_one_number_after_the_other() {
        let (he, glorot) = (Init::HeNormal { fan_in: 9 }, Init::GlorotUniform { fan_in: 9, fan_out: 4 });
        let tensors =
            [(0, 70_001, he), (70_016, 5, Init::Ones), (70_080, 200_003, glorot), (270_100, 9, Init::Zeros), (270_110, 3, he)];
        let mut one_by_one = stream(5, 1, 0, Purpose::Weights);
        let _ = unit(&mut one_by_one);
        let begun = one_by_one.clone();
        let mut expected = vec![7.0; 270_120];
        for (start, len, init) in tensors {
            expected[start..start + len].iter_mut().for_each(|number| init.fill(std::slice::from_mut(number), &mut one_by_one));
        }
        for threads in [1, 2, 3, 16] {
            let (mut numbers, mut rng) = (vec![7.0; 270_120], begun.clone());
            draw(&mut numbers, &tensors, &mut rng, threads);
            assert!(numbers == expected, "{threads} threads");
            assert_eq!(unit(&mut rng), unit(&mut one_by_one.clone()), "the stream goes on behind them");
        }
    }
}
