//! The whole screen in every state at every size: each pane whole and in its frame, and what colours say, cell by cell.

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use crate::tui::actions::Pane;
use crate::tui::app::layout::places;
use crate::tui::app::places::wish;
use crate::tui::devices::tests::gpus;
use crate::tui::message::Message;
use crate::tui::shared::Watched;
use crate::tui::state::State;
use crate::tui::testing::samples;
use crate::tui::tests::looks::SIZES;
use crate::tui::tests::{cut_out, pane, picture, text, type_text};

const LONG: &str = "二つのランク, all ten steps and a name that goes on for much longer than any column has room for";

/// A running lab with so many GPUs.
fn with_gpus(count: usize) -> State {
    let mut state = samples::running();
    samples::say(&mut state, Message::Telemetry(gpus(count)));
    state
}

/// Everything that has a name has a long one.
fn long_names() -> State {
    let mut state = samples::compared();
    let mut sample = gpus(2);
    sample.host = "a-host-with-a-very-long-name.cluster.example.org".into();
    for device in &mut sample.devices {
        device.name = "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition".into();
        device.processes.iter_mut().for_each(|process| process.command = LONG.repeat(3));
    }
    samples::say(&mut state, Message::Telemetry(sample));
    for run in &mut state.shared.runs {
        let record = run.record.as_mut().unwrap();
        (record.request.name, record.request.note) = (Some(LONG.into()), Some(LONG.into()));
    }
    state.shared.data = Some(LONG.into());
    state.shared.preset = LONG.into();
    state
}

/// No GPU is the state of all that name none.
fn states() -> [(&'static str, State); 8] {
    [
        ("empty", samples::never_used()),
        ("running", samples::running()),
        ("finished", samples::compared()),
        ("failed", samples::failed()),
        ("one_gpu", with_gpus(1)),
        ("eight_gpus", with_gpus(8)),
        ("sixteen_gpus", with_gpus(16)),
        ("long_names", long_names()),
    ]
}

fn focus(state: &mut State, pane: Pane) {
    state.focus = pane;
    state.slot = if pane.shares_slot() { pane } else { state.slot };
}

fn shown(state: &State, (width, height): (u16, u16)) -> Vec<(Pane, Rect)> {
    let area = Rect::new(0, 0, width, height);
    let zoomed = state.zoom.then_some(state.focus);
    places(area, zoomed, state.slot, wish(state), &state.preferences.shares).unwrap().panes
}

/// The first cell of some words inside of a rectangle.
fn cell<'a>(buffer: &'a Buffer, rect: Rect, words: &str) -> Option<&'a Cell> {
    rect.rows().find_map(|row| {
        // The second cell of a wide character has a symbol of its own, so columns and characters go together.
        let symbols: Vec<&str> = row.columns().map(|at| buffer[at.as_position()].symbol()).collect();
        let at = symbols.concat().find(words)?;
        let column = symbols
            .iter()
            .scan(0, |bytes, symbol| Some(std::mem::replace(bytes, *bytes + symbol.len())))
            .position(|start| start == at)?;
        Some(&buffer[(row.x + column as u16, row.y)])
    })
}

