//! The files of a run while it goes: events, logs and telemetry, and what the verdict needs to know of them.
//!
//! Never judges. Lines are kept in memory for at most 100 ms (the supervisor calls [`Journal::flush`]).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::line_file::{JournalError, LineFile};
use super::notice::Aborts;
use super::output::Line;
use super::thin::Thin;
use super::work::Work;
use crate::domain::bounds::MAX_VERSIONS;
use crate::domain::device::TelemetrySample;
use crate::domain::event::{ConfigReport, Event, EventLine, MARKER, TopologyReport, unmarked};
use crate::domain::history::{Fatal, History, Keep, Process, TrainingStep};
use crate::domain::units;
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
    /// Epochs that a training has its checkpoint of from launches before this one.
    pub epochs_before: usize,
    /// What they reported, in this attempt only.
    pub(super) history: History,
    /// A process of this host that is gone without a final event, where the launcher has not noticed.
    pub vanished: Option<usize>,
    /// Processes that the supervisor ended since they were stopped for too long.
    pub given_up: BTreeSet<usize>,
    /// Last lines of each process.
    pub tails: BTreeMap<usize, VecDeque<String>>,
    /// Calls of MPI_Abort; the last lines of these processes are complete.
    pub aborts: Aborts,
    /// It is a program of the user's own without other ranks.
    pub is_alone: bool,
    pub launcher: VecDeque<String>,
    /// Processes that printed lines which look like events and do not come from the library.
    pub imitating: BTreeSet<usize>,
    /// The first process that printed more than its log may hold.
    pub flooding: Option<usize>,
    /// Bytes that processes printed since one of them got on.
    pub printed: u64,
    /// Lines that came so far.
    pub lines: u64,
}

