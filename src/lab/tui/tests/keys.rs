//! What each key does in each mode.

use crossterm::event::KeyCode;

use crate::domain::run::RunState;
use crate::domain::step::{Step, StepSet};
use crate::runs::RunId;
use crate::tui::actions::{Effect, Pane, TerminalOrder};
use crate::tui::app::update::update;
use crate::tui::log::state::LogTab;
use crate::tui::message::Message;
use crate::tui::next_run::fields::Field;
use crate::tui::runs::confirm::{Confirm, What};
use crate::tui::state::State;
use crate::tui::testing::samples;
use crate::tui::tests::{press, text, type_text};

#[test]
fn digits_toggle_the_ten_steps() {
    let mut state = samples::never_used();
    for (digit, step) in "1234567890".chars().zip(Step::ALL) {
        press(&mut state, KeyCode::Char(digit));
        assert!(!state.shared.spec.workload.steps.contains(step), "{digit}");
        assert_eq!(state.shared.step, step);
    }
    assert!(state.shared.spec.workload.steps.is_empty());
    type_text(&mut state, "1234567890");
    assert_eq!(state.shared.spec.workload.steps, StepSet::ALL);
}

#[test]
fn a_step_without_its_prerequisite_toggles_and_says_why_it_does_nothing() {
    let mut state = samples::never_used();
    type_text(&mut state, "144");
    assert!(state.shared.spec.workload.steps.contains(Step::Broadcast));
    let notice = state.shared.notice.clone().unwrap().text;
    assert!(notice.contains("step 4") && notice.contains("step 1 is off"), "{notice}");
    assert!(text(&state, 80, 24).contains("[!]"));
    assert!(text(&state, 120, 40).contains("No effect while step 1 is"));
}

#[test]
fn run_starts_what_is_shown() {
    let mut state = samples::never_used();
    type_text(&mut state, "4+");
    let effects = type_text(&mut state, "r");
    let mut spec = samples::spec(3, StepSet::ALL.without(Step::Broadcast));
    spec.workload.seed = state.shared.spec.workload.seed;
    assert_eq!(effects, [Effect::Start { spec: Box::new(spec), preset: "cpu".into() }]);
    let effects = update(&mut state, Message::Started(RunId(1)));
    assert!(effects.contains(&Effect::Watch(RunId(1))) && effects.contains(&Effect::ListRuns), "{effects:?}");
}

#[test]
fn a_second_run_asks_first() {
    let mut state = samples::running();
    assert_eq!(type_text(&mut state, "r"), []);
    assert_eq!(state.windows.get(), Some(&crate::tui::next_run::confirm_start::ConfirmStart::Beside(RunId(2))));
    press(&mut state, KeyCode::Enter);
    assert!(state.windows.is_empty());
    assert!(matches!(type_text(&mut state, "ry")[..], [Effect::Start { .. }]));
}

#[test]
fn stop_asks_and_can_be_declined() {
    let mut state = samples::running();
    type_text(&mut state, "x");
    assert_eq!(press(&mut state, KeyCode::Esc), []);
    // Enter, pressed by habit, ends no run.
    type_text(&mut state, "x");
    assert_eq!((press(&mut state, KeyCode::Enter), state.windows.is_empty()), (vec![], true));
    assert_eq!(type_text(&mut state, "xy"), [Effect::Stop(RunId(2))]);
    let mut idle = samples::compared();
    assert_eq!(type_text(&mut idle, "x"), []);
    assert!(idle.shared.notice.unwrap().text.contains("nothing to stop"));
}

#[test]
fn quit_is_at_once_when_idle_and_asks_when_a_run_is_going() {
    let mut idle = samples::compared();
    type_text(&mut idle, "q");
    assert!(idle.done);
    for (answer, done, effects) in [('l', true, vec![]), ('s', true, vec![Effect::Stop(RunId(2))]), ('n', false, vec![])] {
        let mut state = samples::running();
        type_text(&mut state, "q");
        assert!(state.windows.get::<Confirm>().is_some_and(|asked| asked.what == What::Quit) && !state.done);
        assert_eq!(press(&mut state, KeyCode::Char(answer)), effects);
        assert_eq!(state.done, done, "{answer}");
    }
}

/// Runs 2 and 3 are going, and 2 is on the screen.
fn two_going() -> State {
    let mut state = samples::running();
    let other = samples::summary(3, 2, samples::status(RunState::Running, "training"), None);
    let runs = state.shared.runs.iter().cloned().chain([other]).collect();
    update(&mut state, Message::Runs(runs));
    state
}

