//! The lecture view: which run it shows, what it says of it, and that the last row can read it.

use crossterm::event::KeyCode;
use ratatui::style::Modifier;

use crate::course::{Catalog, Prediction, QuestionId};
use crate::domain::event::{DigestMoment, Event, EventLine, Metrics};
use crate::domain::run::RunState;
use crate::domain::step::{Step, StepSet};
use crate::runs::{RunId, RunSummary, RunUpdate};
use crate::tui::actions::Effect;
use crate::tui::app::update::update;
use crate::tui::message::Message;
use crate::tui::state::State;
use crate::tui::testing::samples;
use crate::tui::tests::{picture, press, text, type_text};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 36), (200, 60)];

fn with_steps(mut run: RunSummary, steps: StepSet) -> RunSummary {
    run.record.as_mut().unwrap().request.spec.workload.training_mut().unwrap().steps = steps;
    run
}

/// Run 2 goes on without some steps, and both ranks have said what they hold after its first epoch.
fn without(off: StepSet, weights: [&str; 2]) -> State {
    let mut state = samples::running();
    let steps = Step::ALL.into_iter().filter(|step| !off.contains(*step)).collect();
    let going = samples::summary(2, 2, samples::status(RunState::Running, "training"), None);
    samples::say(&mut state, Message::Runs(vec![samples::finished(1, 1, 1023.0), with_steps(going, steps)]));
    let digests = weights.into_iter().enumerate().map(|(process, digest)| {
        let event = Event::Digest { moment: DigestMoment::EpochParameters, epoch: 1, digest: digest.into(), sample: Vec::new() };
        RunUpdate::Event(EventLine { time_s: samples::START + 8.0, process, event })
    });
    samples::say(&mut state, Message::Updates(RunId(2), digests.collect()));
    state.shared.course.lessons = samples::lessons();
    type_text(&mut state, "P");
    state
}

fn lines(state: &State, width: u16, height: u16) -> Vec<String> {
    text(state, width, height).lines().map(|line| line.trim_matches('"').to_owned()).collect()
}

#[test]
fn the_run_that_goes_on_is_shown_whichever_is_chosen() {
    let mut state = samples::compared();
    let mut runs = state.shared.runs.clone();
    runs.push(samples::summary(6, 2, samples::status(RunState::Running, "training"), None));
    samples::say(&mut state, Message::Runs(runs.clone()));
    assert_eq!(state.shared.watched.as_ref().unwrap().id, RunId(5));
    let effects = type_text(&mut state, "P");
    assert!(effects.contains(&Effect::Watch(RunId(6))), "its curves are read: {effects:?}");
    for (width, height) in SIZES {
        let title = lines(&state, width, height)[2].clone();
        assert!(title.starts_with(" run 6 on 2 ranks: running"), "{title}");
        assert!(!text(&state, width, height).contains("run 3 against"), "never the gain of another run");
    }
    // Started by a verb while the view is open.
    press(&mut state, KeyCode::Esc);
    let mut state = samples::compared();
    type_text(&mut state, "P");
    let effects = update(&mut state, Message::Runs(runs));
    assert!(effects.contains(&Effect::Watch(RunId(6))) && lines(&state, 80, 24)[2].contains("run 6 on 2 ranks"));
}

#[test]
fn the_gain_is_large_live_and_dim_until_an_epoch_has_ended() {
    let mut state = samples::running();
    type_text(&mut state, "P");
    let is_dim = |state: &State| {
        let picture = picture(state, 80, 24);
        let buffer = picture.backend().buffer();
        let cell = buffer.content.iter().skip(80 * 3).find(|cell| cell.symbol() == "█").unwrap();
        cell.modifier.contains(Modifier::DIM)
    };
    assert!(lines(&state, 80, 24)[2].contains("run 2 so far against run 1"));
    assert!(is_dim(&state));
    state.shared.runs[1].tally.figures.images_per_sec = Some(1900.0);
    assert!(!is_dim(&state) && text(&state, 80, 24).contains("1.86x of 2x"));
}

