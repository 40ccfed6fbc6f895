//! `bench-convolutions`: the convolutions of a model alone (and its dense layers), timed one by one on one core: what a training step
//! would take if everything else in it took no time. Each is computed as the trainer does it, or with `--libtorch` as libtorch does it.
//! `make bench` holds hvd-train against it. BENCHMARKS.md has the results.
//!
//!     cargo run --release --example bench-convolutions -- --model wrn-10-1 --precision bf16

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::time::Instant;

use clap::Parser;
use hvd_lab::domain::benchmark::NumberFormat;
use hvd_lab::domain::model::ModelSpec;
use hvd_lab::domain::model::network::{Layer, Network, Node};
use hvd_lab::trainer::device;
use hvd_lab::trainer::model::{self, Conv};
use hvd_lab::trainer::random::{Purpose, stream};
use tch::{Device, Kind, Tensor};

#[derive(Parser)]
struct Args {
    #[arg(long, default_value = "wrn-10-1")]
    model: ModelSpec,
    #[arg(long, default_value_t = 128)]
    batch_size: i64,
    /// Pixels of a side, where the model takes other sizes than its own
    #[arg(long)]
    image_size: Option<usize>,
    #[arg(long, default_value = "fp32")]
    precision: NumberFormat,
    /// By libtorch's convolutions only, where the trainer has some of its own
    #[arg(long)]
    libtorch: bool,
    /// Times that each is timed
    #[arg(long, default_value_t = 15)]
    rounds: usize,
}

/// A convolution of the model with numbers to work on, or a dense layer.
struct Convolution {
    name: String,
    x: Tensor,
    kernel: Tensor,
    bias: Tensor,
    stride: i64,
    padding: [i64; 2],
    by_libtorch: bool,
    /// The gradient of its result, and a tensor like its result that no convolution made.
    gradient: Tensor,
    result: Tensor,
}

/// What a convolution takes and gives, each [n, channels, height, width]; of a dense layer [n, channels].
struct Sides {
    from: Vec<i64>,
    to: Vec<i64>,
}

/// Seconds of one call.
struct Timed {
    forward: f64,
    backward: f64,
}

/// Normally distributed. Channels last, as the model has its activations.
fn random(sides: &[i64], kind: Kind) -> Tensor {
    let numbers = |sides: &[i64]| Tensor::randn(sides, (Kind::Float, Device::Cpu)).to_kind(kind);
    match *sides {
        [batch, channels, height, width] => numbers(&[batch, height, width, channels]).permute([0, 3, 1, 2]),
        _ => numbers(sides),
    }
}

impl Convolution {
    /// # Shapes
    /// `kernel`: [to, from, height, width], of a dense layer [to, from].
    fn new(name: &str, kernel: &Tensor, sides: &Sides, stride: usize, padding: [usize; 2], kind: Kind) -> Convolution {
        Convolution {
            name: name.to_owned(),
            x: random(&sides.from, kind).set_requires_grad(true),
            kernel: kernel.detach().to_kind(kind).set_requires_grad(true),
            bias: Tensor::zeros([kernel.size()[0]], (kind, Device::Cpu)),
            stride: stride as i64,
            padding: padding.map(|zeros| zeros as i64),
            by_libtorch: false,
            gradient: random(&sides.to, kind),
            result: random(&sides.to, kind).set_requires_grad(true),
        }
    }

    /// Nobody needs the gradient of the images.
    fn on_images(mut self) -> Convolution {
        self.x = self.x.set_requires_grad(false);
        self
    }

    fn forward(&self) -> Tensor {
        let (kernel, bias) = (&self.kernel, &self.bias);
        match (kernel.dim(), self.by_libtorch) {
            (2, _) => self.x.linear(kernel, Some(bias)),
            (_, true) => self.x.conv2d(kernel, Some(bias), [self.stride; 2], self.padding, [1, 1], 1),
            (_, false) => {
                Conv::new(kernel.shallow_clone(), Some(bias.shallow_clone()), self.stride, self.padding).forward(&self.x)
            }
        }
    }

    fn timed(&self) -> Timed {
        let began = Instant::now();
        let y = self.forward();
        let forward = began.elapsed().as_secs_f64();
        // Backward starts from a scalar, so the product with the gradient takes time as well. The same without a
        // convolution tells how much.
        let inputs = if self.x.requires_grad() { vec![&self.x, &self.kernel] } else { vec![&self.kernel] };
        let with = self.backward(&y, &inputs);
        let without = self.backward(&self.result, &[&self.result]);
        Timed { forward, backward: with - without }
    }