impl Default for Evidence {
    fn default() -> Evidence {
        Evidence {
            work: Work::default(),
            epochs_before: 0,
            history: History::new(Keep::Epochs(1)),
            vanished: None,
            given_up: BTreeSet::new(),
            tails: BTreeMap::new(),
            aborts: Aborts::default(),
            is_alone: false,
            launcher: VecDeque::new(),
            imitating: BTreeSet::new(),
            flooding: None,
            printed: 0,
            lines: 0,
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

    /// How far the run is: the last epoch that process 0 has ended, in this attempt or before it, or its steps, or the rows of
    /// its table, or its iterations.
    pub fn done(&self) -> usize {
        match self.work {
            Work::Training => self.history.epochs_done(0).max(self.epochs_before),
            Work::Photos => self.history.process(0).map_or(0, Process::steps_done),
            Work::Test => self.history.process(0).and_then(|root| root.test).map_or(0, |test| test.images),
            Work::Benchmark => self.history.process(0).map_or(0, |root| root.iterations.len()),
            Work::Collectives => self.history.process(0).map_or(0, |root| root.allreduces.len()),
            Work::Program => 0,
        }
    }

    /// What a process is going to do.
    pub fn config(&self, process: usize) -> Option<&ConfigReport> {
        self.history.process(process)?.config.as_ref()
    }

    /// The last step that a process reported, in this launch.
    pub fn step(&self, process: usize) -> Option<TrainingStep> {
        self.history.process(process)?.step
    }

    /// How far the first processes have come: `process 0 after epoch 1, batch 3, process 1 before its first batch`.
    pub fn last_seen(&self, np: usize) -> String {
        let place = |process: usize| match self.step(process) {
            Some(step) => format!("process {process} after epoch {}, batch {}", step.epoch + 1, step.batch + 1),
            None => format!("process {process} before its first batch"),
        };
        (0..np.min(4)).map(place).collect::<Vec<_>>().join(", ")
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
        let tail = self.tails.entry(process).or_default();
        if !self.aborts.read(process, &text) {
            keep(tail, text, TAIL_LINES);
        } else if tail.back().is_some_and(|line| line.starts_with("-----")) {
            // The rule above it.
            tail.pop_back();
        }
    }
}

/// The log of one process.
#[derive(Debug)]
struct Log {
    file: LineFile,
    /// Bytes of this launch.
    written: u64,
}

/// Writes the lines of a run to where they belong.
#[derive(Debug)]
pub struct Journal {
    folder: RunFolder,
    events: LineFile,
    launcher: LineFile,
    telemetry: LineFile,
    logs: BTreeMap<usize, Log>,
    arrivals: LineFile,
    /// Stands in each event line of this launch.
    secret: String,
    /// Most bytes of each log in this launch.
    log_bytes: u64,
    /// Not written down yet.
    arrived: Arrivals,
    thin: Thin,
    pub evidence: Evidence,
}

impl Journal {
    /// Open the files of a folder for another attempt, with a log for each of `np` processes of at most so many bytes. `secret`
    /// stands in each event line.
    pub fn open(folder: RunFolder, np: usize, secret: String, log_bytes: u64) -> Result<Journal, JournalError> {
        let mut journal = Journal {
            events: LineFile::open(folder.events_file())?,
            launcher: LineFile::open(folder.launcher_log())?,
            telemetry: LineFile::open(folder.telemetry_file())?,
            logs: BTreeMap::new(),
            arrivals: LineFile::open(folder.arrivals_file())?,
            arrived: Arrivals::default(),
            thin: Thin::new(np),
            secret,
            log_bytes,
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
            let logs = journal.logs.iter().map(|(process, log)| (LogSource::Process(*process), log.file.length()));
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

    fn log(&mut self, process: usize) -> Result<&mut Log, JournalError> {
        match self.logs.entry(process) {
            std::collections::btree_map::Entry::Occupied(entry) => Ok(entry.into_mut()),
            std::collections::btree_map::Entry::Vacant(entry) => {
                Ok(entry.insert(Log { file: LineFile::open(self.folder.rank_log(process))?, written: 0 }))
            }
        }
    }

    /// A line of a process's log, as long as that is not too long already.
    fn write_log(&mut self, process: usize, text: &str) -> Result<(), JournalError> {
        let most = self.log_bytes;
        self.evidence.printed += text.len() as u64 + 1;
        let log = self.log(process)?;
        if log.written >= most {
            return Ok(());
        }
        log.file.line(text)?;
        log.written += text.len() as u64 + 1;
        let is_full = log.written >= most;
        if is_full {
            let bytes = units::bytes(most);
            log.file.line(&format!("hvd-lab: this process has printed {bytes}. What it prints from here on is not kept"))?;
        }
        let end = log.file.length();
        if is_full {
            self.evidence.flooding.get_or_insert(process);
        }
        self.arrived(LogSource::Process(process), end)
    }

    /// Put one line where it belongs. Returns the event in it, if there is one that this version knows.
    pub fn take(&mut self, line: Line) -> Result<Option<Event>, JournalError> {
        self.evidence.lines += 1;
        match line {
            Line::Launcher(text) => self.say(&text).map(|()| None),
            Line::Drawn { .. } => Ok(None),
            Line::Rank { process, text } => match unmarked(&self.secret, &text) {
                // Events of a newer trainer are kept, though this lab may not know them.
                // One that is longer than any is text that a program printed: nobody would read it as an event.
                Some(json) if json.len() <= LONGEST_LINE && serde_json::from_str::<serde::de::IgnoredAny>(json).is_ok() => {
                    let event = EventLine::parse_line(json);
                    if matches!(event, Some(EventLine { event: Event::Launched { .. }, .. })) {
                        // Not a rank's to say.
                        return Ok(None);
                    }
                    if self.keeps(process, event.as_ref().map(|line| &line.event), json.len())? {
                        self.events.line(json)?;
                    } else {
                        event.iter().for_each(|line| self.thin.skipped(line.clone()));
                    }
                    if let Some(event) = &event {
                        self.evidence.take(event);
                    }
                    Ok(event.map(|line| line.event))
                }
                is_broken => {
                    if is_broken.is_none() && text.starts_with(MARKER) && self.evidence.imitating.insert(process) {
                        self.say(&format!(
                            "hvd-lab: process {process} prints lines that look like events of the lab and do not come from its \
                             library. They stay in its log and count for nothing"
                        ))?;
                    }
                    self.write_log(process, &text)?;
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

    /// What the supervisor itself has noticed of a process.
    pub fn warn(&mut self, process: usize, words: &str) -> Result<(), JournalError> {
        self.note(process, Event::Warning { message: words.to_owned() })?;
        self.say(&format!("hvd-lab: {words}"))
    }

    /// What the supervisor itself has seen of a process that reports nothing, as if the process had.
    pub fn note(&mut self, process: usize, event: Event) -> Result<(), JournalError> {
        let line = EventLine { time_s: host::now_s(), process, event };
        if !self.keeps(process, Some(&line.event), 0)? {
            self.thin.skipped(line);
            return Ok(());
        }
        self.events.line(&line.to_line())?;
        self.evidence.take(&line);
        Ok(())
    }

    /// Whether an event is written down: not one of very many that a program logs.
    fn keeps(&mut self, process: usize, event: Option<&Event>, bytes: usize) -> Result<bool, JournalError> {
        let is_logged = self.evidence.work == Work::Program || matches!(event, Some(Event::Logged(_)));
        let keeps = !is_logged || self.thin.keeps(process, event, bytes);
        if let Some(process) = self.thin.news() {
            self.say(&format!(
                "hvd-lab: process {process} logs more than a run keeps: from here on a part of it is kept, and the newest always"
            ))?;
        }
        Ok(keeps)
    }

    /// The newest of what was not kept so far, at the end of a launch.
    pub fn finish_events(&mut self) -> Result<(), JournalError> {
        self.thin.rest().iter().try_for_each(|line| self.events.line(&line.to_line()))
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
        for log in self.logs.values_mut().map(|log| &mut log.file).chain([&mut self.launcher]) {
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
#[path = "journal_tests.rs"]
mod tests;
