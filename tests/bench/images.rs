//! `bench-images`: the image pipeline alone, with a model that does nothing: images a second, and what each stage takes.
//! `tests/bench/peer_images.py` measures tf.data and torchvision beside it. BENCHMARKS.md has the results.
//!
//!     cargo run --release --example bench-images -- DIR --threads 1

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::sync::Arc;

use clap::Parser;
use hvd_lab::dataset::images::{self, BadRecords, Part};
use hvd_lab::trainer::pipeline::{Cropping, Dct, Decoding, Operations, Order, Pipeline, PipelineReport, Settings, View};

#[derive(Parser)]
struct Args {
    /// TFRecord files or a folder by class, as `hvd-lab data make-images` and `hvd-lab data tfrecord` make them.
    folder: PathBuf,
    #[arg(long, default_value_t = 1)]
    threads: usize,
    #[arg(long, default_value_t = 32)]
    batch_size: usize,
    #[arg(long, default_value_t = 1500)]
    images: usize,
    #[arg(long, default_value_t = 224)]
    side: usize,
    #[arg(long)]
    colour: bool,
    #[arg(long)]
    whole: bool,
    #[arg(long)]
    scaled: bool,
    #[arg(long, default_value = "fast")]
    dct: Dct,
}

/// What all threads of this process have used of the processor.
fn cpu_seconds() -> anyhow::Result<f64> {
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID)?;
    Ok(time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9)
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let source: Arc<dyn images::ImageSource> = images::open(&args.folder, Part::Train, 1000, BadRecords::Stop)?.source.into();
    let view = View::Train { cropping: Cropping::default(), flip: 0.5, colour: args.colour };
    let decoding = Decoding { dct: args.dct, ..Decoding::default() };
    let operations =
        Operations { side: args.side, decoding, partial: !args.whole, scaled: args.scaled, view, ..Operations::default() };
    let settings =
        Settings { operations, threads: args.threads, prefetch: 4, seed: 1, process: 0, bad: BadRecords::Stop, once: false };
    let order =
        Order { images: source.len(), rank: 0, ranks: 1, seed: 1, batch_size: args.batch_size, shuffle_buffer: source.len() };
    let mut best: Option<(f64, PipelineReport)> = None;
    let mut pipeline = Pipeline::start(source, order.train(0, usize::MAX), settings)?;
    let batches = args.images.div_ceil(args.batch_size);
    for round in 0..6 {
        let before = cpu_seconds()?;
        for _ in 0..batches {
            pipeline.next_batch()?;
        }
        let (report, spent) = (pipeline.report(), cpu_seconds()? - before);
        // The first round warms up. By the time of the processor: another program beside it changes that the least.
        if round > 0 && best.as_ref().is_none_or(|best| report.images as f64 / spent > best.0) {
            best = Some((report.images as f64 / spent, report));
        }
    }
    let (of_a_core, best) = best.unwrap();
    let (stage, us) = best.slowest();
    let alone = args.threads as f64 * 1e6 / us;
    println!("{of_a_core:.0} images/s of a core");
    println!("{best}");
    println!(
        "{} alone: {alone:.0} images/s; the pipeline has {:.0} % of it",
        stage.name(),
        100.0 * best.images_per_sec() / alone
    );
    Ok(())
}
