//! All about one run: how it ended, its results, its settings and the exact command.
//!
//! Never shortens the command line: what is shown can be run.

use super::confirm::continue_run;
use super::state::{baseline, cost_name};
use crate::tui::actions::On::{Char, Code, Ctrl};
use crate::tui::actions::{Action, Binding, Command, Effect, TerminalOrder, row};
use crate::tui::shared::{Shared, Watched, has_steps};
use crate::tui::state::{About, Outcome, Page, State, View, Window};
use crate::tui::widgets::{Sheet, sign};
use crossterm::event::KeyCode as K;
use ratatui::text::Line;

use crate::domain::benchmark::BenchmarkSpec;
use crate::domain::device::DeviceKind;
use crate::domain::history::Commits;
use crate::domain::job::{RESET_LIMIT, Resources, Workload};
use crate::domain::nvcnn::{BadRecords, NvcnnSpec};
use crate::domain::training::TrainingSpec;
use crate::domain::units;
use crate::domain::user_metrics::{FIGURES, in_words};
use crate::launch::CommandLine;
use crate::runs::{Attempt, LoggedTally, RunId, RunRecord, RunSummary, busy_host};

/// Columns of the names.
const NAME: usize = 13;

const COPY: Binding = row(&[Char('y')], Command::Copy, "y", "copy the command", "copy the mpirun line to the clipboard");
const BASELINE: Binding = row(&[Char('b')], Command::Baseline, "b", "baseline", "make it the baseline");
const CONTINUE: Binding = row(&[Char('c')], Command::Continue, "c", "continue", "train it for more epochs");
const BACK: Binding =
    row(&[Code(K::Esc), Char('i'), Char('q'), Code(K::Enter), Ctrl('c')], Command::Back, "Esc", "close", "").ranked(0);

pub static OF_TRAINING: &[Binding] = &[COPY, BASELINE, CONTINUE, BACK];
#[derive(Clone, Debug)]
pub struct Details {
    pub run: RunId,
    /// Only a training can go on.
    pub is_training: bool,
}

pub static OF_OTHERS: &[Binding] = &[COPY, BASELINE, BACK];

impl Window for Details {
    fn about(&self, _: &State) -> About {
        About {
            keys: if self.is_training { OF_TRAINING } else { OF_OTHERS },
            scrolls: true,
            run: Some(self.run),
            ..About::default()
        }
    }

    fn view(&self, state: &State, columns: u16) -> Option<View> {
        let shared = &state.shared;
        Some(Page::view(format!("Run {}", self.run), columns, 110, |width| lines(shared, self.run, width)))
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        match command {
            Command::Continue => Outcome::Close(continue_run(state)),
            Command::Baseline => Outcome::Close(baseline(&mut state.shared)),
            Command::Copy => Outcome::Stay(copy(&mut state.shared, self.run)),
            _ => Outcome::CLOSE,
        }
    }
}

pub fn open(state: &mut State) -> Vec<Action> {
    let State { shared, windows, .. } = state;
    match shared.watched.as_ref().map(|watched| watched.id) {
        Some(run) => {
            // Of a run that is not listed yet nothing is known that speaks against it.
            let is_training = shared.summary(run).is_none_or(has_steps);
            windows.show(Details { run, is_training });
        }
        None => shared.inform("no run yet: r starts one"),
    }
    Vec::new()
}

/// The command line to the clipboard.
fn copy(shared: &mut Shared, run: RunId) -> Vec<Action> {
    let record = shared.summary(run).and_then(|summary| summary.record.as_ref());
    match record.and_then(|record| record.attempts.last()).map(command_line) {
        Some(line) => vec![Effect::Terminal(TerminalOrder::Copy(line)).into()],
        None => {
            shared.error(format!("run {run} recorded no command line"));
            Vec::new()
        }
    }
}

/// The command of an attempt as a shell takes it, environment first.
fn command_line(attempt: &Attempt) -> String {
    CommandLine { argv: attempt.argv.clone(), env: attempt.env.clone(), notes: Vec::new(), directory: None }.to_shell()
}

