//! The communicator against raw MPI_Allreduce: starts the rank program and reads its samples.
//!
//! Never times anything itself: what counts is measured within the MPI job.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use hvd_lab_terminal::launch::{command_line, default_preset};

use super::figures::{Round, Spread};
use super::options::Scale;
use super::place::Place;
use super::process::{Flow, watch};

const LIMIT: Duration = Duration::from_secs(120);
pub const NP: usize = 2;
/// Message sizes of `rank_allreduce.rs`.
pub const SIZES: [usize; 7] = [1 << 10, 1 << 14, 1 << 18, 1 << 20, 1 << 21, 1 << 22, 1 << 26];

/// Name of the figure: seconds of one allreduce of so many bytes. Kinds: `raw`, `blocking`, `started`, `shared`.
pub fn figure(kind: &str, bytes: usize) -> String {
    format!("allreduce: {kind} {bytes}")
}

/// Bytes per second that each rank sends and receives, however the library does it.
pub fn bus_bandwidth(bytes: usize, seconds: f64) -> f64 {
    bytes as f64 / seconds * 2.0 * (NP as f64 - 1.0) / NP as f64
}

/// The medians of one MPI job.
pub fn run(place: &Place, scale: &Scale) -> Result<Round, String> {
    let program = place.allreduce.display().to_string();
    if !place.allreduce.is_file() {
        return Err(format!("there is no {}: `make bench` builds it", place.shown(&program)));
    }
    // The launcher's line is the lab's own, up to the program.
    let preset = default_preset(false);
    let spec = preset.spec.with(|job| job.resources.np = NP).into();
    let line = command_line(&spec, &preset.name, &place.setup, "generated", Path::new("logs"), true);
    let line = line.map_err(|error| error.to_string())?;
    let trainer = place.setup.program.display().to_string();
    let launcher = line.argv.iter().take_while(|word| **word != trainer);
    let mut command = Command::new(&line.argv[0]);
    command.args(launcher.skip(1)).arg(&program).arg(scale.allreduce_samples.to_string());
    let mut samples: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    watch(command, LIMIT, |_, text| {
        if let Some((kind, bytes, seconds)) = parse(text) {
            samples.entry(figure(kind, bytes)).or_default().push(seconds);
        }
        Flow::GoOn
    })?;
    let medians = samples.into_iter().filter_map(|(name, seconds)| Some((name, Spread::of(seconds)?.median)));
    Ok(medians.collect())
}

/// `...@allreduce KIND BYTES SECONDS`
pub fn parse(line: &str) -> Option<(&str, usize, f64)> {
    let mut words = line.split_once("@allreduce ")?.1.split_whitespace();
    Some((words.next()?, words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}
