//! The flags of `hvd-measure collectives`: those of nccl-tests, and what the lab adds.

use std::path::PathBuf;

use clap::Parser;
use hvd_lab::domain::collective::{CollectivesSpec, Method};
use hvd_lab::flags::{Flagged, Flags, MeasuredCollectives};

/// Begins the lines of this command's errors.
pub const PROGRAM: &str = "hvd-measure collectives";

const EXAMPLES: &str = "\
Examples:
  mpirun -np 2 hvd-measure collectives --algorithm ring,mpi -b 1K -e 16M -f 4
      The ring of the lab beside MPI's own choice, from 1 KB to 16 MB.
  mpirun -np 4 hvd-measure collectives --algorithm parameter-server --servers 2 -b 1M -e 1M
      Four ranks, of which two are servers for half of the numbers each.
  mpirun -np 4 hvd-measure collectives --algorithm hierarchical --ranks-per-host 2
      As if two ranks each were on a host of their own.

Exit codes: 0 measured, 1 failed or a sum was wrong, 2 a flag that cannot be used.";

/// Measures allreduces of float32, algorithm by algorithm and size by size, and prints them as nccl-tests does.
///
/// One program for every rank.
#[derive(Debug, Parser)]
#[command(name = "hvd-measure collectives", version, after_long_help = EXAMPLES, max_term_width = 110)]
pub struct Args {
    #[command(flatten)]
    flags: Flags<MeasuredCollectives>,
    /// Do one allreduce by the schedule in a file and nothing else: `RANKS NUMBERS`, then the rounds in JSON, each a list of
    /// [sender, receiver, start, end, "reduce" or "copy"]
    #[arg(long, value_name = "FILE")]
    pub schedule: Option<PathBuf>,
    /// Print event lines for the lab between the human lines
    #[arg(long)]
    pub events: bool,
    /// Print what this program was built with, as JSON, and exit
    #[arg(long)]
    pub build_info: bool,
}

impl Args {
    /// What is measured, as far as it is known without the other ranks. Values were checked as they were read.
    pub fn spec(&self) -> CollectivesSpec {
        self.flags.spec().unwrap_or_else(|_| MeasuredCollectives::default_spec())
    }

    /// `all` was named: what does not work here is left out.
    pub fn asks_for_all(&self) -> bool {
        self.flags.text("algorithm").is_some_and(Method::names_all)
    }

    pub fn says_ranks_per_host(&self) -> bool {
        self.flags.text("ranks-per-host").is_some()
    }
}
