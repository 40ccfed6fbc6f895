//! Names in scripts with wide signs and combined letters: in every pane and window no border moves and no sign is halved.
//!
//! Never asks how a name reads: only where its cells lie.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use unicode_segmentation::UnicodeSegmentation;

use crate::columns;
use crate::domain::run::RunState;
use crate::runs::{RunId, RunUpdate};
use crate::tui::actions::Pane;
use crate::tui::app::layout::places;
use crate::tui::app::places::wish;
use crate::tui::app::view;
use crate::tui::message::Message;
use crate::tui::state::typed_line::TypedLine;
use crate::tui::state::{OpenWindow, State, Window};
use crate::tui::testing::printed::Printed;
use crate::tui::testing::samples;
use crate::tui::tests::picture;

/// Wide, combined, joined by a selector, and plain signs, so that every cut meets half of something.
const NAME: &str = "学習率の比較 e\u{301}a\u{308}o\u{302}n 실행 🚀 長い名前のランはどこでも切れる ﾊﾞｯﾁ x";

/// The same lab with wide names or with short plain ones.
fn lab(name: &str) -> State {
    let mut state = samples::running();
    let mut runs = vec![samples::finished(1, 1, 1023.0), samples::finished(2, 2, 1964.0)];
    for run in &mut runs {
        let record = run.record.as_mut().unwrap();
        (record.request.name, record.request.note) = (Some(name.into()), Some(name.into()));
        (record.host, record.data_label) = (name.into(), name.into());
        record.versions = vec![name.into()];
    }
    samples::say(&mut state, Message::Runs(runs));
    samples::say(&mut state, Message::Data(name.into()));
    let mut sample = samples::gpu_sample();
    sample.host = name.into();
    for device in &mut sample.devices {
        device.name = name.into();
        device.processes.iter_mut().for_each(|process| process.command = name.into());
    }
    sample.devices[5].temperature_celsius = crate::domain::device::Reading::missing(name);
    samples::say(&mut state, Message::Telemetry(sample));
    let mut failed = samples::status(RunState::Failed, name);
    failed.failed_process = Some(1);
    failed.last_lines = vec![name.into()];
    samples::say(&mut state, Message::Updates(RunId(2), vec![RunUpdate::Status(failed)]));
    // Wherever a border crosses them, it meets the middle of a sign in every other line.
    let [even, odd] = ["", "x"].map(|first| format!("{first}{}", "学".repeat(90)));
    let lines = (0..30).flat_map(|_| [(1, even.as_str()), (1, odd.as_str()), (1, name)]);
    Printed::new(2).lines(lines).show(&mut state);
    state
}

/// Every pane, alone and among the others, and every window that shows names.
fn views(name: &str) -> Vec<(String, State)> {
    let state = lab(name);
    let mut views = Vec::new();
    for pane in Pane::ALL {
        for zoom in [false, true] {
            let mut view = State { focus: pane, zoom, ..state.clone() };
            if pane.shares_slot() {
                view.slot = pane;
            }
            views.push((format!("{pane:?}, zoomed: {zoom}"), view.clone()));
            (view.log.cuts, view.log.left) = (true, 3);
            views.push((format!("{pane:?} unwrapped, zoomed: {zoom}"), view));
        }
    }
    let run = RunId(2);
    let typed = || name.repeat(3);
    let modes: [(usize, Box<dyn Window>); 14] = [
        (0, Box::new(crate::tui::runs::details::Details { run, is_training: true })),
        (9, Box::new(crate::tui::runs::details::Details { run, is_training: false })),
        (0, Box::new(crate::tui::runs::compare::Compare { run })),
        (0, Box::new(crate::tui::runs::confirm::Confirm { run, what: crate::tui::runs::confirm::What::Delete })),
        (0, Box::new(crate::tui::devices::details::Details)),
        (20, Box::new(crate::tui::devices::details::Details)),
        (0, Box::new(TypedLine::new(crate::tui::devices::update::DeviceFilter, typed()))),
        (
            0,
            Box::new(TypedLine {
                purpose: crate::tui::log::ask::Ask {
                    prompt: crate::tui::actions::command::Prompt::Search,
                    regex: true,
                    before: None,
                    from: crate::runs::Place::End,
                },
                text: typed(),
                behind: 3,
                error: Some(typed()),
            }),
        ),
        (
            0,
            Box::new(crate::tui::next_run::edit::Edit {
                field: state.next_run.field,
                text: typed(),
                error: Some(typed()),
                untouched: false,
            }),
        ),
        (0, Box::new(TypedLine::new(crate::tui::runs::ask::Asked::Name(run), typed()))),
        (0, Box::new(crate::tui::help::windows::Palette { typed: typed(), chosen: 0 })),
        (0, Box::new(crate::tui::help::windows::Keys { words: typed(), typing: true })),
        (3, Box::new(crate::tui::exercise::windows::Diff { number: 4, of: crate::exercise::Track::default(), mine: true })),
        (0, Box::new(crate::tui::exercise::windows::Own::default())),
    ];
    for (scroll, mode) in modes {
        for slot in [Pane::Log, Pane::Devices] {
            let mut view = State { slot, focus: slot, zoom: true, ..state.clone() };
            view.windows.put_back(0, OpenWindow { window: mode.clone(), scroll });
            view.exercise.path = format!("/home/{name}/main.rs");
            view.exercise.program = format!("// {name}{name}{name}\n").repeat(30);
            view.exercise.stage = crate::tui::exercise::state::Stage::Broken(typed());
            if view.windows.get::<TypedLine<crate::tui::devices::update::DeviceFilter>>().is_some() {
                view.devices.filter = typed();
            }
            views.push((format!("{mode:?} over {slot:?}"), view));
        }
    }
    for is_error in [false, true] {
        let notice = crate::tui::widgets::notice::Notice { text: typed(), is_error };
        let mut noticed = state.clone();
        noticed.shared.notice = Some(notice);
        views.push(("notice".into(), noticed));
    }
    let mut projector = state.clone();
    projector.projector = true;
    views.push(("projector".into(), projector));
    views
}

