//! Runs that take turns: one key begins them, one after the other, and what they show is put side by side.

use crate::tui::actions::Effect;
use crossterm::event::KeyCode;

use crate::course::{Contrast, Fact, Purpose, Results, Series, SideBySide, Without};
use crate::domain::run::RunState;
use crate::domain::step::{Step, StepSet};
use crate::runs::{RunId, RunSummary, RunUpdate};
use crate::tui::app::update::update;
use crate::tui::message::Message;
use crate::tui::state::State;
use crate::tui::testing::samples;
use crate::tui::tests::{press, text, type_text, window};

/// Step 4 is chosen, `g` pressed, and the question answered.
fn begun() -> (State, Series) {
    let mut state = samples::never_used();
    state.shared.course.lessons = samples::lessons();
    state.shared.step = Step::Broadcast;
    let effects = type_text(&mut state, "gy");
    let [Effect::BeginSeries(series)] = &effects[..] else { panic!("{effects:?}") };
    (state, (**series).clone())
}

fn run(id: u32, now: RunState) -> RunSummary {
    samples::summary(id, 2, samples::status(now, now.name()), None)
}

fn over(state: &mut State, id: u32, now: RunState) -> Vec<Effect> {
    let status = RunUpdate::Status(samples::status(now, now.name()));
    update(state, Message::Updates(RunId(id), vec![status]))
}

/// The turn of this index became run `id`, which is going.
fn started(state: &mut State, series: &mut Series, index: usize, id: u32) {
    series.turns[index].run = Some(RunId(id));
    let effects = update(state, Message::Series(Some(series.clone()), Some(RunId(id))));
    assert!(effects.contains(&Effect::Watch(RunId(id))), "the screen shows it: {effects:?}");
    assert!(!effects.contains(&Effect::StartNext), "one at a time: {effects:?}");
    let mut runs = state.shared.runs.clone();
    runs.push(run(id, RunState::Running));
    assert!(!update(state, Message::Runs(runs)).contains(&Effect::StartNext));
    over(state, id, RunState::Running);
}

pub fn side_by_side() -> Results {
    let fact = |what: &str, before: &str, after: &str| Fact { what: what.into(), before: before.into(), after: after.into() };
    Results::Guided(Box::new(SideBySide {
        step: Step::Broadcast,
        runs: [RunId(1), RunId(2)],
        steps: [StepSet::first(3), StepSet::first(4)],
        contrast: Contrast {
            facts: vec![fact("weights to start from", "2 different", "equal"), fact("apart at the end", "0.0938", "0")],
            explained: vec!["Before, the weights of the ranks were 0.0938 apart. After, they are equal bit by bit.".into()],
        },
        excerpts: [vec!["[0] Epoch 1/2 | a".into(), "[1] Epoch 1/2".into()], vec!["[0] Epoch 1/2".into()]],
    }))
}

#[test]
fn one_key_runs_before_and_after_in_turn_and_shows_them_side_by_side() {
    let (mut state, mut series) = begun();
    let asked: Vec<_> = series
        .turns
        .iter()
        .map(|turn| (turn.spec.workload.steps.to_string(), turn.spec.resources.np, turn.spec.workload.epochs))
        .collect();
    assert_eq!(asked, [("1-3".to_owned(), 2, 2), ("1-4".to_owned(), 2, 2)]);
    assert_eq!(series.purpose, Purpose::Guided(4));
    assert!(state.windows.get::<crate::tui::series::turns::Turns>().is_some());
    started(&mut state, &mut series, 0, 1);
    insta::assert_snapshot!("series_going_80x24", window(&state, 80, 24));

    let effects = over(&mut state, 1, RunState::Finished);
    assert!(effects.contains(&Effect::StartNext), "{effects:?}");
    let again = state.shared.runs.clone();
    assert!(!update(&mut state, Message::Runs(again)).contains(&Effect::StartNext), "asked once");
    started(&mut state, &mut series, 1, 2);
    let effects = over(&mut state, 2, RunState::Finished);
    assert!(effects.contains(&Effect::ReadResults(Box::new(series))) && !effects.contains(&Effect::StartNext), "{effects:?}");
    update(&mut state, Message::Results(Some(side_by_side())));
    insta::assert_snapshot!("side_by_side_80x24", window(&state, 80, 24));
    press(&mut state, KeyCode::Esc);
    type_text(&mut state, "G");
    assert!(text(&state, 80, 24).contains("equal bit by bit"), "it can be looked at again");
}

#[test]
fn several_runs_are_asked_about_first_with_the_time_they_take() {
    let mut state = samples::never_used();
    state.shared.course.lessons = samples::lessons();
    state.shared.step = Step::Broadcast;
    assert_eq!(type_text(&mut state, "g"), []);
    assert!(matches!(state.windows.get::<crate::tui::series::confirm::ConfirmSeries>(), Some(..)));
    assert!(text(&state, 80, 24).contains("cannot say how long they take"), "{}", text(&state, 80, 24));
    press(&mut state, KeyCode::Esc);
    // 36,000 images at 900 a second: 40 s for three epochs that the two ranks share. In both runs each trains all of them.
    state.shared.runs.push(samples::finished(1, 2, 900.0));
    type_text(&mut state, "g");
    let shown = text(&state, 80, 24);
    assert!(
        shown.contains("without step 4 (steps 1-3), then with it (steps 1-4).") && shown.contains("Together about 1:46,"),
        "{shown}"
    );
    assert_eq!(type_text(&mut state, "n"), []);
    assert!(state.windows.is_empty());
}

