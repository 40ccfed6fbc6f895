//! The form of a run that does not train: its rows, the one under the cursor, and why it cannot start.

use crate::tui::actions::{Move, Typing};
use ratatui::style::Style;
use ratatui::text::Line;

use super::state::Shared;
use crate::columns::left;
use crate::domain::benchmark::{BENCHMARK_SETTINGS, BenchmarkSpec};
use crate::domain::collective::{COLLECTIVES_SETTINGS, CollectivesSpec, Method, Shape};
use crate::domain::job::{RunSpec, Workload};
use crate::domain::nvcnn::{NvcnnSpec, PHOTO_SETTINGS};
use crate::domain::setting::Setting;
use crate::domain::settings::label;
use crate::tui::widgets::wrapped;

/// Rows of the screen's header and footer, and of the frame.
const AROUND: usize = 3 + 2;
/// Columns of the names of the settings.
const NAME: usize = 26;
/// The longest path that can be typed.
const LONGEST: usize = 4096;
const MOST_RANKS: usize = 64;
const DISTURBS: &str = "is still running, and what you measure at the same time means nothing";

/// The settings of a benchmark that its form leaves to the verb.
const NOT_OF_BENCHMARK: [&str; 3] = ["display-every", "cuda", "mem-node"];
/// The settings of a training on photos that its form has, in its order.
const OF_PHOTOS: [&str; 15] = [
    "model",
    "image-size",
    "data-dir",
    "log-dir",
    "batch-size",
    "num-batches",
    "num-epochs",
    "learning-rate",
    "larc-mode",
    "dct",
    "bad-records",
    "no-distortions",
    "distort-color",
    "threads",
    "precision",
];
/// The settings of a run of collectives that its form has, in its order. Its methods follow.
const OF_COLLECTIVES: [&str; 7] = ["min-bytes", "max-bytes", "factor", "iterations", "servers", "ranks-per-host", "link"];

