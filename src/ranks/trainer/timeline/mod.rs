//! A timeline of all ranks on one clock: what each did and when, in a file for Perfetto or chrome://tracing.
//!
//! Never slows a run that has none: without a file nothing is recorded, observed or exchanged.
//!
//! # What it shows
//!
//! The lane `training` holds the phases, `communication` the collectives that a rank waited for, and `bucket 0`, `bucket 1`
//! and so on those that ran beside backward, from their start until the rank saw that they were over. Names are Horovod's:
//! `MPI_ALLREDUCE` is the whole call, and `NEGOTIATE_ALLREDUCE` its part before the last rank had called too, told from
//! the times of all ranks on one clock, with the rank that came last.
//!
//! Other activities of Horovod do not exist here, and are not shown. There is no `QUEUE`, as no background thread takes
//! calls from a queue: only the buckets of the first step wait, until all ranks are known to start the same, and that is
//! part of their span. There is no `MEMCPY_IN_FUSION_BUFFER` or `MEMCPY_OUT_FUSION_BUFFER`, as gradients are views of one
//! flat buffer, of which a bucket is a stretch.
//!
//! The lane `image pipeline` has a span for each batch of photos, from its first image until its last was in its place. The curve
//! `batches ready` is how many there were when the model asked for one: 0 means that the model waits for the pipeline.
//!
//! # What it costs
//!
//! Two readings of the clock and a push to a list for each span. At the end of each epoch, outside of all phases but the
//! span `timeline`: 20 barriers, and an allgather of all spans as text (100 to 150 bytes each) in pieces of at most
//! 256 KiB for each rank. An epoch's spans stay in memory (about 100 bytes each) until then. That time counts in the
//! cumulative training time, not in the epoch's.

mod chrome;
mod drawing;

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Instant;

use self::chrome::Lines;
use self::drawing::{COMMUNICATION, Calls, Drawing, FIRST_BUCKET, Placement, TRAINING, nanoseconds};
use super::device;
use super::pipeline::Prepared;
use super::recorder::{Recorder, Span};
use super::report::Reporter;
use super::stopwatch::Clock;
use crate::comm::clock_sync::{self, ClockOffset, Correction};
use crate::comm::{self, CommError, Communicator, Observed};
use crate::domain::event::EpochReport;
use crate::domain::phase::PhaseSeconds;
use crate::domain::topology::Topology;
use crate::domain::units;
use crate::host::{self, owners};

/// The timeline could not be begun.
#[derive(Debug, thiserror::Error)]
#[error("--timeline `{}` cannot be written ({error}). Give a file that you may write to", path.display())]
pub struct TimelineError {
    path: PathBuf,
    pub(super) error: std::io::Error,
}

/// What this rank contributes to the timeline, and on the root the file. Without `--timeline` all of it does nothing.
pub struct Timeline {
    /// When this process began: zero on its own clock.
    launched: Instant,
    file: Option<PathBuf>,
    recorder: Option<Rc<Recorder>>,
    written: Option<Written>,
}

/// A timeline that was begun.
struct Written {
    topology: Topology,
    clock: ClockOffset,
    /// On the root's clock, where the trace begins.
    zero: i64,
    /// Lanes that have a name already.
    lanes: usize,
    /// When the last batch of images that is drawn was ready.
    images: Option<i64>,
    /// On the root, until a write fails.
    out: Option<TraceFile>,
}

/// What the root writes.
struct TraceFile {
    path: PathBuf,
    file: File,
    /// In bytes: whole lines.
    length: usize,
}

impl Timeline {
    /// Of a process that was launched at this moment; with a file, recording begins now.
    pub fn new(file: Option<&Path>, launched: Instant) -> Timeline {
        let recorder = file.is_some().then(Rc::<Recorder>::default);
        Timeline { launched, file: file.map(Path::to_owned), recorder, written: None }
    }

    /// The communicator, watched if there is a timeline. One that never communicates has nothing to show.
    pub fn observe(&self, comm: Box<dyn Communicator>) -> Box<dyn Communicator> {
        match &self.recorder {
            Some(recorder) if comm.name() != "local" => {
                let recorder = recorder.clone();
                Box::new(Observed::new(comm, move |activity| recorder.record(Span::Call(activity))))
            }
            _ => comm,
        }
    }

    /// When this process began.
    pub fn launched(&self) -> Instant {
        self.launched
    }

    /// The image pipeline has prepared this batch, which the model trains on next.
    pub fn images(&self, batch: Prepared) {
        if let Some(recorder) = &self.recorder {
            recorder.record(Span::Images(batch));
        }
    }

    /// A clock that runs since the launch, of a rank that computes there.
    pub fn clock(&self, placement: &device::Placement) -> Clock {
        Clock::since(self.launched, self.recorder.clone(), placement.gpu())
    }

