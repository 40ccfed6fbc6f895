//! The form of a benchmark or of a training on photos: its fields, which are flags, and what it starts.
//!
//! No letter means anything but itself: folders are typed.

use crossterm::event::KeyCode as K;
use ratatui::style::Style;
use ratatui::text::Line;

use super::fields::Field;
use super::state::Forms;
use crate::columns::left;
use crate::domain::benchmark::{BenchmarkSpec, Style as Script};
use crate::domain::job::{Job, Resources, RunSpec, Workload};
use crate::domain::model::ModelSpec;
use crate::domain::nvcnn::NvcnnSpec;
use crate::tui::actions::action::Action;
use crate::tui::actions::command::Command as C;
use crate::tui::actions::command::{Command, Move, Typing};
use crate::tui::actions::effect::Effect;
use crate::tui::actions::keys::On::{Code, Ctrl, Text};
use crate::tui::actions::keys::{BACKSPACE, Binding, ENTER, row};
use crate::tui::shared::state::Shared;
use crate::tui::state::{Outcome, State, Window};
use crate::tui::widgets::form;
use crate::tui::window::{Page, View};

/// Columns of the flags.
const FLAG: usize = 26;
/// The longest path that can be typed.
const LONGEST: usize = 4096;

/// What the next benchmark, or the next training on photos, does.
#[derive(Clone, Debug)]
pub struct Form {
    pub spec: Box<RunSpec>,
    /// The row under the cursor.
    chosen: usize,
}

/// The form of the next benchmark, as it was left.
pub fn benchmark(state: &mut State) -> Vec<Action> {
    let usual = || of(&state.shared, Workload::Benchmark(BenchmarkSpec::of_style(Script::Horovod, ModelSpec::wrn(10, 1))));
    let spec = state.forms.benchmark.clone().unwrap_or_else(usual);
    open(state, spec)
}

/// The form of the next training on photos, as it was left.
pub fn photos(state: &mut State) -> Vec<Action> {
    let model = || "resnet50".parse().unwrap_or(ModelSpec::ALEXNET);
    let usual = || of(&state.shared, Workload::Nvcnn(NvcnnSpec::of_model(model())));
    let spec = state.forms.photos.clone().unwrap_or_else(usual);
    open(state, spec)
}

fn of(shared: &Shared, workload: Workload) -> RunSpec {
    Job { resources: Resources::ranks(shared.spec.resources.np), workload }
}

/// The form with these settings.
pub fn open(state: &mut State, spec: RunSpec) -> Vec<Action> {
    state.windows.show(Form { spec: Box::new(spec), chosen: 0 });
    Vec::new()
}

pub static KEYS: &[Binding] = &[
    row(ENTER, C::StartRun, "Enter", "start", "").ranked(0),
    row(&[Code(K::Left)], C::Move(Move::Left), "←→", "change", "").ranked(1),
    row(&[Code(K::Right)], C::Move(Move::Right), "", "", ""),
    row(&[Code(K::Up)], C::Move(Move::Up), "↑↓", "setting", "").ranked(1),
    row(&[Code(K::Down)], C::Move(Move::Down), "", "", ""),
    row(&[Code(K::Home)], C::Move(Move::First), "", "", ""),
    row(&[Code(K::End)], C::Move(Move::Last), "", "", ""),
    row(BACKSPACE, C::Type(Typing::Erase), "", "", ""),
    row(&[Ctrl('u')], C::Type(Typing::Clear), "", "", ""),
    row(&[Code(K::Esc), Ctrl('c')], C::Back, "Esc", "close", "").ranked(0),
    row(&[Text], C::Type(Typing::Insert(' ')), "", "", ""),
];

