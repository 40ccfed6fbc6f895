//! The log pane: places, searches, filters, marks, and what it looks like in every state.

use crossterm::event::KeyCode;
use ratatui::style::{Color, Modifier};

use crate::runs::{Place, RunId};
use crate::tui::actions::{Effect, LogOrder, Pane, TerminalOrder};
use crate::tui::app::places::place_of;
use crate::tui::app::update::update;
use crate::tui::message::Message;
use crate::tui::state::State;
use crate::tui::testing::printed::Printed;
use crate::tui::testing::samples;
use crate::tui::tests::{picture, press, text};

/// A screen with the log in front, and what answers it.
pub struct Desk {
    pub state: State,
    printed: Printed,
}

impl Desk {
    /// Run 2 goes on, and printed these lines.
    pub fn new<'a>(lines: impl IntoIterator<Item = (usize, &'a str)>) -> Desk {
        let mut state = samples::running();
        update(&mut state, Message::Resize(80, 24));
        (state.focus, state.slot) = (Pane::Log, Pane::Log);
        let printed = Printed::new(2).lines(lines).show(&mut state);
        Desk { state, printed }
    }

    fn numbered(lines: usize) -> Desk {
        let lines: Vec<String> = (0..lines).map(|line| format!("line {line}.")).collect();
        Desk::new(lines.iter().map(|line| (0, line.as_str())))
    }

    pub fn press(&mut self, code: KeyCode) -> Vec<Effect> {
        let effects = press(&mut self.state, code);
        self.printed.answer(&mut self.state, effects.clone());
        effects
    }

    pub fn type_text(&mut self, keys: &str) -> Vec<Effect> {
        keys.chars().map(|c| self.press(if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) })).last().unwrap_or_default()
    }

    pub fn resize(&mut self, width: u16, height: u16) {
        let effects = update(&mut self.state, Message::Resize(width, height));
        self.printed.answer(&mut self.state, effects);
    }

    pub fn screen(&self) -> String {
        text(&self.state, self.state.shared.size.0, self.state.shared.size.1)
    }

    pub fn shows(&self, wanted: &str) -> bool {
        self.screen().contains(wanted)
    }
}

#[test]
fn the_log_stays_where_one_scrolled_to() {
    let mut desk = Desk::numbered(1_000);
    assert!(desk.shows("line 999."));
    desk.press(KeyCode::PageUp);
    assert!(!desk.shows("line 999.") && desk.shows("paused,"));
    let before = desk.screen();
    desk.printed.print((0..500).map(|_| (0, "more")));
    desk.printed.tell(&mut desk.state);
    assert_eq!(desk.screen(), before);
    desk.press(KeyCode::End);
    assert!(desk.shows("more") && !desk.shows("line 999.") && !desk.shows("paused,"));
    desk.press(KeyCode::Home);
    assert!(desk.shows("line 0.") && desk.shows("line 5."));
    desk.press(KeyCode::Down);
    assert!(!desk.shows("line 0.") && desk.shows("line 1."));
    desk.press(KeyCode::Up);
    desk.press(KeyCode::Up);
    assert!(desk.shows("line 0."));
}

#[test]
fn scrolling_passes_every_line_and_ends_at_the_end() {
    let mut desk = Desk::numbered(700);
    desk.press(KeyCode::Home);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..200 {
        let visible = desk.screen();
        seen.extend(visible.split("line ").skip(1).filter_map(|rest| rest.split('.').next()?.parse::<usize>().ok()));
        if desk.state.log.place == Place::End {
            break;
        }
        desk.press(KeyCode::PageDown);
    }
    assert_eq!(desk.state.log.place, Place::End, "paging down ends in following");
    assert_eq!(seen.len(), 700);
}

#[test]
fn a_short_log_has_nowhere_to_scroll() {
    let mut desk = Desk::numbered(3);
    for code in [KeyCode::Up, KeyCode::PageUp, KeyCode::Home, KeyCode::Down] {
        desk.press(code);
        assert_eq!(desk.state.log.place, Place::End);
    }
}

