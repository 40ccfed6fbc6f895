//! What running runs add up to so far: events that were read are not read again at the next look.
//!
//! Never outlives the program: what a run adds up to in the end is in its summary.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::summary::Accountant;
use super::{Events, RunFolder, RunId, RunRecord, Tally};

/// Runs that are kept: more are not running at once, and each takes memory.
const MOST: usize = 4;

#[derive(Clone, Debug, Default)]
pub(super) struct RunningTotals {
    runs: Arc<Mutex<BTreeMap<RunId, SoFar>>>,
}

#[derive(Debug)]
struct SoFar {
    events: Events,
    accountant: Accountant,
    /// A number is given to another run where its folder was removed by hand.
    created_s: f64,
    np: usize,
}

impl RunningTotals {
    /// The tally of a run that may still be running.
    pub(super) fn tally(&self, id: RunId, folder: &RunFolder, record: &RunRecord, is_over: bool) -> Tally {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |known: &SoFar| known.created_s == record.created_s && known.np == record.np();
        let known = runs.remove(&id).filter(is_same).and_then(|mut known| known.events.can_go_on().then_some(known));
        let mut so_far = known.unwrap_or_else(|| SoFar {
            events: folder.events(),
            accountant: Accountant::of(record),
            created_s: record.created_s,
            np: record.np(),
        });
        so_far.events.is_over = is_over;
        so_far.events.by_ref().for_each(|event| so_far.accountant.take(&event));
        let tally = Tally { damaged: so_far.events.damaged(), ..so_far.accountant.tally() };
        if !is_over {
            while runs.len() >= MOST {
                runs.pop_first();
            }
            runs.insert(id, so_far);
        }
        tally
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::domain::event::{EpochReport, Event, EventLine, Metrics};

    fn line(epoch: usize, accuracy: f64) -> String {
        let report = EpochReport { epoch, validation: Metrics { loss: 1.0, accuracy }, averaged: None, ..EpochReport::sample() };
        EventLine { time_s: 1.7e9, process: 0, event: Event::Epoch(report) }.to_line() + "\n"
    }

    #[test]
    fn what_was_read_is_not_read_again_and_adds_up_to_the_same() {
        let home = tempfile::tempdir().unwrap();
        let folder = RunFolder::new(home.path());
        let (running, record) = (RunningTotals::default(), super::super::tests::record(1));
        let write = |text: &str| {
            let file = std::fs::File::options().create(true).append(true).open(folder.events_file());
            file.unwrap().write_all(text.as_bytes()).unwrap();
        };
        let tally = |is_over| running.tally(RunId(1), &folder, &record, is_over);
        assert_eq!(tally(false).last_epoch, 0, "no events yet");
        let (first, second, third) = (line(1, 0.5), line(2, 0.6), line(3, 0.7));
        write(&(first + "no event\n"));
        assert_eq!(tally(false).last_epoch, 1);
        // Half a line is not taken, and not lost.
        write(&second[..40]);
        assert_eq!(tally(false).last_epoch, 1);
        write(&second[40..]);
        assert_eq!(tally(false), RunningTotals::default().tally(RunId(1), &folder, &record, true));
        // What was read is not looked at again.
        let text = std::fs::read_to_string(folder.events_file()).unwrap();
        std::fs::write(folder.events_file(), text.replace("0.5", "0.9")).unwrap();
        write(&third);
        let last = tally(true);
        assert_eq!((last.last_epoch, last.validation.unwrap().accuracy), (3, 0.7));
        assert!(last.damaged.unwrap().starts_with("1 damaged event"));
        assert!(running.runs.lock().unwrap().is_empty(), "it is over");
        // Another file in its place is read from its start.
        tally(false);
        std::fs::write(folder.events_file(), line(1, 0.4)).unwrap();
        assert_eq!(tally(false).last_epoch, 1);
    }
}
