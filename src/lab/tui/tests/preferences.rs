//! Tour, dragged-back borders, and what happens when a run ends.

use crossterm::event::KeyCode;

use crate::domain::run::RunState;
use crate::domain::step::Step;
use crate::runs::{RunId, RunUpdate};
use crate::tui::actions::{Effect, Pane, TerminalOrder};
use crate::tui::app::update::update;
use crate::tui::app::view;
use crate::tui::help::state::{OFFER, TOUR, WATCH};
use crate::tui::help::tour;
use crate::tui::message::Message;
use crate::tui::preferences::Split;
use crate::tui::testing::samples;
use crate::tui::tests::{press, text, type_text};

/// The window of the tour, without what is around it.
fn tour_page(shown: &str) -> String {
    let rows: Vec<Vec<char>> = shown.lines().map(|line| line.chars().collect()).collect();
    let begins = |row: &&Vec<char>| row.windows(6).any(|part| part.iter().collect::<String>() == "╭ Tour");
    let top = rows.iter().position(|row| begins(&row)).expect("a page is on the screen");
    let left = rows[top].windows(6).position(|part| part.iter().collect::<String>() == "╭ Tour").unwrap();
    let wide = rows[top][left..].iter().position(|sign| *sign == '╮').unwrap();
    let high = rows[top..].iter().position(|row| row[left] == '╰').unwrap();
    rows[top..=top + high].iter().map(|row| row[left..=left + wide].iter().collect::<String>() + "\n").collect()
}

#[test]
fn the_tour_explains_the_idea_in_five_pages_and_fits_every_screen() {
    assert!(TOUR.len() <= 5);
    let words: String = TOUR.iter().map(|page| page.words(false)).collect();
    for word in ["process", "rank", "np", "root", "allreduce", "efficiency"] {
        assert!(words.contains(word) || word == "efficiency" && words.contains("94 %"), "{word} is not explained");
    }
    assert!(
        TOUR.iter().any(|page| page.words(false).contains("`C` plays an allreduce") && page.keys == "C"),
        "collectives have a stop"
    );
    for replay in [false, true] {
        let mut state = if replay { crate::tui::replay::tests::replayed() } else { samples::compared() };
        state.help.start_tour();
        for (page, title) in TOUR.iter().map(|page| page.title).enumerate() {
            for (width, height) in [(60, 16), (80, 24), (120, 36), (200, 60)] {
                let shown = tour_page(&text(&state, width, height));
                assert!(shown.contains(&format!("Tour {} of {}: {title}", page + 1, TOUR.len())), "{shown}");
                let words = TOUR[page].words(replay);
                let plain = shown.replace(['│', '\n'], " ");
                for word in words.replace('`', "").split_whitespace() {
                    assert!(plain.contains(word), "{word} of page {page} is cut at {width}x{height}:\n{shown}");
                }
                let keys = if page + 1 == TOUR.len() { "Enter ends the tour" } else { "Enter goes on  Esc ends it" };
                assert!(shown.contains(keys), "{keys} at {width}x{height}:\n{shown}");
                if width == 80 && !replay {
                    insta::assert_snapshot!(format!("tour_{}_80x24", page + 1), shown);
                }
            }
            press(&mut state, KeyCode::Enter);
        }
        assert_eq!((state.help.tour, state.windows.is_empty()), (None, true));
    }
}

#[test]
fn the_tour_starts_the_first_run_and_goes_on_with_it() {
    for key in [KeyCode::Enter, KeyCode::Char('r')] {
        let mut state = samples::never_used();
        state.help.start_tour();
        press(&mut state, KeyCode::Enter);
        press(&mut state, KeyCode::Enter);
        assert_eq!(state.help.tour, Some(OFFER));
        assert!(text(&state, 80, 24).contains("Enter starts the first run"), "{}", text(&state, 80, 24));
        assert!(matches!(press(&mut state, key)[..], [Effect::Start { .. }]));
        assert!(text(&state, 80, 24).contains("a run is starting …"));
        assert_eq!((press(&mut state, KeyCode::Enter).len(), state.help.tour), (0, Some(OFFER)), "it starts once");
        update(&mut state, Message::Started(RunId(1)));
        assert_eq!(state.help.tour, Some(WATCH));
        update(&mut state, Message::Updates(RunId(1), samples::updates(2, 1, 20)));
        let ended = samples::status(RunState::Finished, "finished");
        update(&mut state, Message::Updates(RunId(1), vec![RunUpdate::Status(ended)]));
        assert_eq!(state.help.tour, Some(WATCH + 1), "what came of it is explained");
    }
}