fn lines(shared: &Shared, id: RunId, width: usize) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let Some(run) = shared.summary(id) else {
        return vec![Line::styled(format!("run {id} is not in the list yet"), theme.dim())];
    };
    let mut page = Sheet::new(theme, width, NAME);
    let watched = shared.watched.as_ref().filter(|watched| watched.id == id);
    let status = shared.status(id).unwrap_or(&run.status);
    let heading = format!("{} {}  {}", sign(status.state), status.state.name(), status.message);
    page.text(&heading, theme.state(status.state));
    if let Some(process) = status.failed_process {
        let place = watched.map(|watched| place(watched, process)).unwrap_or_default();
        page.fact("failed first", &format!("rank {process}{place}"));
        if let Some(cause) = watched.and_then(|watched| watched.fatal(process)) {
            page.fact("cause", &cause);
        }
    }
    watched.iter().for_each(|watched| also_failed(&mut page, watched));
    if let Some(code) = status.exit_code.filter(|code| *code != 0) {
        page.fact("exit code", &code.to_string());
    }
    if !status.last_lines.is_empty() {
        page.title("Last lines");
        for line in &status.last_lines {
            page.text(&crate::runs::safe(line), theme.warn());
        }
    }
    if let Some(record) = &run.record {
        settings(&mut page, record);
    }
    // Of a training.
    if run.record.as_ref().is_none_or(|record| record.request.spec.collectives().is_none()) {
        results(&mut page, shared, run);
    }
    if let Some(damaged) = &run.damaged {
        page.text(&format!("! {damaged}"), theme.warn());
    }
    if let Some(watched) = watched {
        for (place, (process, report)) in watched.pipelines().enumerate() {
            if place == 0 {
                page.title("Image pipeline");
            }
            page.fact(&format!("rank {process}"), &report.to_string());
        }
        for warning in watched.warnings() {
            page.text(&format!("! {warning}"), theme.warn());
        }
        by_host(&mut page, watched);
    }
    run.record.iter().for_each(|record| launches(&mut page, record));
    page.lines
}

/// Failed ranks that are named with their causes: the others mostly report that the first one is gone.
const NAMED: usize = 8;

/// The ranks that failed after the first one.
fn also_failed(page: &mut Sheet, watched: &Watched) {
    let failed = watched.failed();
    let others = failed.get(1..).unwrap_or_default();
    for rank in &others[..others.len().min(NAMED)] {
        let cause = watched.fatal(*rank).map(|cause| format!(": {cause}")).unwrap_or_default();
        page.fact("also failed", &format!("rank {rank}{}{cause}", place(watched, *rank)));
    }
    if others.len() > NAMED {
        page.fact("also failed", &format!("{} more", others.len() - NAMED));
    }
}

/// ` on node39`, where there are several hosts.
fn place(watched: &Watched, rank: usize) -> String {
    let host = watched.host(rank).filter(|_| watched.has_several_hosts());
    host.map(|host| format!(" on {host}")).unwrap_or_default()
}

/// The ranks of a run that spans hosts, host by host, those in trouble first.
fn by_host(page: &mut Sheet, watched: &Watched) {
    let hosts = watched.by_host();
    if hosts.len() < 2 {
        return;
    }
    page.title("Ranks by host");
    for host in &hosts {
        let style = if host.is_in_trouble() { page.theme.warn() } else { page.theme.text() };
        page.styled_fact(host.host, &host.in_words(), style);
    }
}

/// Each launch with its command, and why there is more than one.
fn launches(page: &mut Sheet, record: &RunRecord) {
    let first_s = record.attempts.first().map_or(0.0, |first| first.started_s);
    for (index, attempt) in record.attempts.iter().enumerate() {
        match &attempt.because {
            _ if index == 0 => page.title("Command"),
            Some(because) => {
                page.title(&format!("Launch {}", index + 1));
                let ranks = units::counted(attempt.np.unwrap_or(record.request.spec.resources.np), "rank");
                page.fact("began", &format!("{} after the first, with {ranks}", units::clock(attempt.started_s - first_s)));
                page.fact("because", &crate::runs::safe(because));
            }
            None => page.title(&format!("Continued to {} epochs", attempt.epochs)),
        }
        page.text(&command_line(attempt), page.theme.text());
    }
}

