//! The form of a benchmark or of a training on photos: its settings, and what it starts.
//!
//! No letter means anything but itself: folders are typed.

use crate::tui::actions::{Action, BACKSPACE, Binding, Code, Command as C, Ctrl, ENTER, K, Move, Text, Typing, row};
use crate::tui::shared::Shared;
use ratatui::style::Style;

use crate::domain::benchmark::{BenchmarkSpec, Style as Script};
use crate::domain::job::{Job, Resources, RunSpec, Workload};
use crate::domain::model::ModelSpec;
use crate::domain::nvcnn::NvcnnSpec;
use crate::domain::settings::without_flags;
use crate::tui::shared::run_form::busy;
use crate::tui::state::State;
use crate::tui::state::form::Form;

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
    let title = if spec.nvcnn().is_some() { "Train on photos (hvd-lab nvcnn)" } else { "Benchmark (hvd-lab bench)" };
    state.windows.show(Form { spec, chosen: 0, title, keys: KEYS, said, left });
    Vec::new()
}

pub static KEYS: &[Binding] = &[
    row(ENTER, C::StartRun, "Enter", "start", "").ranked(0),
    row(&[Code(K::Left), Code(K::Right)], C::Move(Move::Left), "←→", "change", "").ranked(1),
    row(&[Code(K::Up), Code(K::Down), Code(K::Home), Code(K::End)], C::Move(Move::Up), "↑↓", "setting", "").ranked(1),
    row(BACKSPACE, C::Type(Typing::Erase), "", "", ""),
    row(&[Ctrl('u')], C::Type(Typing::Clear), "", "", ""),
    row(&[Code(K::Esc), Ctrl('c')], C::Back, "Esc", "close", "").ranked(0),
    row(&[Text], C::Type(Typing::Insert(' ')), "", "", ""),
];

/// It opens as it was left.
fn left(State { forms, .. }: &mut State, spec: &RunSpec, _: bool) {
    let kept = if spec.nvcnn().is_some() { &mut forms.photos } else { &mut forms.benchmark };
    *kept = Some(spec.clone());
}

/// What is wrong with it, else what to know of it.
fn said(form: &Form, State { shared, .. }: &State) -> Vec<(String, Style)> {
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
