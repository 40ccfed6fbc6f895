//! Reading a lesson: prediction, hints, the two runs.

use crossterm::event::KeyCode;

use crate::course::{Answered, Level, Outcome, Prediction, Progress, QuestionId, Reading};
use crate::domain::step::{Step, StepSet};
use crate::runs::RunId;
use crate::tui::actions::Effect;
use crate::tui::state::State;
use crate::tui::testing::samples;
use crate::tui::tests::{press, text, type_text, window};

/// The only question of a lesson.
fn asked(lesson: usize) -> QuestionId {
    QuestionId { lesson, question: 0 }
}

/// The lesson of step 4 is open.
fn open() -> State {
    let mut state = samples::never_used();
    state.shared.course.lessons = samples::lessons();
    state.shared.step = Step::Broadcast;
    crate::tui::app::update::update(&mut state, crate::tui::message::Message::Resize(100, 40));
    press(&mut state, KeyCode::Enter);
    assert!(matches!(state.windows.get(), Some(crate::tui::lesson::reading::Reading { number: 4, .. })));
    state
}

#[test]
fn a_lesson_is_laid_out() {
    let mut state = open();
    for (width, height) in [(80, 24), (120, 40)] {
        insta::assert_snapshot!(format!("lesson_{width}x{height}"), window(&state, width, height));
    }
    type_text(&mut state, "1?");
    insta::assert_snapshot!("lesson_answered_120x60", window(&state, 120, 60));
}

/// `d` and `g` are about a step, whichever was chosen before.
#[test]
fn a_lesson_without_a_step_says_so_instead_of_showing_another_one() {
    for number in [15, 16] {
        let mut state = open();
        state.shared.step = Step::NovoGrad;
        state.shared.course.lessons = crate::course::Catalog::embedded().unwrap();
        state.windows.show(crate::tui::lesson::reading::Reading { number, hints: 0, typed: String::new() });
        let footer = text(&state, 120, 40).lines().last().unwrap().to_owned();
        assert!(["g both", "before", "after", "diff"].iter().all(|hint| !footer.contains(hint)), "{footer}");
        assert!(footer.contains("hint") && footer.contains("lessons"), "{footer}");
        for key in ["d", "g"] {
            assert_eq!(type_text(&mut state, key), []);
            assert!(state.windows.get::<crate::tui::lesson::reading::Reading>().is_some(), "{key} opened another window");
            let notice = state.shared.notice.clone().unwrap().text;
            assert!(notice.starts_with("this lesson has no step"), "{key}: {notice}");
        }
    }
}

#[test]
fn the_answer_is_told_after_a_prediction_only() {
    let mut state = open();
    assert!(!text(&state, 120, 60).contains("look again"));
    type_text(&mut state, "9");
    assert!(state.shared.course.answers.is_empty(), "there is no ninth option");
    type_text(&mut state, "1");
    assert!(text(&state, 120, 60).contains("Not quite: no, look again"));
    type_text(&mut state, "2");
    assert!(text(&state, 120, 60).contains("Right: yes, all"));
    assert_eq!(state.shared.course.answers[&asked(4)], Prediction::Choice(1));
}

#[test]
fn a_number_is_typed_mended_and_judged() {
    let mut state = open();
    press(&mut state, KeyCode::Right);
    assert!(matches!(state.windows.get(), Some(crate::tui::lesson::reading::Reading { number: 5, .. })));
    assert_eq!(state.shared.step, Step::FewerSteps);
    type_text(&mut state, "118x");
    press(&mut state, KeyCode::Backspace);
    press(&mut state, KeyCode::Backspace);
    press(&mut state, KeyCode::Enter);
    assert_eq!(state.shared.course.answers[&asked(5)], Prediction::Number(1.0));
    assert!(text(&state, 120, 60).contains("Not quite: more"));
    type_text(&mut state, "29");
    press(&mut state, KeyCode::Enter);
    assert!(text(&state, 120, 60).contains("Right: exactly"));
    type_text(&mut state, "--");
    press(&mut state, KeyCode::Enter);
    assert!(state.shared.notice.clone().unwrap().text.contains("`--` is not a number"));
    press(&mut state, KeyCode::Right);
    assert!(
        matches!(state.windows.get(), Some(crate::tui::lesson::reading::Reading { number: 5, .. })),
        "there is none behind the last"
    );
}

