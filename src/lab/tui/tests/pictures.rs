//! A picture of each state, for people to look at: sizes, devices and runs, with an index. All figures in them are made up.
//!
//! `make pictures` writes them into `target/pictures`. Every test run makes them too, and holds what must be on each.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};

use crate::domain::device::{DeviceProcess, Reading, TelemetrySample};
use crate::domain::markup;
use crate::domain::run::RunState;
use crate::runs::{RunId, RunSummary, RunUpdate};
use crate::tui::app::view;
use crate::tui::devices::tests::gpus;
use crate::tui::message::Message;
use crate::tui::state::State;
use crate::tui::testing::printed::Printed;
use crate::tui::testing::samples;
use crate::tui::tests::text;

#[path = "../../../../tests/support/svg.rs"]
mod svg;

const SIZES: [(u16, u16); 4] = [(60, 16), (80, 24), (120, 40), (200, 60)];
/// GPUs; none is a host whose ranks use its cores.
const DEVICES: [usize; 4] = [0, 1, 8, 16];
const RUNS: [usize; 4] = [0, 1, 2, 8];

/// Images per second of one rank.
const RATE: f64 = 1023.0;

#[derive(Clone, Copy)]
struct Case {
    size: (u16, u16),
    devices: usize,
    runs: usize,
}

impl Case {
    fn all() -> Vec<Case> {
        let of_size = |size| DEVICES.into_iter().flat_map(move |devices| RUNS.map(|runs| Case { size, devices, runs }));
        SIZES.into_iter().flat_map(of_size).collect()
    }

    fn name(self) -> String {
        let ((columns, rows), devices, runs) = (self.size, self.devices, self.runs);
        format!("{columns}x{rows}_{devices}_devices_{runs}_runs.svg")
    }

    fn caption(self) -> String {
        format!(" made up: {} GPUs, {} runs, {}x{}", self.devices, self.runs, self.size.0, self.size.1)
    }

    /// Ranks of the run on the screen.
    fn np(self) -> usize {
        if self.runs == 1 { 1 } else { self.devices.max(2) }
    }

    /// The run on the screen is still training.
    fn is_going(self) -> bool {
        self.runs == 2
    }

    fn state(self) -> State {
        let mut state = samples::never_used();
        samples::say(&mut state, Message::Resize(self.size.0, self.size.1));
        samples::say(&mut state, Message::Runs(self.runs()));
        if self.runs > 0 {
            let shown = RunId(self.runs as u32);
            let (epochs, batches) = if self.is_going() { (2, 60) } else { (3, 0) };
            let mut updates = samples::updates(self.np(), epochs, batches);
            if !self.is_going() {
                updates.push(RunUpdate::Status(samples::status(RunState::Finished, "finished")));
            }
            samples::say(&mut state, Message::Tick(samples::START + 12.0));
            samples::say(&mut state, Message::Updates(shown, updates));
            if self.runs > 1 {
                samples::say(&mut state, Message::Curves(RunId(1), samples::curves(1).into()));
            }
            let epoch = |epoch| format!("Epoch {epoch}/3  loss 0.{}  Images/sec {:.0}", 90 - 12 * epoch, RATE * self.np() as f64);
            let lines: Vec<String> = (1..=epochs).map(epoch).collect();
            Printed::new(shown.0).lines(lines.iter().map(|line| (0, line.as_str()))).show(&mut state);
        }
        for turn in 0..240 {
            samples::say(&mut state, Message::Telemetry(self.sample(turn)));
        }
        state
    }

    fn runs(self) -> Vec<RunSummary> {
        let one = samples::finished(1, 1, RATE);
        let going = || samples::summary(2, self.np(), samples::status(RunState::Running, "training"), None);
        match self.runs {
            0 => Vec::new(),
            1 => vec![one],
            2 => vec![one, going()],
            many => {
                let np = |id: usize| (1 << (id / 2)).min(self.np());
                let run = |id: usize| match id {
                    3 => {
                        let mut status = samples::status(RunState::Failed, "rank 1 was ended by signal 9 (SIGKILL)");
                        status.failed_process = Some(1);
                        samples::summary(3, 2, status, None)
                    }
                    6 => samples::summary(6, np(6), samples::status(RunState::Stopped, "stopped"), None),
                    // The last one is on the screen.
                    id => {
                        let np = if id == many { self.np() } else { np(id) };
                        samples::finished(id as u32, np, RATE * np as f64 * (1.0 - 0.01 * np as f64))
                    }
                };
                std::iter::once(one).chain((2..=many).map(run)).collect()
            }
        }
    }

