//! The files of a run while it goes: events, logs and telemetry, and what the verdict needs to know of them.
//!
//! Never judges. Lines are kept in memory for at most 100 ms (the supervisor calls [`Journal::flush`]).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::line_file::{JournalError, LineFile};
use super::output::Line;
use super::work::Work;
use crate::domain::bounds::MAX_VERSIONS;
use crate::domain::device::TelemetrySample;
use crate::domain::event::{Event, EventLine, MARKER, TopologyReport};
use crate::domain::history::{Fatal, History, Keep, TrainingStep};
use crate::host;
use crate::host::read::LONGEST_LINE;
use crate::runs::{Arrival, Arrivals, LogSource, RunFolder};

/// Last lines of each process that are kept for a verdict.
const TAIL_LINES: usize = 10;
const LAUNCHER_LINES: usize = 60;

/// What is known of the processes of one attempt.
#[derive(Clone, Debug)]
pub struct Evidence {
    pub work: Work,
    /// What they reported, in this attempt only.
    pub(super) history: History,
    /// A process of this host that is gone without a final event, where the launcher has not noticed.
    pub vanished: Option<usize>,
    /// Last lines of each process.
    pub tails: BTreeMap<usize, VecDeque<String>>,
    /// Processes whose last lines are complete.
    pub aborted: BTreeSet<usize>,
    pub launcher: VecDeque<String>,
}

impl Default for Evidence {
    fn default() -> Evidence {
        Evidence {
            work: Work::default(),
            history: History::new(Keep::Epochs(1)),
            vanished: None,
            tails: BTreeMap::new(),
            aborted: BTreeSet::new(),
            launcher: VecDeque::new(),
        }
    }
}

impl Evidence {
    /// The next event of a process.
    pub fn take(&mut self, line: &EventLine) {
        self.history.take(line);
    }

    /// The processes that have introduced themselves, with what they said.
    pub fn introduced(&self) -> impl Iterator<Item = (usize, &TopologyReport)> {
        let processes = self.history.attempt().into_iter().flat_map(|attempt| &attempt.processes);
        processes.filter_map(|(index, process)| Some((*index, process.topology.as_ref()?)))
    }

    /// Those of them on this host: the pids of others mean nothing here.
    pub fn on<'a>(&'a self, host: &'a str) -> impl Iterator<Item = (usize, &'a TopologyReport)> {
        self.introduced().filter(move |(_, report)| report.host == host)
    }

    pub fn has_finished(&self, process: usize) -> bool {
        self.history.process(process).is_some_and(|process| process.has_finished)
    }

    /// How far the run is: the last epoch that process 0 has ended, in this attempt or before it, or the rows of its table, or
    /// its iterations.
    pub fn done(&self) -> usize {
        match self.work {
            Work::Training => self.history.epochs_done(0),
            Work::Test => self.history.process(0).and_then(|root| root.test).map_or(0, |test| test.images),
            Work::Benchmark => self.history.process(0).map_or(0, |root| root.iterations.len()),
            Work::Collectives => self.history.process(0).map_or(0, |root| root.allreduces.len()),
        }
    }

    /// The last step that a process reported.
    pub fn step(&self, process: usize) -> Option<TrainingStep> {
        self.history.process(process)?.step
    }

    /// The first fatal event.
    pub fn fatal(&self) -> Option<&Fatal> {
        self.history.attempt()?.fatal.first()
    }

    /// Library versions that ranks reported, each once: a bounded number, whatever a program of the learner's says.
    pub fn versions(&self) -> BTreeSet<String> {
        let all: BTreeSet<&String> = self.introduced().flat_map(|(_, report)| &report.versions).collect();
        all.into_iter().take(MAX_VERSIONS).cloned().collect()
    }

    /// Keep a process's last lines, up to where MPI announces its abort: what follows says nothing of the cause.
    fn remember(&mut self, process: usize, text: String) {
        if self.aborted.contains(&process) {
            return;
        }
        let tail = self.tails.entry(process).or_default();
        if text.starts_with("MPI_ABORT was invoked") {
            self.aborted.insert(process);
            // The rule above it.
            if tail.back().is_some_and(|line| line.starts_with("-----")) {
                tail.pop_back();
            }
            return;
        }
        keep(tail, text, TAIL_LINES);
    }
}