#[test]
fn every_pane_is_whole_in_its_frame_and_the_focus_is_where_it_is() {
    for (name, mut state) in states() {
        for (size, pane, zoom) in SIZES.into_iter().flat_map(|size| {
            Pane::ALL.map(|pane| (size, pane, false)).into_iter().chain([(size, Pane::ALL[size.0 as usize % 6], true)])
        }) {
            focus(&mut state, pane);
            state.zoom = zoom;
            let terminal = picture(&state, size.0, size.1);
            let buffer = terminal.backend().buffer();
            let panes = shown(&state, size);
            assert!(panes.iter().any(|(shown, _)| *shown == pane), "{name} at {size:?}: the focus is not on the screen");
            for (shown, rect) in panes {
                let context = || format!("{name} at {size:?}, {shown:?}:\n{}", text(&state, size.0, size.1));
                for (at, corner) in [(rect.x, '╭'), (rect.right() - 1, '╮')] {
                    assert_eq!(buffer[(at, rect.y)].symbol(), corner.to_string(), "{}", context());
                    for row in rect.y + 1..rect.bottom() - 1 {
                        assert_eq!(buffer[(at, row)].symbol(), "│", "row {row} of {}", context());
                    }
                }
                assert_eq!(buffer[(rect.x + 2, rect.y)].symbol(), &shown.title()[..1], "{}", context());
                let border = &buffer[(rect.x, rect.y)];
                let expected = state.shared.theme.border(shown == pane);
                assert_eq!(Some(border.fg), expected.fg.or(Some(Default::default())), "{}", context());
                assert_eq!(border.modifier, expected.add_modifier, "{}", context());
            }
        }
    }
}

#[test]
fn colours_say_how_it_stands() {
    let theme = samples::theme();
    let (good, bad, quiet, plain) = (theme.accent(), theme.warn(), theme.dim(), Style::new());
    let all: [(&str, Option<Pane>, &str, Style); 15] = [
        ("empty", Some(Pane::Steps), "[x]  2", good),
        ("empty", Some(Pane::Runs), "No runs yet", quiet),
        ("empty", None, "no run yet", quiet),
        ("running", None, "▶", good),
        ("running", Some(Pane::Runs), "✓", good),
        ("running", Some(Pane::Settings), "epochs", quiet),
        ("finished", None, "✓ finished", good),
        ("finished", Some(Pane::Runs), "◆   1", good),
        ("finished", None, "on generated garments", plain),
        ("failed", None, "✗ failed", bad),
        ("failed", Some(Pane::Log), "how it failed", bad),
        ("one_gpu", Some(Pane::Devices), "37 C", plain),
        ("eight_gpus", Some(Pane::Devices), "N/A", quiet),
        ("sixteen_gpus", Some(Pane::Devices), "37 C", plain),
        ("long_names", Some(Pane::Steps), "[x]  2", good),
    ];
    for (wanted, pane, words, style) in all {
        let (_, mut state) = states().into_iter().find(|(name, _)| *name == wanted).unwrap();
        // The focus elsewhere, where a row under the cursor has a style of its own.
        focus(
            &mut state,
            pane.filter(|pane| pane.shares_slot() || matches!(pane, Pane::Runs | Pane::Devices)).unwrap_or(Pane::Chart),
        );
        for size in SIZES {
            // So many runs or devices have no room beside all else.
            state.zoom = size.0 == 80 && matches!(pane, Some(Pane::Runs | Pane::Devices));
            let terminal = picture(&state, size.0, size.1);
            let place = pane.map_or(Rect::new(0, 0, size.0, 2), |pane| {
                shown(&state, size).into_iter().find(|(shown, _)| *shown == pane).unwrap().1
            });
            let Some(cell) = cell(terminal.backend().buffer(), place, words) else {
                panic!("{wanted} at {size:?}: no `{words}`:\n{}", text(&state, size.0, size.1));
            };
            let context = format!("`{words}` of {wanted} at {size:?}");
            assert_eq!(Some(cell.fg), style.fg.or(Some(Default::default())), "{context}");
            assert_eq!(cell.modifier.contains(Modifier::DIM), style.add_modifier.contains(Modifier::DIM), "{context}");
        }
    }
}

#[test]
fn what_has_no_room_is_left_out_whole() {
    let state = long_names();
    let shown = text(&state, 80, 24);
    let line = |at: usize| shown.lines().nth(at).unwrap();
    assert!(line(0).contains("2 ranks 1950/s  no speed-up: other data") && !line(0).contains('…'), "{}", line(0));
    assert!(line(1).contains("next: ") && !line(1).contains('…'), "{}", line(1));
    assert!(text(&state, 120, 40).contains("82/278 GiB"), "the host's name leaves no room for its figures");
    assert!(text(&with_gpus(1), 120, 40).contains("2 ranks on one GPU share it"));
}