fn settings(page: &mut Sheet, record: &RunRecord) {
    page.title("Run");

    for (what, text) in [("name", &record.request.name), ("note", &record.request.note)] {
        if let Some(text) = text {
            page.fact(what, text);
        }
    }
    let workload = &record.request.spec.workload;
    if record.training().is_none() {
        let np = if record.knows_np() { record.np().to_string() } else { "?".into() };
        page.fact("workload", &format!("{}, np {np}", workload.title()));
    }
    match workload {
        Workload::Training(training) => training_settings(page, record, training),
        Workload::Collectives(collectives) => {
            page.fact("algorithms", &collectives.methods.join(", "));
            let (least, most) = (units::bytes(collectives.min_bytes), units::bytes(collectives.max_bytes));
            page.fact("sizes", &format!("{least} to {most}, {} iterations each", collectives.iterations));
            collectives.link().iter().for_each(|link| page.fact("network", link));
        }
        Workload::Benchmark(benchmark) => benchmark_settings(page, record.np(), benchmark),
        Workload::Nvcnn(nvcnn) => nvcnn_settings(page, record, nvcnn),
        Workload::Command(command) => {
            page.fact("program", &command.argv.join(" "));
            page.fact("in", &command.directory);
            if command.inspect {
                page.fact("inspector", "watches its ranks: J shows what it found");
            }
        }
        Workload::Unknown(_) => {}
    }
    elastic(page, &record.request.spec.resources);
    page.fact("host", &record.host);
    if !record.versions.is_empty() {
        page.fact("versions", &record.versions.join(", "));
    }
}

fn elastic(page: &mut Sheet, resources: &Resources) {
    let Some(least) = resources.min_np else { return };
    let most = resources.max_np.unwrap_or(resources.np);
    let resets = units::counted(resources.reset_limit.unwrap_or(RESET_LIMIT), "reset");
    page.fact("elastic", &format!("{least} to {most} ranks, at most {resets}"));
    resources.host_discovery_script.iter().for_each(|script| page.fact("hosts from", script));
}

fn benchmark_settings(page: &mut Sheet, np: usize, benchmark: &BenchmarkSpec) {
    let BenchmarkSpec { batch_size, iterations, batches_per_iteration, warmup_batches, .. } = benchmark;
    page.fact("images", &format!("{}, {}", benchmark.input(), benchmark.data_dir.as_deref().unwrap_or("synthetic")));
    page.fact("batch", &format!("{batch_size} per rank, {} in total", batch_size * np));
    let of = if *batches_per_iteration == 1 { "1 batch".to_owned() } else { format!("{batches_per_iteration} batches") };
    page.fact("timed", &format!("{}, {of} each, after {warmup_batches} to warm up", units::counted(*iterations, "iteration")));
    page.fact("computed in", &format!("{}, {}", benchmark.precision, benchmark.optimizer));
    page.fact("binding", benchmark.bind.name());
}

fn nvcnn_settings(page: &mut Sheet, record: &RunRecord, nvcnn: &NvcnnSpec) {
    page.fact("images", &format!("{}, {}", nvcnn.input(), record.data_label));
    page.fact("batch", &format!("{} per rank, {} in total", nvcnn.batch_size, nvcnn.batch_size * record.np()));
    if !nvcnn.eval {
        let length = match nvcnn.num_epochs {
            Some(epochs) => units::counted(epochs, "epoch"),
            None => units::counted(nvcnn.num_batches, "step"),
        };
        page.fact("length", &length);
        let larc = nvcnn.larc().map_or("no LARC".to_owned(), |larc| format!("LARC {} with eta {}", larc.mode, larc.eta));
        let (rate, scale) = (nvcnn.rate(record.np()), nvcnn.loss_scale);
        page.fact("rate", &format!("{rate} at first, {larc}, loss scale {scale}"));
    }
    page.fact("computed in", nvcnn.precision.name());
    page.fact("bad images", if nvcnn.bad_records == BadRecords::Skip { "left out" } else { "end the run" });
}