#[test]
fn quitting_names_all_runs_that_are_going_and_stops_all_of_them() {
    let mut state = two_going();
    type_text(&mut state, "q");
    let screen = text(&state, 60, 16);
    assert!(screen.contains("Runs 2 and 3 are still running.") && screen.contains("s stop them"), "{screen}");
    assert_eq!(type_text(&mut state.clone(), "l"), []);
    assert_eq!(type_text(&mut state, "s"), [Effect::Stop(RunId(2)), Effect::Stop(RunId(3))]);
    assert!(state.done);
    // To stop one says that the other goes on.
    let mut one = two_going();
    type_text(&mut one, "x");
    assert!(text(&one, 80, 24).contains("Stop run 2? Run 3 goes on."), "{}", text(&one, 80, 24));
    assert_eq!(type_text(&mut one, "y"), [Effect::Stop(RunId(2))]);
}

#[test]
fn a_run_that_has_too_little_room_is_asked_about_where_it_was_started() {
    let mut state = samples::never_used();
    let effects = type_text(&mut state, "r");
    let start = Box::new(effects[0].clone());
    let why = "np 16 is more than 4 ranks on each of the 2 cores here".to_owned();
    update(&mut state, Message::Crowded(why.clone(), start.clone()));
    let screen = text(&state, 60, 16);
    assert!(screen.contains("Start it all the same?") && screen.contains("np 16 is more than 4 ranks"), "{screen}");
    assert!(!screen.contains("--") && !state.shared.is_starting(), "{screen}");
    let mut declined = state.clone();
    assert_eq!((press(&mut declined, KeyCode::Esc), declined.windows.is_empty()), (vec![], true));
    assert_eq!(press(&mut state, KeyCode::Enter), [Effect::Forced(start)]);
    assert!(state.shared.is_starting() && state.windows.is_empty());
    // What belongs to a form or to a series comes back to it.
    let series = Box::new(Effect::BeginSeries(Box::new(crate::course::Series::ablation(&state.shared.spec, "cpu"))));
    state.shared.starting = Default::default();
    update(&mut state, Message::Crowded(why, series.clone()));
    assert_eq!(press(&mut state, KeyCode::Enter), [Effect::Forced(series)]);
    assert!(state.shared.starting.turn && !state.shared.starting.run);
}

#[test]
fn a_message_of_the_screen_names_settings_and_no_flags() {
    let mut state = samples::never_used();
    update(&mut state, Message::Failed("use --np 2, or lower --train-images (`hvd-lab run --np 2`)".into()));
    let notice = state.shared.notice.as_ref().unwrap().text.clone();
    assert_eq!(notice, "use np 2, or lower train images (`hvd-lab run --np 2`)");
    let mut failed = samples::status(RunState::Failed, "1 slot is there, and --min-np is 2");
    failed.failed_process = None;
    update(&mut state, Message::Runs(vec![samples::summary(1, 2, failed, None)]));
    assert!(text(&state, 120, 36).contains("and min np is 2"), "{}", text(&state, 120, 36));
    type_text(&mut state, "B");
    let form = text(&state, 120, 60);
    assert!(form.contains("batch per rank") && !form.contains(" --b"), "{form}");
}

#[test]
fn the_last_results_open_from_every_pane() {
    for pane in Pane::ALL {
        let mut state = samples::compared();
        state.focus = pane;
        type_text(&mut state, "G");
        assert!(state.shared.notice.as_ref().is_some_and(|notice| notice.text.contains("nothing to show yet")), "{pane:?}");
        let series = crate::course::Series::ablation(&state.shared.spec, "cpu");
        state.series.series = Some(series);
        type_text(&mut state, "G");
        assert!(state.windows.get::<crate::tui::series::turns::Turns>().is_some(), "{pane:?}");
    }
}

#[test]
fn an_ablation_on_one_rank_says_what_it_needs() {
    let mut state = samples::never_used();
    type_text(&mut state, "-A");
    let notice = state.shared.notice.clone().unwrap().text;
    assert!(state.windows.is_empty() && notice.contains("2 ranks or more"), "{notice}");
    assert!(!text(&state, 200, 60).lines().last().unwrap().contains("ablation"), "the footer names what works");
    type_text(&mut state, "+A");
    assert!(text(&state, 80, 24).contains("12 runs"));
}

#[test]
fn a_finished_run_continues_for_more_epochs() {
    let mut state = samples::compared();
    type_text(&mut state, "c");
    assert_eq!(state.windows.get(), Some(&crate::tui::runs::confirm::Continue { run: RunId(5), done: 3, more: 3 }));
    press(&mut state, KeyCode::Right);
    assert_eq!(press(&mut state, KeyCode::Enter), [Effect::Continue { run: RunId(5), epochs: 7 }]);
    let mut going = samples::running();
    type_text(&mut going, "c");
    assert!(going.windows.is_empty());
    assert!(going.shared.notice.unwrap().text.contains("still running"));
}

