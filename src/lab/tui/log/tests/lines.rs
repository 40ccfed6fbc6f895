//! The log's regular expressions, and its lines that are scrolled sideways.

use crate::tui::log::ask::Ask;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Modifier;

use crate::tui::app::update::update;
use crate::tui::log::tests::pane::Desk;
use crate::tui::message::Message;
use crate::tui::state::typed_line::TypedLine;
use crate::tui::tests::picture;

fn toggle(desk: &mut Desk) {
    update(&mut desk.state, Message::Key(KeyEvent::new(KeyCode::Char('r'), KeyModifiers::CONTROL)));
}

fn losses() -> Desk {
    let lines: Vec<String> =
        (0..60).map(|step| format!("step {step} Loss {}", if step % 20 == 7 { "nan" } else { "0.5" })).collect();
    Desk::new(lines.iter().map(|line| (0, line.as_str())))
}

fn last_row(desk: &Desk) -> String {
    desk.screen().lines().last().unwrap().trim_matches('"').to_owned()
}

#[test]
fn a_search_becomes_a_regular_expression_by_the_key_that_the_prompt_names() {
    let mut desk = losses();
    desk.type_text(r"/loss n\w+");
    assert!(last_row(&desk).starts_with(r" Search: loss n\w+") && last_row(&desk).contains("Ctrl-R regex"));
    toggle(&mut desk);
    assert!(last_row(&desk).contains("Search (regex): ") && last_row(&desk).contains("Ctrl-R plain text"), "{}", last_row(&desk));
    desk.press(KeyCode::Enter);
    assert!(desk.shows("match 3 of 3") && desk.shows(r"regex /loss n\w+"), "{}", desk.screen());
    let buffer = picture(&desk.state, 80, 24).backend().buffer().clone();
    let reversed = buffer.content.iter().filter(|cell| cell.modifier.contains(Modifier::REVERSED)).map(|cell| cell.symbol());
    assert_eq!(reversed.collect::<String>(), "Loss nan");
    // It is asked for again as it was given.
    desk.type_text("/");
    assert!(last_row(&desk).contains(r"Search (regex): loss n\w+"));
    toggle(&mut desk);
    desk.press(KeyCode::Enter);
    assert!(desk.shows("no match"), "as text it stands nowhere");
}

#[test]
fn a_filter_takes_a_regular_expression_both_ways() {
    let mut desk = losses();
    desk.type_text("f");
    toggle(&mut desk);
    desk.type_text("nan$\n");
    assert!(desk.shows("only with regex “nan$” 3") && desk.shows("step 47 ") && !desk.shows("step 48 "), "{}", desk.screen());
    desk.type_text("!");
    toggle(&mut desk);
    desk.type_text("nan$\n");
    desk.press(KeyCode::Home);
    assert!(desk.shows("only without regex “nan$” 57") && desk.shows("step 4 ") && !desk.shows("step 7 "), "{}", desk.screen());
}

#[test]
fn what_is_no_expression_is_told_in_the_prompt_and_nothing_is_lost() {
    let mut desk = losses();
    desk.type_text("/nan\n/");
    toggle(&mut desk);
    desk.type_text("(");
    assert!(
        last_row(&desk).contains("nan( ") && last_row(&desk).contains("! character 4: unclosed group"),
        "{}",
        last_row(&desk)
    );
    desk.press(KeyCode::Enter);
    assert!(
        matches!(desk.state.windows.get(), Some(TypedLine::<Ask> { text, error: Some(_), .. }) if text == "nan("),
        "the prompt stays"
    );
    assert_eq!(desk.state.log.search.as_ref().unwrap().text(), "nan", "and so does the search");
    desk.type_text("|$)\n");
    assert!(desk.state.windows.is_empty() && desk.shows("match 3 of 3") && desk.shows("regex /nan(|$)"), "{}", desk.screen());
    desk.type_text("/");
    toggle(&mut desk);
    toggle(&mut desk);
    desk.press(KeyCode::Backspace);
    desk.press(KeyCode::Esc);
    assert_eq!(desk.state.log.search.as_ref().unwrap().text(), "nan(|$)", "Esc leaves it as it was");
}

#[test]
fn cut_lines_are_scrolled_sideways_with_a_mark_where_they_go_on() {
    let long: String = (0..30).map(|number| format!("<{number:02}> ")).collect();
    let mut desk = Desk::new([(0, long.as_str()), (0, "short")]);
    desk.type_text(".");
    assert!(desk.shows("W cuts them") && desk.state.log.left == 0, "wrapped lines have no sideways");
    desk.press(KeyCode::Esc);
    desk.type_text("W");
    assert!(desk.shows("<00>") && desk.shows("…│") && desk.shows(", . sideways") && !desk.shows("<29>"), "{}", desk.screen());
    desk.type_text(".");
    assert!(!desk.shows("<00>") && desk.shows("│ …") && desk.shows("…│") && desk.shows("from column "), "{}", desk.screen());
    assert!(!desk.shows("short"), "a line that lies on the left is only marked");
    desk.type_text("..........");
    assert!(desk.shows("<29> │"), "no further than the longest line: {}", desk.screen());
    desk.type_text(",,,,,,,,,,,");
    assert!(desk.shows("<00>") && desk.shows("short"));
    desk.press(KeyCode::Home);
    assert!(desk.shows(" Chart  Log "), "{}", desk.screen());
    desk.type_text(".W");
    assert!(desk.shows("<00>") && desk.shows("<29>"), "wrapped lines begin at their beginning");
}

#[test]
fn a_match_beyond_the_edge_comes_into_sight() {
    let far = format!("{}needle in it", "hay ".repeat(60));
    let mut desk = Desk::new([(0, far.as_str()), (0, "needle at once")]);
    desk.type_text("W/needle\nn");
    assert!(desk.state.log.found.unwrap().line == 0 && desk.shows("needle in it"), "{}", desk.screen());
    desk.type_text("n");
    assert!(desk.shows("needle at once"));
}

#[test]
fn what_stands_on_the_lower_border_has_room_there() {
    let mut desk = losses();
    desk.type_text("W");
    desk.press(KeyCode::Home);
    assert!(desk.shows(" Chart  Log ─") && desk.shows("paused, End: follow") && !desk.shows("sideways"));
    desk.resize(120, 40);
    assert!(desk.shows(", . sideways  paused, End: follow"), "{}", desk.screen());
}