fn training_settings(page: &mut Sheet, record: &RunRecord, training: &TrainingSpec) {
    page.fact("steps", &format!("{}, np {}", training.steps, record.np()));
    page.fact("model", &format!("{}, preset {}", training.model, record.request.preset));
    let images = training.train_images.map_or("all".into(), |images| images.to_string());
    page.fact("data", &format!("{}, {images} training images", record.data_label));
    page.fact("epochs", &format!("{}, batch {} per rank", training.epochs, training.batch_size));
    if !training.precision.is_default() {
        page.fact("computed in", training.precision.name());
    }
    page.fact("base LR", &format!("{}, warmup {} epochs", training.base_lr, training.warmup_epochs));
    let TrainingSpec { target_accuracy, patience, seed, .. } = training;
    page.fact("target", &format!("{} for {patience} epochs in a row, seed {seed}", units::share(*target_accuracy)));
    let checkpoints = if training.checkpointing { "on" } else { "off" };
    let commits = training.commit_every.map(|every| format!(", and a commit every {every} steps")).unwrap_or_default();
    page.fact("checkpoints", &format!("{checkpoints}{commits}"));
}

fn results(page: &mut Sheet, shared: &Shared, run: &RunSummary) {
    page.title("Results");
    page.fact("images/s", &run.shown_rate().unwrap_or("not measured".into()));
    if let Some(part) = run.disturbed() {
        page.fact("* busy", &busy_host::note(part));
    }
    match shared.gain(run) {
        Ok(gain) => {
            let efficiency = gain.efficiency.map_or_else(|reason| format!("–, {reason}"), units::percent);
            page.fact("speed-up", &format!("{} over run {}, efficiency {efficiency}", gain.times(), gain.baseline));
            if let Some(speedup) = shared.comparison(run).ok().and_then(|gained| gained.speedup_to_target) {
                page.fact("to target", &format!("{speedup:.2}x over run {}", gain.baseline));
            }
        }
        Err(reason) => page.fact("speed-up", &format!("–, {reason}")),
    }
    if let Some(seconds) = run.training_seconds {
        let is_relaunched = |record: &RunRecord| record.attempts.iter().any(|attempt| attempt.because.is_some());
        let lost = if run.record.as_ref().is_some_and(is_relaunched) { ", without what was lost and done again" } else { "" };
        page.fact("training", &format!("{}{lost}", units::seconds(seconds)));
    }
    if let Some((seconds, devices)) = run.device_seconds().zip(run.devices) {
        let on = units::counted(devices.count, if devices.kind == DeviceKind::Gpu { "GPU" } else { "CPU rank" });
        page.fact("cost", &format!("{} {}, {on}", units::rate(seconds), cost_name(run)));
    }
    if let Some(logged) = &run.logged {
        logged_results(page, logged);
        return;
    }
    let commits = shared.watched.as_ref().filter(|watched| watched.id == run.id).map(|watched| watched.commits());
    if let Some(Commits { count, stopped_s }) = commits.filter(|commits| commits.count > 0) {
        page.fact("commits", &format!("{count}, for which rank 0 stopped {} in all", units::short_time(stopped_s)));
    }
    for (name, metrics) in [("train", run.train), ("validation", run.validation), ("test", run.test)] {
        if let Some(metrics) = metrics {
            page.fact(name, &format!("loss {:.4}, accuracy {}", metrics.loss, units::accuracy(metrics.accuracy)));
        }
    }
}

/// For a program of the user's own: each figure that it reported, and which reader found it.
fn logged_results(page: &mut Sheet, logged: &LoggedTally) {
    let fraction = |name: &str| name.ends_with("accuracy");
    for field in FIGURES {
        if let Some(value) = (field.get)(&logged.last) {
            let value = if fraction(field.name) { units::accuracy(value) } else { units::figure(value) };
            page.fact(in_words(field.name), &value);
        }
    }
    let dim = page.theme.dim();
    page.text(&logged.in_words(), dim);
}