#[test]
fn a_run_without_checkpoints_cannot_continue_and_says_so() {
    let mut state = samples::compared();
    state.shared.runs.last_mut().unwrap().record.as_mut().unwrap().request.spec.workload.training_mut().unwrap().checkpointing =
        false;
    type_text(&mut state, "c");
    assert!(state.windows.is_empty());
    assert!(state.shared.notice.unwrap().text.contains("wrote no checkpoints"));
}

#[test]
fn the_baseline_is_the_users_choice() {
    let mut state = samples::compared();
    assert_eq!(state.shared.baseline().unwrap().id, RunId(1));
    state.focus = Pane::Runs;
    type_text(&mut state, "jjj");
    assert_eq!(state.shared.watched.as_ref().unwrap().id, RunId(2));
    assert_eq!(type_text(&mut state, "b"), [], "its curves are on the screen");
    assert_eq!(state.shared.baseline().unwrap().id, RunId(2));
    let gained = state.shared.comparison(state.shared.summary(RunId(3)).unwrap()).unwrap();
    assert!((gained.speedup.unwrap() - 1990.0 / 1964.0).abs() < 1e-9);
    assert!(state.shared.comparison(state.shared.summary(RunId(4)).unwrap()).is_err(), "another model");
    assert!(state.shared.comparison(state.shared.summary(RunId(5)).unwrap()).is_err(), "other data");
}

#[test]
fn choosing_a_run_shows_it() {
    let mut state = samples::compared();
    state.focus = Pane::Runs;
    let effects = press(&mut state, KeyCode::Down);
    assert!(effects.contains(&Effect::Watch(RunId(4))), "{effects:?}");
    press(&mut state, KeyCode::End);
    assert_eq!(state.shared.watched.as_ref().unwrap().id, RunId(1));
    assert_eq!(press(&mut state, KeyCode::Down), []);
}

#[test]
fn settings_are_stepped_and_typed() {
    let mut state = samples::never_used();
    state.focus = Pane::Settings;
    press(&mut state, KeyCode::Down);
    assert_eq!(state.next_run.field, Field::Of("np"));
    press(&mut state, KeyCode::Right);
    assert_eq!(state.shared.spec.resources.np, 3);
    press(&mut state, KeyCode::Enter);
    press(&mut state, KeyCode::Backspace);
    type_text(&mut state, "12");
    press(&mut state, KeyCode::Enter);
    assert_eq!((state.shared.spec.resources.np, state.windows.is_empty()), (12, true));
}

#[test]
fn typed_text_that_means_nothing_is_explained_in_place_and_changes_nothing() {
    let mut state = samples::never_used();
    state.focus = Pane::Settings;
    press(&mut state, KeyCode::Down);
    press(&mut state, KeyCode::Enter);
    press(&mut state, KeyCode::Backspace);
    type_text(&mut state, "0");
    press(&mut state, KeyCode::Enter);
    assert!(
        matches!(state.windows.get(), Some(crate::tui::next_run::edit::Edit { error: Some(error), .. }) if error.contains("np is 0")),
        "{:?}",
        state.windows
    );
    assert!(text(&state, 80, 24).contains("np is 0"));
    // Keys are text here: no run starts, no step toggles, nothing quits.
    assert_eq!(type_text(&mut state, "rq1"), []);
    assert!(!state.done);
    press(&mut state, KeyCode::Esc);
    assert_eq!((state.shared.spec.resources.np, state.windows.is_empty()), (2, true));
}

#[test]
fn hardware_picks_the_preset_unless_the_user_did() {
    let mut state = samples::fresh();
    update(&mut state, Message::Telemetry(samples::gpu_sample()));
    assert_eq!((state.shared.preset.as_str(), state.shared.spec.resources.np), ("gpu", 8));
    let mut touched = samples::fresh();
    type_text(&mut touched, "+");
    update(&mut touched, Message::Telemetry(samples::gpu_sample()));
    assert_eq!((touched.shared.preset.as_str(), touched.shared.spec.resources.np), ("cpu", 3));
}

#[test]
fn a_failed_run_names_the_rank_the_cause_and_its_last_lines() {
    let mut state = samples::failed();
    let screen = text(&state, 120, 40);
    assert!(screen.contains("failed") && screen.contains("rank 1 was ended by signal 9"), "{screen}");
    assert_eq!(state.log.tab, LogTab::of(1));
    assert!(screen.contains("out of memory: 812 MiB asked"));
    type_text(&mut state, "i");
    let details = text(&state, 80, 24);
    assert!(details.contains("failed first") && details.contains("Last lines") && details.contains("out of memory"), "{details}");
}

#[test]
fn the_command_of_a_run_is_shown_and_copied() {
    let mut state = samples::compared();
    let effects = type_text(&mut state, "iy");
    assert!(
        matches!(&effects[..], [Effect::Terminal(TerminalOrder::Copy(line))] if line.contains("mpirun -np 2")),
        "{effects:?}"
    );
    type_text(&mut state, "q");
    assert_eq!((state.windows.is_empty(), state.done), (true, false));
}

