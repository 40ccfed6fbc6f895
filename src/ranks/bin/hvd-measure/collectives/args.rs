//! The flags of `hvd-measure collectives`: those of nccl-tests, and what the lab adds.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Parser;
use clap::error::ErrorKind;
use hvd_lab::domain::collective::{CollectivesSpec, Method, Shape};
use hvd_lab::domain::settings::in_plain_words;
use hvd_lab::trainer::config::{Stop, one_line};

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
#[derive(Clone, Debug, PartialEq, Parser)]
#[command(name = "hvd-measure collectives", version, after_long_help = EXAMPLES, max_term_width = 110)]
pub struct Args {
    /// What to measure: names with commas between them, or `all` for everything that works here
    #[arg(long, value_name = "LIST", default_value = "ring,mpi", long_help = algorithms())]
    algorithm: String,
    /// Servers of the parameter server: the first so many ranks
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    servers: usize,
    /// Ranks of one host, for the hierarchical algorithm; without it, as many as share a host
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    ranks_per_host: Option<usize>,
    /// Bytes of the smallest buffer, such as 8, 1K or 16M
    #[arg(short = 'b', long, value_name = "SIZE", default_value = "1K", value_parser = size, allow_negative_numbers = true)]
    min_bytes: u64,
    /// Bytes of the largest buffer
    #[arg(short = 'e', long, value_name = "SIZE", default_value = "16M", value_parser = size, allow_negative_numbers = true)]
    max_bytes: u64,
    /// Each size is so many times the one before
    #[arg(short = 'f', long, value_name = "N", default_value_t = 2, allow_negative_numbers = true)]
    factor: u64,
    /// Allreduces that are timed at each size
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, allow_negative_numbers = true)]
    iterations: usize,
    /// Allreduces before them that are not timed
    #[arg(short = 'w', long, value_name = "N", default_value_t = 5, allow_negative_numbers = true)]
    warmup: usize,
    /// 1 to check every number of a result, 0 to leave it
    #[arg(long, value_name = "0|1", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=1), allow_negative_numbers = true)]
    check: u8,
    /// Log each message of one allreduce with so many bytes, for each algorithm of the lab's own
    #[arg(long, value_name = "SIZE", value_parser = size, allow_negative_numbers = true)]
    log_bytes: Option<u64>,
    /// Bits a second of the network that each rank was given: said in the header
    #[arg(long, value_name = "BITS", allow_negative_numbers = true)]
    link_bits: Option<u64>,
    /// Do one allreduce by the schedule in a file and nothing else: `RANKS NUMBERS`, then the rounds in JSON, each a list of
    /// [sender, receiver, start, end, "reduce" or "copy"]
    #[arg(long, value_name = "FILE")]
    schedule: Option<PathBuf>,
    /// Print event lines for the lab between the human lines
    #[arg(long)]
    pub events: bool,
    /// Print what this program was built with, as JSON, and exit
    #[arg(long)]
    pub build_info: bool,
}

/// What is asked for, as far as it is known without the other ranks.
pub struct Request {
    pub methods: Vec<Method>,
    /// `all` was named: what does not work here is left out.
    pub is_all: bool,
    pub check: bool,
    servers: usize,
    ranks_per_host: Option<usize>,
    args: Args,
}

impl Args {
    /// Reads the flags. `args` starts with the program's name.
    ///
    /// # Errors
    /// A [`Stop`] with code 0 for --help and --version, and code 2 with one line for anything that cannot be used.
    pub fn read(args: impl IntoIterator<Item = OsString>) -> Result<Args, Stop> {
        Args::try_parse_from(args).map_err(|error| match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Stop { text: error.render().to_string(), code: 0 },
            _ => refusal(&in_plain_words(&one_line(&error, PROGRAM))),
        })
    }

    /// # Errors
    /// As [`Args::read`], for a name that is no algorithm.
    pub fn request(self) -> Result<Request, Stop> {
        let methods = Method::parse_list(&self.algorithm).map_err(|error| refusal(&format!("--algorithm: {error}")))?;
        Ok(Request {
            methods,
            is_all: self.algorithm.split(',').any(|name| name.trim() == "all"),
            check: self.check == 1,
            servers: self.servers,
            ranks_per_host: self.ranks_per_host,
            args: self,
        })
    }
}

impl Request {
    pub fn schedule(&self) -> Option<&Path> {
        self.args.schedule.as_deref()
    }

    /// Bytes of the largest buffer.
    pub fn largest(&self) -> u64 {
        self.args.max_bytes.max(self.args.log_bytes.unwrap_or_default())
    }

    /// With what only the ranks together know.
    pub fn spec(&self, methods: &[Method], local_size: usize) -> CollectivesSpec {
        let Args { min_bytes, max_bytes, factor, iterations, warmup, log_bytes, link_bits, .. } = self.args;
        let ranks_per_host = self.ranks_per_host.unwrap_or(local_size);
        CollectivesSpec {
            methods: methods.iter().map(Method::to_string).collect(),
            shape: Shape { servers: self.servers, ranks_per_host },
            min_bytes,
            max_bytes,
            factor,
            iterations,
            warmup,
            log_bytes,
            link_bits,
            newer: Default::default(),
        }
    }
}

pub fn refusal(problem: &str) -> Stop {
    Stop { text: format!("{PROGRAM}: {problem}"), code: 2 }
}

fn algorithms() -> String {
    let rows = Method::ALL.map(|method| format!("{:<23} {}", method.name(), method.description()));
    let head = "What to measure: names with commas between them, or `all` for everything that works here";
    format!("{head}\n\n{}", rows.join("\n"))
}

/// As nccl-tests has them: `8`, `1K`, `16M`, `1G`, with 1024 bytes in a K.
fn size(text: &str) -> Result<u64, String> {
    let wrong = || "expected a size such as 8, 1K or 16M".to_owned();
    let (number, unit) = match text.char_indices().last() {
        Some((place, letter)) if !letter.is_ascii_digit() => (&text[..place], letter.to_ascii_uppercase()),
        _ => (text, ' '),
    };
    let shift = match unit {
        ' ' => 0,
        'K' => 10,
        'M' => 20,
        'G' => 30,
        _ => return Err(wrong()),
    };
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    bytes.ok_or_else(|| "expected a size that a computer can have".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_nccl_tests_reads_them() {
        let cases = [("8", 8), ("1K", 1024), ("16m", 16 << 20), ("1G", 1 << 30), ("0", 0)];
        for (text, bytes) in cases {
            assert_eq!(size(text), Ok(bytes));
        }
        for bad in ["", "K", "x", "1X", "-1", "1.5M", "+3", "99999999999999999999", "99999999999G", "1é"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }
}