    /// Half a second further each time: every device is busy in its own way, and idle where nothing trains.
    fn sample(self, turn: u32) -> TelemetrySample {
        let time_s = samples::START - 110.0 + f64::from(turn) / 2.0;
        let ranks = if self.is_going() { self.np() } else { 0 };
        let load = |index: usize| {
            let wave = (f64::from(turn) / (7.0 + index as f64)).sin();
            let high = 93.0 - 4.0 * (index % 16) as f64;
            if index < ranks || self.devices == 1 && ranks > 0 { (high + 6.0 * wave).clamp(0.0, 100.0) } else { 2.0 + 2.0 * wave }
        };
        if self.devices == 0 {
            let pids: Vec<(usize, u32)> = (0..ranks).map(|rank| (rank, 412 + rank as u32)).collect();
            let mut sample = TelemetrySample { time_s, ..samples::cpu_sample(&pids) };
            sample.devices[0].core_percent = vec![load(0), load(1)];
            sample.devices[0].utilization_percent = Reading::Value((load(0) + load(1)) / 2.0);
            return sample;
        }
        let mut sample = TelemetrySample { time_s, ..gpus(self.devices) };
        for (index, gpu) in sample.devices.iter_mut().enumerate() {
            let part = load(index) / 100.0;
            gpu.utilization_percent = Reading::Value(load(index).round());
            gpu.temperature_celsius = Reading::Value((34.0 + 38.0 * part).round());
            gpu.power_watts = Reading::Value((90.0 + 560.0 * part).round());
            gpu.power_limit_watts = Reading::Value(700.0);
            gpu.memory_used_bytes = Reading::Value(if part > 0.1 { (41 + 3 * index as u64) << 30 } else { 1 << 29 });
            let own = (0..ranks).filter(|rank| rank % self.devices == index);
            gpu.processes = own.map(|rank| process(rank, part)).collect();
        }
        sample
    }

    fn svg(self) -> String {
        let (columns, rows) = self.size;
        let mut sent = Vec::new();
        {
            let options = TerminalOptions { viewport: Viewport::Fixed(Rect::new(0, 0, columns, rows)) };
            let mut terminal = Terminal::with_options(CrosstermBackend::new(&mut sent), options).unwrap();
            terminal.draw(|frame| view::draw(frame, &self.state())).unwrap();
        }
        let mut parser = vt100::Parser::new(rows, columns, 0);
        parser.process(&sent);
        svg::svg(parser.screen(), Some(&self.caption()))
    }
}

fn process(rank: usize, part: f64) -> DeviceProcess {
    DeviceProcess {
        pid: 412 + rank as u32,
        rank: Some(rank),
        command: "hvd-train".into(),
        owner: Reading::Value("learner".into()),
        memory_bytes: Reading::Value(40 << 30),
        utilization_percent: Reading::Value((part * 100.0).round()),
    }
}

/// All pictures on a page, size by size.
fn index(cases: &[Case]) -> String {
    let mut page = "<!doctype html><meta charset=\"utf-8\"><title>hvd-lab: every state</title>\n\
        <style>body{background:#2a2d34;color:#d7dae0;font-family:sans-serif}img{max-width:100%}</style>\n\
        <h1>Every state of the screen</h1><p>All figures are made up.</p>\n"
        .to_owned();
    for case in cases {
        let (name, caption) = (case.name(), case.caption());
        let _ = writeln!(page, "<h2>{}</h2><img src=\"{name}\" alt=\"{}\">", markup::xml(caption.trim()), markup::xml(&caption));
    }
    page
}

#[test]
fn pictures_of_every_state() {
    let cases = Case::all();
    let pictures: Vec<(String, String)> = cases.iter().map(|case| (case.name(), case.svg())).collect();
    let names: BTreeSet<&str> = pictures.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.len(), SIZES.len() * DEVICES.len() * RUNS.len(), "two states have one name");
    let page = index(&cases);
    for (name, picture) in &pictures {
        assert!(page.contains(&format!("src=\"{name}\"")), "{name} is not on the page");
        assert!(picture.contains("made up"), "{name} does not say what it is");
        assert!(picture.contains("Devices"), "{name} is empty");
    }
    if std::env::var("HVD_LAB_PICTURES").is_ok_and(|value| value == "write") {
        let folder = Path::new(env!("HVD_LAB_CHECKOUT")).join("target/pictures");
        std::fs::create_dir_all(&folder).unwrap();
        for (name, text) in pictures.iter().map(|(name, text)| (name.as_str(), text)).chain([("index.html", &page)]) {
            std::fs::write(folder.join(name), text).unwrap();
        }
    }
}

/// Five seconds are enough: the gain stands in the first line, the next key in the second, and the load of each device as a
/// number beside its bar.
#[test]
fn every_state_says_what_was_gained_and_what_the_devices_do() {
    for case in Case::all() {
        let state = case.state();
        let shown = text(&state, case.size.0, case.size.1);
        let lines: Vec<&str> = shown.lines().take(2).collect();
        let has = |words: &str| lines[0].contains(words);
        let ranks = format!("{} ranks ", case.np());
        match case.runs {
            0 => assert!(has("no run yet: press r"), "{}:\n{shown}", case.name()),
            1 => assert!(has("1 rank 1023/s") && has("Its gain needs a run on 2 ranks"), "{}:\n{shown}", case.name()),
            _ => {
                assert!(has("1 rank 1023/s") && has(&ranks) && has("x of ") && has(" %"), "{}:\n{shown}", case.name());
            }
        }
        assert!(!has("/sx") && !has("/s1") && !has("%1"), "{}: parts touch\n{}", case.name(), lines[0]);
        let key = match case.runs {
            0 | 1 => "next: r",
            2 => "next: w",
            _ => "next: v",
        };
        assert!(lines[1].contains(key), "{}: no key\n{shown}", case.name());
        for row in state.devices.rows() {
            // A rank whose run is over has none.
            let Some(percent) = row.device.utilization_percent.value() else {
                assert!(shown.contains("not running"), "{}:\n{shown}", case.name());
                continue;
            };
            let number = format!("{percent:.0}");
            let is_there = shown.split(|c: char| !c.is_ascii_digit()).any(|word| word == number);
            assert!(is_there, "{}: {} is not there\n{shown}", case.name(), row.title());
        }
    }
}