#[test]
fn the_step_that_is_off_its_code_the_weights_and_the_question_are_on_every_screen() {
    let state = without(StepSet::NONE.with(Step::Broadcast), ["1f3a2b9c", "9c02aa77"]);
    for (width, height) in SIZES {
        let shown = text(&state, width, height);
        for words in [
            "run 2 so far against run 1",
            "2 ranks against 1: ",
            "of 2x",
            "step 4 off in run 2, on in the next run: Broadcast",
            "BroadcastGlobalVariablesCallback(0)",
            "different weights after epoch 1: rank 0 1f3a2b, rank 1 9c02aa",
            "Who is right?",
            "a) root",
            "b) all",
            "loss",
            "P or Esc: back",
        ] {
            assert!(shown.contains(words), "{words} at {width}x{height}:\n{shown}");
        }
        // But for the footer's keys.
        let lines = lines(&state, width, height);
        let low = &lines[lines.len() - 1 - lines.len() / 8..lines.len() - 1];
        assert!(low.iter().all(|line| line.trim().is_empty()), "{shown}");
        insta::assert_snapshot!(format!("lecture_{width}x{height}"), shown);
    }
    let mut ascii = state;
    ascii.shared.theme.ascii = true;
    assert!(text(&ascii, 80, 24).is_ascii());
}

#[test]
fn equal_weights_are_said_to_be_equal_and_many_ranks_are_counted() {
    let state = without(StepSet::NONE, ["1f3a2b9c", "1f3a2b9c"]);
    assert!(text(&state, 80, 24).contains("2 ranks hold the same weights after epoch 1: 1f3a2b"), "{}", text(&state, 80, 24));
    // What only one of both has reported says nothing yet.
    let mut late = without(StepSet::NONE, ["1f3a2b9c", "1f3a2b9c"]);
    let event = Event::Digest { moment: DigestMoment::EpochParameters, epoch: 2, digest: "77".into(), sample: Vec::new() };
    let line = EventLine { time_s: samples::START + 9.0, process: 0, event };
    samples::say(&mut late, Message::Updates(RunId(2), vec![RunUpdate::Event(line)]));
    assert!(text(&late, 80, 24).contains("the same weights after epoch 1"), "{}", text(&late, 80, 24));
}

#[test]
fn the_first_step_that_is_off_is_meant_unless_the_cursor_is_on_another_one() {
    let off: StepSet = [Step::FewerSteps, Step::Warmup].into_iter().collect();
    let mut state = without(off, ["1", "1"]);
    assert!(text(&state, 80, 24).contains("step 5 off in run 2"), "{}", text(&state, 80, 24));
    assert!(text(&state, 200, 60).contains("run 2 leaves out steps 5,9"), "{}", text(&state, 200, 60));
    state.shared.step = Step::Warmup;
    assert!(text(&state, 80, 24).contains("step 9 off in run 2"));
    // Steps go on and off here too.
    type_text(&mut state, "4");
    assert!(text(&state, 80, 24).contains("step 4 on in run 2, off in the next run: Broadcast"));
    state.shared.notice = None;
    press(&mut state, KeyCode::Esc);
    assert!(text(&state, 80, 24).contains("Next run"));
}

#[test]
fn every_lesson_of_a_step_has_its_question_and_all_answers_at_80x24() {
    for step in Step::ALL {
        let mut state = without(StepSet::NONE.with(step), ["1f3a2b9c", "9c02aa77"]);
        state.shared.course.lessons = Catalog::embedded().unwrap();
        let shown = text(&state, 80, 24);
        assert!(shown.contains('?') && shown.contains(&format!("step {} off", step.number())), "{shown}");
        let lesson = state.shared.course.lessons.of_step(step).unwrap();
        if let crate::course::Answer::Choice { options, .. } = &lesson.questions[0].answer {
            for letter in ["a) ", "b) ", "c) "].iter().take(options.len()) {
                assert!(shown.contains(letter), "{letter} of step {}:\n{shown}", step.number());
            }
        }
    }
}

