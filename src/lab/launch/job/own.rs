//! A program of the user's own, which reports nothing by itself: what the lab reads from its output is recorded like reports.

use std::process::ExitStatus;

use super::Launch;
use crate::domain::event::{Event, MARKER, TopologyReport};
use crate::domain::run::RunState;
use crate::launch::output::Line;
use crate::launch::run_writer::RunWriter;
use crate::launch::user_program::OwnProgram;

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
        let mut topologies = reports.iter().map(|report| (report.topology.rank.0, Event::Topology(report.clone())));
        let mut written = topologies.try_for_each(|(process, event)| self.writer.note(process, event));
        let news = own.news();
        own.read_files(&mut |logged| {
            if written.is_ok() {
                written = self.writer.note(0, Event::Logged(logged));
            }
        });
        self.write(|_| written);
        news.iter().for_each(|news| self.warn(0, news));
        reports
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
        let mut written = Ok(());
        let said = self.options.own.as_mut().and_then(|own| {
            own.finish(&mut |logged| {
                if written.is_ok() {
                    written = self.writer.note(0, Event::Logged(logged));
                }
            })
        });
        self.write(|_| written);
        said.iter().for_each(|said| self.say(said));
        self.write(RunWriter::finish_events);
    }
}
