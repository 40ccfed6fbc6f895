//! The form of a benchmark or of a training on photos: its settings, and what it starts.
//!
//! No letter means anything but itself: folders are typed.

use crate::tui::actions::On::{Code, Ctrl, Text};
use crate::tui::actions::{Action, BACKSPACE, Binding, Command, Command as C, ENTER, Effect, Move, Typing, row};
use crate::tui::shared::Shared;
use crossterm::event::KeyCode as K;
use ratatui::style::Style;

use super::state::Forms;
use crate::domain::benchmark::{BenchmarkSpec, Style as Script};
use crate::domain::job::{Job, Resources, RunSpec, Workload};
use crate::domain::model::ModelSpec;
use crate::domain::nvcnn::NvcnnSpec;
use crate::domain::settings::without_flags;
use crate::tui::shared::run_form::{RunForm, busy};
use crate::tui::state::{Outcome, Page, State, View, Window};

/// What the next benchmark, or the next training on photos, does.
#[derive(Clone, Debug)]
pub struct Form(pub RunForm);

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
    state.windows.show(Form(RunForm::new(spec)));
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
        let title = if self.0.spec.nvcnn().is_some() { "Train on photos (hvd-lab nvcnn)" } else { "Benchmark (hvd-lab bench)" };
        let shared = &state.shared;
        Some(Page::view(title, columns, 84, |width| self.0.lines(shared, &said(&self.0, shared), width)))
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        match command {
            Command::Back => {
                keep(&mut state.forms, self.0.spec.clone());
                return Outcome::CLOSE;
            }
            Command::StartRun => return start(&self.0, &mut state.forms, &mut state.shared),
            Command::Move(by) => self.0.go(by, &state.shared),
            Command::Type(typing) => self.0.take_key(typing, &state.shared),
            _ => {}
        }
        Outcome::STAY
    }
}

fn keep(forms: &mut Forms, spec: RunSpec) {
    let kept = if spec.nvcnn().is_some() { &mut forms.photos } else { &mut forms.benchmark };
    *kept = Some(spec);
}

/// As the verb starts it, and refuses it.
fn start(form: &RunForm, forms: &mut Forms, shared: &mut Shared) -> Outcome {
    if let Some(refusal) = form.refusal(shared) {
        shared.error(refusal);
        return Outcome::STAY;
    }
    keep(forms, form.spec.clone());
    shared.starting.run = true;
    Outcome::Close(vec![Effect::StartOther(Box::new(form.spec.clone())).into()])
}

/// What is wrong with it, else what to know of it.
fn said(form: &RunForm, shared: &Shared) -> Vec<(String, Style)> {
    let theme = shared.theme;
    let verb = if form.spec.nvcnn().is_some() { "nvcnn" } else { "bench" };
    let help = || format!("`hvd-lab {verb} --help` says what each setting does. The run shows up in the table of runs.");
    let state = match (form.spec.problem(), busy(shared)) {
        (Some(problem), _) => (format!("Cannot start: {}", without_flags(&problem)), theme.warn()),
        (None, Some(busy)) => (busy, theme.warn()),
        (None, None) => (help(), theme.dim()),
    };
    let typing = ("Type a folder; Backspace takes letters away, Ctrl-U all of them.".to_owned(), theme.dim());
    form.is_on_folder(shared).then_some(typing).into_iter().chain([state]).collect()
}