/// What is unfolded stays so in the next lesson: a learner of Rust asks once.
#[test]
fn the_lines_in_rust_unfold() {
    let mut state = open();
    assert_eq!(type_text(&mut state, "f"), []);
    assert!(state.shared.notice.take().unwrap().text.contains("no parts to fold"), "the sample has no code");
    state.shared.course.lessons = crate::course::Catalog::embedded().unwrap();
    press(&mut state, KeyCode::Right);
    let shows = |state: &State, words: &str| text(state, 120, 200).contains(words);
    assert!(shows(&state, "Folded: Horovod with PyTorch, Here in Rust.") && !shows(&state, "let shards"));
    type_text(&mut state, "f");
    assert!(!shows(&state, "Folded:") && shows(&state, "let shards") && shows(&state, "DistributedSampler"));
    press(&mut state, KeyCode::Left);
    assert!(shows(&state, "broadcast_state(comm"));
    type_text(&mut state, "f");
    assert!(shows(&state, "Folded:") && !shows(&state, "broadcast_state(comm"));
}

#[test]
fn hints_come_one_by_one() {
    let mut state = open();
    assert!(!text(&state, 120, 60).contains("first"));
    type_text(&mut state, "H");
    let shown = text(&state, 120, 60);
    assert!(shown.contains("first") && !shown.contains("second") && shown.contains("Hints (1 of 3)"));
    type_text(&mut state, "HHHH");
    assert!(text(&state, 120, 60).contains("third"));
}

#[test]
fn in_a_replay_a_lesson_starts_nothing_and_changes_no_settings() {
    let mut state = open();
    let position = crate::runs::recording::Position { played_s: 1.0, duration_s: 9.0, time_s: 2.0, speed: 1.0, paused: true };
    state.shared.replay = Some(crate::tui::shared::state::Playing { run: RunId(1), hardware: "2 CPU cores".into(), position });
    let before = state.shared.spec.clone();
    for key in ['b', 'a'] {
        assert_eq!(press(&mut state, KeyCode::Char(key)), []);
        assert!(state.shared.notice.take().unwrap().text.contains("this is a recording"));
    }
    assert_eq!(state.shared.spec, before);
}

#[test]
fn the_two_runs_of_a_lesson_start_with_its_steps() {
    for (key, steps) in [('b', "1-3"), ('a', "1-4")] {
        let mut state = open();
        let effects = press(&mut state, KeyCode::Char(key));
        let [Effect::Start { spec, .. }] = &effects[..] else { panic!("{effects:?}") };
        assert_eq!((spec.workload.steps.to_string().as_str(), spec.resources.np, spec.workload.epochs), (steps, 2, 2));
        assert!(state.windows.is_empty());
    }
}

#[test]
fn a_step_without_a_lesson_says_so_and_escape_leads_back() {
    let mut state = open();
    press(&mut state, KeyCode::Esc);
    assert!(state.windows.is_empty());
    state.shared.step = Step::NovoGrad;
    type_text(&mut state, "w");
    assert!(state.shared.notice.clone().unwrap().text.contains("no lesson for step 10"));
}

#[test]
fn what_a_run_shows_of_the_step_stands_in_its_lesson() {
    let mut state = samples::compared();
    state.shared.course.lessons = samples::lessons();
    state.shared.step = Step::Broadcast;
    let watched = state.shared.watched.as_ref().unwrap().id;
    assert_eq!(press(&mut state, KeyCode::Char('w')), [Effect::Judge(watched)]);
    let judged = samples::judged(watched, &[(Step::Broadcast, Outcome::Failed), (Step::FewerSteps, Outcome::Passed)]);
    samples::say(&mut state, crate::tui::message::Message::Judged(Box::new(judged)));
    let shown = text(&state, 120, 60);
    assert!(
        shown.contains("✗ failed: evidence of step 4")
            && shown.contains("Step 4/10, ✗ failed")
            && !shown.contains("evidence of step 5"),
        "{shown}"
    );
    assert!(shown.contains("run 5 was the first to show step 5"), "{shown}");
}

