//! All about one run: how it ended, its results, its settings and the exact command.
//!
//! Never shortens the command line: what is shown can be run.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::super::state::State;
use super::super::theme::sign;
use super::wrap;
use crate::domain::device::DeviceKind;
use crate::domain::units;
use crate::launch::CommandLine;
use crate::runs::{Attempt, RunId, RunRecord, RunSummary};

/// The command of an attempt as a shell takes it, environment first.
pub fn command_line(attempt: &Attempt) -> String {
    CommandLine { argv: attempt.argv.clone(), env: attempt.env.clone(), notes: Vec::new() }.to_shell()
}

pub fn lines(state: &State, id: RunId, width: usize) -> Vec<Line<'static>> {
    let theme = state.theme;
    let Some(run) = state.summary(id) else {
        return vec![Line::styled(format!("run {id} is not in the list yet"), theme.dim())];
    };
    let mut page = Page { lines: Vec::new(), width, state };
    let watched = state.watched.as_ref().filter(|watched| watched.id == id);
    let status = watched.and_then(|watched| watched.status.as_ref()).unwrap_or(&run.status);
    let heading = format!("{} {}  {}", sign(status.state), status.state.name(), status.message);
    page.text(&heading, theme.state(status.state));
    if let Some(process) = status.failed_process {
        page.fact("failed first", &format!("rank {process}"));
        if let Some(cause) = watched.and_then(|watched| watched.fatal.get(&process)) {
            page.fact("cause", cause);
        }
    }
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
    results(&mut page, run);
    if let Some(watched) = watched {
        for warning in &watched.warnings {
            page.text(&format!("! {warning}"), theme.warn());
        }
    }
    for (index, attempt) in run.record.iter().flat_map(|record| &record.attempts).enumerate() {
        page.title(&if index == 0 { "Command".to_owned() } else { format!("Continued to {} epochs", attempt.epochs) });
        page.text(&command_line(attempt), theme.text());
    }
    page.lines
}

fn settings(page: &mut Page, record: &RunRecord) {
    let spec = &record.spec;
    page.title("Run");

    for (what, text) in [("name", &record.name), ("note", &record.note)] {
        if let Some(text) = text {
            page.fact(what, &crate::runs::safe(text));
        }
    }
    page.fact("steps", &format!("{}, np {}", spec.steps, spec.np));
    page.fact("model", &format!("{}, preset {}", spec.model, record.preset));
    let images = spec.train_images.map_or("all".into(), |images| images.to_string());
    page.fact("data", &format!("{}, {images} training images", record.data_label));
    page.fact("epochs", &format!("{}, batch {} per rank", spec.epochs, spec.batch_size));
    page.fact("base LR", &format!("{}, warmup {} epochs", spec.base_lr, spec.warmup_epochs));
    page.fact("target", &format!("{} for {} epochs in a row, seed {}", spec.target_accuracy, spec.patience, spec.seed));
    page.fact("checkpoints", if spec.checkpointing { "on" } else { "off" });
    page.fact("host", &record.host);
    if !record.versions.is_empty() {
        page.fact("versions", &record.versions.join(", "));
    }
}

fn results(page: &mut Page, run: &RunSummary) {
    let state = page.state;
    page.title("Results");
    page.fact("images/s", &run.figures.images_per_sec.map_or("not measured".into(), units::rate));
    match state.comparison(run) {
        Ok(gained) => {
            let baseline = state.baseline().map_or(String::new(), |run| format!(" over run {}", run.id));
            if let (Some(speedup), Some(efficiency)) = (gained.speedup, gained.scaling_efficiency) {
                page.fact("speed-up", &format!("{speedup:.2}×{baseline}, scaling efficiency {}", units::percent(efficiency)));
            }
            if let Some(speedup) = gained.speedup_to_target {
                page.fact("to target", &format!("{speedup:.2}×{baseline}"));
            }
        }
        Err(reason) => page.fact("speed-up", reason),
    }
    if let Some(seconds) = run.training_seconds {
        page.fact("training", &units::seconds(seconds));
    }
    if let Some((seconds, devices)) = run.device_seconds().zip(run.devices) {
        let on = if devices.kind == DeviceKind::Gpu { "GPUs" } else { "CPU ranks" };
        page.fact("cost", &format!("{} {}, {} {on}", units::rate(seconds), super::compare::cost_name(run), devices.count));
    }
    for (name, metrics) in [("train", run.train), ("validation", run.validation), ("test", run.test)] {
        if let Some(metrics) = metrics {
            page.fact(name, &format!("loss {:.4}, accuracy {:.2} %", metrics.loss, metrics.accuracy * 100.0));
        }
    }
}

struct Page<'a> {
    lines: Vec<Line<'static>>,
    width: usize,
    state: &'a State,
}

impl Page<'_> {
    fn title(&mut self, text: &str) {
        self.lines.push(Line::raw(""));
        self.lines.push(Line::styled(text.to_owned(), self.state.theme.key()));
    }

    fn text(&mut self, text: &str, style: Style) {
        self.lines.extend(wrap(text, self.width).into_iter().map(|line| Line::styled(line, style)));
    }

    fn fact(&mut self, name: &str, value: &str) {
        const NAME: usize = 13;
        for (index, line) in wrap(value, self.width.saturating_sub(NAME)).into_iter().enumerate() {
            let name = if index == 0 { name } else { "" };
            self.lines.push(Line::from(vec![Span::styled(format!("{name:<NAME$}"), self.state.theme.dim()), Span::raw(line)]));
        }
    }
}