/// What the other files do not have: other devices, and long names in every pane.
#[test]
fn other_devices_and_long_names() {
    for (name, mut state) in states() {
        let panes: &[Pane] = match name {
            "one_gpu" | "sixteen_gpus" => &[Pane::Settings, Pane::Devices],
            "long_names" => &Pane::ALL,
            _ => continue,
        };
        let mut pictures = vec![cut_out(&state, Rect::new(0, 0, 80, 2), 80, 24)];
        for shown in panes {
            focus(&mut state, *shown);
            pictures.push(pane(&state, *shown, 80, 24));
        }
        insta::assert_snapshot!(format!("state_{name}_80x24"), pictures.join("\n"));
    }
}

#[test]
fn nothing_on_the_screen_can_do_more_than_be_read() {
    const HOSTILE: &str = "a\x1b[31mb\u{9b}2Jc\u{202e}d\u{2066}e\u{200b}f\u{feff}g\u{7f}h\ti\u{2028}j\x1b]0;title\x07k";
    let mut state = samples::failed();
    let mut sample = gpus(2);
    sample.host = HOSTILE.into();
    for device in &mut sample.devices {
        device.name = HOSTILE.into();
        device.processes.iter_mut().for_each(|process| process.command = HOSTILE.into());
    }
    samples::say(&mut state, Message::Telemetry(sample));
    for run in &mut state.shared.runs {
        let record = run.record.as_mut().unwrap();
        (record.request.name, record.request.note, record.data_label) =
            (Some(HOSTILE.into()), Some(HOSTILE.into()), HOSTILE.into());
        run.status.message = HOSTILE.into();
        run.status.last_lines = vec![HOSTILE.into()];
    }
    state.shared.watched.as_mut().unwrap().status.as_mut().unwrap().message = HOSTILE.into();
    (state.shared.data, state.shared.preset) = (Some(HOSTILE.into()), HOSTILE.into());
    for notice in [false, true] {
        if notice {
            state.shared.error(HOSTILE);
        }
        for keys in ["", "i", "?"] {
            type_text(&mut state, keys);
            for size in [(80, 24), (120, 40), (200, 60)] {
                let shown = picture(&state, size.0, size.1);
                for cell in &shown.backend().buffer().content {
                    let safe = crate::domain::printable::line(cell.symbol());
                    assert_eq!(safe, cell.symbol(), "{keys:?} at {size:?}");
                }
            }
            crate::tui::tests::press(&mut state, crossterm::event::KeyCode::Esc);
            crate::tui::tests::press(&mut state, crossterm::event::KeyCode::Esc);
        }
    }
}

#[test]
fn a_run_that_cannot_be_read_has_failed_in_the_header_too() {
    let mut state = samples::compared();
    let run = state.shared.runs.last_mut().unwrap();
    run.record = None;
    run.status = samples::status(crate::domain::run::RunState::Failed, "run.json is damaged");
    let shown = text(&state, 120, 40);
    assert!(shown.contains("run 5 ✗ failed") && !shown.contains("run 5 ✓ finished"), "{shown}");
    assert!(shown.contains("run.json is damaged"), "{shown}");
}

#[test]
fn the_header_says_what_a_run_waits_for_on_the_smallest_screen_too() {
    let mut state = samples::compared();
    let message = "hvd-train is still being built, 87 packages so far";
    let watched = state.shared.watched.as_mut().unwrap();
    *watched = Watched::new(watched.id);
    watched.status = Some(samples::status(crate::domain::run::RunState::Preparing, message));
    for (width, height) in [(80, 24), (200, 60)] {
        let shown = text(&state, width, height);
        assert_eq!(shown.matches(message).count(), 1, "{shown}");
    }
}