#[test]
fn an_answer_is_kept_and_shown_again() {
    let mut state = open();
    let effects = type_text(&mut state, "1");
    assert_eq!(effects, [Effect::Predict { asked: asked(4), prediction: Prediction::Choice(0), is_right: false }]);
    press(&mut state, KeyCode::Right);
    type_text(&mut state, "29");
    let effects = press(&mut state, KeyCode::Enter);
    assert_eq!(effects, [Effect::Predict { asked: asked(5), prediction: Prediction::Number(29.0), is_right: true }]);

    let mut kept = Progress::default();
    let answered = |index| Answered { question: 0, prediction: Prediction::Choice(index), is_right: index == 1, time_s: 1.0 };
    kept.predictions.insert(4, vec![answered(0), answered(1)]);
    let mut later = open();
    samples::say(&mut later, crate::tui::message::Message::Progress(Reading { progress: kept.clone(), note: None }));
    assert!(text(&later, 120, 60).contains("Right: yes, all"), "the last answer counts");
    // What the file tells late does not undo what was answered meanwhile.
    type_text(&mut later, "1");
    samples::say(&mut later, crate::tui::message::Message::Progress(Reading { progress: kept, note: None }));
    assert_eq!(later.shared.course.answers[&asked(4)], Prediction::Choice(0));
}

#[test]
fn steps_are_marked_done_seen_failed_or_not_yet() {
    let mut state = samples::compared();
    let watched = state.shared.watched.as_ref().unwrap().id;
    let mut judged = samples::judged(watched, &[(Step::Broadcast, Outcome::Failed), (Step::FewerSteps, Outcome::Failed)]);
    judged.reading.progress.note(&samples::verdicts(&[(Step::FewerSteps, Outcome::Passed)]), StepSet::ALL, watched);
    samples::say(&mut state, crate::tui::message::Message::Judged(Box::new(judged.clone())));
    let row = |state: &State, title: &str| {
        let screen = text(state, 80, 24);
        screen.lines().find(|line| line.contains(title)).unwrap().to_owned()
    };
    assert!(row(&state, "4 Broadcast").contains("✗[x]"), "{}", row(&state, "4 Broadcast"));
    assert!(text(&state, 80, 24).contains("╰ · seen in a run  ✗ failed ─"), "{}", text(&state, 80, 24));
    assert!(row(&state, "5 Fewer").contains("·[x]"), "seen once is seen");
    assert!(row(&state, "6 Average").contains("│ [x]"));
    judged.reading.progress.note_pair(Step::FewerSteps, RunId(1), watched);
    samples::say(&mut state, crate::tui::message::Message::Judged(Box::new(judged.clone())));
    assert!(row(&state, "5 Fewer").contains("✓[x]"), "done once is done");
    // A step that was off fails its check by the way: nobody tried.
    judged.record.request.spec.workload.training_mut().unwrap().steps = StepSet::ALL.without(Step::Broadcast);
    samples::say(&mut state, crate::tui::message::Message::Judged(Box::new(judged)));
    assert!(row(&state, "4 Broadcast").contains("│ [x]"));
}

/// What the text of a lesson asks for is never the key that has no room.
#[test]
fn the_footer_names_the_key_that_unfolds_wherever_the_text_does() {
    let mut state = samples::never_used();
    state.shared.course.lessons = crate::course::Catalog::embedded().unwrap();
    let mut seen = 0;
    for number in 0..30 {
        if state.shared.course.lessons.lesson(number).is_none() {
            continue;
        }
        let mut state = state.clone();
        crate::tui::lesson::reading::open_number(&mut state, number);
        for (width, height) in [(60, 16), (80, 24), (120, 36)] {
            let whole = text(&state, width, 400);
            let footer = text(&state, width, height).lines().last().unwrap().to_owned();
            let is_named = whole.contains("Press f");
            assert_eq!(footer.contains(" f fold"), is_named, "lesson {number}: {footer}");
            assert!(footer.contains("Esc"), "lesson {number}: {footer}");
            seen += usize::from(is_named);
        }
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn a_damaged_file_is_told() {
    let mut state = samples::never_used();
    let note = "progress.json was damaged and is kept as progress.damaged-1.json".to_owned();
    samples::say(&mut state, crate::tui::message::Message::Progress(Reading { note: Some(note.clone()), ..Reading::default() }));
    assert_eq!(state.shared.notice.as_ref().unwrap().text, note);
    let mut judged = samples::judged(RunId(1), &[]);
    judged.reading.note = Some(note.clone());
    (judged.first, state.shared.notice) = (vec![(Level::Seen, StepSet::NONE.with(Step::Broadcast))], None);
    samples::say(&mut state, crate::tui::message::Message::Judged(Box::new(judged)));
    let said = state.shared.notice.unwrap().text;
    assert!(said.contains("was the first to show step 4") && said.contains(&note), "{said}");
}
