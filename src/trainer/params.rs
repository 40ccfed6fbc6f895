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
    views: Vec<Tensor>,
    places: BTreeMap<String, usize>,
}

impl FlatTensors {
    /// Lay the tensors out and fill them with numbers from `rng`: the same on every machine and device.
    ///
    /// With `trainable`, every view is a leaf of the autograd graph, starts on a whole block, and has a view of the flat
    /// gradients for its gradient.
    pub fn build(specs: Vec<TensorSpec>, rng: &mut ChaCha8Rng, trainable: bool, device: Device) -> FlatTensors {
        let mut segments = Vec::with_capacity(specs.len());
        let mut start = 0;
        let mut numbers = Vec::new();
        for spec in specs {
            let len = spec.shape.iter().product();
            numbers.extend((0..len).map(|_| draw(spec.init, rng)));
            let segment = Segment { name: spec.name, shape: spec.shape, start, len, is_kernel: spec.is_kernel };
            start += if trainable { segment.blocks() * BLOCK } else { len };
            numbers.resize(start as usize, 0.0);
            segments.push(segment);
        }
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

    /// The tensor of that name, sharing memory with the flat one.
    ///
    /// # Panics
    /// If the model asks for a name that it did not declare: an error of the model's code.
    pub fn get(&self, name: &str) -> Tensor {
        self.views[*self.places.get(name).unwrap_or_else(|| panic!("the model did not declare `{name}`"))].shallow_clone()
    }

    /// All views in flat order.
    pub fn views(&self) -> &[Tensor] {
        &self.views
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

/// One number. Kernels are drawn in memory order, which changes nothing: all their numbers have one distribution.
fn draw(init: Init, rng: &mut ChaCha8Rng) -> f32 {
    match init {
        Init::Zeros => 0.0,
        Init::Ones => 1.0,
        Init::HeNormal { fan_in } => normal(rng) * (2.0 / fan_in as f32).sqrt(),
        Init::GlorotUniform { fan_in, fan_out } => (unit(rng) * 2.0 - 1.0) * (6.0 / (fan_in + fan_out) as f32).sqrt(),
    }
}
