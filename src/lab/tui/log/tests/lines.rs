//! The log's regular expressions, and its lines that are scrolled sideways.

use crate::domain::step::{Step, StepSet};
use crate::runs::RunId;
use crate::tui::actions::{Effect, LogOrder, Pane};
use crate::tui::log::ask::Ask;
use crate::tui::log::state::LogTab;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Modifier;

use crate::tui::app::update::update;
use crate::tui::log::tests::pane::Desk;
use crate::tui::message::Message;
use crate::tui::state::State;
use crate::tui::state::typed_line::TypedLine;
use crate::tui::testing::printed::Printed;
use crate::tui::testing::samples;
use crate::tui::tests::{pane, picture, press};

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

#[test]
fn escape_takes_the_filter_away() {
    let mut desk = losses();
    desk.type_text("fnan\n");
    assert!(desk.shows("only with “nan”") && !desk.shows("step 48 "));
    desk.press(KeyCode::Esc);
    assert!(!desk.shows("only with") && desk.shows("step 59 "), "{}", desk.screen());
    // What was searched for goes first, one thing a key.
    desk.type_text("fstep\n/nan\n");
    desk.press(KeyCode::Esc);
    assert!(desk.shows("only with “step”") && !desk.shows("match"), "{}", desk.screen());
}

/// Run 9, of 60 ranks, with these steps.
fn of_steps(steps: StepSet, np: usize) -> State {
    let mut state = samples::never_used();
    let mut run = samples::finished(9, np, 900.0);
    run.record.as_mut().unwrap().request.spec.workload.training_mut().unwrap().steps = steps;
    update(&mut state, Message::Runs(vec![run]));
    (state.focus, state.slot) = (Pane::Log, Pane::Log);
    state
}

#[test]
fn tabs_that_have_no_room_are_counted_and_can_be_reached() {
    for (width, height) in [(60, 16), (80, 24), (120, 36), (200, 60)] {
        let mut state = of_steps(StepSet::ALL, 60);
        update(&mut state, Message::Resize(width, height));
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..62 {
            let shown = pane(&state, Pane::Log, width, height);
            let title = shown.lines().next().unwrap().trim_matches(['"', '╭', '╮', '─']).to_owned();
            let words: Vec<&str> = title.split('│').map(|part| part.split_whitespace().last().unwrap_or("")).collect();
            let hidden: usize = words.iter().filter_map(|word| word.strip_prefix('+')?.parse::<usize>().ok()).sum();
            let tabs = words.iter().filter(|word| !word.starts_with('+')).count();
            assert_eq!(tabs + hidden, 62, "every tab is shown or counted: {title}");
            assert!(words.contains(&"all"), "{title}");
            assert!(words.contains(&state.log.tab.name().as_str()), "{:?}: {title}", state.log.tab);
            seen.insert(state.log.tab.name());
            press(&mut state, KeyCode::Right);
        }
        assert_eq!(seen.len(), 62, "→ goes to each of them");
    }
}

#[test]
fn the_log_opens_where_the_ranks_print() {
    let without = |step| StepSet::ALL.without(step);
    for (steps, np, tab) in [
        (StepSet::ALL, 2, LogTab::ROOT),
        (without(Step::VerboseOnRoot), 2, LogTab::ALL),
        (without(Step::InitAndPin), 2, LogTab::ALL),
        (without(Step::VerboseOnRoot), 1, LogTab::ROOT),
    ] {
        assert_eq!(of_steps(steps, np).log.tab, tab, "{steps} on {np}");
        // One that was started a moment ago comes into the list later.
        let mut state = samples::never_used();
        update(&mut state, Message::Started(RunId(9)));
        assert_eq!(state.log.tab, LogTab::ROOT);
        let listed = of_steps(steps, np).shared.runs;
        update(&mut state, Message::Runs(listed.clone()));
        assert_eq!(state.log.tab, tab);
        // What one has turned to stays.
        press(&mut state, KeyCode::Tab);
        state.log.tab = LogTab::LAUNCHER;
        update(&mut state, Message::Runs(listed));
        assert_eq!(state.log.tab, LogTab::LAUNCHER);
    }
}

#[test]
fn a_rank_that_prints_nothing_says_why() {
    let said = |steps: StepSet, tab| {
        let mut state = of_steps(steps, 2);
        state.log.tab = tab;
        let mut printed = Printed::new(9).lines([(0, "Epoch 1")]);
        let request = state.log.request(24, None, None);
        printed.answer(&mut state, vec![Effect::Log(RunId(9), LogOrder::Read(request))]);
        pane(&state, Pane::Log, 200, 60)
    };
    assert!(said(StepSet::ALL, LogTab::of(1)).contains("rank 1 prints nothing: step 2 is on"));
    assert!(!said(StepSet::ALL, LogTab::ROOT).contains("prints nothing"));
    let all_print = said(StepSet::ALL.without(Step::VerboseOnRoot), LogTab::of(1));
    assert!(all_print.contains("nothing printed yet") && !all_print.contains("step 2 is on"), "{all_print}");
}
