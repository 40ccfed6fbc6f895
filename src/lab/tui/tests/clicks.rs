//! What looks clickable is: tabs, curves, devices, titles, answers, entries. Found where they are drawn, then clicked.
//!
//! Never a place by its number: a layout that moves something must not move its answer elsewhere.

use crate::tui::app::keymap;
use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use crate::runs::{RunId, SortKey};
use crate::tui::actions::{Effect, Pane};
use crate::tui::app::update::update;
use crate::tui::chart::graph::{Graph, Tab};
use crate::tui::devices::tests::gpus;
use crate::tui::log::state::LogTab;
use crate::tui::log::tests::pane::Desk;
use crate::tui::message::Message;
use crate::tui::state::State;
use crate::tui::testing::samples;
use crate::tui::tests::mouse::{LEFT, find, mouse, sized};
use crate::tui::tests::{press, text, type_text};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

fn on(state: State, pane: Pane, (columns, rows): (u16, u16)) -> State {
    let mut state = sized(state, columns, rows);
    state.focus = pane;
    if pane.shares_slot() {
        state.slot = pane;
    }
    state
}

fn right_of((column, row): (u16, u16), by: u16) -> (u16, u16) {
    (column + by, row)
}

#[test]
fn a_tab_of_the_log_shows_its_process() {
    for size in SIZES {
        let mut state = on(samples::running(), Pane::Steps, size);
        state.slot = Pane::Log;
        let tabs = find(&state, "root │ 1 │ mpirun │ all");
        for (by, tab) in [(7, LogTab::of(1)), (11, LogTab::LAUNCHER), (19, LogTab::ALL), (2, LogTab::ROOT)] {
            mouse(&mut state, LEFT, right_of(tabs, by));
            assert_eq!((state.focus, state.log.tab), (Pane::Log, tab), "{by} at {size:?}");
        }
    }
}

#[test]
fn a_click_in_the_chart_puts_the_cursor_there_and_a_drag_takes_it_along() {
    for size in SIZES {
        let mut state = on(samples::compared(), Pane::Chart, size);
        state.chart.tab = Tab::Graph(Graph::Loss);
        // The end of the axis below the plot, and the column of the axis' first sign.
        let (corner, axis) = find(&state, "└┬");
        for (column, row) in [(corner + 12, axis - 1), (corner + 8, axis), (corner + 5, axis - 1)] {
            mouse(&mut state, LEFT, (column, row));
            assert_eq!(find(&state, "┴").0, column, "the cursor is drawn where the click was, at {size:?}");
        }
        let before = state.chart.range.cursor.unwrap();
        mouse(&mut state, MouseEventKind::Drag(MouseButton::Left), (corner + 9, axis - 1));
        assert!(state.chart.range.cursor.unwrap() > before && find(&state, "┴").0 == corner + 9);
        mouse(&mut state, MouseEventKind::Up(MouseButton::Left), (corner + 9, axis - 1));
        mouse(&mut state, MouseEventKind::Drag(MouseButton::Left), (corner + 12, axis - 1));
        assert_eq!(find(&state, "┴").0, corner + 9, "a released cursor stays");
        mouse(&mut state, MouseEventKind::ScrollUp, (corner + 9, axis - 1));
        assert_eq!(state.chart.range.magnification(), 2, "the wheel zooms");
        mouse(&mut state, MouseEventKind::ScrollDown, (corner + 9, axis - 1));
        assert_eq!(state.chart.range.magnification(), 1);
    }
}

#[test]
fn a_click_on_another_graph_or_on_a_name_in_the_legend_chooses_it() {
    let mut state = on(samples::compared(), Pane::Chart, (120, 40));
    let place = find(&state, "validation accuracy");
    mouse(&mut state, LEFT, place);
    assert_eq!(state.chart.tab, Tab::Graph(Graph::Accuracy));
    assert_eq!(state.chart.range.cursor, None, "its title is not a place along the curves");
    let baseline = state.shared.baseline().unwrap().id;
    assert_ne!(state.shared.watched.as_ref().unwrap().id, baseline);
    let name = find(&state, "A run 1 ◆");
    assert!(mouse(&mut state, LEFT, right_of(name, 3)).contains(&Effect::Watch(baseline)));
}

