//! Runs that did not end well: the mark at the end of their curves, and the word beside their names.

use ratatui::style::{Color, Modifier};

use crate::domain::event::{ConfigReport, Event, EventLine};
use crate::domain::run::RunState;
use crate::runs::{RunId, RunUpdate};
use crate::tui::actions::Pane;
use crate::tui::message::Message;
use crate::tui::state::State;
use crate::tui::testing::samples;
use crate::tui::tests::{picture, text, type_text};

const ORANGE: Color = Color::Indexed(131);

/// The chart alone, of a run that came to be so; from a step on its loss may be no number.
fn chart(now: RunState, nan_from: usize) -> State {
    let mut state = samples::running();
    (state.focus, state.slot, state.zoom) = (Pane::Chart, Pane::Chart, true);
    let step = |batch| {
        let loss = if batch < nan_from { 1.0 } else { f64::NAN };
        RunUpdate::Event(EventLine { time_s: 0.0, process: 0, event: Event::Step { epoch: 1, batch, lr: 0.01, loss } })
    };
    let mut updates: Vec<RunUpdate> = (60..90).map(step).collect();
    updates.push(RunUpdate::Status(samples::status(now, "it is as it is")));
    samples::say(&mut state, Message::Updates(RunId(2), updates));
    state
}

/// Where a sign stands in the plots: below the first line, which is the legend.
fn places(state: &State, size: (u16, u16), sign: &str) -> Vec<(u16, u16)> {
    let terminal = picture(state, size.0, size.1);
    let buffer = terminal.backend().buffer();
    let found = buffer.area.positions().filter(|at| at.y > 3 && at.y + 3 < size.1 && buffer[*at].symbol() == sign);
    found.map(|at| (at.x, at.y)).collect()
}

#[test]
fn each_ending_has_its_mark_and_word_at_every_size() {
    let endings = [
        (RunState::Failed, 99, "✗", "✗ failed"),
        (RunState::Stopped, 99, "◼", "◼ stopped"),
        (RunState::Finished, 80, "!", "! diverged"),
        (RunState::Running, 80, "!", "! diverged"),
    ];
    for (now, nan_from, sign, words) in endings {
        let state = chart(now, nan_from);
        for size in [(80, 24), (120, 40), (200, 60)] {
            let screen = text(&state, size.0, size.1);
            assert!(screen.contains(&format!("B run 2 {words}")), "{now:?} at {size:?}:\n{screen}");
            let marks = places(&state, size, sign);
            assert!(!marks.is_empty(), "{now:?} at {size:?}:\n{screen}");
            let terminal = picture(&state, size.0, size.1);
            for mark in marks {
                let cell = &terminal.backend().buffer()[mark];
                assert!(cell.fg == ORANGE && cell.modifier.contains(Modifier::BOLD), "{cell:?}");
            }
            // Its letter still stands beside it.
            assert!(!places(&state, size, "B").is_empty(), "{screen}");
        }
    }
}

#[test]
fn a_mark_needs_no_colour_and_no_unicode() {
    let mut state = chart(RunState::Failed, 99);
    state.shared.theme.colour = false;
    assert!(!places(&state, (80, 24), "✗").is_empty() && text(&state, 80, 24).contains("✗ failed"));
    state.shared.theme.ascii = true;
    let screen = text(&state, 80, 24);
    assert!(screen.is_ascii() && screen.contains("x failed") && !places(&state, (80, 24), "x").is_empty(), "{screen}");
}

#[test]
fn no_mark_where_nothing_went_wrong_or_its_end_is_out_of_sight() {
    for now in [RunState::Running, RunState::Finished] {
        let state = chart(now, 99);
        for sign in ["✗", "◼", "!"] {
            assert!(places(&state, (120, 40), sign).is_empty(), "{now:?} {sign}:\n{}", text(&state, 120, 40));
        }
    }
    let mut state = chart(RunState::Failed, 99);
    // A cursor at the start, and as near as it gets: the end lies to the right of what is shown.
    samples::say(&mut state, Message::Resize(120, 40));
    crate::tui::tests::press(&mut state, crossterm::event::KeyCode::Home);
    type_text(&mut state, "]]]");
    assert!(places(&state, (120, 40), "✗").is_empty(), "{}", text(&state, 120, 40));
    assert!(text(&state, 120, 40).contains("✗ failed"), "the word stays");
}

#[test]
fn in_a_narrow_chart_with_many_runs_the_sign_stays_with_the_name() {
    let mut state = chart(RunState::Failed, 99);
    state.zoom = false;
    for run in &mut state.shared.runs {
        run.record.as_mut().unwrap().request.name = Some("a rather long name of an experiment".into());
    }
    let screen = text(&state, 80, 24);
    assert!(screen.lines().any(|line| line.contains("╭ Chart") && line.contains('✗')), "{screen}");
}

#[test]
fn a_run_that_went_on_with_fewer_ranks_shows_where_and_with_how_many() {
    let mut state = chart(RunState::Running, 99);
    assert!(places(&state, (120, 40), "┊").is_empty());
    let event = |event| RunUpdate::Event(EventLine { time_s: 0.0, process: 0, event });
    let config = ConfigReport { resume_epoch: 1, ..samples::config(3) };
    let updates = vec![event(samples::topology(0, 1)), event(Event::Config(config))];
    samples::say(&mut state, Message::Updates(RunId(2), updates));
    for size in [(80, 24), (120, 40)] {
        assert!(text(&state, size.0, size.1).contains("┊np 1"), "{}", text(&state, size.0, size.1));
    }
}