impl Window for Form {
    fn keys(&self, _: &State) -> &'static [Binding] {
        KEYS
    }

    fn view(&self, state: &State, columns: u16) -> Option<View> {
        let title = if self.spec.nvcnn().is_some() { "Train on photos (hvd-lab nvcnn)" } else { "Benchmark (hvd-lab bench)" };
        Some(Page::view(title, columns, 84, |width| lines(self, &state.shared, width)))
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        let fields = Field::all(&self.spec);
        let field = fields.get(self.chosen).copied().unwrap_or(Field::Np);
        match command {
            Command::Back => {
                keep(&mut state.forms, (*self.spec).clone());
                return Outcome::CLOSE;
            }
            Command::StartRun => return start(self, &mut state.forms, &mut state.shared),
            Command::Move(by @ (Move::Left | Move::Right)) => field.step(&mut self.spec, by == Move::Right),
            Command::Move(by) => self.chosen = by.within(self.chosen, fields.len()),
            Command::Type(typing) => type_into(field, &mut self.spec, typing),
            _ => {}
        }
        Outcome::STAY
    }
}

fn keep(forms: &mut Forms, spec: RunSpec) {
    let kept = if spec.nvcnn().is_some() { &mut forms.photos } else { &mut forms.benchmark };
    *kept = Some(spec);
}

/// Into a folder. Space turns a switch, as in other forms.
fn type_into(field: Field, spec: &mut RunSpec, typing: Typing) {
    match field.folder(spec) {
        Some(folder) => {
            let mut text = folder.take().unwrap_or_default();
            typing.into(&mut text, LONGEST);
            *folder = (!text.is_empty()).then_some(text);
        }
        None if typing == Typing::Insert(' ') => field.step(spec, true),
        None => {}
    }
}

/// As the verb starts it, and refuses it.
fn start(form: &Form, forms: &mut Forms, shared: &mut Shared) -> Outcome {
    let refused = match (form.spec.problem(), shared.going()) {
        (Some(problem), _) => Some(problem),
        _ if shared.replay.is_some() => Some("this is a recording: nothing starts here. q leaves it".to_owned()),
        _ if shared.is_starting() => Some("a run is starting already: wait until it appears".to_owned()),
        (None, Some(run)) => {
            Some(format!("run {run} is still running, and what you measure at the same time means nothing. Wait, or stop it"))
        }
        (None, None) => None,
    };
    if let Some(refused) = refused {
        shared.error(refused);
        return Outcome::STAY;
    }
    keep(forms, (*form.spec).clone());
    shared.starting.run = true;
    Outcome::Close(vec![Effect::StartOther(form.spec.clone()).into()])
}

fn lines(window: &Form, shared: &Shared, width: usize) -> Vec<Line<'static>> {
    let mut spec = (*window.spec).clone();
    let fields = Field::all(&spec);
    let row = |(place, field): (usize, &Field)| {
        let value = field.value(&spec);
        let cursor = if place == window.chosen && field.folder(&mut spec.clone()).is_some() { "_" } else { "" };
        format!(" {}{value}{cursor} ", left(&format!("--{}", field.flag()), FLAG))
    };
    let rows: Vec<String> = fields.iter().enumerate().map(row).collect();
    let is_folder = fields.get(window.chosen).is_some_and(|field| field.folder(&mut spec).is_some());
    form::lines(shared.theme, &rows, window.chosen, &said(&spec, shared, is_folder), (width, form::room(shared.size.1)))
}

/// What is wrong with it, else what to know of it.
fn said(spec: &RunSpec, shared: &Shared, is_folder: bool) -> Vec<(String, Style)> {
    let theme = shared.theme;
    let mut said = Vec::new();
    if is_folder {
        said.push(("Type a folder; Backspace takes letters away, Ctrl-U all of them.".to_owned(), theme.dim()));
    }
    match (spec.problem(), shared.going()) {
        (Some(problem), _) => said.push((format!("Cannot start: {problem}"), theme.warn())),
        (None, Some(run)) => {
            said.push((
                format!("Run {run} is still running, and what you measure at the same time means nothing."),
                theme.warn(),
            ));
        }
        (None, None) => {
            let verb = if spec.nvcnn().is_some() { "nvcnn" } else { "bench" };
            said.push((
                format!("`hvd-lab {verb} --help` says what each flag does. The run shows up in the table of runs."),
                theme.dim(),
            ));
        }
    }
    said
}
