//! `bench-convolutions`: the convolutions of a Wide ResNet alone, timed one by one on one core: what a training step would take if
//! everything else in it took no time. `make bench` holds hvd-train against it. BENCHMARKS.md has the results.
//!
//!     cargo run --release --no-default-features --features train --example bench-convolutions -- --model wrn-10-1 --precision bf16

#![allow(clippy::unwrap_used)]

use std::time::Instant;

use clap::Parser;
use hvd_lab::domain::model::ModelSpec;
use hvd_lab::trainer::device::{self, Precision};
use hvd_lab::trainer::model;
use hvd_lab::trainer::random::{Purpose, stream};
use tch::{Device, Kind, Tensor};

#[derive(Parser)]
struct Args {
    #[arg(long, default_value = "wrn-10-1")]
    model: ModelSpec,
    #[arg(long, default_value_t = 128)]
    batch_size: i64,
    #[arg(long, default_value = "fp32")]
    precision: Precision,
    /// Times that each is timed
    #[arg(long, default_value_t = 15)]
    rounds: usize,
}

/// A convolution of the model with numbers to work on.
struct Convolution {
    name: String,
    x: Tensor,
    kernel: Tensor,
    bias: Tensor,
    padding: i64,
    /// The gradient of its result, and a tensor like its result that no convolution made.
    gradient: Tensor,
    result: Tensor,
}

/// Seconds of one call.
struct Timed {
    forward: f64,
    backward: f64,
}

impl Convolution {
    /// # Shapes
    /// `kernel`: [to, from, side, side].
    fn new(name: &str, kernel: &Tensor, image: i64, batch: i64, kind: Kind) -> Convolution {
        let [to, from, side, _] = kernel.size()[..] else { panic!("{name} is no kernel of a convolution") };
        // Channels last, as the model has its activations.
        let random = |channels: i64| {
            let numbers = Tensor::randn([batch, image, image, channels], (Kind::Float, Device::Cpu)).to_kind(kind);
            numbers.permute([0, 3, 1, 2])
        };
        Convolution {
            name: name.to_owned(),
            // Nobody needs the gradient of the images.
            x: random(from).set_requires_grad(name != "stem.conv.kernel"),
            kernel: kernel.detach().to_kind(kind).set_requires_grad(true),
            bias: Tensor::zeros([to], (kind, Device::Cpu)),
            padding: (side - 1) / 2,
            gradient: random(to),
            result: random(to).set_requires_grad(true),
        }
    }

    fn timed(&self) -> Timed {
        let began = Instant::now();
        let y = self.x.conv2d(&self.kernel, Some(&self.bias), [1, 1], [self.padding; 2], [1, 1], 1);
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

fn main() {
    let args = Args::parse();
    device::keep_freed_memory();
    tch::set_num_threads(1);
    let kind = device::prepare(Device::Cpu, args.precision);
    let model = model::build(args.model, &mut stream(1, 0, 0, Purpose::Weights), Device::Cpu);
    let side = args.model.input().height as i64;
    let convolutions: Vec<Convolution> = (model.params().segments.iter())
        .filter(|segment| segment.shape.len() == 4)
        .map(|segment| {
            // Pooling halves the sides before the second and the third group.
            let halved = ["group2", "group3"].iter().position(|group| segment.name.starts_with(group)).map_or(0, |at| at + 1);
            Convolution::new(&segment.name, &model.params().get(&segment.name), side >> halved, args.batch_size, kind)
        })
        .collect();
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
