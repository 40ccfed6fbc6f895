//! A step of the learner's program back to its TODO, from the screen: what it asks, says and does.

use crossterm::event::KeyCode;

use crate::domain::step::Step;
use crate::exercise::TEN_STEPS;
use crate::tui::actions::{Effect, ExerciseNews};
use crate::tui::app::update::update;
use crate::tui::exercise::state::Stage;
use crate::tui::message::Message;
use crate::tui::state::State;
use crate::tui::testing::samples;
use crate::tui::tests::{press, text, type_text};

const EXERCISE: &str = TEN_STEPS.exercise;

fn solution(step: Step) -> String {
    TEN_STEPS.solution(step.number())
}

/// The window of the exercise, with a program whose first four steps are done.
fn window() -> State {
    let mut state = samples::never_used();
    state.shared.course.lessons = samples::lessons();
    update(&mut state, Message::Resize(80, 24));
    let program = solution(Step::Broadcast);
    update(&mut state, Message::Exercise(ExerciseNews::Read { path: "/home/fashion_mnist.rs".into(), program }));
    type_text(&mut state, "E");
    assert!(state.windows.get::<crate::tui::exercise::windows::Own>().is_some(), "{:?}", state.windows);
    state
}

#[test]
fn the_window_says_what_is_lost_and_where_it_is_kept() {
    let mut state = window();
    assert!(text(&state, 80, 24).contains(" u undo"), "{}", text(&state, 80, 24));
    assert!(type_text(&mut state, "u").is_empty(), "it asks first");
    assert!(matches!(state.windows.get(), Some(crate::tui::exercise::windows::ConfirmReset { number: 4 })));
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
    insta::assert_snapshot!("reset_asks_80x24", crate::tui::tests::window(&state, 80, 24));
}

#[test]
fn only_y_and_a_reset_and_each_its_part() {
    for (key, part) in [
        (KeyCode::Char('y'), Some(Some(4))),
        (KeyCode::Char('a'), Some(None)),
        (KeyCode::Enter, None),
        (KeyCode::Esc, None),
        (KeyCode::Char('n'), None),
    ] {
        let mut state = window();
        type_text(&mut state, "u");
        let effects = press(&mut state, key);
        assert_eq!(effects, part.map(Effect::ResetExercise).into_iter().collect::<Vec<_>>(), "{key:?}");
        assert!(state.windows.get::<crate::tui::exercise::windows::Own>().is_some(), "{:?}", state.windows);
    }
}

#[test]
fn the_diff_of_ones_own_program_resets_the_step_that_it_shows() {
    let mut state = window();
    type_text(&mut state, "d");
    press(&mut state, KeyCode::Left);
    assert!(
        matches!(state.windows.get(), Some(crate::tui::exercise::windows::Diff { number: 3, mine: true, .. })),
        "{:?}",
        state.windows
    );
    assert!(text(&state, 80, 24).contains(" u undo"), "{}", text(&state, 80, 24));
    type_text(&mut state, "u");
    assert!(matches!(state.windows.get(), Some(crate::tui::exercise::windows::ConfirmReset { number: 3 })));
    assert_eq!(type_text(&mut state, "y"), [Effect::ResetExercise(Some(3))]);
    assert!(matches!(state.windows.get(), Some(crate::tui::exercise::windows::Diff { number: 3, mine: true, .. })));
    // The diff of a step is nobody's program.
    type_text(&mut state, "m");
    assert!(!text(&state, 80, 24).contains(" u undo"));
    assert!(
        type_text(&mut state, "u").is_empty()
            && matches!(state.windows.get(), Some(crate::tui::exercise::windows::Diff { mine: false, .. }))
    );
    assert!(state.shared.notice.as_ref().is_some_and(|notice| notice.text.contains("m shows your own program")));
}

#[test]
fn after_it_the_backup_is_named_the_step_is_next_and_nothing_is_built() {
    let mut state = window();
    state.exercise.stage = Stage::Failed("of before".into());
    let news = ExerciseNews::Reset { number: None, program: EXERCISE.into(), backup: "/home/fashion_mnist.1.bak".into() };
    assert!(update(&mut state, Message::Exercise(news)).is_empty());
    assert_eq!((state.exercise.next.and_then(|(number, _)| number), &state.exercise.stage), (Some(1), &Stage::Idle));
    let said = &state.shared.notice.as_ref().unwrap().text;
    assert!(said.contains("the whole program is as it was") && said.contains("/home/fashion_mnist.1.bak"), "{said}");
    // The watcher tells of the same change.
    assert_eq!(update(&mut state, Message::Exercise(ExerciseNews::Saved)), [Effect::ReadExercise]);
    let read = ExerciseNews::Read { path: "/home/fashion_mnist.rs".into(), program: EXERCISE.into() };
    assert!(update(&mut state, Message::Exercise(read)).is_empty());
}

#[test]
fn without_a_program_of_ones_own_there_is_nothing_to_reset() {
    let mut state = samples::never_used();
    state.windows.show(crate::tui::exercise::windows::Own::default());
    type_text(&mut state, "u");
    assert!(state.windows.get::<crate::tui::exercise::windows::Own>().is_some() && state.shared.notice.is_some());
}