#[test]
fn a_first_run_that_cannot_start_or_fails_is_no_part_of_the_tour() {
    let mut state = samples::never_used();
    state.help.start_tour();
    press(&mut state, KeyCode::Enter);
    press(&mut state, KeyCode::Enter);
    press(&mut state, KeyCode::Enter);
    update(&mut state, Message::Failed("the trainer is not built".into()));
    assert_eq!(state.help.tour, Some(OFFER), "try again");
    update(&mut state, Message::Started(RunId(1)));
    update(&mut state, Message::Updates(RunId(1), samples::updates(2, 1, 20)));
    update(&mut state, Message::Updates(RunId(1), vec![RunUpdate::Status(samples::status(RunState::Failed, "no"))]));
    assert_eq!(state.help.tour, None, "what went wrong is in sight");
}

#[test]
fn a_replay_offers_no_run() {
    let mut state = crate::tui::replay::tests::replayed();
    state.shared.runs.clear();
    state.help.tour = Some(OFFER);
    let shown = text(&state, 80, 24);
    assert!(!shown.contains("starts the first run") && shown.contains("nothing starts here"), "{shown}");
    assert_eq!(press(&mut state, KeyCode::Enter), []);
    assert_eq!(state.help.tour, Some(WATCH));
}

#[test]
fn the_tour_stays_with_its_own_keys_and_ends_with_any_other() {
    let mut state = samples::never_used();
    state.help.start_tour();
    press(&mut state, KeyCode::Esc);
    assert_eq!(state.help.tour, None);
    press(&mut state, KeyCode::F(2));
    assert_eq!(state.help.tour, Some(0));
    let np = state.shared.spec.resources.np;
    type_text(&mut state, "++-");
    assert_eq!((state.shared.spec.resources.np, state.help.tour), (np + 1, Some(0)), "they do what they always do");
    state.help.tour = Some(OFFER);
    assert_eq!(tour::pane(&state.help), Some(Pane::Steps));
    type_text(&mut state, "4");
    assert!(!state.shared.spec.workload.steps.contains(Step::Broadcast) && state.help.tour == Some(OFFER));
    type_text(&mut state, ":");
    assert!(state.help.tour.is_none() && state.help.toured && !state.windows.is_empty(), "and it does what it does");
}

#[test]
fn a_run_that_ends_is_announced_once_and_one_that_was_over_is_not() {
    let ends = |state: &mut _, run| {
        let status = samples::status(RunState::Finished, "finished");
        update(state, Message::Updates(RunId(run), vec![RunUpdate::Status(status)]))
    };
    let announced = |effects: &[Effect]| {
        effects.iter().filter(|effect| matches!(effect, Effect::Terminal(TerminalOrder::Announce(_)))).count()
    };
    let mut state = samples::running();
    let effects = ends(&mut state, 2);
    assert!(effects.contains(&Effect::Terminal(TerminalOrder::Announce("run 2 finished".into()))), "{effects:?}");
    assert_eq!(announced(&ends(&mut state, 2)), 0);
    let mut over = samples::compared();
    press(&mut over, KeyCode::Down);
    update(&mut over, Message::Started(RunId(4)));
    assert_eq!(announced(&ends(&mut over, 4)), 0, "it was over before it was looked at");
}

#[test]
fn the_title_says_how_the_run_is_going() {
    let titles = [samples::never_used(), samples::running(), samples::compared(), samples::failed()];
    let titles: Vec<String> = titles.iter().map(view::title).collect();
    assert_eq!(titles, ["hvd-lab", "hvd-lab: run 2 epoch 2/3", "hvd-lab: run 5 finished", "hvd-lab: run 2 failed"]);
}

#[test]
fn dragged_borders_go_back() {
    let mut state = samples::compared();
    let before = text(&state, 120, 40);
    state.preferences.shares.insert(Split::Left, 500);
    assert_ne!(text(&state, 120, 40), before);
    press(&mut state, KeyCode::F(5));
    state.shared.notice = None;
    assert_eq!(text(&state, 120, 40), before);
}
