//! The files of a run while it goes: events, logs and telemetry.
//!
//! Lines are kept in memory for at most 100 ms (the supervisor calls [`RunWriter::flush`]).

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::io::ErrorKind;

use super::line_file::{LineFile, WriteError};
use super::observations::Observations;
use super::piece::Line;
use super::thin::Thin;
use super::work::Work;
use crate::domain::device::TelemetrySample;
use crate::domain::event::wire::find_printed;
use crate::domain::event::{Event, EventLine, InspectorReport, MARKER};
use crate::domain::units;
use crate::host;
use crate::host::read::LONGEST_LINE;
use crate::runs::{Arrival, Arrivals, LogSource, RunFolder};

/// The log of one process.
#[derive(Debug)]
struct Log {
    file: LineFile,
    /// Bytes of this launch.
    written: u64,
}

/// Writes the lines of a run to where they belong.
#[derive(Debug)]
pub struct RunWriter {
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
    /// Processes of the launch.
    np: usize,
    /// The connection of each process that has one: the first that named it.
    connections: BTreeMap<usize, u64>,
    /// The number of the last event that a process printed.
    numbers: BTreeMap<usize, u64>,
    /// Processes whose last line was empty: it may belong to an event.
    blanks: BTreeSet<usize>,
    /// Processes for which another program has sent events.
    distrusted: BTreeSet<usize>,
    /// Processes whose logs cannot be opened: they train without one.
    unopened: BTreeSet<usize>,
    thin: Thin,
    pub observations: Observations,
}

impl RunWriter {
    /// Open the files of a folder for another attempt, with a log for each of `np` processes of at most so many bytes. `secret`
    /// stands in each event line, and `observations` have what is known before the first line.
    pub fn open(
        folder: RunFolder,
        np: usize,
        secret: String,
        log_bytes: u64,
        observations: Observations,
    ) -> Result<RunWriter, WriteError> {
        let mut writer = RunWriter {
            events: LineFile::open(folder.events_file())?,
            launcher: LineFile::open(folder.launcher_log())?,
            telemetry: LineFile::open(folder.telemetry_file())?,
            logs: BTreeMap::new(),
            arrivals: LineFile::open(folder.arrivals_file())?,
            arrived: Arrivals::default(),
            thin: Thin::new(np),
            secret,
            log_bytes,
            np,
            connections: BTreeMap::new(),
            numbers: BTreeMap::new(),
            blanks: BTreeSet::new(),
            distrusted: BTreeSet::new(),
            unopened: BTreeSet::new(),
            observations,
            folder,
        };
        for process in 0..np {
            match writer.log(process) {
                Err(error) if error.cause.kind() != ErrorKind::StorageFull => writer.go_on_without(process, &error)?,
                opened => drop(opened?),
            }
        }
        writer.events.line(&event_line(0, Event::Launched { np }).to_line())?;
        writer.events.flush()?;
        if writer.arrivals.length == 0 {
            // The arrival times of what an older lab wrote are unknown.
            let logs = writer.logs.iter().map(|(process, log)| (LogSource::Process(*process), log.file.length));
            let all: Vec<_> = logs.chain([(LogSource::Launcher, writer.launcher.length)]).collect();
            for (source, end) in all.into_iter().filter(|(_, end)| *end > 0) {
                writer.arrivals.line(&Arrival { time_ms: 0, source, end }.to_string())?;
            }
        }
        Ok(writer)
    }

    fn arrived(&mut self, source: LogSource, end: u64) -> Result<(), WriteError> {
        let arrival = Arrival { time_ms: (host::now_s() * 1e3) as u64, source, end };
        self.arrived.take(arrival).map_or(Ok(()), |complete| self.arrivals.line(&complete.to_string()))
    }