#[test]
fn a_search_finds_and_hides_nothing() {
    let lines: Vec<String> =
        (0..600).map(|line| format!("step {line}{}", if line % 200 == 77 { " LOSS nan" } else { "" })).collect();
    let mut desk = Desk::new(lines.iter().map(|line| (0, line.as_str())));
    desk.type_text("/loss\n");
    assert!(desk.shows("match 3 of 3"), "{}", desk.screen());
    assert!(desk.shows("▸step 477 LOSS nan") && desk.shows("step 476") && desk.shows("step 478"));
    desk.type_text("n");
    assert!(desk.shows("match 1 of 3") && desk.shows("▸step 77 LOSS nan"), "from the top again: {}", desk.screen());
    desk.type_text("n");
    assert!(desk.shows("match 2 of 3"));
    desk.type_text("N");
    assert!(desk.shows("match 1 of 3"));
    // What is found is reversed, also without colour.
    desk.state.shared.theme.colour = false;
    let terminal = picture(&desk.state, 80, 24);
    let reversed: String = terminal
        .backend()
        .buffer()
        .content
        .iter()
        .filter(|cell| cell.modifier.contains(Modifier::REVERSED))
        .map(|cell| cell.symbol())
        .collect();
    assert_eq!(reversed, "LOSS");
    desk.press(KeyCode::Esc);
    assert!(!desk.shows("match") && desk.shows("step 78"), "Esc ends the search where it was");
    // It goes along while the word is typed, and Esc leads back to where one was.
    desk.type_text("/step 30");
    assert!(desk.shows("▸step 300"), "{}", desk.screen());
    desk.type_text("3");
    assert!(desk.shows("▸step 303"), "{}", desk.screen());
    desk.press(KeyCode::Backspace);
    assert!(desk.shows("▸step 300") && !desk.shows("▸step 303"), "{}", desk.screen());
    desk.press(KeyCode::Esc);
    assert!(!desk.shows("▸") && desk.shows("step 78"), "{}", desk.screen());
    desk.type_text("/nowhere\n");
    assert!(desk.shows("no match") && desk.shows("step 78"));
}

#[test]
fn a_filter_hides_and_its_inverse_shows_the_rest() {
    let lines: Vec<String> = (0..100).map(|line| format!("{} {line}", if line % 10 == 0 { "keep" } else { "noise" })).collect();
    let mut desk = Desk::new(lines.iter().map(|line| (0, line.as_str())));
    desk.type_text("fkeep\n");
    assert!(desk.shows("keep 90") && desk.shows("keep 50") && !desk.shows("noise") && desk.shows("only with “keep” 10"));
    // A search looks through what the filter shows.
    desk.type_text("/0\n");
    assert!(desk.shows("of 10"), "{}", desk.screen());
    desk.type_text("!keep\n");
    desk.press(KeyCode::End);
    assert!(desk.shows("noise 99") && !desk.shows("keep 90") && desk.shows("only without “keep” 90"));
    desk.type_text("!");
    (0..4).for_each(|_| drop(desk.press(KeyCode::Backspace)));
    desk.press(KeyCode::Enter);
    assert!(desk.shows("noise 99") && !desk.shows("only with"), "an empty filter is none");
    desk.type_text("fnothing has this\n");
    assert!(desk.shows("no line with “nothing has this”"));
}

#[test]
fn new_lines_are_filtered_and_counted_as_they_come() {
    let mut desk = Desk::new([(0, "loss 1"), (0, "other")]);
    desk.type_text("floss\n");
    desk.printed.print([(0, "loss 2"), (0, "different")]);
    desk.printed.tell(&mut desk.state);
    assert!(desk.shows("loss 2") && !desk.shows("different") && desk.shows("only with “loss” 2"));
}