#[test]
fn an_answer_that_was_given_is_judged_where_there_is_room() {
    let mut state = without(StepSet::NONE.with(Step::Broadcast), ["1", "2"]);
    assert!(text(&state, 120, 36).contains("w: the lesson, where you answer"), "{}", text(&state, 120, 36));
    type_text(&mut state, "w");
    assert!(text(&state, 120, 36).contains("Step 4/10"), "the lesson of the step that is shown");
    press(&mut state, KeyCode::Esc);
    state.shared.course.answers.insert(QuestionId { lesson: 4, question: 0 }, Prediction::Choice(0));
    assert!(text(&state, 200, 60).contains("Not quite: no, look again"), "{}", text(&state, 200, 60));
}

#[test]
fn a_rank_that_failed_is_named_with_its_reason() {
    let mut state = samples::failed();
    type_text(&mut state, "P");
    for (width, height) in [(60, 16), (80, 24), (120, 36), (200, 60)] {
        let shown = text(&state, width, height);
        let lines = lines(&state, width, height);
        assert!(lines[2].contains("run 2 on 2 ranks: failed"), "{shown}");
        let below: String = lines[3..].join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(below.contains("rank 1 was ended by signal 9"), "{shown}");
        assert!(width == 60 || below.contains("out of memory: 812 MiB asked"), "{shown}");
        assert!(shown.lines().filter(|line| line.contains('█')).count() >= 7, "large:\n{shown}");
    }
}

/// The figure is the accuracy where the ranks are as many, as on the first line: a speed-up would be about another run.
#[test]
fn a_run_without_a_step_is_about_its_accuracy() {
    let without = StepSet::ALL.without(Step::Broadcast);
    let mut worse = with_steps(samples::finished(3, 2, 1900.0), without);
    worse.tally.test = Some(Metrics { loss: 1.0, accuracy: 0.55 });
    let mut state = samples::never_used();
    let status = worse.status.clone();
    samples::say(&mut state, Message::Runs(vec![samples::finished(1, 1, 1000.0), samples::finished(2, 2, 1950.0), worse]));
    samples::say(&mut state, Message::Started(RunId(3)));
    samples::say(&mut state, Message::Updates(RunId(3), vec![RunUpdate::Status(status)]));
    type_text(&mut state, "P");
    for (width, height) in SIZES {
        let shown = text(&state, width, height);
        let below: String = lines(&state, width, height)[2..].join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(below.starts_with("run 3 against run 2 "), "{shown}");
        assert!(below.contains("2 ranks without step 4: accuracy 55.0 % instead of 69.4 %"), "{shown}");
        assert!(below.contains("step 4 off in run 3") && !below.contains("1.90x"), "{shown}");
        assert!(shown.lines().filter(|line| line.contains('█')).count() >= 7, "large:\n{shown}");
    }
}

/// What the launcher says of a killed rank is the cause once more; and a question has all of its answers, or is not asked.
#[test]
fn a_failure_is_told_once_and_no_answer_is_left_out() {
    let mut state = samples::failed();
    let mut status = state.shared.watched.as_ref().and_then(|watched| state.shared.status(watched.id)).unwrap().clone();
    status.message += &" in epoch 1 after batch 12: killed by hand, or by the system because memory ran out".repeat(2);
    status.last_lines = vec!["prterun noticed that process rank 1 exited on".into(), "signal 9 (Killed).".into()];
    samples::say(&mut state, Message::Updates(RunId(2), vec![RunUpdate::Status(status)]));
    state.shared.course.lessons = Catalog::embedded().unwrap();
    type_text(&mut state, "P");
    let mut asked = 0;
    for step in Step::ALL {
        state.shared.step = step;
        for (width, height) in [(80, 24), (120, 36), (200, 60)] {
            let shown = text(&state, width, height);
            assert!(!shown.contains("signal 9 (Killed)"), "{shown}");
            let [first, last] = [" a) ", " c) "].map(|answer| shown.contains(answer));
            assert!(!first || last || step_has_two_answers(&state, step), "{step} at {width}x{height}:\n{shown}");
            asked += usize::from(first);
        }
    }
    assert!(asked > 5, "{asked}");
}