#[test]
fn a_device_is_chosen_by_its_row_and_opened_by_a_second_click() {
    for (size, sample) in SIZES.into_iter().flat_map(|size| [(size, gpus(8)), (size, samples::cpu_sample(&[(0, 1)]))]) {
        let mut state = samples::running();
        samples::say(&mut state, Message::Telemetry(sample));
        let mut state = on(state, Pane::Devices, size);
        let (devices, mut clicked) = (state.devices.rows().len(), 0);
        for place in (0..devices).rev() {
            state.devices.choose(place);
            // A neighbour under the cursor keeps the device in sight.
            state.devices.choose(place.saturating_sub(1));
            state.focus = Pane::Steps;
            // A lane each, side by side, and in the table a line or two.
            let bus = format!("00000000:{:02X}:00.0", 0x18 + place);
            let titles = [format!("core {place}"), format!(" GPU{place} "), format!(" {place} █"), format!(" {place} H200"), bus];
            let screen = text(&state, size.0, size.1);
            let Some(title) = titles.into_iter().find(|title| screen.contains(title)) else { continue };
            clicked += 1;
            let row = find(&state, &title);
            mouse(&mut state, LEFT, row);
            assert_eq!((state.focus, state.devices.cursor()), (Pane::Devices, place), "{size:?}");
            let row = find(&state, &title);
            mouse(&mut state, LEFT, row);
            assert!(state.windows.get::<crate::tui::devices::details::Details>().is_some(), "{place} at {size:?}");
            press(&mut state, KeyCode::Esc);
        }
        assert!(clicked > devices / 2, "{clicked} of {devices} at {size:?}");
    }
}

#[test]
fn a_title_of_the_runs_sorts_by_it_and_the_second_click_the_other_way_round() {
    for (size, titles) in
        [((80, 24), &["np", "img/s", "run"][..]), ((200, 60), &["np", "img/s", "time", "test acc", "dev-s", "state", "run"])]
    {
        let mut state = on(samples::compared(), Pane::Runs, size);
        state.zoom = size.0 == 200;
        for (title, order) in [
            ("np", SortKey::Np),
            ("img/s", SortKey::Rate),
            ("time", SortKey::Time),
            ("test acc", SortKey::Accuracy),
            ("dev-s", SortKey::Cost),
            ("state", SortKey::State),
            ("run", SortKey::Number),
        ] {
            if !titles.contains(&title) {
                continue;
            }
            let at = head_place(&state, title);
            mouse(&mut state, LEFT, at);
            assert_eq!((state.runs.sort, state.runs.reverse, state.focus), (order, false, Pane::Runs), "{title} at {size:?}");
            let at = head_place(&state, title);
            mouse(&mut state, LEFT, at);
            assert_eq!((state.runs.sort, state.runs.reverse), (order, true), "{title} at {size:?}");
        }
        let at = head_place(&state, "steps");
        mouse(&mut state, LEFT, at);
        assert!(state.shared.notice.as_ref().unwrap().text.contains("not sorted by steps, but by run, np"));
        let notice = find(&state, "not sorted by steps");
        mouse(&mut state, LEFT, notice);
        assert_eq!(state.shared.notice, None, "a notice goes when it is clicked");
    }
}

/// Where a title stands in the head of the runs.
fn head_place(state: &State, title: &str) -> (u16, u16) {
    let screen = text(state, state.shared.size.0, state.shared.size.1);
    let mut rows = screen.lines().map(|line| line.trim_matches('"')).enumerate();
    let (row, line) = rows.find(|(_, line)| line.contains(" steps ") && line.contains(" speed-up ")).unwrap();
    let from = line[..line.find(" steps ").unwrap()].rfind("run").unwrap();
    let at = line[from..].find(title).unwrap() + from;
    (line[..at].chars().count() as u16, row as u16)
}

#[test]
fn an_arrow_beside_a_value_changes_it() {
    for size in SIZES {
        let mut state = on(samples::never_used(), Pane::Steps, size);
        let label = find(&state, "epochs ");
        mouse(&mut state, LEFT, label);
        let before = state.shared.spec.workload.epochs;
        let arrow = find(&state, "›");
        mouse(&mut state, LEFT, arrow);
        assert_eq!(state.shared.spec.workload.epochs, before + 1, "at {size:?}");
        let arrow = find(&state, "‹");
        mouse(&mut state, LEFT, arrow);
        assert_eq!((state.shared.spec.workload.epochs, state.windows.is_empty()), (before, true));
    }
}

#[test]
fn a_click_beside_a_window_closes_it_and_one_inside_does_not() {
    for size in SIZES {
        for (keys, inside) in [("?", "Help"), ("i", " Run 2 "), (":", "Commands"), ("x", "Stop run 2?"), ("q", "still running")] {
            let mut state = on(samples::running(), Pane::Steps, size);
            type_text(&mut state, keys);
            let window = find(&state, inside);
            mouse(&mut state, LEFT, window);
            assert!(!state.windows.is_empty(), "{keys} at {size:?}");
            assert_eq!(mouse(&mut state, LEFT, (0, 3)), [], "nothing behind is clicked");
            assert_eq!(
                (state.windows.is_empty(), state.done, state.shared.step),
                (true, false, crate::domain::step::Step::InitAndPin),
                "{keys} at {size:?}"
            );
        }
    }
}

