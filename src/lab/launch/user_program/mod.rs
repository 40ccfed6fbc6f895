//! The user's own program, seen from outside: which processes are its ranks, and what its output and files say about training.

mod command;
mod event_file;
mod inspector;
mod ranks;
mod tags;
mod tensorboard;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use super::adapter::Adapter;
use super::piece::Line;
use crate::domain::command::CommandSpec;
use crate::domain::event::TopologyReport;
use crate::domain::job::RunSpec;
use crate::domain::units;
use crate::domain::user_metrics::Logged;
use crate::process;
pub(super) use command::{environment, tags, with_inspector, words, write_module};
use ranks::Ranks;
pub(super) use ranks::number as rank_number;
pub(super) use tags::RankTags;
use tensorboard::TensorBoard;

/// For a look at TensorBoard files while the program runs, and for the last one.
const LOOK: Duration = Duration::from_millis(100);
const LAST_LOOK: Duration = Duration::from_secs(10);
/// Bytes that may be left of files: a record that was never whole.
const LITTLE: u64 = 8 << 20;
/// Between two readings of a bar that is drawn over itself, of one process.
const BAR_EVERY: Duration = Duration::from_millis(500);

/// The word that the list of runs shows in place of a preset.
pub const OWN_PROGRAM: &str = "own";

/// What is read of one launch.
pub(super) struct OwnProgram {
    adapter: Adapter,
    tensorboard: Option<TensorBoard>,
    ranks: Ranks,
    /// When the bar of a process was read.
    drawn: BTreeMap<usize, Instant>,
    /// It has reported a figure of its training.
    pub has_figures: bool,
    /// Messages for the start: that some of its ranks cannot be seen, or not be inspected.
    told: Vec<String>,
    /// The user was told that the program starts ranks which the lab does not see.
    is_inside_told: bool,
    inspects: bool,
    /// The inspector has reported something.
    pub is_inspected: bool,
}

impl OwnProgram {
    /// For a program that is about to be started.
    ///
    /// # Errors
    /// As [`Adapter::new`].
    pub fn new(run: &RunSpec, spec: &CommandSpec, log_dir: &Path) -> Result<OwnProgram, String> {
        let tensorboard = spec.tensorboard.as_deref().map(|folder| TensorBoard::new(Path::new(folder)));
        let np = run.knows_np().then_some(run.resources.np);
        let is_alone = run.starts_alone();
        let ranks = Ranks::new(np, is_alone, std::process::id(), spec.own_launcher());
        let unseen = command::unseen(spec);
        Ok(OwnProgram {
            adapter: Adapter::new(spec)?,
            tensorboard,
            ranks,
            drawn: BTreeMap::new(),
            has_figures: false,
            is_inside_told: unseen.is_some() && is_alone,
            told: unseen.into_iter().chain(inspector::doubts(run, spec, &command::python_folder(log_dir))).collect(),
            inspects: spec.inspect,
            is_inspected: false,
        })
    }

    /// What a line says, with the process that printed it.
    pub fn read(&mut self, line: &Line) -> Vec<(usize, Logged)> {
        let (process, text) = match line {
            Line::Event { .. } | Line::Lost { .. } => return Vec::new(),
            // What no rank is named for: the launcher does not tag lines, or it is its own line and has no figures.
            Line::Launcher(text) => (0, text),
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
        let read = self.adapter.read(text);
        self.has_figures |= !read.is_empty();
        read.into_iter().map(|logged| (process, logged)).collect()
    }

    /// Once a second: ranks that were found in this run's processes. `child` is the process that was started.
    pub fn new_ranks(&mut self, folder: &Path, child: Option<u32>) -> Vec<TopologyReport> {
        self.ranks.look(|| process::of_run(folder), child)
    }

    /// Once each: what is to be said at the start, and that a program which was taken for one process has started ranks.
    pub fn news(&mut self) -> Vec<String> {
        std::mem::take(&mut self.told).into_iter().chain(self.ranks_inside()).collect()
    }

    /// At the end of a launch that went well: that no rank was inspected, though the user wanted it.
    pub fn saw_nothing(&self) -> Option<&'static str> {
        (self.inspects && !self.is_inspected).then_some(inspector::SAW_NOTHING)
    }

    fn ranks_inside(&mut self) -> Option<String> {
        let (np, by) = self.ranks.inside.filter(|_| !std::mem::replace(&mut self.is_inside_told, self.ranks.inside.is_some()))?;
        let judged = if self.inspects { "; what the inspector judges stays right" } else { "" };
        Some(format!(
            "the program starts {np} ranks of its own (found by the variables of {by}). The lab sees one process: all that they print counts as \
             its own, and figures of several ranks are mixed{judged}. To see each rank for itself, write their launcher behind --, such as \
             `hvd-lab run -- torchrun --nproc-per-node {np} train.py` or `hvd-lab run -- mpirun -np {np} ...`"
        ))
    }

    /// Once a second: what is new in its TensorBoard files.
    pub fn read_files(&mut self, take: &mut dyn FnMut(Logged)) {
        if let Some(board) = &mut self.tensorboard {
            board.look(Some(LOOK), take);
        }
    }

    /// What its files tell that nobody has read yet. Returns what is to be said if not all of it was read.
    pub fn finish(&mut self, take: &mut dyn FnMut(Logged)) -> Option<String> {
        let board = self.tensorboard.as_mut()?;
        if board.look(Some(LAST_LOOK), take) <= LITTLE {
            return None;
        }
        let (left_out, seconds) = (units::bytes(board.look(None, take)), LAST_LOOK.as_secs());
        Some(format!(
            "hvd-lab: the program's TensorBoard files are so large that {left_out} before their ends were not read: it would take more than {seconds} s"
        ))
    }
}