fn step_has_two_answers(state: &State, step: Step) -> bool {
    use crate::course::Answer;
    let lesson = state.shared.course.lessons.of_step(step).unwrap();
    matches!(&lesson.questions[0].answer, Answer::Choice { options, .. } if options.len() == 2)
}

#[test]
fn the_figure_fills_the_room_and_names_its_runs() {
    let mut state = samples::compared();
    state.shared.runs[1].record.as_mut().unwrap().request.name = Some("two ranks".into());
    update(&mut state, Message::Started(RunId(2)));
    state.shared.notice = None;
    type_text(&mut state, "P");
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        let shown = text(&state, width, height);
        assert!(
            shown.contains("run 2 (two ranks) against run 1") && shown.contains("2 ranks against 1: 96 % efficiency"),
            "{shown}"
        );
        assert!(shown.contains(" 1.92x of 2x") && !shown.contains("Next run"), "{shown}");
        let rows = shown.lines().filter(|line| line.contains('█')).count();
        assert!(rows >= usize::from(height) / 4, "{rows} of {height}\n{shown}");
    }
}

#[test]
fn a_run_is_never_shown_against_itself() {
    let mut state = samples::compared();
    update(&mut state, Message::Started(RunId(1)));
    type_text(&mut state, "P");
    let shown = text(&state, 120, 40);
    assert!(shown.contains("run 3 against run 1") && shown.contains("4 ranks against 1"), "the best of all: {shown}");
    // A run that cannot be compared gives way as well, and says why.
    update(&mut state, Message::Started(RunId(5)));
    let shown = text(&state, 120, 40);
    assert!(shown.contains("run 3 against run 1") && shown.contains("run 5: other data than the baseline"), "{shown}");
}

#[test]
fn without_a_pair_the_view_says_what_is_missing() {
    let mut state = samples::never_used();
    type_text(&mut state, "P");
    let shown = text(&state, 80, 24);
    assert!(shown.contains("No runs yet") && shown.contains("Run once on 1 rank and once on 2 ranks"), "{shown}");
    assert!(shown.contains("r starts it"), "{shown}");
    samples::say(&mut state, Message::Runs(vec![samples::finished(1, 1, 1023.0)]));
    let shown = lines(&state, 80, 24).join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["Only one run", "can be compared so far", "Run 1 is measured", "settings on 2 ranks."] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let mut other = samples::finished(2, 2, 1900.0);
    other.record.as_mut().unwrap().data_label = "other".into();
    samples::say(&mut state, Message::Runs(vec![samples::finished(1, 1, 1023.0), other]));
    update(&mut state, Message::Started(RunId(2)));
    let shown = text(&state, 120, 36);
    assert!(shown.contains("No speed-up of run 2: other data than the baseline"), "{shown}");
    let mut replay = crate::tui::replay::tests::replayed();
    replay.shared.runs.clear();
    replay.shared.watched = None;
    replay.projector = true;
    assert!(!text(&replay, 80, 24).contains("starts it"), "nothing starts in a replay");
}

#[test]
fn what_a_key_changes_for_the_next_run_is_said_where_no_setting_shows() {
    let mut state = samples::compared();
    type_text(&mut state, "P");
    for (key, said) in [("+", "the next run: 3 ranks, steps 1-10"), ("a", "the next run: 3 ranks, steps none")] {
        type_text(&mut state, key);
        let screen = text(&state, 80, 24);
        assert!(screen.contains(said), "{key}: no `{said}` in\n{screen}");
    }
    press(&mut state, KeyCode::Esc);
    press(&mut state, KeyCode::Esc);
    type_text(&mut state, "+");
    assert!(!text(&state, 80, 24).contains("the next run:"), "Steps and Next run show it");
}
