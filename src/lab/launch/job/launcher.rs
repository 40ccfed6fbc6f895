//! What the supervisor sees of the launcher from outside: that it is stopped, that it waits for programs which ranks have left behind,
//! and that it is busy with a line that does not end.

use nix::sys::signal::Signal;
use tokio::time::Instant;

use super::watch::FROZEN;
use super::{FAILURE_GRACE, Launch};
use crate::domain::run::RunState;
use crate::domain::units;
use crate::host::process::command;
use crate::launch::slurm;
use crate::launch::user_program::rank_number;
use crate::process::{self, Process};

impl Launch {
    /// Where a batch job is. Once it trains, what Slurm says or does not say about it changes nothing.
    pub(super) fn slurm_says(&self, news: &str, tell: &mut dyn FnMut(RunState, &str)) {
        match self.state.began {
            // That it could not be cancelled, for instance.
            _ if self.state.asked_to_stop => tell(RunState::Stopping, news),
            _ if self.state.kill_at.is_some() => {}
            Some(_) if news.starts_with(slurm::STARTED) => tell(RunState::Running, self.writer.observations.work.going()),
            Some(_) => tell(RunState::Running, news),
            None => tell(RunState::Preparing, news),
        }
    }

    /// Once a second: whether the launcher is stopped, waits for ever, or holds more output than it can pass on, before it fills the
    /// memory of this host.
    pub(super) fn look_at_launcher(&mut self) {
        let pid = self.child.id().filter(|_| self.state.stuck.is_none() && self.state.kill_at.is_none());
        if let Some(pid) = pid.filter(|_| self.options.is_batch && self.writer.observations.all_finished()) {
            process::signal(pid, slurm::RANKS_DONE);
        }
        let Some((pid, launcher)) = pid.and_then(|pid| Some((pid, process::look_up(pid)?))) else {
            self.state.launcher_down = None;
            return;
        };
        if launcher.suspended && self.options.own.is_none() {
            self.launcher_is_down(pid);
        } else {
            self.state.launcher_down = None;
        }
        let beneath = process::descendants(pid);
        self.look_for_endless_line(&launcher, &beneath);
        // What Slurm has started is Slurm's, on this host as well.
        if !self.options.is_batch {
            self.end_left_behind(pid, &beneath);
        }
        if let Some(why) = self.options.limits.backlog(launcher.resident) {
            self.state.stuck = Some(why);
            self.begin_end();
        }
    }

    /// Reported when it is seen a second time. An elastic run does not wait for it for ever.
    fn launcher_is_down(&mut self, pid: u32) {
        let is_news = self.state.launcher_down.is_some_and(|(_, is_told)| !is_told);
        let (since, _) = *self.state.launcher_down.get_or_insert_with(|| (Instant::now(), false));
        if is_news {
            self.state.launcher_down = Some((since, true));
            self.warn(0, &format!("mpirun is stopped by a signal, and all ranks wait for it: `kill -CONT {pid}` lets it go on"));
        }
        if self.options.is_elastic && since.elapsed() >= FROZEN {
            self.say(&format!("hvd-lab: mpirun has been stopped for {} s: it is ended", FROZEN.as_secs()));
            process::signal(pid, Signal::SIGKILL);
        }
    }

    /// What ranks leave behind holds their output open, and mpirun waits for the end of that for ever: it is ended a while after the
    /// last rank. `beneath` is all that the launcher has started.
    fn end_left_behind(&mut self, launcher: u32, beneath: &[Process]) {
        let mut orphans = process::adopted(self.options.folder.path());
        orphans.retain(|orphan| orphan.pid != launcher);
        // The variables of a rank distinguish what it has started from a launcher's own daemons, unless only these are left.
        let is_left = |orphan: &Process| beneath.is_empty() || rank_number(orphan.pid).is_some();
        let left: Vec<Process> = orphans.into_iter().filter(is_left).collect();
        if left.is_empty() || beneath.iter().any(|process| rank_number(process.pid).is_some()) {
            self.state.deserted = None;
            return;
        }
        if self.state.deserted.get_or_insert_with(Instant::now).elapsed() < FAILURE_GRACE {
            return;
        }
        for orphan in left {
            let rank = rank_number(orphan.pid);
            let who = rank.map_or("a rank".to_owned(), |rank| format!("rank {rank}"));
            let words = format!(
                "{who} has left `{}` (pid {}) behind, which holds the output of the run open: the ranks have ended, so it is ended too",
                command(orphan.pid),
                orphan.pid
            );
            self.warn(rank.unwrap_or(0), &words);
            process::signal_each(&process::descendants(orphan.pid), Signal::SIGKILL);
            process::signal_each(&[orphan], Signal::SIGKILL);
        }
    }

    /// A launcher that is busy with output and passes none of it on: it looks for the end of a line, in all of the line, again and
    /// again.
    fn look_for_endless_line(&mut self, launcher: &Process, beneath: &[Process]) {
        let lines = self.writer.observations.lines;
        let ranks = || beneath.iter().filter_map(|process| Some((rank_number(process.pid)?, process.pid)));
        let Some((seconds, most)) = self.state.endless.look(launcher, lines, ranks) else { return };
        let (process, who, most) = match most {
            Some((process, bytes)) => (process, format!("rank {process}"), format!(" ({} so far)", units::bytes(bytes))),
            None => (0, "a rank".to_owned(), String::new()),
        };
        let words = format!(
            "{who} prints a line that does not end{most}: for {seconds} s {} has been busy with it and passed on no output of any rank. \
             End each line with a newline",
            self.writer.observations.launcher_name
        );
        if self.options.limits.is_own && seconds >= FROZEN.as_secs() {
            self.state.stuck = Some(format!("{words}. So the run was ended"));
            self.begin_end();
        } else if self.state.endless.is_news() {
            self.warn(process, &words);
        }
    }
}