/// A row of the form.
#[derive(Clone, Copy, Debug)]
pub enum RunRow {
    Ranks,
    Benchmark(&'static Setting<BenchmarkSpec>),
    Photos(&'static Setting<NvcnnSpec>),
    Collectives(&'static Setting<CollectivesSpec>),
    /// Whether this method is measured.
    Method(Method),
}

/// The rows of these flags, in the order of the flags.
fn of_flags<W>(flags: &[&str], settings: &'static [Setting<W>]) -> impl Iterator<Item = &'static Setting<W>> {
    flags.iter().filter_map(|flag| settings.iter().find(|setting| setting.flag == *flag))
}

impl RunRow {
    /// The rows of this workload on a machine with so many GPUs, of which NCCL needs one for each rank.
    pub fn all(spec: &RunSpec, gpus: usize) -> Vec<RunRow> {
        let settings: Vec<RunRow> = match spec.workload {
            Workload::Nvcnn(_) => of_flags(&OF_PHOTOS, &PHOTO_SETTINGS).map(RunRow::Photos).collect(),
            Workload::Collectives(_) => {
                let methods = Method::ALL.into_iter().filter(|method| *method != Method::Nccl || gpus > 0);
                let settings = of_flags(&OF_COLLECTIVES, &COLLECTIVES_SETTINGS).map(RunRow::Collectives);
                settings.chain(methods.map(RunRow::Method)).collect()
            }
            _ => {
                let settings = BENCHMARK_SETTINGS.iter().filter(|setting| !NOT_OF_BENCHMARK.contains(&setting.flag));
                settings.map(RunRow::Benchmark).collect()
            }
        };
        std::iter::once(RunRow::Ranks).chain(settings).collect()
    }

    /// The flag of the verb.
    pub fn flag(self) -> &'static str {
        match self {
            RunRow::Ranks => "np",
            RunRow::Benchmark(setting) => setting.flag,
            RunRow::Photos(setting) => setting.flag,
            RunRow::Collectives(setting) => setting.flag,
            RunRow::Method(_) => "algorithm",
        }
    }

    /// As the flag would be given; or in words, where it would be left out.
    pub fn value(self, spec: &RunSpec) -> String {
        let value = match (self, &spec.workload) {
            (RunRow::Benchmark(setting), Workload::Benchmark(benchmark)) => setting.shown(benchmark),
            (RunRow::Photos(setting), Workload::Nvcnn(photos)) => setting.shown(photos),
            (RunRow::Collectives(setting), Workload::Collectives(collectives)) => setting.shown(collectives),
            (RunRow::Method(method), Workload::Collectives(collectives)) => {
                let is_on = collectives.known_methods().any(|on| on == method);
                if is_on { "[x]" } else { "[ ]" }.to_owned()
            }
            _ => spec.resources.np.to_string(),
        };
        match value.as_str() {
            "on" => "yes".to_owned(),
            "off" => "no".to_owned(),
            _ => value,
        }
    }

    /// The next value up or down. The ends stay; a switch or a method turns either way.
    pub fn step(self, spec: &mut RunSpec, up: bool) {
        let np = &mut spec.resources.np;
        match (self, &mut spec.workload) {
            (RunRow::Benchmark(setting), Workload::Benchmark(benchmark)) => setting.step(benchmark, up),
            (RunRow::Photos(setting), Workload::Nvcnn(photos)) => setting.step(photos, up),
            (RunRow::Collectives(setting), Workload::Collectives(collectives)) => {
                setting.step(collectives, up);
                let Shape { servers, ranks_per_host } = collectives.shape;
                collectives.shape = Shape { servers: servers.min(*np), ranks_per_host: ranks_per_host.min(*np) };
            }
            (RunRow::Method(method), Workload::Collectives(collectives)) => switch(collectives, method),
            (_, workload) => {
                *np = if up { (*np + 1).min(MOST_RANKS.max(*np)) } else { np.saturating_sub(1).max(1) };
                if let Workload::Collectives(collectives) = workload {
                    collectives.shape = Shape { servers: collectives.shape.servers.min(*np), ..Shape::usual(*np) };
                }
            }
        }
    }

    /// The text of a folder, which is typed.
    pub fn folder(self, spec: &mut RunSpec) -> Option<&mut Option<String>> {
        match (&mut spec.workload, self.flag()) {
            (Workload::Benchmark(benchmark), "data-dir") => Some(&mut benchmark.data_dir),
            (Workload::Nvcnn(photos), "data-dir") => Some(&mut photos.data_dir),
            (Workload::Nvcnn(photos), "log-dir") => Some(&mut photos.log_dir),
            _ => None,
        }
    }

    fn text(self, spec: &RunSpec) -> String {
        let value = self.value(spec);
        match self {
            RunRow::Method(method) => format!(" {value} {method}"),
            RunRow::Collectives(setting) => format!(" {}{value}", left(setting.label, NAME)),
            RunRow::Ranks if spec.collectives().is_some() => format!(" {}{value}", left("ranks", NAME)),
            _ => format!(" {}{value}", left(&label(self.flag()), NAME)),
        }
    }
}

/// Methods keep the order of the list, however they were switched on.
fn switch(collectives: &mut CollectivesSpec, method: Method) {
    let was_on: Vec<Method> = collectives.known_methods().collect();
    let on = Method::ALL.into_iter().filter(|other| was_on.contains(other) != (*other == method));
    collectives.methods = on.map(|method| method.to_string()).collect();
}

/// What the next run does, and the row under the cursor.
#[derive(Clone, Debug)]
pub struct RunForm {
    pub spec: RunSpec,
    chosen: usize,
}

impl RunForm {
    pub fn new(spec: RunSpec) -> RunForm {
        RunForm { spec, chosen: 0 }
    }

    fn rows(&self, shared: &Shared) -> Vec<RunRow> {
        RunRow::all(&self.spec, shared.hardware.as_ref().map_or(0, |hardware| hardware.gpus))
    }

    fn row(&self, shared: &Shared) -> RunRow {
        self.rows(shared).get(self.chosen).copied().unwrap_or(RunRow::Ranks)
    }

    /// Whether the chosen row is a folder, which is typed.
    pub fn is_on_folder(&self, shared: &Shared) -> bool {
        self.row(shared).folder(&mut self.spec.clone()).is_some()
    }

    /// Left and right change the chosen row; the others choose one.
    pub fn go(&mut self, by: Move, shared: &Shared) {
        match by {
            Move::Left | Move::Right => self.row(shared).step(&mut self.spec, by == Move::Right),
            _ => self.chosen = by.within(self.chosen, self.rows(shared).len()),
        }
    }

    /// Into a folder. Space turns a switch, as in other forms.
    pub fn take_key(&mut self, typing: Typing, shared: &Shared) {
        let row = self.row(shared);
        if let Some(folder) = row.folder(&mut self.spec) {
            let mut text = folder.take().unwrap_or_default();
            typing.into(&mut text, LONGEST);
            *folder = (!text.is_empty()).then_some(text);
        } else if typing == Typing::Insert(' ') {
            row.step(&mut self.spec, true);
        }
    }

    /// Why it cannot start now, as the verb says it.
    pub fn refusal(&self, shared: &Shared) -> Option<String> {
        if let Some(problem) = self.spec.problem() {
            return Some(problem);
        }
        if shared.is_starting() {
            return Some("a run is starting already: wait until it appears".to_owned());
        }
        Some(format!("run {} {DISTURBS}. Wait, or stop it", shared.going()?))
    }

    /// Settings one below the other, the chosen one marked; where not all fit, those around it. What there is to say always shows below.
    pub fn lines(&self, shared: &Shared, said: &[(String, Style)], width: usize) -> Vec<Line<'static>> {
        let (theme, rows) = (shared.theme, self.rows(shared));
        let said: Vec<Line> = said.iter().flat_map(|(text, style)| wrapped(text, width, *style)).collect();
        let all = rows.len();
        let room = usize::from(shared.size.1).saturating_sub(AROUND + said.len() + 1).clamp(1, all.max(1));
        let first = (self.chosen + 1).saturating_sub(room).min(all.saturating_sub(room));
        let row = |(place, row): (usize, &RunRow)| {
            let is_chosen = place == self.chosen;
            let cursor = if is_chosen && self.is_on_folder(shared) { "_" } else { "" };
            let text = format!("{}{cursor} ", row.text(&self.spec));
            if is_chosen { Line::styled(left(&text, width), theme.cursor(true)) } else { Line::raw(text) }
        };
        let mut lines: Vec<Line> = rows.iter().enumerate().skip(first).take(room).map(row).collect();
        let more = if room < all {
            format!(" {} to {} of {all}, ↑↓ shows the others", first + 1, first + room)
        } else {
            String::new()
        };
        lines.push(Line::styled(more, theme.dim()));
        lines.extend(said);
        lines
    }
}

/// A run that is going disturbs what is measured beside it.
pub fn busy(shared: &Shared) -> Option<String> {
    Some(format!("Run {} {DISTURBS}.", shared.going()?))
}
