//! The flags of `hvd-measure bench`: those of Horovod's synthetic benchmark, and what the lab adds.

use std::ffi::OsString;

use clap::Parser;
use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use hvd_lab::comm::Compression;
use hvd_lab::domain::benchmark::{BenchmarkSpec, Binding, NumberFormat, Style, UpdateRule};
use hvd_lab::domain::model::ModelSpec;
use hvd_lab::domain::settings::in_plain_words;
use hvd_lab::trainer::config::{Stop, one_line};
use hvd_lab::trainer::distributed::{AllreduceOptions, FUSION_THRESHOLD_MB};

/// Begins the lines of this command's errors.
pub const PROGRAM: &str = "hvd-measure bench";

const EXAMPLES: &str = "\
Examples:
  mpirun -np 2 hvd-measure bench --model wrn-10-1 --batch-size 64
      Two ranks train on one fixed batch each; prints what Horovod's synthetic benchmark prints.
  mpirun -np 2 hvd-measure bench --style tf-cnn --model wrn-16-4 --num-iters 100 --num-batches-per-iter 1
      The same in the lines of tf_cnn_benchmarks.
  mpirun -np 2 --map-by numa --bind-to numa hvd-measure bench --bind numa --num-intra-threads 8
      On the cores that mpirun gave, with eight threads.

`hvd-lab bench` takes the flags of tf_cnn_benchmarks and nvcnn as well, and keeps the results.
Exit codes: 0 measured, 1 failed, 2 a flag that cannot be used.";

/// Measures how many images a second a model is trained on, on one fixed batch of noise.
///
/// One program for every rank.
#[derive(Clone, Debug, PartialEq, Parser)]
#[command(name = "hvd-measure bench", version, after_long_help = EXAMPLES, max_term_width = 110, args_override_self = true)]
pub struct Args {
    /// Whose lines to print: horovod, tf-cnn, nvcnn or json
    #[arg(long, value_name = "NAME", default_value = "horovod")]
    style: Style,
    /// The model, such as wrn-10-1
    #[arg(long, value_name = "NAME", default_value = "wrn-10-1")]
    model: ModelSpec,
    /// Height and width of the images, where the model takes others than its own
    #[arg(long, value_name = "PIXELS", allow_negative_numbers = true)]
    image_size: Option<usize>,
    /// Folder with photos (TFRecord files, or JPEGs by class), or for 28x28 models the four Fashion-MNIST .gz files or the word
    /// `generated`: real images instead of one synthetic batch
    #[arg(long, value_name = "DIR")]
    data_dir: Option<String>,
    /// Images per batch on each rank
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    batch_size: Option<usize>,
    /// Batches before those that count
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    num_warmup_batches: Option<usize>,
    /// Batches that are timed together
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    num_batches_per_iter: Option<usize>,
    /// Times that so many batches are timed
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    num_iters: Option<usize>,
    /// Batches from one row to the next (tf-cnn, nvcnn)
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    display_every: Option<usize>,
    /// Numbers that convolutions compute in: fp32, tf32 or bf16
    #[arg(long, value_name = "FORMAT", default_value = "fp32")]
    precision: NumberFormat,
    /// sgd, or momentum for SGD with a momentum of 0.9
    #[arg(long, value_name = "NAME")]
    optimizer: Option<UpdateRule>,
    /// Send gradients as float16
    #[arg(long)]
    fp16_allreduce: bool,
    /// Stay on the CPU also where there are GPUs
    #[arg(long)]
    no_cuda: bool,
    /// Refuse to measure where there is no GPU
    #[arg(long, conflicts_with = "no_cuda")]
    cuda: bool,
    /// Threads inside one operation
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    num_intra_threads: Option<usize>,
    /// share: take an equal share of the cores. Anything else: stay on the cores that mpirun gave
    #[arg(long, value_name = "UNIT", default_value = "share")]
    bind: Binding,
    /// Take memory from this NUMA node as long as it has some
    #[arg(long, value_name = "NODE", allow_negative_numbers = true)]
    mem_node: Option<usize>,
    /// Exchange no gradients: each rank trains alone, which is the most that exchanging them could reach
    #[arg(long)]
    no_exchange: bool,
    /// Send gradients when the whole backward pass is over, rather than while it goes on
    #[arg(long)]
    no_overlap: bool,
    /// Most MiB of gradients in one allreduce; 0 for one allreduce per tensor
    #[arg(long, value_name = "MIB", default_value_t = FUSION_THRESHOLD_MB, value_parser = clap::value_parser!(u16).map(usize::from))]
    fusion_threshold_mb: usize,
    /// Print event lines for the lab between the human lines
    #[arg(long)]
    pub events: bool,
    /// Print what this program was built with, as JSON, and exit
    #[arg(long)]
    pub build_info: bool,
}

impl Args {
    /// Reads the flags. `args` starts with the program's name.
    ///
    /// # Errors
    /// A [`Stop`] with code 0 for --help and --version, and code 2 with one line for anything that cannot be used.
    pub fn read(args: impl IntoIterator<Item = OsString>) -> Result<Args, Stop> {
        let args = Args::try_parse_from(args).map_err(|error| match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Stop { text: error.render().to_string(), code: 0 },
            _ => refusal(&in_plain_words(&one_line(&error, PROGRAM))),
        })?;
        match args.spec().problem() {
            Some(problem) => Err(refusal(&problem)),
            None => Ok(args),
        }
    }

    /// How gradients are averaged; `None` where they are not.
    pub fn exchange(&self) -> Option<AllreduceOptions> {
        (!self.no_exchange).then_some(AllreduceOptions {
            fusion_threshold_bytes: self.fusion_threshold_mb << 20,
            overlap: !self.no_overlap,
            compression: if self.fp16_allreduce { Compression::Fp16 } else { Compression::None },
        })
    }

    /// With what the style has where no flag was given.
    pub fn spec(&self) -> BenchmarkSpec {
        let of_style = BenchmarkSpec::of_style(self.style, self.model);
        BenchmarkSpec {
            image_size: self.image_size,
            data_dir: self.data_dir.clone(),
            batch_size: self.batch_size.unwrap_or(of_style.batch_size),
            warmup_batches: self.num_warmup_batches.unwrap_or(of_style.warmup_batches),
            batches_per_iteration: self.num_batches_per_iter.unwrap_or(of_style.batches_per_iteration),
            iterations: self.num_iters.unwrap_or(of_style.iterations),
            display_every: self.display_every.unwrap_or(of_style.display_every),
            precision: self.precision,
            optimizer: self.optimizer.unwrap_or(of_style.optimizer),
            fp16_allreduce: self.fp16_allreduce,
            no_cuda: self.no_cuda,
            cuda: self.cuda,
            threads: self.num_intra_threads,
            bind: self.bind,
            mem_node: self.mem_node,
            ..of_style
        }
    }
}

fn refusal(problem: &str) -> Stop {
    Stop { text: format!("{PROGRAM}: {problem}"), code: 2 }
}