    /// Opens the file on the root, compares the clocks and introduces the ranks. `device` as in `cpu` or `cuda:0`.
    ///
    /// # Collective
    /// Every rank calls it.
    ///
    /// # Errors
    /// [`TimelineError`] if the root cannot write the file.
    pub fn begin(&mut self, comm: &dyn Communicator, report: &Reporter, device: &str) -> anyhow::Result<()> {
        let (Some(file), Some(recorder)) = (&self.file, &self.recorder) else { return Ok(()) };
        let topology = comm.topology();
        let process = comm::launched_index();
        let path = path_of(file, if topology.size.0 == 1 { process } else { 0 });
        let out = topology.is_root().then(|| TraceFile::create(path)).transpose()?;
        let clock = clock_sync::compare(comm, || nanoseconds(self.launched, Instant::now()))?;
        // The trace begins with the process that was launched first, as viewers know no time before zero.
        let zero = comm::allgather_numbers(comm, &[-clock.ahead])?.concat().into_iter().min().unwrap_or(0);
        let rank = topology.rank.0;
        let alone = if process == rank { String::new() } else { format!(", process {process}") };
        let mut lines = Lines::of_rank(rank);
        lines.name_process(&format!("rank {rank} ({}, {device}){alone}", host::name()));
        lines.name_lane(TRAINING, "training");
        lines.name_lane(COMMUNICATION, "communication");
        let written = self.written.insert(Written { topology, clock, zero, lanes: FIRST_BUCKET, images: None, out });
        let mut texts = Some(lines.text).into_iter();
        written.gather(comm, report, || texts.next())?;
        recorder.restart(Vec::new());
        Ok(())
    }

    /// Writes what all ranks recorded since the last time.
    ///
    /// # Collective
    /// Every rank calls it at the end of every epoch.
    pub fn epoch(&mut self, comm: &dyn Communicator, report: &Reporter, ended: &EpochReport) -> Result<(), CommError> {
        self.write(comm, report, Some((ended.epoch, ended.phases)))
    }

    /// Writes the rest, and closes the file.
    ///
    /// # Collective
    /// Every rank calls it, once.
    pub fn end(&mut self, comm: &dyn Communicator, report: &Reporter) -> Result<(), CommError> {
        self.write(comm, report, None)?;
        let Some(mut written) = self.written.take() else { return Ok(()) };
        written.append(report, chrome::CLOSING);
        if let Some(TraceFile { path, length, .. }) = &written.out {
            let size = units::bytes(*length as u64);
            report.line(&format!("Timeline: {} ({size}). Open it in https://ui.perfetto.dev", path.display()));
        }
        Ok(())
    }

    fn write(
        &mut self,
        comm: &dyn Communicator,
        report: &Reporter,
        epoch: Option<(usize, PhaseSeconds)>,
    ) -> Result<(), CommError> {
        let (Some(recorder), Some(written)) = (&self.recorder, &mut self.written) else { return Ok(()) };
        let spans = recorder.take();
        let after = clock_sync::compare(comm, || nanoseconds(self.launched, Instant::now()))?;
        // Its span will be placed by the next correction, which begins here: before that it could overlap what is drawn now.
        let began = Instant::now();
        let correction = Correction { before: written.clock, after };
        let place = Placement { launched: self.launched, correction, zero: written.zero };
        let calls = Calls::gather(comm, &spans, &place)?;
        let mut drawn =
            Drawing { rank: written.topology.rank.0, place, calls, epoch, lanes: written.lanes, images: written.images };
        let mut rest = spans.iter();
        written.gather(comm, report, || drawn.piece(&mut rest))?;
        (written.clock, written.lanes, written.images) = (after, drawn.lanes, drawn.images);
        // Its own collectives are no part of the training: one span stands for all of them.
        recorder.restart(spans);
        recorder.record(Span::Section { name: "timeline", began, ended: Instant::now() });
        Ok(())
    }
}

impl Written {
    /// Appends all ranks' pieces to the root's file, until no rank has any left.
    ///
    /// # Collective
    /// Every rank, with as many pieces as it likes.
    fn gather(
        &mut self,
        comm: &dyn Communicator,
        report: &Reporter,
        mut next: impl FnMut() -> Option<String>,
    ) -> Result<(), CommError> {
        loop {
            let pieces = comm.allgather(next().unwrap_or_default().as_bytes())?;
            if pieces.iter().all(Vec::is_empty) {
                return Ok(());
            }
            for piece in &pieces {
                self.append(report, &String::from_utf8_lossy(piece));
            }
        }
    }

