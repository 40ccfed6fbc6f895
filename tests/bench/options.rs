//! What the benchmark is asked for, and how long it measures.
//!
//! Never measures.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use super::models::{self, Shape};

/// Measures hvd-train, hvd-lab and, where they are installed, PyTorch DDP and Keras on Horovod side by side, and prints one table of ratios.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "make bench",
    max_term_width = 110,
    after_long_help = "\
Peer: HVD_LAB_PEER_PYTHON names a python with torch 2.11.0 and numpy, HVD_LAB_PEER the script (default:
shared/peers/ddp_fashion_mnist.py in a folder above the repository). Images: shared/fashion-mnist there, or
HVD_LAB_TEST_DATA; else the bundled generator, on which the peers' rows are left out. HVD_LAB_KERAS_PYTHON names a python with
TensorFlow and Horovod: a second peer. HVD_LAB_IMAGES_PYTHON names one with TensorFlow, or torch and torchvision: the peers of the image
pipeline."
)]
pub struct Options {
    /// Times that everything is run; medians are over these
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub rounds: u16,
    /// One round, few steps, one model: whether it works, not how fast
    #[arg(long)]
    pub quick: bool,
    /// Only this part of it; may be given several times
    #[arg(long, value_name = "NAME")]
    pub only: Vec<Section>,
    /// Write everything that was measured to this file, as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the table to this file, as Markdown, besides printing it
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// With ResNet-50 at 224 pixels, which takes minutes a round
    #[arg(long)]
    pub large: bool,
    /// What cargo passes to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Parts that can be run alone, in the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Section {
    /// Training with the data pipeline, against PyTorch DDP; scaling; memory
    Data,
    /// The same on one fixed batch
    Synthetic,
    /// Training with the data pipeline and models by name once more, all programs limited to AVX2, the vectors of most laptops
    Avx2,
    /// Launch to the first finished training step
    Start,
    /// Overlap and fusion of the allreduce, on against off
    Overlap,
    /// One rank against the convolutions of its model alone
    Bound,
    /// The communicator against raw MPI_Allreduce
    Allreduce,
    /// Models by name on one batch, against PyTorch; two ranks against two that exchange nothing
    Models,
    /// The image pipeline on one core, against tf.data and torchvision
    Images,
    /// The lab's screen: start, memory, idle use
    Screen,
    /// A run of 512 stand-in ranks on 64 hosts: its supervisor, and the screen that shows it
    Scale,
}

/// How much of everything is measured.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    pub rounds: usize,
    pub vectors: Vectors,
    pub models: &'static [Model],
    /// The first epoch is warm-up and does not count.
    pub epochs: usize,
    /// Models by name, at their size of images.
    pub shapes: &'static [Shape],
    /// Timed batches of each of them at most.
    pub model_batches: usize,
    /// Times that each convolution of a model is timed.
    pub convolution_rounds: usize,
    /// Photos of a round of the image pipeline.
    pub photos: usize,
    /// Samples of each message size in one MPI job.
    pub allreduce_samples: usize,
    /// Of each round; a minute in all.
    pub idle_seconds: u64,
    /// Keys pressed while runs log.
    pub keys: usize,
    /// Epochs of five seconds that the run of 512 ranks takes, and seconds of it that are measured.
    pub cluster_epochs: usize,
    pub cluster_seconds: u64,
}

/// The vectors that a program may compute with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vectors {
    /// All that the processor has.
    All,
    Avx2,
}

impl Vectors {
    /// Begins the names of cases, figures and rows.
    pub fn prefix(self) -> &'static str {
        if self == Vectors::Avx2 { "AVX2: " } else { "" }
    }

    /// Variables that limit our kernels, libtorch's own and those of oneDNN, which TensorFlow has as well.
    pub fn env(self) -> Vec<(String, String)> {
        let limits = [("HVD_LAB_VECTORS", "8"), ("ATEN_CPU_CAPABILITY", "avx2"), ("ONEDNN_MAX_CPU_ISA", "AVX2")];
        let limits = limits.into_iter().filter(|_| self == Vectors::Avx2);
        limits.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }
}

/// A network and the optimizer steps of one epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    pub name: &'static str,
    pub steps: usize,
}

const MODELS: [Model; 2] = [Model { name: "wrn-10-1", steps: 9 }, Model { name: "wrn-16-1", steps: 5 }];
const QUICK_MODELS: [Model; 1] = [Model { name: "wrn-10-1", steps: 2 }];

impl Options {
    pub fn wants(&self, section: Section) -> bool {
        self.only.is_empty() || self.only.contains(&section)
    }

    pub fn scale(&self) -> Scale {
        match self.quick {
            true => Scale {
                rounds: 1,
                vectors: Vectors::All,
                models: &QUICK_MODELS,
                epochs: 2,
                shapes: &[models::QUICK],
                model_batches: 2,
                convolution_rounds: 1,
                photos: 64,
                allreduce_samples: 1,
                idle_seconds: 1,
                keys: 60,
                cluster_epochs: 3,
                cluster_seconds: 2,
            },
            false => Scale {
                rounds: self.rounds.into(),
                vectors: Vectors::All,
                models: &MODELS,
                epochs: 4,
                shapes: if self.large { &models::WITH_LARGE } else { &models::SHAPES },
                model_batches: usize::MAX,
                convolution_rounds: 15,
                photos: 1500,
                allreduce_samples: 2,
                idle_seconds: 60_u64.div_ceil(self.rounds.into()),
                keys: 500,
                cluster_epochs: 12,
                cluster_seconds: 20,
            },
        }
    }

    /// As it would be typed.
    pub fn command(&self) -> String {
        let mut arguments = Vec::new();
        match self.quick {
            true => arguments.push("--quick".to_owned()),
            false => arguments.push(format!("--rounds {}", self.rounds)),
        }
        arguments.extend(self.large.then(|| "--large".to_owned()));
        let names = self.only.iter().filter_map(Section::to_possible_value);
        arguments.extend(names.map(|name| format!("--only {}", name.get_name())));
        format!("make bench BENCH='{}'", arguments.join(" "))
    }
}
