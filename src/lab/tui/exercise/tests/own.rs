//! The learner's own trainer on the screen: what a step changes, in one column and in two.

use crossterm::event::KeyCode;
use ratatui::style::{Color, Modifier};

use crate::course::Done;
use crate::domain::step::Step;
use crate::exercise::TEN_STEPS;
use crate::runs::RunId;
use crate::tui::actions::{Effect, ExerciseNews, TerminalOrder};
use crate::tui::app::update::update;
use crate::tui::exercise::state::Stage;
use crate::tui::message::Message;
use crate::tui::state::State;
use crate::tui::testing::samples;
use crate::tui::tests::{picture, press, text, type_text, window};

const EXERCISE: &str = TEN_STEPS.exercise;

fn solution(step: Step) -> String {
    TEN_STEPS.solution(step.number())
}

/// The diff of step 6 is open.
fn diff(width: u16, height: u16) -> State {
    let mut state = samples::never_used();
    state.shared.course.lessons = samples::lessons();
    update(&mut state, Message::Resize(width, height));
    state.shared.step = Step::AverageMetrics;
    type_text(&mut state, "d");
    assert!(matches!(state.windows.get(), Some(crate::tui::exercise::windows::Diff { number: 6, .. })));
    state
}

#[test]
fn a_diff_is_laid_out() {
    for (width, height) in [(80, 24), (120, 40)] {
        insta::assert_snapshot!(format!("diff_{width}x{height}"), window(&diff(width, height), width, height));
    }
}

#[test]
fn the_diff_has_marks_colours_and_underlined_words() {
    let mut state = diff(120, 60);
    press(&mut state, KeyCode::Char('s'));
    let shown = picture(&state, 120, 60);
    let buffer = shown.backend().buffer();
    let row_with = |needle: &str| {
        let row = |y| (0..120).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        (0..60).find(|y| row(*y).contains(needle)).unwrap_or_else(|| panic!("no `{needle}` in {}", text(&state, 120, 60)))
    };
    let styles = |needle| {
        let y = row_with(needle);
        (0..120).map(|x| buffer[(x, y)].style()).filter(|style| style.fg == Some(Color::Indexed(63))).collect::<Vec<_>>()
    };
    let added = styles("+         let averaged");
    assert!(added.iter().any(|style| style.add_modifier.contains(Modifier::UNDERLINED)), "{added:?}");
    assert!(added.iter().any(|style| !style.add_modifier.contains(Modifier::UNDERLINED)), "only what changed is underlined");
    state.shared.theme.colour = false;
    assert!(text(&state, 120, 60).contains("-         let averaged"), "a mark says it without colour");
}

#[test]
fn the_diff_scrolls_turns_to_other_steps_and_leads_to_the_lesson() {
    let mut state = diff(80, 24);
    let first = text(&state, 80, 24);
    press(&mut state, KeyCode::PageDown);
    let second = text(&state, 80, 24);
    assert_ne!(first, second);
    press(&mut state, KeyCode::PageUp);
    assert_eq!(text(&state, 80, 24), first);
    for _ in 0..20 {
        press(&mut state, KeyCode::Left);
    }
    assert!(matches!(state.windows.get(), Some(crate::tui::exercise::windows::Diff { number: 1, .. })));
    assert_eq!(state.windows.scroll(), Some(0));
    for _ in 0..3 {
        press(&mut state, KeyCode::Right);
    }
    press(&mut state, KeyCode::Char('w'));
    assert!(matches!(state.windows.get(), Some(crate::tui::lesson::reading::Reading { number: 4, .. })), "{:?}", state.windows);
    press(&mut state, KeyCode::Char('d'));
    assert!(matches!(state.windows.get(), Some(crate::tui::exercise::windows::Diff { number: 4, .. })));
    press(&mut state, KeyCode::Esc);
    assert!(state.windows.is_empty());
}

fn read(program: &str) -> Message {
    Message::Exercise(ExerciseNews::Read { path: "/home/you/exercise/fashion_mnist.rs".into(), program: program.into() })
}

/// The editor was opened on a fresh copy.
fn edited() -> State {
    let mut state = samples::never_used();
    update(&mut state, Message::Resize(80, 24));
    assert_eq!(type_text(&mut state, "e"), [Effect::Terminal(TerminalOrder::Edit)]);
    assert_eq!(update(&mut state, read(EXERCISE)), [Effect::WatchExercise]);
    state
}

#[test]
fn a_save_is_built_once_though_editor_and_watcher_tell_of_it() {
    let mut state = edited();
    assert_eq!(update(&mut state, Message::Edited(None)), [Effect::ReadExercise]);
    assert_eq!(update(&mut state, read(EXERCISE)), [], "nothing was changed");
    for told in [Message::Exercise(ExerciseNews::Saved), Message::Edited(None)] {
        assert_eq!(update(&mut state, told), [Effect::ReadExercise]);
    }
    let program = solution(Step::InitAndPin);
    assert_eq!(update(&mut state, read(&program)), [Effect::TryExercise]);
    assert_eq!(update(&mut state, read(&program)), []);
    assert_eq!(update(&mut state, read(&solution(Step::VerboseOnRoot))), [], "one after the other");
    assert_eq!(update(&mut state, Message::Exercise(ExerciseNews::Broken("no".into()))), [Effect::TryExercise]);
    assert_eq!(state.exercise.stage, Stage::Building);
}