#[test]
fn at_the_start_a_run_that_is_still_going_is_followed() {
    let mut state = samples::fresh();
    let going = samples::summary(1, 2, samples::status(RunState::Running, "training"), None);
    let runs = vec![going, samples::finished(2, 1, 900.0)];
    assert!(update(&mut state, Message::Runs(runs)).contains(&Effect::Watch(RunId(1))));
    let mut idle = samples::fresh();
    let runs = vec![samples::finished(1, 1, 900.0), samples::finished(2, 1, 900.0)];
    assert!(update(&mut idle, Message::Runs(runs)).contains(&Effect::Watch(RunId(2))));
}

#[test]
fn updates_of_another_run_are_not_mixed_in() {
    let mut state = samples::compared();
    let before = text(&state, 120, 40);
    update(&mut state, Message::Updates(RunId(1), samples::updates(2, 3, 10)));
    assert_eq!(text(&state, 120, 40), before);
}

#[test]
fn an_error_is_a_notice_that_goes_with_escape() {
    let mut state = samples::never_used();
    update(&mut state, Message::Failed("mpirun was not found: install Open MPI".into()));
    assert!(text(&state, 80, 24).contains("mpirun was not found"));
    assert!(!state.done);
    press(&mut state, KeyCode::Esc);
    assert_eq!(state.shared.notice, None);
}

#[test]
fn tab_visits_every_pane_and_comes_back() {
    let mut state = samples::never_used();
    for pane in Pane::ALL {
        assert_eq!(state.focus, pane);
        assert!(text(&state, 80, 24).contains(pane.title()), "{pane:?} is on the small screen when it has the focus");
        press(&mut state, KeyCode::Tab);
    }
    assert_eq!(state.focus, Pane::Steps);
    press(&mut state, KeyCode::BackTab);
    assert_eq!(state.focus, Pane::Runs);
    type_text(&mut state, "z");
    assert!(!text(&state, 80, 24).contains("Next run"));
    type_text(&mut state, "z");
    assert!(text(&state, 80, 24).contains("Next run"));
}

#[test]
fn a_long_window_scrolls_to_its_end_and_no_further() {
    let mut state = samples::compared();
    update(&mut state, Message::Resize(80, 24));
    type_text(&mut state, "?");
    for _ in 0..20 {
        press(&mut state, KeyCode::PageDown);
    }
    let end = text(&state, 80, 24);
    press(&mut state, KeyCode::Up);
    assert_ne!(text(&state, 80, 24), end, "one step back shows at once");
    assert!(end.contains("details of the chosen run"));
}

#[test]
fn a_pinned_run_keeps_its_colour_and_letter_while_others_come_and_go() {
    let mut state = samples::compared();
    state.focus = Pane::Runs;
    // Runs 5 (chosen) and 1 (the baseline) show; pin 5, then walk down to 3.
    type_text(&mut state, "p");
    let of = |state: &crate::tui::state::State, run| (state.shared.pins.slot(RunId(run)), state.shared.pins.letter(RunId(run)));
    let five = of(&state, 5);
    assert_eq!(five, (Some(4), Some('E')));
    let effects = type_text(&mut state, "j");
    assert!(effects.contains(&Effect::ReadCurves(RunId(5))), "it is no longer followed: {effects:?}");
    type_text(&mut state, "jp");
    assert_eq!((of(&state, 5), of(&state, 3), of(&state, 4)), (five, (Some(2), Some('C')), (None, None)));
    // Unpinned and no longer chosen: its colour is free.
    press(&mut state, KeyCode::Home);
    type_text(&mut state, "p");
    assert!(!state.shared.pins.contains(RunId(5)) && state.shared.pins.contains(RunId(3)));
    type_text(&mut state, "j");
    assert_eq!(of(&state, 5), (None, None));
}

#[test]
fn runs_never_share_a_colour_and_a_pin_too_many_says_what_to_do() {
    let mut state = samples::never_used();
    update(&mut state, Message::Runs((1..=20).map(|id| samples::finished(id, 1, 900.0)).collect()));
    state.focus = Pane::Runs;
    // 20, 12 and 4 would like the same colour.
    for _ in 0..7 {
        type_text(&mut state, "pjj");
    }
    let notice = state.shared.notice.clone().unwrap();
    assert!(notice.is_error && notice.text.contains("6 runs are pinned (20, 18, 16, 14, 12, 10)"), "{}", notice.text);
    let shown = crate::tui::chart::state::shown(&state.shared);
    assert_eq!(shown.len(), 8);
    let mut slots: Vec<_> = shown.iter().map(|run| state.shared.pins.slot(*run).unwrap()).collect();
    slots.sort_unstable();
    assert_eq!(slots, (0..8).collect::<Vec<_>>());
}