    /// A file that cannot be written any more is worth a warning, not a training.
    fn append(&mut self, report: &Reporter, text: &str) {
        if let Some(out) = &mut self.out
            && let Err(error) = out.append(text)
        {
            report.warning(&format!("--timeline `{}` ends here: {error}", out.path.display()));
            self.out = None;
        }
    }
}

impl TraceFile {
    fn create(path: PathBuf) -> Result<TraceFile, TimelineError> {
        let opened = owners::open(&path, File::options().write(true).create(true).truncate(true), 0);
        let written = opened.and_then(|file| {
            let mut out = TraceFile { path: path.clone(), file, length: 0 };
            out.append(chrome::OPENING).map(|()| out)
        });
        written.map_err(|error| TimelineError { path, error })
    }

    /// Where the disk is full, what was written of it is cut off again: the file ends with a whole line.
    fn append(&mut self, text: &str) -> std::io::Result<()> {
        let text = chrome::in_pages(text, self.length);
        self.file.write_all(text.as_bytes()).inspect_err(|_| {
            // What is no regular file cannot be cut, and the first error is the one to tell.
            let _ = self.file.set_len(self.length as u64);
        })?;
        self.length += text.len();
        Ok(())
    }
}

/// Where a process writes: with step 1 off each process thinks it is the root, and they must not share one file.
fn path_of(file: &Path, process: usize) -> PathBuf {
    match (process, file.extension()) {
        (0, _) => file.to_owned(),
        (_, Some(end)) => file.with_extension(format!("{process}.{}", end.to_string_lossy())),
        (_, None) => file.with_extension(process.to_string()),
    }
}

/// What is wrong with the file that this process may have to write, in one line; found out before anything else.
/// `distributed` is step 1: then process 0 alone writes.
pub fn problem(file: &Path, distributed: bool) -> Option<String> {
    let process = comm::launched_index();
    if distributed && process != 0 {
        return None;
    }
    let path = path_of(file, process);
    let is_new = !path.exists();
    let error = match owners::open(&path, File::options().append(true).create(true), 0) {
        Err(error) => error,
        Ok(_) if is_new => std::fs::remove_file(&path).err()?,
        Ok(_) => return None,
    };
    Some(TimelineError { path, error }.to_string())
}

#[cfg(test)]
mod tests {
    use super::drawing::PIECE;
    use super::*;
    use crate::comm::{LocalComm, ThreadComm};
    use crate::domain::phase::Phase;

    #[test]
    fn without_a_file_nothing_is_watched_recorded_or_sent() {
        let comm: Box<dyn Communicator> = Box::new(ThreadComm::group(2).remove(0));
        let before: *const dyn Communicator = &*comm;
        let mut timeline = Timeline::new(None, Instant::now());
        let comm = timeline.observe(comm);
        assert!(std::ptr::addr_eq(before, &*comm), "the very communicator that was given");
        assert!(timeline.recorder.is_none());
        // A collective would never return: the other rank does not call it.
        let report = Reporter::new(0, false);
        timeline.begin(&*comm, &report, "cpu").unwrap();
        timeline.write(&*comm, &report, None).unwrap();
        timeline.end(&*comm, &report).unwrap();
    }

    #[test]
    fn pieces_are_whole_lines_and_nothing_is_lost_between_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.json");
        let mut timeline = Timeline::new(Some(&path), Instant::now());
        let mut report = Reporter::new(0, false);
        report.set_verbose(false);
        timeline.begin(&LocalComm, &report, "cpu").unwrap();
        let mut clock = Clock::since(Instant::now(), timeline.recorder.clone(), None);
        (0..10_000).for_each(|_| _ = clock.lap(Phase::Data));
        timeline.write(&LocalComm, &report, None).unwrap();
        let entries = |text: &str| serde_json::from_str::<Vec<serde_json::Value>>(text).unwrap();
        let so_far = std::fs::read_to_string(&path).unwrap();
        assert!(so_far.len() > 2 * PIECE, "{} bytes are no more than a piece", so_far.len());
        let spans = |entries: &[serde_json::Value]| entries.iter().filter(|entry| entry["ph"] == "X").count();
        assert_eq!(spans(&entries(&format!("{so_far}]"))), 10_000, "all of it, before the end of the run");
        timeline.end(&LocalComm, &report).unwrap();
        assert_eq!(spans(&entries(&std::fs::read_to_string(&path).unwrap())), 10_001, "and what it took to write it");
    }

    #[test]
    fn strangers_write_files_of_their_own() {
        let of = |file: &str, process| path_of(Path::new(file), process).display().to_string();
        assert_eq!((of("a/t.json", 0), of("a/t.json", 1), of("t", 2)), ("a/t.json".into(), "a/t.1.json".into(), "t.2".into()));
    }
}