#[test]
fn the_answers_of_a_question_are_clicked() {
    for size in SIZES {
        let mut state = on(samples::running(), Pane::Steps, size);
        type_text(&mut state, "x");
        let question = find(&state, "The lab keeps");
        let stay = find_below(&state, "let it run", question.1);
        mouse(&mut state, LEFT, stay);
        assert!(state.windows.is_empty());
        type_text(&mut state, "x");
        let stop = find_below(&state, "stop it", question.1);
        assert_eq!(mouse(&mut state, LEFT, stop), [Effect::Stop(RunId(2))], "at {size:?}");
    }
}

/// As [`find`], below a row and above the footer.
fn find_below(state: &State, words: &str, above: u16) -> (u16, u16) {
    let screen = text(state, state.shared.size.0, state.shared.size.1);
    let rows = screen.lines().map(|line| line.trim_matches('"')).enumerate().skip(usize::from(above) + 1);
    let mut rows = rows.take_while(|(row, _)| row + 1 < usize::from(state.shared.size.1));
    rows.find_map(|(row, line)| Some((line[..line.find(words)?].chars().count() as u16, row as u16))).unwrap()
}

#[test]
fn an_entry_of_the_palette_is_run_by_a_click() {
    for size in SIZES {
        let mut state = on(samples::never_used(), Pane::Steps, size);
        type_text(&mut state, ":");
        // The list scrolls with what is chosen.
        (0..20).for_each(|_| drop(press(&mut state, KeyCode::Down)));
        assert!(matches!(state.windows.get(), Some(crate::tui::help::windows::Palette { chosen: 20, .. })));
        for entry in [7, 12, 20] {
            let words = &keymap::entries()[crate::tui::help::palette::found(keymap::entries(), "", &[])[entry]].text;
            let place = find(&state, &words[..words.len().min(40)]);
            let (mut clicked, mut typed) = (state.clone(), state.clone());
            typed.windows.show(crate::tui::help::windows::Palette { typed: String::new(), chosen: entry });
            let expected = press(&mut typed, KeyCode::Enter);
            assert_eq!(mouse(&mut clicked, LEFT, place), expected, "{words} at {size:?}");
            assert_eq!(text(&clicked, size.0, size.1), text(&typed, size.0, size.1), "{words} at {size:?}");
        }
    }
}

#[test]
fn the_wheel_scrolls_cut_lines_sideways_and_a_palette_where_it_is() {
    let long: String = (0..30).map(|number| format!("<{number:02}> ")).collect();
    let mut desk = Desk::new([(0, long.as_str())]);
    let place = find(&desk.state, "<00>");
    mouse(&mut desk.state, MouseEventKind::ScrollRight, place);
    assert!(
        desk.state.log.left == 0 && desk.state.shared.notice.is_none(),
        "wrapped lines have no sideways, and need no words for it"
    );
    desk.type_text("W");
    mouse(&mut desk.state, MouseEventKind::ScrollRight, place);
    assert!(desk.state.log.left > 0 && !desk.shows("<00>"));
    mouse(&mut desk.state, MouseEventKind::ScrollLeft, place);
    assert!(desk.shows("<00>"));
    let event = MouseEvent { kind: MouseEventKind::ScrollDown, column: place.0, row: place.1, modifiers: KeyModifiers::SHIFT };
    update(&mut desk.state, Message::Mouse(event));
    assert!(!desk.shows("<00>"), "Shift turns the wheel");
    desk.type_text(":");
    mouse(&mut desk.state, MouseEventKind::ScrollDown, (40, 12));
    assert!(matches!(desk.state.windows.get(), Some(crate::tui::help::windows::Palette { chosen: 3, .. })));
}

#[test]
fn the_hints_of_a_line_that_is_typed_are_clicked() {
    let mut desk = Desk::new([(0, "loss 0.5"), (0, "loss nan")]);
    desk.type_text("/n.n");
    let toggle = find(&desk.state, "Ctrl-R");
    mouse(&mut desk.state, LEFT, toggle);
    assert!(desk.shows("Search (regex): n.n"));
    let go = find(&desk.state, "Enter go");
    mouse(&mut desk.state, LEFT, go);
    assert!(desk.state.log.search.as_ref().is_some_and(crate::runs::Pattern::is_regex));
    desk.type_text("/zzz");
    let leave = find(&desk.state, "Esc cancel");
    mouse(&mut desk.state, LEFT, leave);
    assert_eq!((desk.state.windows.is_empty(), desk.state.log.search.as_ref().unwrap().text()), (true, "n.n"));
}