#[test]
fn the_merged_view_tells_ranks_by_sign_number_and_colour() {
    let mut desk = Desk::new([(0, "zero"), (1, "one"), (0, "again")]);
    (0..3).for_each(|_| drop(desk.press(KeyCode::Right)));
    for line in ["●0 zero", "▲1 one", "●0 again"] {
        assert!(desk.shows(line), "{line}: {}", desk.screen());
    }
    let terminal = picture(&desk.state, 80, 24);
    let colour_of = |sign: &str| terminal.backend().buffer().content.iter().find(|cell| cell.symbol() == sign).unwrap().fg;
    let (zero, one) = (colour_of("●"), colour_of("▲"));
    assert!(zero != one && zero != Color::Reset && one != Color::Reset, "{zero:?} {one:?}");
}

#[test]
fn marked_lines_are_copied_else_those_on_the_screen() {
    let mut desk = Desk::numbered(100);
    let copied = |effects: Vec<Effect>| match effects.as_slice() {
        [Effect::Terminal(TerminalOrder::Copy(text))] => text.clone(),
        other => panic!("{other:?}"),
    };
    let visible = copied(desk.type_text("y"));
    assert!(visible.ends_with("line 98.\nline 99.\n") && !visible.contains("line 50."));
    desk.type_text("V");
    desk.press(KeyCode::Up);
    desk.press(KeyCode::Up);
    assert!(desk.shows("3 marked") && desk.shows("┃line 97."), "{}", desk.screen());
    assert_eq!(copied(desk.type_text("y")), "line 97.\nline 98.\nline 99.\n");
    assert!(!desk.shows("marked"), "copying ends the marking");
    desk.type_text("V");
    assert!(desk.shows("1 marked") && desk.shows("┃line 99."), "the first marked line is on the screen");
}

#[test]
fn saving_names_the_run_the_tab_and_the_view() {
    let mut desk = Desk::numbered(10);
    desk.type_text("f7\n");
    let effects = desk.type_text("o");
    let [Effect::Log(run, LogOrder::Save(query, name))] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!((*run, name.as_str(), query), (RunId(2), "run-2-root", &desk.state.log.query()));
}

#[test]
fn times_count_from_the_launch() {
    let mut desk = Desk::new([(0, "first"), (0, "second")]);
    desk.type_text("@");
    assert!(desk.shows("0:00.2 first") && desk.shows("0:00.5 second"), "{}", desk.screen());
}

#[test]
fn long_and_wide_lines_are_wrapped_or_cut_and_never_left_out() {
    let long = format!("begin {} end", "words and more ".repeat(12));
    let wide = "進捗：学習率を上げる".repeat(4);
    let mut desk = Desk::new([(0, long.as_str()), (0, wide.as_str()), (0, "last")]);
    let joined: String = desk.screen().split_whitespace().collect();
    assert!(joined.contains("end") && desk.shows("last"));
    desk.type_text("W");
    assert!(desk.shows("begin") && desk.shows("…") && desk.shows("last") && !desk.shows(" end"), "{}", desk.screen());
}

#[test]
fn no_escape_sequence_of_a_trainer_reaches_the_screen() {
    let nasty = "\x1b[2J\x1b[31mred\x1b[0m \x1b]52;c;AAAA\x07bell\x07 \u{9b}5n \u{202e}right to left";
    let mut desk = Desk::new([(0, nasty)]);
    desk.type_text("/red\n");
    let terminal = picture(&desk.state, 80, 24);
    for cell in &terminal.backend().buffer().content {
        assert!(!cell.symbol().chars().any(char::is_control) && !cell.symbol().contains('\u{202e}'), "{cell:?}");
    }
    assert!(desk.shows("red bell"));
    let Some(Effect::Terminal(TerminalOrder::Copy(copied))) = desk.type_text("y").pop() else { panic!("nothing copied") };
    assert!(!copied.trim_end().chars().any(char::is_control));
}

