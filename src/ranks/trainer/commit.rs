//! Commits: checkpoints within an epoch, written while the ranks train on. A run that loses ranks resumes from the last of them,
//! a few steps back, instead of from the end of an epoch.
//!
//! Only the copy of the weights stops the ranks: a thread of the root writes it. A commit that comes before the last one is written
//! is left out.
//!
//! # Horovod
//! `state.commit()` of elastic training.

use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rand_chacha::ChaCha8Rng;

use super::checkpoint::{self, Checkpoint, SaveError};
use super::config::Config;
use super::model::{Dropout, Model};
use super::optimizer::Optimizer;
use super::random::{Purpose, stream};
use super::report::Reporter;
use super::resume::{self, EpochReports, MidEpoch, ResumeState, contents, gather_statistics};
use crate::comm::{Communicator, allgather_numbers};
use crate::domain::checkpoint::Progress;
use crate::domain::event::{CheckpointAction, CheckpointReport};
use crate::domain::topology::Topology;

/// Commits that stay: if the newest is damaged, the one before it is taken.
const KEPT: usize = 2;

/// The random numbers of a rank in an epoch, and how long it has trained in it.
pub struct Draws {
    pub augmentation: ChaCha8Rng,
    pub dropout: Dropout,
    /// When the epoch began; earlier by what was trained before a commit.
    began: Instant,
}

impl Draws {
    fn drawn(&self) -> [u64; 2] {
        [self.augmentation.get_word_pos(), self.dropout.position()].map(|words| words as u64)
    }
}

impl ResumeState {
    /// The random numbers of an epoch. An epoch that is resumed from a commit continues its streams, if there are as many ranks as before.
    pub fn draws(&self, config: &Config, process: usize, topology: &Topology, epoch: usize, dropout_rate: f64) -> Draws {
        let [mut augmentation, mut dropped] =
            [Purpose::Augmentation, Purpose::Dropout].map(|purpose| stream(config.seed, process, epoch, purpose));
        let commit = self.commit.as_ref().filter(|_| epoch == self.epoch);
        let drawn = commit.filter(|commit| commit.drawn.len() == topology.size.0);
        if let Some([for_augmentation, for_dropout]) = drawn.and_then(|commit| commit.drawn.get(topology.rank.0)) {
            augmentation.set_word_pos(u128::from(*for_augmentation));
            dropped.set_word_pos(u128::from(*for_dropout));
        }
        Draws { augmentation, dropout: Dropout::new(dropout_rate, dropped), began: self.began_at(epoch) }
    }

    /// When training would have begun, had it trained without a break since the end of the last whole epoch.
    pub fn began(&self) -> Instant {
        self.began_at(self.epoch)
    }

    fn began_at(&self, epoch: usize) -> Instant {
        let before = self.commit.as_ref().filter(|_| epoch == self.epoch).map_or(0.0, |commit| commit.seconds);
        let before = Duration::try_from_secs_f64(before).unwrap_or_default();
        let now = Instant::now();
        now.checked_sub(before).unwrap_or(now)
    }

    /// The step (from 0) with which training goes on in its first epoch, which `shards` ranks share. With another number of ranks
    /// than those of the commit a few images may come twice, and none is left out.
    pub fn first_step(&self, config: &Config, shards: usize, steps: usize) -> usize {
        let done = self.commit.as_ref().map_or(0, |commit| commit.images / (config.batch_size * shards).max(1));
        let step = done.min(steps.saturating_sub(1));
        step - step % config.backward_passes_per_step.max(1)
    }
}

/// Writes a commit every so many steps, and the checkpoint at the end of an epoch.
pub struct Commits<'a> {
    config: &'a Config,
    comm: &'a dyn Communicator,
    report: &'a Reporter,
    /// Ranks that share an epoch.
    shards: usize,
    /// On the root alone.
    is_writer: bool,
    writing: Option<Writing>,
}