    fn log(&mut self, process: usize) -> Result<&mut Log, WriteError> {
        match self.logs.entry(process) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => Ok(entry.insert(Log { file: LineFile::open(self.folder.rank_log(process))?, written: 0 })),
        }
    }

    /// The log of a process cannot be opened.
    fn go_on_without(&mut self, process: usize, error: &WriteError) -> Result<(), WriteError> {
        self.unopened.insert(process);
        self.say(&format!("hvd-lab: what rank {process} prints is not kept, and it goes on: {error}"))
    }

    /// A line of a process's log, as long as that is not too long already.
    fn write_log(&mut self, process: usize, text: &str) -> Result<(), WriteError> {
        let most = self.log_bytes;
        self.observations.printed += text.len() as u64 + 1;
        if self.unopened.contains(&process) {
            return Ok(());
        }
        let log = match self.log(process) {
            Ok(log) => log,
            Err(error) => return self.go_on_without(process, &error),
        };
        if log.written >= most {
            return Ok(());
        }
        if let Err(error) = log.file.line(text) {
            self.observations.unkept += 1;
            return Err(error);
        }
        log.written += text.len() as u64 + 1;
        let is_full = log.written >= most;
        if is_full {
            let bytes = units::bytes(most);
            log.file.line(&format!("hvd-lab: this process has printed {bytes}. What it prints from here on is not kept"))?;
        }
        let end = log.file.length;
        if is_full {
            self.observations.flooding.get_or_insert(process);
        }
        self.arrived(LogSource::Process(process), end)
    }

    /// Write one line to the file where it belongs. Returns the event in it, if there is one that this version knows.
    pub fn write(&mut self, line: Line) -> Result<Option<Event>, WriteError> {
        // Events on the socket do not show that the launcher passes anything on.
        self.observations.lines += u64::from(!matches!(line, Line::Event { .. } | Line::Lost { .. }));
        match line {
            Line::Launcher(text) => self.say(&text).map(|()| None),
            Line::Drawn { .. } => Ok(None),
            Line::Lost { process, events } => self.lose(process, events).map(|()| None),
            Line::Event { process, connection, lost, json } => {
                let is_its_own = process < self.np && *self.connections.entry(process).or_insert(connection) == connection;
                if !is_its_own && !self.is_own_program() {
                    return self.distrust(process, "a second program speaks in its place").map(|()| None);
                }
                self.lose(process, lost)?;
                self.event(process, &json)
            }
            Line::Rank { process, text } => match find_printed(&self.secret, &text) {
                Some((before, message)) => {
                    match before {
                        "" => drop(self.blanks.remove(&process)),
                        before => self.print(process, before)?,
                    }
                    if self.connections.contains_key(&process) && !self.is_own_program() {
                        return self.distrust(process, "a program prints events in its place").map(|()| None);
                    }
                    // A program that starts again counts from 1.
                    let mut before = |number| self.numbers.insert(process, number).unwrap_or(0);
                    let lost = message.number.map_or(0, |number| number.saturating_sub(before(number) + 1));
                    self.lose(process, lost)?;
                    self.event(process, message.json)
                }
                None => {
                    if text.starts_with(MARKER) && self.observations.imitating.insert(process) {
                        self.say(&format!(
                            "hvd-lab: rank {process} prints lines that look like events of the lab and do not come from its \
                             library. They stay in its log and count for nothing"
                        ))?;
                    }
                    // It may be the line end that stands in front of an event.
                    if text.is_empty() && !self.connections.contains_key(&process) && self.blanks.insert(process) {
                        Ok(None)
                    } else {
                        self.print(process, &text).map(|()| None)
                    }
                }
            },
        }
    }

    /// Its processes are not judged, and may be others than the launcher knows of.
    fn is_own_program(&self) -> bool {
        self.observations.work == Work::Program
    }

    /// Something that a process printed for people.
    fn print(&mut self, process: usize, text: &str) -> Result<(), WriteError> {
        if self.blanks.remove(&process) {
            self.write_log(process, "")?;
        }
        // Also what cannot be written says why a run failed.
        self.observations.remember(process, text.to_owned());
        self.write_log(process, text)
    }

    /// The JSON of an event that came from a process.
    fn event(&mut self, process: usize, json: &str) -> Result<Option<Event>, WriteError> {
        // Events of a newer trainer are kept, though this lab may not know them.
        let is_whole = json.len() <= LONGEST_LINE && serde_json::from_str::<serde::de::IgnoredAny>(json).is_ok();
        if !is_whole {
            return self.lose(process, 1).map(|()| None);
        }
        let line = EventLine::parse_line(json);
        if line.as_ref().is_some_and(|line| line.process != process) && !self.is_own_program() {
            return self.distrust(process, "it speaks in the place of another one").map(|()| None);
        }
        if matches!(line, Some(EventLine { event: Event::Launched { .. } | Event::Lost { .. }, .. })) {
            // Not a rank's to say.
            return Ok(None);
        }
        if self.keeps(process, line.as_ref().map(|line| &line.event), json.len())? {
            self.events.line(json)?;
        } else {
            line.iter().for_each(|line| self.thin.skipped(line.clone()));
        }
        if let Some(line) = &line {
            self.observations.history.take(line);
        }
        Ok(line.map(|line| line.event))
    }

    /// Records that events of a process are missing, since the remaining ones may be misleading.
    fn lose(&mut self, process: usize, events: u64) -> Result<(), WriteError> {
        if events == 0 {
            return Ok(());
        }
        self.note(process, Event::Lost { events })?;
        let what = if events == 1 { "an event is".to_owned() } else { format!("{events} events are") };
        self.warn(process, &format!("{what} missing of what rank {process} told"))
    }

    /// Another program sends events for this process. Then none of its events counts.
    fn distrust(&mut self, process: usize, why: &str) -> Result<(), WriteError> {
        if !self.distrusted.insert(process) {
            return Ok(());
        }
        self.note(process, Event::Lost { events: 1 })?;
        self.warn(process, &format!("the events of rank {process} cannot be trusted: {why}"))
    }

    /// A line of the launcher or of the supervisor itself.
    pub fn say(&mut self, text: &str) -> Result<(), WriteError> {
        self.observations.remember_launcher(text.to_owned());
        self.launcher.line(text)?;
        self.arrived(LogSource::Launcher, self.launcher.length)
    }

    /// What the supervisor itself has noticed of a process.
    pub fn warn(&mut self, process: usize, words: &str) -> Result<(), WriteError> {
        self.note(process, Event::Warning { message: words.to_owned() })?;
        self.say(&format!("hvd-lab: {words}"))
    }

    /// What the supervisor itself has seen of a process that reports nothing, as if the process had.
    pub fn note(&mut self, process: usize, event: Event) -> Result<(), WriteError> {
        let line = event_line(process, event);
        if !self.keeps(process, Some(&line.event), 0)? {
            self.thin.skipped(line);
            return Ok(());
        }
        self.observations.history.take(&line);
        self.events.line(&line.to_line())
    }

    /// Whether an event is written down: not one of very many that a program logs.
    fn keeps(&mut self, process: usize, event: Option<&Event>, bytes: usize) -> Result<bool, WriteError> {
        let is_logged = self.observations.work == Work::Program || matches!(event, Some(Event::Logged(_)));
        let keeps = !is_logged || self.thin.keeps(process, event, bytes);
        if let Some(process) = self.thin.newly_cut() {
            let why = "it reports more than a run keeps, and only the first of each kind are kept".to_owned();
            self.events.line(&event_line(process, Event::Inspected(Box::new(InspectorReport::Blind { why }))).to_line())?;
        }
        if let Some(process) = self.thin.news() {
            self.say(&format!(
                "hvd-lab: rank {process} logs more than a run keeps: from here on a part of it is kept, and the newest always"
            ))?;
        }
        Ok(keeps)
    }

    /// The newest of what was not kept so far, at the end of a launch.
    pub fn finish_events(&mut self) -> Result<(), WriteError> {
        self.thin.rest().iter().try_for_each(|line| self.events.line(&line.to_line()))
    }

    /// Lines of processes that are in no log: after the last flush, those that could not be written.
    pub fn unkept(&self) -> usize {
        self.observations.unkept + self.logs.values().map(|log| log.file.waiting_lines()).sum::<usize>()
    }

    pub fn telemetry(&mut self, sample: &TelemetrySample) -> Result<(), WriteError> {
        serde_json::to_string(sample).map_or(Ok(()), |text| self.telemetry.line(&text))
    }

    /// Hand everything to the operating system, the logs first: an event never precedes the lines before it.
    ///
    /// # Errors
    /// The first file that cannot be written; the others are.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        let mut done = Ok(());
        for process in std::mem::take(&mut self.blanks) {
            done = done.and(self.write_log(process, ""));
        }
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

/// An event that the supervisor itself reports of a process.
fn event_line(process: usize, event: Event) -> EventLine {
    EventLine { time_s: host::now_s(), process, event }
}

#[cfg(test)]
#[path = "run_writer_tests.rs"]
mod tests;