/// Wide signs have their two cells, and no cell begins with a mark that belongs to a letter before it.
fn well_formed(buffer: &Buffer) -> Result<(), String> {
    for row in buffer.area.rows() {
        for x in row.x..row.right() {
            let cell = &buffer[(x, row.y)];
            let sign = cell.symbol();
            if sign.graphemes(true).count() > 1 || columns::width(sign) == 0 {
                return Err(format!("{sign:?} at {x},{}", row.y));
            }
            if columns::width(sign) == 2 && (x + 1 == row.right() || buffer[(x + 1, row.y)].symbol() != " ") {
                return Err(format!("half of {sign:?} at {x},{}", row.y));
            }
        }
    }
    Ok(())
}

/// The terminal, and what it was asked to show: it leaves out what lies under the second half of a sign.
fn drawn(state: &State, width: u16, height: u16) -> (Terminal<TestBackend>, Buffer) {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let drawn = terminal.draw(|frame| view::draw(frame, state)).unwrap().buffer.clone();
    (terminal, drawn)
}

fn is_frame(sign: &str) -> bool {
    "│╭╮╰╯".contains(sign)
}

/// The left and right border of a pane in every row of it.
fn borders(buffer: &Buffer, pane: Rect) -> Vec<(u16, u16)> {
    let ends = |y| [(pane.x, y), (pane.right() - 1, y)];
    (pane.y..pane.bottom()).flat_map(ends).filter(|at| is_frame(buffer[*at].symbol())).collect()
}

#[test]
fn no_name_moves_a_border_or_is_left_in_halves() {
    for (width, height) in [(80, 24), (81, 24), (120, 40), (200, 60)] {
        for (name, mut state) in views(NAME) {
            state.shared.size = (width, height);
            let (terminal, drawn) = drawn(&state, width, height);
            let buffer = terminal.backend().buffer();
            well_formed(&drawn).unwrap_or_else(|wrong| panic!("{name} at {width}x{height}: {wrong}\n{}", terminal.backend()));
            let zoomed = state.zoom.then_some(state.focus);
            let places =
                places(Rect::new(0, 0, width, height), zoomed, state.slot, wish(&state), &state.preferences.shares).unwrap();
            if state.projector || state.shared.notice.is_some() || !state.windows.is_empty() {
                continue;
            }
            for (pane, place) in places.panes {
                let all = 2 * usize::from(place.height);
                assert_eq!(borders(buffer, place).len(), all, "{pane:?} in {name} at {width}x{height}:\n{}", terminal.backend());
            }
        }
    }
}

/// What stands behind a name in a table stands where it did.
#[test]
fn columns_stay_in_line_behind_wide_names() {
    let places = |name: &str| {
        let state = State { focus: Pane::Devices, slot: Pane::Devices, zoom: true, ..lab(name) };
        let terminal = picture(&state, 120, 40);
        let buffer = terminal.backend().buffer();
        let signs = buffer.area.positions().filter(|at| ["█", "%"].contains(&buffer[*at].symbol()));
        // The table, not the graphs below it.
        signs.filter(|at| at.y < 12).map(|at| (at.x, at.y)).collect::<Vec<_>>()
    };
    assert_eq!(places(NAME), places("plain"));
    assert!(places(NAME).len() > 20);
}

/// In ASCII a wide sign has a sign of one column and a space, so that nothing moves either.
#[test]
fn wide_names_keep_their_columns_in_ascii() {
    for (name, mut state) in views(NAME) {
        state.shared.theme.ascii = true;
        let terminal = picture(&state, 80, 24);
        let buffer = terminal.backend().buffer();
        assert!(buffer.content.iter().all(|cell| cell.symbol().len() == 1 && cell.symbol().is_ascii()), "{name}");
    }
}
