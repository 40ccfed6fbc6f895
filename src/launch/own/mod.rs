//! A program of the user's own, seen from outside: who its ranks are, and what its output and its files tell of the training.
//!
//! Never changes what the program does.

mod command;
mod ranks;
mod tensorboard;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use super::adapter::Adapter;
use super::output::Line;
use crate::domain::command::CommandSpec;
use crate::domain::event::Event;
use crate::domain::job::RunSpec;
use crate::domain::logged::Logged;
use crate::runs::process;
pub(super) use command::{environment, tags, words, write_module};
use ranks::Ranks;
use tensorboard::TensorBoard;

/// Looks at TensorBoard files when the program has ended, each of a few MiB.
const MOST_PIECES: usize = 64;
/// Between two readings of a bar that is drawn over itself, of one process.
const BAR_EVERY: Duration = Duration::from_millis(500);

/// Whether the patterns of a run are regular expressions.
///
/// # Errors
/// The first that is none, in one sentence.
pub fn check_patterns(spec: &CommandSpec) -> Result<(), String> {
    Adapter::new(spec).map(|_| ())
}

/// What is read of one launch.
pub(super) struct OwnProgram {
    adapter: Adapter,
    tensorboard: Option<TensorBoard>,
    ranks: Ranks,
    /// When the bar of a process was read.
    drawn: BTreeMap<usize, Instant>,
    /// Since when none of the ranks that were found is there any more.
    pub gone_since: Option<Instant>,
}

impl OwnProgram {
    /// For a program that is about to be started.
    ///
    /// # Errors
    /// As [`Adapter::new`].
    pub fn new(run: &RunSpec, spec: &CommandSpec) -> Result<OwnProgram, String> {
        let tensorboard = spec.tensorboard.as_deref().map(|folder| TensorBoard::new(Path::new(folder)));
        let np = if spec.own_launcher().is_some() { spec.own_np() } else { Some(run.resources.np) };
        let ranks = Ranks::new(np, run.starts_alone(), std::process::id());
        Ok(OwnProgram { adapter: Adapter::new(spec)?, tensorboard, ranks, drawn: BTreeMap::new(), gone_since: None })
    }

    /// What a line says, with the process that printed it.
    pub fn read(&mut self, line: &Line) -> Vec<(usize, Logged)> {
        let (process, text) = match line {
            Line::Launcher(_) | Line::Event { .. } | Line::Lost { .. } => return Vec::new(),
            Line::Rank { process, text } => (*process, text),
            Line::Drawn { process, text } => {
                let last = self.drawn.entry(*process).or_insert_with(|| Instant::now() - BAR_EVERY);
                if last.elapsed() < BAR_EVERY {
                    return Vec::new();
                }
                *last = Instant::now();
                (*process, text)
            }
        };
        self.adapter.read(text).into_iter().map(|logged| (process, logged)).collect()
    }

    /// Once a second: ranks that were found in this run's processes, and what is new in its TensorBoard files. `child` is the
    /// process that was started.
    pub fn look(&mut self, folder: &Path, child: Option<u32>) -> Vec<(usize, Event)> {
        let pids = || process::of_run(folder);
        let found = self.ranks.look(pids, child).into_iter().map(|report| (report.topology.rank.0, Event::Topology(report)));
        let logged = self.tensorboard.iter_mut().flat_map(TensorBoard::look).map(|logged| (0, Event::Logged(logged)));
        found.chain(logged).collect()
    }

    /// What its files tell that nobody has looked at yet.
    pub fn finish(&mut self) -> Vec<(usize, Event)> {
        let Some(board) = &mut self.tensorboard else { return Vec::new() };
        let pieces = std::iter::repeat_with(|| board.look()).take(MOST_PIECES).take_while(|logged| !logged.is_empty());
        pieces.flatten().map(|logged| (0, Event::Logged(logged))).collect()
    }
}