/// Writes the lines of a run to where they belong.
#[derive(Debug)]
pub struct Journal {
    folder: RunFolder,
    events: LineFile,
    launcher: LineFile,
    telemetry: LineFile,
    logs: BTreeMap<usize, LineFile>,
    arrivals: LineFile,
    /// Not written down yet.
    arrived: Arrivals,
    pub evidence: Evidence,
}

impl Journal {
    /// Open the files of a folder for another attempt, with a log for each of `np` processes.
    pub fn open(folder: RunFolder, np: usize) -> Result<Journal, JournalError> {
        let mut journal = Journal {
            events: LineFile::open(folder.events_file())?,
            launcher: LineFile::open(folder.launcher_log())?,
            telemetry: LineFile::open(folder.telemetry_file())?,
            logs: BTreeMap::new(),
            arrivals: LineFile::open(folder.arrivals_file())?,
            arrived: Arrivals::default(),
            evidence: Evidence::default(),
            folder,
        };
        for process in 0..np {
            journal.log(process)?;
        }
        let launched = EventLine { time_s: host::now_s(), process: 0, event: Event::Launched { np } };
        journal.events.line(&launched.to_line())?;
        journal.events.flush()?;
        if journal.arrivals.length() == 0 {
            // What an older lab wrote came at times that nobody knows.
            let logs = journal.logs.iter().map(|(process, log)| (LogSource::Process(*process), log.length()));
            let all: Vec<_> = logs.chain([(LogSource::Launcher, journal.launcher.length())]).collect();
            for (source, end) in all.into_iter().filter(|(_, end)| *end > 0) {
                journal.arrivals.line(&Arrival { time_ms: 0, source, end }.to_string())?;
            }
        }
        Ok(journal)
    }

    fn arrived(&mut self, source: LogSource, end: u64) -> Result<(), JournalError> {
        let arrival = Arrival { time_ms: (host::now_s() * 1e3) as u64, source, end };
        match self.arrived.take(arrival) {
            Some(complete) => self.arrivals.line(&complete.to_string()),
            None => Ok(()),
        }
    }

    fn log(&mut self, process: usize) -> Result<&mut LineFile, JournalError> {
        match self.logs.entry(process) {
            std::collections::btree_map::Entry::Occupied(entry) => Ok(entry.into_mut()),
            std::collections::btree_map::Entry::Vacant(entry) => Ok(entry.insert(LineFile::open(self.folder.rank_log(process))?)),
        }
    }

    /// Put one line where it belongs. Returns the event in it, if there is one that this version knows.
    pub fn take(&mut self, line: Line) -> Result<Option<Event>, JournalError> {
        match line {
            Line::Launcher(text) => self.say(&text).map(|()| None),
            Line::Rank { process, text } => match text.strip_prefix(MARKER) {
                // Events of a newer trainer are kept, though this lab may not know them.
                // One that is longer than any is text that a program printed: nobody would read it as an event.
                Some(json) if json.len() <= LONGEST_LINE && serde_json::from_str::<serde::de::IgnoredAny>(json).is_ok() => {
                    let event = EventLine::parse_line(json);
                    if matches!(event, Some(EventLine { event: Event::Launched { .. }, .. })) {
                        // Not a rank's to say.
                        return Ok(None);
                    }
                    self.events.line(json)?;
                    if let Some(event) = &event {
                        self.evidence.take(event);
                    }
                    Ok(event.map(|line| line.event))
                }
                _ => {
                    let log = self.log(process)?;
                    log.line(&text)?;
                    let end = log.length();
                    self.arrived(LogSource::Process(process), end)?;
                    self.evidence.remember(process, text);
                    Ok(None)
                }
            },
        }
    }