/// A commit on its way into its file.
struct Writing {
    thread: JoinHandle<Result<CheckpointReport, SaveError>>,
    /// For how long the root stopped for it.
    stopped: Duration,
}

impl<'a> Commits<'a> {
    /// `shards` ranks share an epoch.
    pub fn new(config: &'a Config, comm: &'a dyn Communicator, report: &'a Reporter, shards: usize) -> Commits<'a> {
        let is_writer = config.commit_every.is_some() && comm.topology().is_root();
        Commits { config, comm, report, shards, is_writer, writing: None }
    }

    /// After each step that has changed the weights: `index` counts from 0 in the epoch.
    ///
    /// # Collective
    /// Every rank calls it in the same steps.
    ///
    /// # Errors
    /// As for every collective, see [`Communicator`]; and if an earlier commit could not be written.
    pub fn after_step(
        &mut self,
        (epoch, index): (usize, usize),
        draws: &Draws,
        reports: &EpochReports,
        model: &dyn Model,
        optimizer: &mut dyn Optimizer,
    ) -> anyhow::Result<()> {
        let Some(every) = self.config.commit_every else { return Ok(()) };
        if !(index + 1).is_multiple_of(every) {
            return Ok(());
        }
        let begin = Instant::now();
        let statistics = gather_statistics(self.comm, model)?;
        let drawn = allgather_numbers(self.comm, &[draws.drawn()])?.concat();
        if self.writing.as_ref().is_some_and(|last| last.thread.is_finished()) {
            self.settle()?;
        }
        if !self.is_writer || self.writing.is_some() {
            return Ok(());
        }
        let commit = MidEpoch {
            images: (index + 1) * self.config.batch_size * self.shards,
            seconds: draws.began.elapsed().as_secs_f64(),
            drawn,
        };
        let so_far = ResumeState { epoch, commit: Some(commit), statistics, reports: reports.clone(), ..ResumeState::default() };
        let commit = contents((self.config.steps, self.config.seed), so_far, model, optimizer);
        let folder = self.config.log_dir.clone();
        let thread = std::thread::spawn(move || write(&folder, &commit));
        self.writing = Some(Writing { thread, stopped: begin.elapsed() });
        Ok(())
    }

    /// Waits until nothing is being written, and says what was.
    fn settle(&mut self) -> Result<(), SaveError> {
        // A thread that panicked has said so itself.
        let Some((Ok(written), stopped)) = self.writing.take().map(|last| (last.thread.join(), last.stopped)) else {
            return Ok(());
        };
        let stopped_seconds = Some(stopped.as_secs_f64());
        self.report.checkpoint(CheckpointReport { action: CheckpointAction::Committed, stopped_seconds, ..written? });
        Ok(())
    }

    /// Write the checkpoint of an epoch. Its commits are no longer needed then.
    ///
    /// # Errors
    /// If it cannot be written, or a commit before it; earlier checkpoints are untouched.
    pub fn end_epoch(
        &mut self,
        so_far: ResumeState,
        model: &dyn Model,
        optimizer: &mut dyn Optimizer,
    ) -> Result<CheckpointReport, SaveError> {
        let end = Progress { epoch: so_far.epoch, images: 0 };
        self.settle()?;
        let report = resume::save(self.config, so_far, model, optimizer)?;
        if self.is_writer {
            checkpoint::prune(&self.config.log_dir, end, 0);
        }
        Ok(report)
    }
}

impl Drop for Commits<'_> {
    /// No file stays half written where training ends early.
    fn drop(&mut self) {
        if let Some(Writing { thread, .. }) = self.writing.take() {
            // It says nothing that was not said.
            let _ = thread.join();
        }
    }
}

/// What a thread of its own does with a commit.
fn write(folder: &Path, commit: &Checkpoint) -> Result<CheckpointReport, SaveError> {
    // It gives way to the rank that computes on the same core. Outside of Linux, `nice` would be for all threads.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(10);
    let report = checkpoint::save(folder, commit)?;
    checkpoint::prune(folder, commit.place(), KEPT - 1);
    Ok(report)
}
