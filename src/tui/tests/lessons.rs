//! Reading a lesson: prediction, hints, the two runs.

use crossterm::event::KeyCode;

use super::super::effect::Effect;
use super::super::mode::Mode;
use super::super::samples;
use super::super::state::State;
use super::{press, text, type_text};
use crate::course::{Outcome, Prediction, Verdict};
use crate::domain::step::Step;

/// The lesson of step 4 is open.
fn open() -> State {
    let mut state = samples::never_used();
    state.lessons = samples::lessons();
    state.step = Step::Broadcast;
    super::super::update::update(&mut state, super::Message::Resize(100, 40));
    press(&mut state, KeyCode::Enter);
    assert!(matches!(state.mode, Mode::Lesson { number: 4, .. }));
    state
}

#[test]
fn a_lesson_is_laid_out() {
    let mut state = open();
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        insta::assert_snapshot!(format!("lesson_{width}x{height}"), text(&state, width, height));
    }
    type_text(&mut state, "1?");
    insta::assert_snapshot!("lesson_answered_120x60", text(&state, 120, 60));
}

#[test]
fn the_answer_is_told_after_a_prediction_only() {
    let mut state = open();
    assert!(!text(&state, 120, 60).contains("look again"));
    type_text(&mut state, "9");
    assert!(state.predictions.is_empty(), "there is no ninth option");
    type_text(&mut state, "1");
    assert!(text(&state, 120, 60).contains("not so: no, look again"));
    type_text(&mut state, "2");
    assert!(text(&state, 120, 60).contains("right: yes, all"));
    assert_eq!(state.predictions[&4], Prediction::Choice(1));
}

#[test]
fn a_number_is_typed_mended_and_judged() {
    let mut state = open();
    press(&mut state, KeyCode::Right);
    assert!(matches!(state.mode, Mode::Lesson { number: 5, .. }));
    assert_eq!(state.step, Step::FewerSteps);
    type_text(&mut state, "118x");
    press(&mut state, KeyCode::Backspace);
    press(&mut state, KeyCode::Backspace);
    press(&mut state, KeyCode::Enter);
    assert_eq!(state.predictions[&5], Prediction::Number(1.0));
    assert!(text(&state, 120, 60).contains("not so: more"));
    type_text(&mut state, "29");
    press(&mut state, KeyCode::Enter);
    assert!(text(&state, 120, 60).contains("right: exactly"));
    type_text(&mut state, "--");
    press(&mut state, KeyCode::Enter);
    assert!(state.notice.clone().unwrap().text.contains("`--` is no number"));
    press(&mut state, KeyCode::Right);
    assert!(matches!(state.mode, Mode::Lesson { number: 5, .. }), "there is none behind the last");
}

#[test]
fn hints_come_one_by_one() {
    let mut state = open();
    assert!(!text(&state, 120, 60).contains("first"));
    type_text(&mut state, "?");
    let shown = text(&state, 120, 60);
    assert!(shown.contains("first") && !shown.contains("second") && shown.contains("Hints (1 of 3)"));
    type_text(&mut state, "????");
    assert!(text(&state, 120, 60).contains("third"));
}

#[test]
fn the_two_runs_of_a_lesson_start_with_its_steps() {
    for (key, steps) in [('b', "1-3"), ('a', "1-4")] {
        let mut state = open();
        let effects = press(&mut state, KeyCode::Char(key));
        let [Effect::Start { spec, .. }] = &effects[..] else { panic!("{effects:?}") };
        assert_eq!((spec.steps.to_string().as_str(), spec.np, spec.epochs), (steps, 2, 2));
        assert_eq!(state.mode, Mode::Normal);
    }
}

#[test]
fn a_step_without_a_lesson_says_so_and_escape_leads_back() {
    let mut state = open();
    press(&mut state, KeyCode::Esc);
    assert_eq!(state.mode, Mode::Normal);
    state.step = Step::NovoGrad;
    type_text(&mut state, "w");
    assert!(state.notice.clone().unwrap().text.contains("no lesson for step 10"));
}

#[test]
fn what_a_run_shows_of_the_step_stands_in_its_lesson() {
    let mut state = samples::compared();
    state.lessons = samples::lessons();
    state.step = Step::Broadcast;
    let watched = state.watched.as_ref().unwrap().id;
    assert_eq!(press(&mut state, KeyCode::Char('w')), [Effect::Judge(watched)]);
    let verdict = |step, outcome, evidence: &str| Verdict { step, outcome, evidence: evidence.into() };
    let verdicts = vec![
        verdict(Step::Broadcast, Outcome::Failed, "rank 1 starts with other weights than rank 0"),
        verdict(Step::FewerSteps, Outcome::Passed, "93 steps each"),
    ];
    samples::say(&mut state, super::Message::Judged(watched, verdicts, vec![Step::FewerSteps]));
    let shown = text(&state, 120, 60);
    assert!(
        shown.contains("failed: rank 1 starts with other weights than rank 0") && !shown.contains("93 steps each"),
        "{shown}"
    );
    press(&mut state, KeyCode::Esc);
    assert!(state.notice.clone().unwrap().text.contains("step 5 done"));
}