    /// A line of the launcher or of the supervisor itself.
    pub fn say(&mut self, text: &str) -> Result<(), JournalError> {
        self.launcher.line(text)?;
        self.arrived(LogSource::Launcher, self.launcher.length())?;
        keep(&mut self.evidence.launcher, text.to_owned(), LAUNCHER_LINES);
        Ok(())
    }

    pub fn telemetry(&mut self, sample: &TelemetrySample) -> Result<(), JournalError> {
        match serde_json::to_string(sample) {
            Ok(text) => self.telemetry.line(&text),
            Err(_) => Ok(()),
        }
    }

    /// Hand everything to the operating system, the logs first: an event never precedes the lines before it.
    ///
    /// # Errors
    /// The first file that cannot be written; the others are.
    pub fn flush(&mut self) -> Result<(), JournalError> {
        let mut done = Ok(());
        for log in self.logs.values_mut().chain([&mut self.launcher]) {
            done = done.and(log.flush());
        }
        if let Some(last) = self.arrived.finish() {
            done = done.and(self.arrivals.line(&last.to_string()));
        }
        for file in [&mut self.arrivals, &mut self.telemetry, &mut self.events] {
            done = done.and(file.flush());
        }
        done
    }
}

fn keep(tail: &mut VecDeque<String>, line: String, most: usize) {
    if tail.len() == most {
        tail.pop_front();
    }
    tail.push_back(line);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal() -> (tempfile::TempDir, Journal) {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open(RunFolder::new(folder.path()), 2).unwrap();
        (folder, journal)
    }

    fn rank(process: usize, text: &str) -> Line {
        Line::Rank { process, text: text.into() }
    }

    #[test]
    fn every_line_goes_where_it_belongs() {
        let (folder, mut journal) = journal();
        let event = r#"{"time_s":1.0,"process":1,"event":"early_stop","epoch":3}"#;
        let newer = r#"{"time_s":1.0,"process":1,"event":"sneezed"}"#;
        assert_eq!(journal.take(rank(1, &format!("{MARKER}{event}"))).unwrap(), Some(Event::EarlyStop { epoch: 3 }));
        assert_eq!(journal.take(rank(1, &format!("{MARKER}{newer}"))).unwrap(), None);
        let launched = r#"{"time_s":1.0,"process":1,"event":"launched","np":9}"#;
        assert_eq!(journal.take(rank(1, &format!("{MARKER}{launched}"))).unwrap(), None, "not a rank's to say");
        journal.take(rank(0, "Epoch 1/3")).unwrap();
        journal.take(rank(1, &format!("{MARKER}{{broken"))).unwrap();
        journal.take(rank(7, "unexpected")).unwrap();
        journal.take(Line::Launcher("words".into())).unwrap();
        journal.flush().unwrap();
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        let events = read("events.jsonl");
        let (launched, events) = events.split_once('\n').unwrap();
        assert!(matches!(EventLine::parse_line(launched).unwrap().event, Event::Launched { np: 2 }));
        assert_eq!(events, format!("{event}\n{newer}\n"));
        assert_eq!((read("rank-0.log").as_str(), read("rank-7.log").as_str()), ("Epoch 1/3\n", "unexpected\n"));
        assert_eq!((read("rank-1.log").as_str(), read("launcher.log").as_str()), ("@hvd {broken\n", "words\n"));
    }

    #[test]
    fn last_lines_end_where_mpi_announces_its_abort() {
        let (_folder, mut journal) = journal();
        for line in 0..20 {
            journal.take(rank(0, &format!("line {line}"))).unwrap();
        }
        for line in ["----------", "MPI_ABORT was invoked on rank 0", "NOTE: ...", "----------"] {
            journal.take(rank(0, line)).unwrap();
        }
        let tail: Vec<_> = journal.evidence.tails[&0].iter().map(String::as_str).collect();
        assert_eq!((tail.len(), tail[0], tail[8]), (9, "line 11", "line 19"));
    }
}
