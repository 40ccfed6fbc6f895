//! A program of the user's own, which reports nothing by itself: what the lab reads from its output is recorded like reports. And one
//! that ends before what it has started: a script that puts its training into the background.

use std::process::ExitStatus;
use std::time::Duration;

use tokio::time::Instant;

use super::Launch;
use super::state::Behind;
use crate::domain::event::{Event, MARKER, TopologyReport};
use crate::domain::run::RunState;
use crate::domain::user_metrics::Logged;
use crate::host::process::command;
use crate::launch::piece::Line;
use crate::launch::run_writer::RunWriter;
use crate::launch::user_program::OwnProgram;
use crate::process::{self, Process};

/// For helpers to follow the program that has ended.
const A_MOMENT: Duration = Duration::from_millis(500);

impl Launch {
    /// The figures in a line are recorded before the line, so that a reader never sees a line without them.
    pub(super) fn read_own_program(&mut self, line: &Line) {
        let Some(own) = &mut self.options.own else { return };
        if matches!(line, Line::Rank { text, .. } if text.starts_with(MARKER)) {
            // An event: what it says goes where events go.
            return;
        }
        for (process, logged) in own.read(line) {
            self.write(|writer| writer.note(process, Event::Logged(logged)));
        }
    }

    /// Once a second: the ranks that were found, and the figures in its files.
    pub(super) fn look_at_own_program(&mut self) -> Vec<TopologyReport> {
        let Some(own) = self.options.own.as_mut().filter(|_| self.state.kill_at.is_none()) else { return Vec::new() };
        let reports = own.new_ranks(self.options.folder.path(), self.child.id());
        // Its words may not have said how many there are.
        self.options.np = reports.iter().map(|report| report.topology.size.0).fold(self.options.np, usize::max);
        let news = own.news();
        for report in &reports {
            self.write(|writer| writer.note(report.topology.rank.0, Event::Topology(report.clone())));
        }
        self.note_files(OwnProgram::read_files);
        news.iter().for_each(|news| self.warn(0, news));
        reports
    }

    /// Records the figures that this reads from the program's files, and returns what else it says.
    fn note_files<T: Default>(&mut self, read: impl FnOnce(&mut OwnProgram, &mut dyn FnMut(Logged)) -> T) -> T {
        let Some(own) = &mut self.options.own else { return T::default() };
        let mut written = Ok(());
        let said = read(own, &mut |logged| {
            if written.is_ok() {
                written = self.writer.note(0, Event::Logged(logged));
            }
        });
        self.write(|_| written);
        said
    }

    /// What the program has kept in the folder of temporary files that MPI gets, which goes with this launch: it may look for it at its
    /// next run.
    pub(super) fn tell_what_is_lost(&mut self) {
        if let (Some(_), Some(name)) = (&self.options.own, self.scratch.foreign()) {
            let words = format!(
                "what the program has put into TMPDIR ({name}) goes with the run, since TMPDIR is a folder of each run under mpirun. \
                 Where it is a cache, give it a place of its own, such as TORCHINDUCTOR_CACHE_DIR or TRITON_CACHE_DIR"
            );
            self.warn(0, &words);
        }
    }

    /// Once: that its lines cannot be kept.
    pub(super) fn tell_what_is_unwritten(&mut self, tell: &mut dyn FnMut(RunState, &str)) {
        if self.state.unwritten.get().is_some() && !std::mem::replace(&mut self.state.unwritten_is_told, true) {
            tell(RunState::Running, "the program goes on");
        }
    }

    /// The figures in its files that were not read yet, and the newest of those that were thinned out.
    pub(super) fn finish_own_program(&mut self, exit: Option<ExitStatus>) {
        let went_well = exit.is_some_and(|exit| exit.success()) && !self.state.asked_to_stop;
        // A program that has ended at once was not looked at.
        let news = self.options.own.as_mut().map_or(Vec::new(), OwnProgram::news);
        news.iter().for_each(|news| self.warn(0, news));
        if let Some(why) = self.options.own.as_ref().and_then(OwnProgram::saw_nothing).filter(|_| went_well) {
            self.warn(0, why);
        }
        self.note_files(OwnProgram::finish).iter().for_each(|said| self.say(said));
        self.write(RunWriter::finish_events);
    }

    fn processes_behind(&self) -> Vec<Process> {
        process::adopted(self.options.folder.path()).into_iter().filter(|process| !process.zombie).collect()
    }

    /// The processes that a program without a launcher has left running, now that it has ended like this.
    pub(super) fn left_behind(&self, exit: ExitStatus) -> Option<Behind> {
        let is_alone = self.writer.observations.is_alone && self.state.kill_at.is_none();
        (is_alone && !self.processes_behind().is_empty()).then(|| Behind { exit, since: Instant::now(), is_told: false })
    }

    /// To be called about once a second: how the program ended, as soon as what it left in the background has ended too, or need not be
    /// waited for. The run does not wait for it if the program has reported figures or has failed.
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