    fn backward(&self, y: &Tensor, inputs: &[&Tensor]) -> f64 {
        let loss = (y * &self.gradient).sum(Kind::Float);
        let began = Instant::now();
        let gradients = Tensor::run_backward(&[&loss], inputs, false, false);
        let seconds = began.elapsed().as_secs_f64();
        assert_eq!(gradients.len(), inputs.len());
        seconds
    }
}

fn of_wide_resnet(spec: ModelSpec, side: usize, batch: i64, kind: Kind) -> Vec<Convolution> {
    let model = model::build(spec, &mut stream(1, 0, 0, Purpose::Weights), Device::Cpu);
    let segments = model.params().segments.iter().filter(|segment| segment.shape.len() == 4);
    let convolution = |name: &str| {
        let kernel = model.params().get(name);
        let [to, from, window, _] = kernel.size()[..] else { panic!("{name} is no kernel of a convolution") };
        // Pooling halves the sides before the second and the third group.
        let halved = ["group2", "group3"].iter().position(|group| name.starts_with(group)).map_or(0, |at| at + 1);
        let image = side as i64 >> halved;
        let sides = Sides { from: vec![batch, from, image, image], to: vec![batch, to, image, image] };
        let convolution = Convolution::new(name, &kernel, &sides, 1, [(window as usize - 1) / 2; 2], kind);
        if name == "stem.conv.kernel" { convolution.on_images() } else { convolution }
    };
    segments.map(|segment| convolution(&segment.name)).collect()
}

fn of_network(network: &Network, batch: i64, kind: Kind) -> Vec<Convolution> {
    let sides_of = |index: usize| {
        let shape = network.nodes[index].shape;
        vec![batch, shape.channels as i64, shape.height as i64, shape.width as i64]
    };
    let convolution = |(index, node): (usize, &Node)| {
        let to = node.shape.channels as i64;
        match &node.layer {
            Layer::Conv { name, from, window, .. } => {
                let kernel = random(&[to, *from as i64, window.height as i64, window.width as i64], kind).contiguous();
                let sides = Sides { from: sides_of(node.inputs[0]), to: sides_of(index) };
                let convolution = Convolution::new(name, &kernel, &sides, window.stride, window.padding(), kind);
                let on_images = network.nodes[node.inputs[0]].layer == Layer::Images;
                Some(if on_images { convolution.on_images() } else { convolution })
            }
            Layer::FullyConnected { name, from } => {
                let sides = Sides { from: vec![batch, *from as i64], to: vec![batch, to] };
                Some(Convolution::new(name, &random(&[to, *from as i64], kind), &sides, 1, [0, 0], kind))
            }
            _ => None,
        }
    };
    network.nodes.iter().enumerate().filter_map(convolution).collect()
}

fn main() {
    let args = Args::parse();
    device::keep_freed_memory();
    tch::set_num_threads(1);
    let kind = device::prepare(Device::Cpu, args.precision);
    let input = args.model.input_at(args.image_size).unwrap();
    let network = if let ModelSpec::Named(named) = args.model { named.network(input) } else { None };
    let mut convolutions = match network {
        Some(network) => of_network(&network, args.batch_size, kind),
        None => of_wide_resnet(args.model, input.height, args.batch_size, kind),
    };
    convolutions.iter_mut().for_each(|convolution| convolution.by_libtorch = args.libtorch);
    // The first round warms up. Round by round, so that a machine that slows down slows all of them.
    let rounds: Vec<Vec<Timed>> =
        (0..=args.rounds).map(|_| convolutions.iter().map(Convolution::timed).collect()).skip(1).collect();
    let mut total = 0.0;
    for (at, convolution) in convolutions.iter().enumerate() {
        // Means, as the trainer's images a second are: what disturbs the machine slows both alike.
        let of = |part: fn(&Timed) -> f64| rounds.iter().map(|round| part(&round[at])).sum::<f64>() / rounds.len() as f64;
        let (forward, backward) = (of(|timed| timed.forward), of(|timed| timed.backward));
        println!("{}: forward {:.3} ms, backward {:.3} ms", convolution.name, forward * 1e3, backward * 1e3);
        total += forward + backward;
    }
    println!("convolutions alone: {:.0} images/s of a core", args.batch_size as f64 / total);
}
