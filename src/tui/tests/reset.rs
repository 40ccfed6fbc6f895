//! A step of the learner's program back to its TODO, from the screen: what it asks, says and does.

use crossterm::event::KeyCode;

use super::super::effect::Effect;
use super::super::exercise_view::{News, Stage};
use super::super::mode::Mode;
use super::super::samples;
use super::super::state::State;
use super::super::update::update;
use super::{Message, press, text, type_text};
use crate::domain::step::Step;
use crate::exercise::{EXERCISE, solution};

/// The window of the exercise, with a program whose first four steps are done.
fn window() -> State {
    let mut state = samples::never_used();
    state.course.lessons = samples::lessons();
    update(&mut state, Message::Resize(80, 24));
    let program = solution(Step::Broadcast).to_owned();
    update(&mut state, Message::Exercise(News::Read { path: "/home/fashion_mnist.rs".into(), program }));
    type_text(&mut state, "E");
    assert!(matches!(state.mode, Mode::Exercise { .. }), "{:?}", state.mode);
    state
}

#[test]
fn the_window_says_what_is_lost_and_where_it_is_kept() {
    let mut state = window();
    assert!(text(&state, 80, 24).contains(" R reset"), "{}", text(&state, 80, 24));
    assert!(type_text(&mut state, "R").is_empty(), "it asks first");
    assert_eq!(state.mode, Mode::ConfirmReset { step: Step::Broadcast, diff: false });
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        let screen = text(&state, width, height);
        for words in [
            "Step 4, broadcast the weights: ",
            " lines go.",
            "The whole program: ",
            "kept beside it, as fashion_mnist.NUMBER.bak",
        ] {
            assert!(screen.contains(words), "`{words}` at {width}x{height}:\n{screen}");
        }
        assert!(screen.contains("y this step") && screen.contains("a the whole program") && screen.contains("Esc leave it"));
    }
    insta::assert_snapshot!("reset_asks_80x24", text(&state, 80, 24));
}

#[test]
fn only_y_and_a_reset_and_each_its_part() {
    for (key, part) in [
        (KeyCode::Char('y'), Some(Some(Step::Broadcast))),
        (KeyCode::Char('a'), Some(None)),
        (KeyCode::Enter, None),
        (KeyCode::Esc, None),
        (KeyCode::Char('n'), None),
    ] {
        let mut state = window();
        type_text(&mut state, "R");
        let effects = press(&mut state, key);
        assert_eq!(effects, part.map(Effect::ResetExercise).into_iter().collect::<Vec<_>>(), "{key:?}");
        assert!(matches!(state.mode, Mode::Exercise { .. }), "{:?}", state.mode);
    }
}

#[test]
fn the_diff_of_ones_own_program_resets_the_step_that_it_shows() {
    let mut state = window();
    type_text(&mut state, "d");
    press(&mut state, KeyCode::Left);
    assert!(matches!(state.mode, Mode::Diff { step: Step::DistributedOptimizer, mine: true, .. }), "{:?}", state.mode);
    assert!(text(&state, 80, 24).contains(" R reset"), "{}", text(&state, 80, 24));
    type_text(&mut state, "R");
    assert_eq!(state.mode, Mode::ConfirmReset { step: Step::DistributedOptimizer, diff: true });
    assert_eq!(type_text(&mut state, "y"), [Effect::ResetExercise(Some(Step::DistributedOptimizer))]);
    assert!(matches!(state.mode, Mode::Diff { step: Step::DistributedOptimizer, mine: true, .. }));
    // The diff of a step is nobody's program.
    type_text(&mut state, "m");
    assert!(!text(&state, 80, 24).contains(" R reset"));
    assert!(type_text(&mut state, "R").is_empty() && matches!(state.mode, Mode::Diff { mine: false, .. }));
    assert!(state.notice.as_ref().is_some_and(|notice| notice.text.contains("m shows your own program")));
}

#[test]
fn after_it_the_backup_is_named_the_step_is_next_and_nothing_is_built() {
    let mut state = window();
    state.exercise.stage = Stage::Failed("of before".into());
    let news = News::Reset { step: None, program: EXERCISE.into(), backup: "/home/fashion_mnist.1.bak".into() };
    assert!(update(&mut state, Message::Exercise(news)).is_empty());
    assert_eq!((state.exercise.next.map(|(step, _)| step), &state.exercise.stage), (Some(Step::InitAndPin), &Stage::Idle));
    let said = &state.notice.as_ref().unwrap().text;
    assert!(said.contains("the whole program is as it was") && said.contains("/home/fashion_mnist.1.bak"), "{said}");
    // The watcher tells of the same change.
    assert_eq!(update(&mut state, Message::Exercise(News::Saved)), [Effect::ReadExercise]);
    let read = News::Read { path: "/home/fashion_mnist.rs".into(), program: EXERCISE.into() };
    assert!(update(&mut state, Message::Exercise(read)).is_empty());
}

#[test]
fn without_a_program_of_ones_own_there_is_nothing_to_reset() {
    let mut state = samples::never_used();
    state.mode = Mode::Exercise { scroll: 0 };
    type_text(&mut state, "R");
    assert!(matches!(state.mode, Mode::Exercise { .. }) && state.notice.is_some());
}
