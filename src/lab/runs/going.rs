//! What runs that go on add up to so far: what was read of their events is not read again at the next look.
//!
//! Never outlives the program: what a run adds up to in the end is in its summary.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::read::{Damaged, Events};
use super::summary::Accountant;
use super::{RunFolder, RunId, RunRecord, Tally, summary};

/// Runs that are kept: more do not go on at once, and each takes memory.
const MOST: usize = 4;

#[derive(Clone, Debug, Default)]
pub(super) struct Going {
    runs: Arc<Mutex<BTreeMap<RunId, SoFar>>>,
}

#[derive(Debug)]
struct SoFar {
    /// Bytes of its events.
    read: u64,
    accountant: Accountant,
    damaged: Damaged,
    /// A number is given to another run where its folder was removed by hand.
    created_s: f64,
    np: usize,
}

impl Going {
    /// The tally of a run that may still go on.
    pub(super) fn tally(&self, id: RunId, folder: &RunFolder, record: &RunRecord, is_over: bool) -> Tally {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |known: &SoFar| known.created_s == record.created_s && known.np == record.np();
        let known = runs.remove(&id).filter(is_same);
        if is_over && known.is_none() {
            return summary::tally(folder, record);
        }
        let mut so_far = known.unwrap_or_else(|| SoFar {
            read: 0,
            accountant: Accountant::of(record),
            damaged: Damaged::default(),
            created_s: record.created_s,
            np: record.np(),
        });
        let Some((mut events, end)) = Events::behind(&folder.events_file(), so_far.read, is_over, &so_far.damaged) else {
            return summary::tally(folder, record);
        };
        events.by_ref().for_each(|event| so_far.accountant.take(&event));
        so_far.read = end;
        so_far.damaged = events.damaged().clone();
        let tally = Tally { damaged: so_far.damaged.in_words(), ..so_far.accountant.tally() };
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
        let (going, record) = (Going::default(), super::super::tests::record(1));
        let write = |text: &str| {
            let file = std::fs::File::options().create(true).append(true).open(folder.events_file());
            file.unwrap().write_all(text.as_bytes()).unwrap();
        };
        let tally = |is_over| going.tally(RunId(1), &folder, &record, is_over);
        assert_eq!(tally(false).last_epoch, 0, "no events yet");
        let (first, second, third) = (line(1, 0.5), line(2, 0.6), line(3, 0.7));
        write(&(first + "no event\n"));
        assert_eq!(tally(false).last_epoch, 1);
        // Half a line is not taken, and not lost.
        write(&second[..40]);
        assert_eq!(tally(false).last_epoch, 1);
        write(&second[40..]);
        assert_eq!(tally(false), summary::tally(&folder, &record));
        // What was read is not looked at again.
        let text = std::fs::read_to_string(folder.events_file()).unwrap();
        std::fs::write(folder.events_file(), text.replace("0.5", "0.9")).unwrap();
        write(&third);
        let last = tally(true);
        assert_eq!((last.last_epoch, last.validation.unwrap().accuracy), (3, 0.7));
        assert!(last.damaged.unwrap().starts_with("1 damaged event"));
        assert!(going.runs.lock().unwrap().is_empty(), "it is over");
        // Another file in its place is read from its start.
        tally(false);
        std::fs::write(folder.events_file(), line(1, 0.4)).unwrap();
        assert_eq!(tally(false).last_epoch, 1);
    }
}
