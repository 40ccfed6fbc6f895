//! Logs of a made-up run on disk, and what the screen asks of them answered at once, by the reader of the real screen.

use std::fs::OpenOptions;
use std::io::Write;

use crate::domain::run::{RunState, RunStatus};
use crate::runs::{Arrival, LogReader, LogSource, RunFolder, RunId};
use crate::tui::actions::{Effect, LogOrder};
use crate::tui::app::update::update;
use crate::tui::message::Message;
use crate::tui::state::State;

pub struct Printed {
    home: tempfile::TempDir,
    reader: LogReader,
    run: RunId,
    time_ms: u64,
}

impl Printed {
    pub fn new(run: u32) -> Printed {
        let home = tempfile::tempdir().unwrap();
        let reader = LogReader::new(RunFolder::new(home.path()));
        Printed { home, reader, run: RunId(run), time_ms: 1_700_000_000_000 }
    }

    /// Lines that come a quarter of a second apart.
    pub fn lines<'a>(mut self, lines: impl IntoIterator<Item = (usize, &'a str)>) -> Printed {
        self.print(lines);
        self
    }

    pub fn print<'a>(&mut self, lines: impl IntoIterator<Item = (usize, &'a str)>) {
        let folder = RunFolder::new(self.home.path());
        let append = |path| OpenOptions::new().create(true).append(true).open(path).unwrap();
        let mut arrivals = std::io::BufWriter::new(append(folder.arrivals_file()));
        let mut logs = std::collections::BTreeMap::new();
        for (process, text) in lines {
            self.time_ms += 250;
            let (log, end) = logs.entry(process).or_insert_with(|| {
                let file = append(folder.rank_log(process));
                let end = file.metadata().unwrap().len();
                (std::io::BufWriter::new(file), end)
            });
            writeln!(log, "{text}").unwrap();
            *end += text.len() as u64 + 1;
            let arrival = Arrival { time_ms: self.time_ms, source: LogSource::Process(process), end: *end };
            writeln!(arrivals, "{arrival}").unwrap();
        }
        folder.write_status(&RunStatus::new(RunState::Running, "training", 1.0)).unwrap();
    }

    /// Answers what an update asked for.
    pub fn answer(&mut self, state: &mut State, effects: Vec<Effect>) {
        for effect in effects {
            if let Effect::Log(_, LogOrder::Read(request)) = effect {
                self.reader.ask(request);
            }
        }
        self.tell(state);
    }

    /// What the thread tells of its own: new lines.
    pub fn tell(&mut self, state: &mut State) {
        while self.reader.work() {}
        if let Some(page) = self.reader.answer() {
            update(state, Message::Log(self.run, Box::new(page)));
        }
    }

    /// Memory that the reader needs to find any line again.
    pub fn index_bytes(&self) -> usize {
        self.reader.index_bytes()
    }

    /// Shows them on a screen that waits for them.
    pub fn show(mut self, state: &mut State) -> Printed {
        let request = state.log.request(60, None, None);
        self.answer(state, vec![Effect::Log(self.run, LogOrder::Read(request))]);
        self
    }
}
