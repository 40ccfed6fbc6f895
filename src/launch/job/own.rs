//! A program of the user's own, which reports nothing by itself: what is read of it goes where reports go.

use std::time::Instant;

use nix::sys::signal::Signal;

use super::{FAILURE_GRACE, Job};
use crate::domain::event::{Event, TopologyReport};
use crate::launch::output::Line;
use crate::runs::process;

impl Job {
    /// What a line says goes before the line: nobody sees a line before what was read of it.
    pub(super) fn read_own_program(&mut self, line: &Line) {
        let Some(own) = &mut self.own else { return };
        let logged = own.read(line).into_iter().map(|(process, logged)| (process, Event::Logged(logged)));
        self.note_all(logged.collect());
    }

    /// Once a second: the ranks that were found, and what its files tell.
    pub(super) fn look_at_own_program(&mut self) -> Vec<TopologyReport> {
        let Some(own) = self.own.as_mut().filter(|_| self.kill_at.is_none()) else { return Vec::new() };
        let events = own.look(self.folder.path(), self.child.id());
        let reports = events.iter().filter_map(|(_, event)| match event {
            Event::Topology(report) => Some(report.clone()),
            _ => None,
        });
        let reports = reports.collect();
        self.note_all(events);
        self.end_orphans();
        reports
    }

    /// What ranks leave behind holds their output open, and mpirun waits for its end: it is ended a while after the last rank.
    fn end_orphans(&mut self) {
        let evidence = &self.journal.evidence;
        let is_there = |pid| process::look_up(pid).is_some_and(|found| !found.zombie);
        let is_whole = evidence.on(&self.host).count() == self.np;
        let is_gone = is_whole && !evidence.on(&self.host).any(|(_, report)| is_there(report.pid));
        let Some(own) = &mut self.own else { return };
        let since = *own.gone_since.get_or_insert_with(Instant::now);
        if !is_gone {
            own.gone_since = None;
        } else if since.elapsed() >= FAILURE_GRACE {
            let (me, launcher) = (std::process::id(), self.child.id());
            let is_orphan = |pid: &u32| {
                Some(*pid) != launcher && process::look_up(*pid).is_some_and(|found| process::is_adopted(found.parent, me))
            };
            let orphans = process::of_run(self.folder.path()).into_iter().filter(is_orphan);
            orphans.for_each(|pid| process::signal(pid, Signal::SIGKILL));
        }
    }

    /// What its files tell that nobody has read yet.
    pub(super) fn finish_own_program(&mut self) {
        let events = self.own.as_mut().map(|own| own.finish()).unwrap_or_default();
        self.note_all(events);
    }

    fn note_all(&mut self, events: Vec<(usize, Event)>) {
        for (process, event) in events {
            let written = self.journal.note(process, event);
            self.fail_if_unwritten(written);
        }
    }
}