#[test]
fn a_tab_is_empty_until_it_is_read_and_never_shows_another_ranks_lines() {
    let mut desk = Desk::new([(0, "of rank zero"), (1, "of rank one")]);
    let effects = press(&mut desk.state, KeyCode::Right);
    assert!(desk.shows("reading …") && !desk.shows("of rank zero"));
    desk.printed.answer(&mut desk.state, effects);
    assert!(desk.shows("of rank one"));
}

#[test]
fn a_page_of_a_run_that_is_not_shown_any_more_is_left_alone() {
    let mut desk = Desk::numbered(5);
    let page = Box::new(desk.state.log.page.clone());
    update(&mut desk.state, Message::Started(RunId(3)));
    update(&mut desk.state, Message::Log(RunId(2), page));
    assert!(!desk.shows("line 4."));
}

#[test]
fn log_states_look_as_they_did() {
    let lines: Vec<String> = (0..120)
        .map(|line| format!("Epoch {}/3  step {line}/93  loss {:.3}", 1 + line / 40, 2.3 / (1.0 + f64::from(line) / 20.0)))
        .collect();
    let all: Vec<(usize, &str)> = lines.iter().enumerate().map(|(index, line)| (index % 2, line.as_str())).collect();
    let states: [(&str, &str); 8] = [
        ("following", ""),
        ("frozen", "kkkkk"),
        ("merged", "lll"),
        ("searched", "lll/loss 0.9\n"),
        ("typing", "/loss 0."),
        ("filtered", "fstep 1\n"),
        ("times", "lllt"),
        ("marked", "Vkk"),
    ];
    for (name, keys) in states {
        let mut desk = Desk::new(all.clone());
        desk.type_text(keys);
        insta::assert_snapshot!(format!("log_{name}_80x24"), pane(&desk.state));
    }
    let mut desk = Desk::new([]);
    insta::assert_snapshot!("log_empty_80x24", pane(&desk.state));
    desk.printed.print(all);
    desk.printed.tell(&mut desk.state);
    desk.type_text("z");
    insta::assert_snapshot!("log_zoomed_80x24", pane(&desk.state));
}

/// The log alone: the other panes have pictures of their own.
fn pane(state: &State) -> String {
    let place = place_of(state, Pane::Log).unwrap();
    let terminal = picture(state, state.shared.size.0, state.shared.size.1);
    let row = |y| -> String { (place.x..place.right()).map(|x| terminal.backend().buffer()[(x, y)].symbol()).collect() };
    (place.y..place.bottom()).map(|y| row(y) + "\n").collect()
}

/// The promise is a ratio: a million lines cost a key press what ten thousand do, and the screen keeps none of them.
#[test]
fn a_million_lines_are_as_quick_and_as_small_as_ten_thousand() {
    let measure = |lines: usize| {
        let texts: Vec<String> = (0..1_000).map(|line| format!("rank 0 step {line} loss 0.4{line} images/sec 1964")).collect();
        let mut desk = Desk::new((0..lines).map(|line| (line % 2, texts[line % 1_000].as_str())));
        (0..3).for_each(|_| drop(desk.press(KeyCode::Right)));
        assert_eq!(desk.state.log.page.shown, lines);
        let mut times = Vec::new();
        for code in [KeyCode::Home, KeyCode::PageDown, KeyCode::Down, KeyCode::End, KeyCode::PageUp, KeyCode::Up].repeat(8) {
            let before = std::time::Instant::now();
            desk.press(code);
            desk.screen();
            times.push(before.elapsed());
        }
        times.sort_unstable();
        assert!(desk.state.log.page.lines.len() < 1_000, "the screen keeps a page");
        (times[times.len() / 2], desk.printed.index_bytes())
    };
    let (few, few_bytes) = measure(10_000);
    let (many, many_bytes) = measure(1_000_000);
    // Generous: a machine that does other things as well must not fail it; a screen that looks at every line does.
    assert!(many < few * 10 + std::time::Duration::from_millis(10), "{few:?} and {many:?}");
    assert!(many_bytes < 1 << 20, "{few_bytes} and {many_bytes} bytes for a million lines");
}
