//! `--schedule`: one allreduce by a schedule from a file, and nothing else from rank to rank, so that MPI's own count of messages
//! is that of the schedule.

use std::path::Path;

use anyhow::anyhow;
use hvd_lab::comm::MpiComm;
use hvd_lab::comm::p2p::{Plan, PointToPoint};
use hvd_lab::domain::collective::{Schedule, prove};
use hvd_lab::host::read;
use hvd_lab::trainer::config::Stop;
use hvd_lab::trainer::launch::Failure;

use super::args::PROGRAM;

/// Schedules are for reading: one of more bytes is none.
const MOST_BYTES: u64 = 1 << 20;
/// The memory of the proof grows with the square of the ranks.
const MOST_RANKS: usize = 1024;
const MOST_ELEMENTS: usize = 1 << 20;

/// The schedule in a file: ranks and numbers in its first line, then the plan.
///
/// # Errors
/// A file that cannot be read, or is no allreduce.
pub fn read_schedule(path: &Path) -> Result<Schedule, Stop> {
    let wrong = |why: String| Stop::refusal(PROGRAM, &format!("--schedule {}: {why}", path.display()));
    let text = read::small_text(path, MOST_BYTES).map_err(|error| wrong(error.to_string()))?;
    let (sizes, plan) = text.split_once('\n').ok_or_else(|| wrong("its first line is not `RANKS NUMBERS`".into()))?;
    let mut sizes = sizes.split_whitespace().map(str::parse::<usize>);
    let (Some(Ok(ranks @ 1..=MOST_RANKS)), Some(Ok(elements @ 0..=MOST_ELEMENTS))) = (sizes.next(), sizes.next()) else {
        let most = format!("{MOST_RANKS} ranks and {MOST_ELEMENTS} numbers");
        return Err(wrong(format!("its first line is not `RANKS NUMBERS` with at most {most}")));
    };
    let schedule = Schedule::read_plan(ranks, elements, plan).map_err(wrong)?;
    prove(&schedule).and_then(|()| Plan::check(&schedule)).map_err(|fault| wrong(fault.to_string()))?;
    Ok(schedule)
}

/// Execute it, and check every sum.
///
/// # Errors
/// Another number of ranks, or a wrong sum.
pub fn run(schedule: &Schedule, comm: &MpiComm) -> Result<(), Failure> {
    let peers = comm.point_to_point();
    if peers.size() != schedule.ranks {
        return Err(Failure::refused(format!("--schedule is for {} ranks, and there are {}", schedule.ranks, peers.size())));
    }
    // Small whole numbers: their sums are exact in any order.
    let value = |rank: usize, index: usize| (rank + index % 1000) as f32;
    let mut data: Vec<f32> = (0..schedule.elements).map(|index| value(peers.rank(), index)).collect();
    Plan::new(schedule, peers.rank()).run(&peers, &mut data, &mut Vec::new())?;
    let due = |index: usize| (0..schedule.ranks).map(|rank| value(rank, index)).sum::<f32>();
    match data.iter().enumerate().find(|(index, sum)| **sum != due(*index)) {
        None => Ok(()),
        Some((index, sum)) => Err(Failure::Own(anyhow!("number {index} is {sum}, and the sum is {}", due(index)))),
    }
}
