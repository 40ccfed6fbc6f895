//! What each command does while a window or a field has the keyboard.
//!
//! Never closes a window without an answer to what it asked.

use ratatui::layout::Rect;

use super::super::effect::Effect;
use super::super::keymap::Command;
use super::super::mode::Mode;
use super::super::pane::details;
use super::super::pane::window::{Reach, reach};
use super::super::runs_view::Change;
use super::super::settings::Field;
use super::super::state::State;
use super::{ask, command, exercise, lesson, palette, runs, series, typed};
use crate::runs::RunId;

pub fn obey(state: &mut State, command: Command) -> Vec<Effect> {
    let reach = reach(state, Rect::new(0, 0, state.size.0, state.size.1));
    // Taken out, so that the state is free while the mode is looked at; put back where it stays.
    match std::mem::take(&mut state.mode) {
        Mode::Normal => Vec::new(),
        Mode::Edit { field, text, .. } => edit(state, field, text, command),
        Mode::Help { mut words, typing: true, .. } => {
            let typing = palette::search(&mut words, command);
            state.mode = Mode::Help { scroll: 0, words, typing };
            Vec::new()
        }
        Mode::Help { scroll, words, .. } => {
            if command != Command::Back {
                let typing = command == Command::SearchHelp;
                state.mode = Mode::Help { scroll: scrolled(scroll, reach, command), words, typing };
            }
            Vec::new()
        }
        Mode::Palette { typed, chosen } => palette::obey(state, typed, chosen, command),
        Mode::Details { run, scroll } => match command {
            Command::Back => Vec::new(),
            Command::Continue => {
                command::continue_run(state);
                Vec::new()
            }
            Command::Baseline => command::baseline(state),
            Command::Copy => {
                state.mode = Mode::Details { run, scroll };
                copy(state, run)
            }
            _ => {
                state.mode = Mode::Details { run, scroll: scrolled(scroll, reach, command) };
                Vec::new()
            }
        },
        Mode::Device { scroll } => {
            if command != Command::Back {
                state.mode = Mode::Device { scroll: scrolled(scroll, reach, command) };
            }
            Vec::new()
        }
        Mode::Lesson { number, scroll, hints, typed } => {
            state.mode = Mode::Lesson { number, scroll: scrolled(scroll, reach, command), hints, typed };
            lesson::obey(state, command)
        }
        Mode::Diff { step, mine, scroll } => exercise::in_diff(state, step, mine, scrolled(scroll, reach, command), command),
        Mode::Exercise { scroll } => exercise::in_window(state, scrolled(scroll, reach, command), command),
        Mode::ConfirmReset { step, diff } => exercise::reset(state, step, diff, command),
        Mode::Series { scroll } => match command {
            Command::Back => Vec::new(),
            Command::Stop => {
                state.mode = Mode::Series { scroll };
                series::cancel(state)
            }
            _ => {
                state.mode = Mode::Series { scroll: scrolled(scroll, reach, command) };
                Vec::new()
            }
        },
        Mode::ConfirmAblation => match command {
            Command::Accept => series::begin_ablation(state),
            _ => Vec::new(),
        },
        Mode::Continue { run, done, more } => match command {
            Command::Back => Vec::new(),
            Command::Accept => {
                state.runs_view.is_starting = true;
                vec![Effect::Continue { run, epochs: done + more }]
            }
            _ => {
                let more = if command == Command::Up { (more + 1).min(999) } else { more.saturating_sub(1).max(1) };
                state.mode = Mode::Continue { run, done, more };
                Vec::new()
            }
        },
        Mode::ConfirmStop { run } => match command {
            Command::Accept => {
                state.inform(format!("stopping run {run} …"));
                vec![Effect::Stop(run)]
            }
            _ => Vec::new(),
        },
        Mode::ConfirmDelete { run } => match command {
            Command::Accept => vec![Effect::Change(Change::Delete(run))],
            _ => Vec::new(),
        },
        Mode::Compare { run, scroll } => match command {
            Command::Back => Vec::new(),
            Command::Baseline => command::baseline(state),
            Command::Export => runs::obey(state, command),
            _ => {
                state.mode = Mode::Compare { run, scroll: scrolled(scroll, reach, command) };
                if command == Command::Published { runs::obey(state, command) } else { Vec::new() }
            }
        },
        Mode::Ask { ask: what, text, .. } => ask::obey(state, what, text, command),
        Mode::ConfirmStart { .. } => match command {
            Command::Accept => command::start(state),
            _ => Vec::new(),
        },
        Mode::Quit { going } => match command {
            Command::LeaveRunning => {
                state.done = true;
                Vec::new()
            }
            Command::StopAndQuit => {
                state.done = true;
                vec![Effect::Stop(going)]
            }
            _ => Vec::new(),
        },
    }
}

fn edit(state: &mut State, field: Field, mut text: String, command: Command) -> Vec<Effect> {
    let before = state.spec.clone();
    match command {
        Command::Back => return Vec::new(),
        Command::Accept | Command::Up | Command::Down => {
            match field.parse(&text, &mut state.spec, &mut state.preset, &state.presets) {
                Ok(()) => {
                    state.touched |= state.spec != before;
                    if command != Command::Accept {
                        command::obey(state, command);
                    }
                }
                // Up and down leave the field as well, with the value it had.
                Err(_) if command != Command::Accept => {
                    command::obey(state, command);
                }
                Err(error) => state.mode = Mode::Edit { field, text, error: Some(error) },
            }
            return command::data_changed(state, &before);
        }
        command => typed::edit(&mut text, command, 24),
    }
    // Tried on a copy: the error shows while typing, the value changes with Enter.
    let error = field.parse(&text, &mut before.clone(), &mut state.preset.clone(), &state.presets).err();
    state.mode = Mode::Edit { field, text, error };
    Vec::new()
}

fn copy(state: &mut State, run: RunId) -> Vec<Effect> {
    let record = state.summary(run).and_then(|summary| summary.record.as_ref());
    let line = record.and_then(|record| record.attempts.last()).map(details::command_line);
    match line {
        Some(line) => vec![Effect::Copy(line)],
        None => {
            state.error(format!("run {run} recorded no command line"));
            Vec::new()
        }
    }
}

fn scrolled(scroll: usize, Reach { last, page }: Reach, command: Command) -> usize {
    match command {
        Command::Up => scroll.saturating_sub(1),
        Command::Down => (scroll + 1).min(last),
        Command::PageUp => scroll.saturating_sub(page),
        Command::PageDown => (scroll + page).min(last),
        Command::First => 0,
        Command::Last => last,
        _ => scroll.min(last),
    }
}
