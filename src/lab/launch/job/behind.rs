//! A program of the user's own that ends before what it has started: a script that puts its training into the background.

use std::process::ExitStatus;
use std::time::Duration;

use tokio::time::Instant;

use super::Launch;
use super::state::Behind;
use crate::domain::run::RunState;
use crate::host::process::command;
use crate::process::{self, Process};

/// For helpers to follow the program that has ended.
const A_MOMENT: Duration = Duration::from_millis(500);

impl Launch {
    fn processes_behind(&self) -> Vec<Process> {
        process::adopted(self.options.folder.path()).into_iter().filter(|process| !process.zombie).collect()
    }

    /// The processes that a program without a launcher has left running, now that it has ended like this.
    pub(super) fn left_behind(&self, exit: ExitStatus) -> Option<Behind> {
        let is_alone = self.writer.observations.is_alone && self.state.kill_at.is_none();
        (is_alone && !self.processes_behind().is_empty()).then(|| Behind { exit, since: Instant::now(), is_told: false })
    }

    /// To be called about once a second: how the program ended, as soon as what it left in the background has ended too, or need not be
    /// waited for. Nobody waits for that if the program has reported figures or has failed.
    pub(super) fn look_behind(&mut self, tell: &mut dyn FnMut(RunState, &str)) -> Option<ExitStatus> {
        let behind = self.state.behind.as_ref()?;
        let (exit, is_new) = (behind.exit, !behind.is_told && behind.since.elapsed() >= A_MOMENT);
        let left = self.processes_behind();
        let Some(first) = left.first() else { return Some(exit) };
        if !is_new {
            return None;
        }
        let what = format!("`{}` (pid {})", command(first.pid), first.pid);
        let what = if left.len() > 1 { format!("{what} and {} more", left.len() - 1) } else { what };
        let is_waited_for = exit.success() && !self.options.own.as_ref().is_some_and(|own| own.has_figures);
        self.state.behind.iter_mut().for_each(|behind| behind.is_told = true);
        if !is_waited_for {
            self.warn(0, &format!("the program has ended and has left {what} in the background: it is ended with the run"));
            return Some(exit);
        }
        let words = format!(
            "the program has ended, and {what} goes on in the background: the run lasts until that ends. Start it without `&` and \
             nohup, and its own exit code counts"
        );
        self.warn(0, &words);
        tell(RunState::Running, "what the program has put into the background goes on");
        None
    }
}
