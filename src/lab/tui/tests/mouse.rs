//! What the mouse does: each thing under the pointer answers, and nothing else does.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use crate::domain::step::Step;
use crate::runs::RunId;
use crate::tui::actions::{Effect, Pane, TerminalOrder};
use crate::tui::app::update::update;
use crate::tui::message::Message;
use crate::tui::next_run::fields::Field;
use crate::tui::state::State;
use crate::tui::testing::samples;
use crate::tui::tests::{press, text, type_text};
use crossterm::event::KeyCode;

pub const LEFT: MouseEventKind = MouseEventKind::Down(MouseButton::Left);

pub fn mouse(state: &mut State, kind: MouseEventKind, (column, row): (u16, u16)) -> Vec<Effect> {
    update(state, Message::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }))
}

/// Column and row where `words` begin on the screen.
pub fn find(state: &State, words: &str) -> (u16, u16) {
    let screen = text(state, state.shared.size.0, state.shared.size.1);
    let rows = screen.lines().map(|line| line.trim_matches('"'));
    let found = rows.enumerate().find_map(|(row, line)| Some((line[..line.find(words)?].chars().count() as u16, row as u16)));
    found.unwrap_or_else(|| panic!("no `{words}` on\n{screen}"))
}

pub fn sized(mut state: State, columns: u16, rows: u16) -> State {
    update(&mut state, Message::Resize(columns, rows));
    state
}

#[test]
fn a_click_chooses_and_toggles_a_step() {
    let mut state = sized(samples::never_used(), 80, 24);
    state.focus = Pane::Runs;
    let (column, row) = find(&state, "Broadcast");
    mouse(&mut state, LEFT, (column, row));
    assert_eq!((state.focus, state.shared.step), (Pane::Steps, Step::Broadcast));
    assert!(state.shared.spec.workload.steps.contains(Step::Broadcast), "its title only chooses");
    mouse(&mut state, LEFT, (2, row));
    assert!(!state.shared.spec.workload.steps.contains(Step::Broadcast), "its mark toggles");
}

#[test]
fn a_click_chooses_a_setting_and_the_second_opens_it() {
    let mut state = sized(samples::never_used(), 120, 40);
    let place = find(&state, "epochs");
    mouse(&mut state, LEFT, place);
    assert_eq!((state.focus, state.next_run.field, state.windows.is_empty()), (Pane::Settings, Field::Of("epochs"), true));
    mouse(&mut state, LEFT, place);
    assert!(matches!(state.windows.get(), Some(crate::tui::next_run::edit::Edit { field: Field::Of("epochs"), .. })));
}

#[test]
fn a_click_shows_the_run_of_its_row_and_the_second_its_details() {
    let mut state = sized(samples::compared(), 120, 40);
    state.focus = Pane::Steps;
    let (column, row) = find(&state, "1023");
    assert!(mouse(&mut state, LEFT, (column, row)).contains(&Effect::Watch(RunId(1))));
    assert_eq!(state.focus, Pane::Runs);
    mouse(&mut state, LEFT, (column, row));
    assert!(matches!(state.windows.get(), Some(crate::tui::runs::details::Details { run: RunId(1), .. })));
    let chosen = state.shared.watched.as_ref().unwrap().id;
    mouse(&mut state, LEFT, (column, row - 1));
    assert_eq!(state.shared.watched.as_ref().unwrap().id, chosen, "nothing behind a window is clicked");
}

#[test]
fn the_names_of_the_shared_place_and_of_the_footer_are_clicked() {
    let mut state = sized(samples::compared(), 80, 24);
    let place = find(&state, "Chart");
    mouse(&mut state, LEFT, place);
    assert_eq!((state.focus, state.slot), (Pane::Chart, Pane::Chart));
    let help = find(&state, "help");
    mouse(&mut state, LEFT, help);
    assert!(state.windows.get::<crate::tui::help::windows::Keys>().is_some());
    let close = find(&state, "Esc close");
    mouse(&mut state, LEFT, close);
    assert!(state.windows.is_empty());
    let quit = find(&state, "quit");
    mouse(&mut state, LEFT, quit);
    assert!(state.done);
}

#[test]
fn the_wheel_scrolls_what_is_under_it_and_leaves_the_focus() {
    let mut state = sized(samples::compared(), 120, 40);
    state.focus = Pane::Steps;
    let place = find(&state, "1023");
    assert!(mouse(&mut state, MouseEventKind::ScrollDown, place).contains(&Effect::Watch(RunId(4))));
    assert_eq!((state.focus, state.shared.step), (Pane::Steps, Step::InitAndPin));
    type_text(&mut state, "?");
    mouse(&mut state, MouseEventKind::ScrollDown, (60, 20));
    assert!(state.windows.has::<crate::tui::help::windows::Keys>() && state.windows.scroll() == Some(3));
}

#[test]
fn the_wheel_over_a_question_answers_nothing() {
    for keys in ["x", "q"] {
        let mut state = sized(samples::running(), 80, 24);
        type_text(&mut state, keys);
        let before = format!("{:?}", state.windows);
        assert_eq!(mouse(&mut state, MouseEventKind::ScrollUp, (40, 12)), []);
        assert_eq!(mouse(&mut state, LEFT, (40, 12)), []);
        assert_eq!(format!("{:?}", state.windows), before);
    }
}

#[test]
fn a_border_is_dragged_and_stays_there() {
    let mut state = sized(samples::compared(), 120, 40);
    let (column, _) = find(&state, " Devices");
    let left = column - 1;
    mouse(&mut state, LEFT, (left, 8));
    mouse(&mut state, MouseEventKind::Drag(MouseButton::Left), (left + 20, 8));
    assert_eq!(find(&state, " Devices").0, column + 20);
    mouse(&mut state, MouseEventKind::Up(MouseButton::Left), (left + 20, 8));
    mouse(&mut state, MouseEventKind::Drag(MouseButton::Left), (left + 30, 8));
    assert_eq!(find(&state, " Devices").0, column + 20, "a released border stays");
    // In a terminal of another size it keeps its part of the width.
    let state = sized(state, 80, 24);
    assert!(find(&state, " Log").0 > 33);
}

#[test]
fn no_border_can_be_dragged_over_a_pane() {
    let mut state = sized(samples::compared(), 120, 40);
    let (column, _) = find(&state, " Devices");
    mouse(&mut state, LEFT, (column - 2, 8));
    for to in [0, 119] {
        mouse(&mut state, MouseEventKind::Drag(MouseButton::Left), (to, 8));
        let screen = text(&state, 120, 40);
        for pane in Pane::ALL {
            assert!(screen.contains(pane.title()), "{pane:?} after {to}");
        }
    }
}

#[test]
fn m_gives_the_mouse_to_the_terminal_and_takes_it_again() {
    let mut state = samples::never_used();
    state.preferences.mouse = true;
    assert_eq!(press(&mut state, KeyCode::Char('m')), [Effect::Terminal(TerminalOrder::CaptureMouse(false))]);
    assert!(state.shared.notice.clone().unwrap().text.contains("press m to give it back"));
    assert_eq!(press(&mut state, KeyCode::Char('m')), [Effect::Terminal(TerminalOrder::CaptureMouse(true))]);
}