#[test]
fn the_window_shows_errors_and_verdicts() {
    let mut state = edited();
    let errors = "fashion_mnist.rs:129:37 (step 8): cannot multiply `f64` by `usize`\n    let initial_lr = config.base_lr * size;\n    ^ \
                  no implementation for `f64 * usize`\n";
    update(&mut state, Message::Exercise(ExerciseNews::Broken(errors.into())));
    insta::assert_snapshot!("exercise_broken_80x24", window(&state, 80, 24));
    let verdicts =
        "step  4 failed: rank 1 started from other weights than rank 0: broadcast the root's before training\nnext: step 5";
    state.exercise.stage = Stage::Judged(Some(RunId(7)), verdicts.into());
    insta::assert_snapshot!("exercise_judged_120x40", window(&state, 120, 40));
    assert_eq!(type_text(&mut state, "d"), [Effect::ReadExercise]);
    assert!(text(&state, 80, 24).contains("Yours and the solution after step 1/10"));
    press(&mut state, KeyCode::Esc);
    assert!(state.windows.get::<crate::tui::exercise::windows::Own>().is_some(), "the diff was opened from here");
}

#[test]
fn what_a_command_found_is_told_before_the_screen_checks_anything() {
    let mut state = edited();
    assert!(text(&state, 80, 24).contains("not checked yet"));
    for step in [1, 2, 5] {
        let done = Done { run: RunId(3), time_s: 0.0, evidence: String::new() };
        state.shared.course.progress.written.insert(step, done);
    }
    assert!(text(&state, 80, 24).contains("passed so far: steps 1-2, 5"), "{}", text(&state, 80, 24));
    press(&mut state, KeyCode::Esc);
    assert_eq!(type_text(&mut state, "E"), [Effect::ReadExercise, Effect::ReadProgress], "a command may have judged it since");
}

#[test]
fn a_program_that_passes_is_tried_further_before_it_is_judged() {
    let mut state = edited();
    update(&mut state, Message::Exercise(ExerciseNews::Started(RunId(3), None)));
    assert!(text(&state, 80, 24).contains("run 3 is running"), "{}", text(&state, 80, 24));
    let effects =
        update(&mut state, Message::Exercise(ExerciseNews::Started(RunId(4), Some("on 3 ranks of two simulated hosts"))));
    assert!(effects.contains(&Effect::Watch(RunId(4))), "it is followed as every run: {effects:?}");
    let screen = text(&state, 80, 24);
    assert!(screen.contains("run 4: once more, on 3 ranks of two simulated hosts"), "{screen}");
    assert!(state.exercise.is_busy(), "a save waits for the end of all of it");
    let (words, notes) = ("step 10 passed: it is\n".to_owned(), vec!["run 3 was the first".to_owned()]);
    let effects = update(&mut state, Message::Exercise(ExerciseNews::Judged { run: Some(RunId(3)), words, notes }));
    assert_eq!(effects, [Effect::ReadProgress], "what is written now shows at once");
    assert!(text(&state, 80, 24).contains("what run 3 shows") && !state.exercise.is_busy());
}

#[test]
fn all_exercises_are_offered_and_one_that_is_taken_up_is_shown_with_its_places() {
    use crate::exercise::{FOUR_CHANGES, Track};
    let mut state = edited();
    assert!(type_text(&mut state, "o").is_empty());
    let listed = text(&state, 80, 24);
    for track in Track::all() {
        assert!(listed.contains(&track.title()), "{}\n{listed}", track.title());
    }
    insta::assert_snapshot!("exercises_80x24", window(&state, 80, 24));
    press(&mut state, KeyCode::Down);
    let track = Track::Program(&FOUR_CHANGES);
    assert_eq!(press(&mut state, KeyCode::Enter), [Effect::ChooseExercise(track), Effect::ReadExercise]);
    // What was asked of the exercise before comes too late.
    assert!(update(&mut state, read(EXERCISE)).is_empty() && state.exercise.path.is_empty());
    let news = ExerciseNews::Read { path: "/home/you/exercise/mnist.rs".into(), program: FOUR_CHANGES.solution(1) };
    assert_eq!(update(&mut state, Message::Exercise(news)), [Effect::WatchExercise]);
    let shown = text(&state, 80, 24);
    assert!(shown.contains("change 2, Scale the rate up"), "{shown}");
}

#[test]
fn another_exercise_waits_for_the_end_of_an_attempt() {
    let mut state = edited();
    update(&mut state, Message::Exercise(ExerciseNews::Started(RunId(3), None)));
    type_text(&mut state, "o");
    press(&mut state, KeyCode::Down);
    assert!(press(&mut state, KeyCode::Enter).is_empty());
    assert!(state.shared.notice.as_ref().is_some_and(|notice| notice.text.contains("wait until that is over")));
    assert!(state.exercise.has_steps() && state.windows.get::<crate::tui::exercise::windows::Tracks>().is_some());
}

#[test]
fn a_program_is_compared_on_one_rank_and_two_where_the_exercise_has_such_runs() {
    use crate::exercise::{FOUR_CHANGES, Track};
    let mut state = edited();
    type_text(&mut state, "v");
    assert!(state.shared.notice.as_ref().is_some_and(|notice| notice.text.contains("press g")), "of the ten steps");
    state.exercise.track = Track::Program(&FOUR_CHANGES);
    assert_eq!(type_text(&mut state, "v"), [Effect::CompareExercise]);
    assert!(type_text(&mut state, "v").is_empty(), "one after the other");
    update(&mut state, Message::Exercise(ExerciseNews::Started(RunId(3), None)));
    update(&mut state, Message::Exercise(ExerciseNews::Started(RunId(4), None)));
    let words = "run 3, 1 rank: 12 epochs in all; 8.0 s\nrun 4, 2 ranks: 6 epochs in all; 4.0 s, 2.00 times as fast\n".to_owned();
    update(&mut state, Message::Exercise(ExerciseNews::Judged { run: None, words, notes: Vec::new() }));
    assert!(text(&state, 80, 24).contains("2.00 times as fast") && !state.exercise.is_busy());
}
