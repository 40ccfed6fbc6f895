//! The flags of `hvd-measure bench`: those of Horovod's synthetic benchmark, and what the lab adds.

use std::ffi::OsString;

use clap::Parser;
use clap::builder::TypedValueParser;
use hvd_lab::comm::Compression;
use hvd_lab::domain::benchmark::BenchmarkSpec;
use hvd_lab::flags::{Benchmark, Flagged, Flags};
use hvd_lab::trainer::config::{Stop, read_flags};
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
#[derive(Debug, Parser)]
#[command(name = "hvd-measure bench", version, after_long_help = EXAMPLES, max_term_width = 110, args_override_self = true)]
pub struct Args {
    #[command(flatten)]
    flags: Flags<Benchmark>,
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
        let args: Args = read_flags(PROGRAM, args)?;
        let problem = args.flags.spec().map_or_else(Some, |spec| spec.problem());
        problem.map_or(Ok(args), |problem| Err(Stop::refusal(PROGRAM, &problem)))
    }

    /// How gradients are averaged; `None` where they are not.
    pub fn exchange(&self) -> Option<AllreduceOptions> {
        (!self.no_exchange).then_some(AllreduceOptions {
            fusion_threshold_bytes: self.fusion_threshold_mb << 20,
            overlap: !self.no_overlap,
            compression: if self.spec().fp16_allreduce { Compression::Fp16 } else { Compression::None },
        })
    }

    /// With what the style has where no flag was given. Values were checked as they were read.
    pub fn spec(&self) -> BenchmarkSpec {
        self.flags.spec().unwrap_or_else(|_| Benchmark::default_spec())
    }
}
