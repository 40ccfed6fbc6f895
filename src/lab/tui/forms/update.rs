//! What opens the forms, what their keys do, and what they start.

use super::fields::Field;
use super::keys::Command;
use super::state::Forms;
use super::windows::Form;
use crate::domain::benchmark::{BenchmarkSpec, Style};
use crate::domain::job::{Job, Resources, RunSpec, Workload};
use crate::domain::model::ModelSpec;
use crate::domain::nvcnn::NvcnnSpec;
use crate::tui::actions::action::Action;
use crate::tui::actions::effect::Effect;
use crate::tui::actions::keys::{Move, Typing};
use crate::tui::shared::state::Shared;

/// The longest path that can be typed.
const LONGEST: usize = 4096;

/// The form of the next benchmark, as it was left.
pub fn benchmark(forms: &mut Forms, shared: &Shared) {
    let usual = || of(shared, Workload::Benchmark(BenchmarkSpec::of_style(Style::Horovod, ModelSpec::wrn(10, 1))));
    let spec = forms.benchmark.clone().unwrap_or_else(usual);
    open(forms, spec);
}

/// The form of the next training on photos, as it was left.
pub fn photos(forms: &mut Forms, shared: &Shared) {
    let usual = || match "resnet50".parse() {
        Ok(model) => of(shared, Workload::Nvcnn(NvcnnSpec::of_model(model))),
        Err(_) => of(shared, Workload::Nvcnn(NvcnnSpec::of_model(ModelSpec::ALEXNET))),
    };
    let spec = forms.photos.clone().unwrap_or_else(usual);
    open(forms, spec);
}

/// The form with what an earlier run did.
pub fn again(forms: &mut Forms, spec: RunSpec) {
    open(forms, spec);
}

fn of(shared: &Shared, workload: Workload) -> RunSpec {
    Job { resources: Resources::ranks(shared.spec.resources.np), workload }
}

fn open(forms: &mut Forms, spec: RunSpec) {
    forms.window = Some(Form { spec: Box::new(spec), chosen: 0 }.into());
}

/// A key while a form is in front.
pub fn form(mut form: Form, forms: &mut Forms, shared: &mut Shared, command: Command) -> Vec<Action> {
    let fields = Field::all(&form.spec);
    let field = fields.get(form.chosen).copied().unwrap_or(Field::Np);
    match command {
        Command::Back => {
            keep(forms, *form.spec);
            return Vec::new();
        }
        Command::StartRun => return start(form, forms, shared),
        Command::Move(by @ (Move::Left | Move::Right)) => field.step(&mut form.spec, by == Move::Right),
        Command::Move(by) => form.chosen = by.within(form.chosen, fields.len()),
        Command::Type(typing) => type_into(field, &mut form.spec, typing),
    }
    forms.window = Some(form.into());
    Vec::new()
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
fn start(form: Form, forms: &mut Forms, shared: &mut Shared) -> Vec<Action> {
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
        forms.window = Some(form.into());
        return Vec::new();
    }
    keep(forms, (*form.spec).clone());
    shared.starting.run = true;
    vec![Effect::StartOther(form.spec).into()]
}