#[test]
fn a_run_that_is_going_is_waited_for() {
    let mut state = samples::running();
    state.shared.course.lessons = samples::lessons();
    state.shared.step = Step::Broadcast;
    let effects = type_text(&mut state, "gy");
    let [Effect::BeginSeries(series)] = &effects[..] else { panic!("{effects:?}") };
    // The runner finds a run going and begins none.
    let effects = update(&mut state, Message::Series(Some((**series).clone()), None));
    assert!(!effects.contains(&Effect::StartNext), "{effects:?}");
    assert!(text(&state, 80, 24).contains("run 1 of 2 waits for run 2 to end"));
    assert_eq!(type_text(&mut state, "x"), [Effect::CancelSeries], "the run of somebody else goes on");
    press(&mut state, KeyCode::Esc);
    assert!(over(&mut state, 2, RunState::Finished).contains(&Effect::StartNext));
}

#[test]
fn cancelling_stops_the_run_and_begins_no_other() {
    let (mut state, mut series) = begun();
    started(&mut state, &mut series, 0, 1);
    assert_eq!(type_text(&mut state, "x"), [Effect::CancelSeries, Effect::Stop(RunId(1))]);
    series.is_cancelled = true;
    update(&mut state, Message::Series(Some(series), None));
    let effects = over(&mut state, 1, RunState::Stopped);
    assert!(!effects.contains(&Effect::StartNext), "{effects:?}");
    let shown = text(&state, 80, 24);
    assert!(shown.contains("ended after 1 of 2 runs") && shown.contains("cancelled"), "{shown}");
}

#[test]
fn stopping_the_run_by_its_own_key_ends_the_series() {
    let (mut state, mut series) = begun();
    started(&mut state, &mut series, 0, 1);
    press(&mut state, KeyCode::Esc);
    assert_eq!(type_text(&mut state, "xy"), [Effect::Stop(RunId(1))]);
    assert!(!over(&mut state, 1, RunState::Stopped).contains(&Effect::StartNext));
}

#[test]
fn a_screen_goes_on_with_what_waits() {
    let (_, mut series) = begun();
    series.turns[0].run = Some(RunId(1));
    // The first run ended while no screen was open.
    let mut state = samples::never_used();
    update(&mut state, Message::Runs(vec![samples::finished(1, 2, 900.0)]));
    let effects = update(&mut state, Message::Series(Some(series.clone()), None));
    assert!(effects.contains(&Effect::StartNext), "{effects:?}");
    let mut second = series.clone();
    started(&mut state, &mut second, 1, 2);
    let said = state.shared.notice.map(|notice| notice.text).unwrap_or_default();
    assert!(said.contains("run 2 of 2 starts"), "nobody asked for it just now: {said:?}");
    // In the other order as well.
    let mut state = samples::fresh();
    assert!(!update(&mut state, Message::Series(Some(series), None)).contains(&Effect::StartNext), "nobody knows yet what runs");
    let effects = update(&mut state, Message::Runs(vec![samples::finished(1, 2, 900.0)]));
    assert!(effects.contains(&Effect::StartNext), "{effects:?}");
}

#[test]
fn a_start_that_fails_is_said_and_not_tried_for_ever() {
    let (mut state, mut series) = begun();
    update(&mut state, Message::Failed("no mpirun: run make setup".into()));
    series.is_cancelled = true;
    let effects = update(&mut state, Message::Series(Some(series), None));
    assert!(!effects.contains(&Effect::StartNext), "{effects:?}");
    assert!(state.shared.notice.unwrap().text.contains("no mpirun"));
}

#[test]
fn an_ablation_asks_first_and_fills_a_table() {
    let mut state = samples::never_used();
    assert_eq!(type_text(&mut state, "A"), []);
    insta::assert_snapshot!("ablation_asks_80x24", window(&state, 80, 24));
    press(&mut state, KeyCode::Esc);
    assert!(state.windows.is_empty());
    let effects = type_text(&mut state, "Ay");
    let [Effect::BeginSeries(series)] = &effects[..] else { panic!("{effects:?}") };
    let steps: Vec<String> = series.turns.iter().map(|turn| turn.spec.workload.steps.to_string()).collect();
    assert_eq!((steps.len(), steps[0].as_str(), steps[4].as_str(), steps[11].as_str()), (12, "1-10", "1-3,5-10", "none"));
    assert!(series.turns.iter().all(|turn| turn.spec.resources.np == state.shared.spec.resources.np
        && turn.spec.workload.epochs == state.shared.spec.workload.epochs));
    let mut series = (**series).clone();
    started(&mut state, &mut series, 0, 1);
    let row = |name: &str, run: Option<u32>, passed| Without {
        name: name.into(),
        steps: StepSet::ALL,
        run: run.map(RunId),
        state: run.map(|_| RunState::Finished),
        images_per_sec: run.map(|_| 1964.0),
        seconds: run.map(|_| 18.3),
        test_accuracy: run.map(|_| 0.694),
        verdict: None,
        passed,
    };
    let rows = vec![row("all", Some(1), Some(10)), row("without 1", None, None)];
    update(&mut state, Message::Results(Some(Results::Ablation(rows))));
    insta::assert_snapshot!("ablation_80x24", window(&state, 80, 24));
}

#[test]
fn the_window_is_ascii_where_asked_and_its_marks_are_no_colours() {
    let (mut state, mut series) = begun();
    started(&mut state, &mut series, 0, 1);
    state.shared.theme.ascii = true;
    assert!(text(&state, 80, 24).is_ascii());
    state.series.results = Some(side_by_side());
    assert!(text(&state, 80, 24).is_ascii());
}
