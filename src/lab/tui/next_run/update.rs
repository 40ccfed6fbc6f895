//! What the keys of steps and settings do.

use super::edit::{Edit, data_changed};
use super::fields::Field;
use crate::domain::job::TrainingJob;
use crate::domain::step::{Step, StepSet};
use crate::tui::actions::{Action, Command, Move};
use crate::tui::shared::Shared;
use crate::tui::state::State;

/// A key of the pane Steps.
pub fn steps(shared: &mut Shared, command: Command) -> Vec<Action> {
    match command {
        Command::Switch => toggle(shared, shared.step),
        Command::AllSteps if shared.spec.workload.steps == StepSet::ALL => set_steps(shared, StepSet::NONE),
        Command::AllSteps => set_steps(shared, StepSet::ALL),
        Command::Move(by) => shared.step = Step::ALL[by.within(shared.step.number() - 1, Step::ALL.len())],
        Command::Guided => return vec![Action::Guided],
        Command::Ablation => return vec![Action::Ablation],
        _ => {}
    }
    Vec::new()
}

/// A key of the pane Next run.
pub fn settings(state: &mut State, command: Command) -> Vec<Action> {
    let State { next_run, shared, windows, .. } = state;
    let before = shared.spec.clone();
    let field = next_run.field;
    match command {
        Command::Move(by @ (Move::Left | Move::Right)) => change(shared, field, by == Move::Right),
        Command::Accept if field.is_choice() => change(shared, field, true),
        Command::Accept => {
            let text = field.value(&shared.spec, &shared.preset);
            windows.show(Edit { field, text, error: None, untouched: true });
        }
        Command::Move(by) => next_run.choose(by),
        _ => {}
    }
    data_changed(shared, &before)
}

pub fn toggle(shared: &mut Shared, step: Step) {
    shared.step = step;
    set_steps(shared, shared.spec.workload.steps.toggled(step));
    let steps = shared.spec.workload.steps;
    if steps.contains(step) && !steps.is_effective(step) {
        let needed = step.needs().map_or(1, Step::number);
        shared.inform(format!("step {} is on, but has no effect while step {needed} is off", step.number()));
    }
}

fn set_steps(shared: &mut Shared, steps: StepSet) {
    shared.touched = true;
    shared.spec.workload.steps = steps;
}

pub fn change(shared: &mut Shared, field: Field, up: bool) {
    shared.touched = true;
    let before = shared.spec.clone();
    field.step(&mut shared.spec, &mut shared.preset, &shared.presets, up);
    if field == Field::Preset {
        tell_preset(shared, &before);
    }
}

/// A preset changes many settings at once, and some of them may be out of sight.
fn tell_preset(shared: &mut Shared, before: &TrainingJob) {
    let now = |field: &Field| field.value(&shared.spec, &shared.preset);
    let is_changed = |field: &&Field| **field != Field::Preset && now(field) != field.value(before, "");
    let changed: Vec<String> =
        Field::ALL.iter().filter(is_changed).map(|field| format!("{} {}", field.label(), now(field))).collect();
    let what = if changed.is_empty() { "changes nothing".to_owned() } else { changed.join(", ") };
    let text = format!("preset {}: {what}", shared.preset);
    shared.inform(text);
}
