//! Tour, projector, dragged-back borders, and what happens when a run ends.

use crossterm::event::KeyCode;

use crate::domain::run::RunState;
use crate::domain::step::Step;
use crate::runs::{RunId, RunUpdate};
use crate::tui::actions::{Effect, Pane};
use crate::tui::app::header;
use crate::tui::app::places::in_area;
use crate::tui::app::update::update;
use crate::tui::help::state::{Page, TOUR};
use crate::tui::help::tour;
use crate::tui::message::Message;
use crate::tui::preferences::Split;
use crate::tui::testing::samples;
use crate::tui::tests::{cut_out, press, text, type_text};
use ratatui::layout::Rect;

#[test]
fn the_tour_has_six_pages_and_fits_the_smallest_screen() {
    assert_eq!(TOUR.len(), 6);
    assert!(TOUR.iter().any(|page| page.text.contains("C plays an allreduce") && page.keys == "C"), "collectives have a stop");
    let mut state = samples::never_used();
    state.help.start_tour();
    for (page, Page { title, text: words, small, .. }) in TOUR.iter().enumerate() {
        for (width, height) in [(60, 16), (80, 24), (120, 40), (200, 60)] {
            let shown = text(&state, width, height);
            assert!(shown.contains(&format!("Tour {} of 6: {title}", page + 1)), "{shown}");
            let words = small.filter(|_| width == 60).unwrap_or(words);
            let last = words.split_whitespace().last().unwrap();
            assert!(shown.contains(last), "the last word of page {page} is cut at {width}x{height}");
            assert!(shown.contains("press r to run") || shown.contains("to run"), "the header is free");
        }
        let places = in_area(&state, Rect::new(0, 0, 80, 24)).unwrap().panes;
        let (_, place) = *places.iter().find(|(pane, _)| *pane == Pane::Chart).unwrap();
        insta::assert_snapshot!(format!("tour_{}_80x24", page + 1), cut_out(&state, place, 80, 24));
        press(&mut state, KeyCode::Enter);
    }
    assert_eq!((state.help.tour, state.windows.is_empty()), (None, true));
}

#[test]
fn the_tour_goes_on_with_its_own_keys_and_ends_with_any_other() {
    let mut state = samples::never_used();
    state.help.start_tour();
    press(&mut state, KeyCode::Esc);
    assert_eq!(state.help.tour, None);
    press(&mut state, KeyCode::F(2));
    assert_eq!(state.help.tour, Some(0));
    type_text(&mut state, "4");
    assert!(!state.shared.spec.workload.steps.contains(Step::Broadcast), "it does what it always does");
    assert_eq!((state.help.tour, tour::pane(&state.help)), (Some(1), Some(Pane::Settings)), "and the tour goes on");
    type_text(&mut state, ":");
    assert!(state.help.tour.is_none() && state.help.toured && !state.windows.is_empty(), "and it does what it does");
}

#[test]
fn a_run_that_ends_is_announced_once_and_one_that_was_over_is_not() {
    let ends = |state: &mut _, run| {
        let status = samples::status(RunState::Finished, "finished");
        update(state, Message::Updates(RunId(run), vec![RunUpdate::Status(status)]))
    };
    let announced = |effects: &[Effect]| effects.iter().filter(|effect| matches!(effect, Effect::Announce(_))).count();
    let mut state = samples::running();
    let effects = ends(&mut state, 2);
    assert!(effects.contains(&Effect::Announce("run 2 finished".into())), "{effects:?}");
    assert_eq!(announced(&ends(&mut state, 2)), 0);
    let mut over = samples::compared();
    press(&mut over, KeyCode::Down);
    update(&mut over, Message::Started(RunId(4)));
    assert_eq!(announced(&ends(&mut over, 4)), 0, "it was over before it was looked at");
}

#[test]
fn the_title_says_how_the_run_is_going() {
    let titles = [samples::never_used(), samples::running(), samples::compared(), samples::failed()];
    let titles: Vec<String> = titles.iter().map(header::title).collect();
    assert_eq!(titles, ["hvd-lab", "hvd-lab: run 2 epoch 2/3", "hvd-lab: run 5 finished", "hvd-lab: run 2 failed"]);
}

#[test]
fn the_projector_shows_step_and_speed_up_large_and_keeps_the_lowest_lines_free() {
    let mut state = samples::compared();
    state.shared.runs[1].record.as_mut().unwrap().name = Some("two ranks".into());
    update(&mut state, Message::Started(RunId(2)));
    state.shared.notice = None;
    type_text(&mut state, "P");
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        let shown = text(&state, width, height);
        assert!(shown.contains("run 2 (two ranks) against run 1") && shown.contains("96 % scaling efficiency"), "{shown}");
        assert!(shown.contains("2 ranks against 1") && shown.contains(" 1.92x of 2x"), "{shown}");
        assert!(!shown.contains("Next run"));
        // The figure fills the room there is.
        let rows = shown.lines().filter(|line| line.contains('█')).count();
        assert!(rows >= usize::from(height) / 4, "{rows} of {height}\n{shown}");
        // But for the footer's keys.
        let lines: Vec<&str> = shown.lines().map(|line| line.trim_matches('"')).collect();
        let low = &lines[lines.len() - 1 - lines.len() / 8..lines.len() - 1];
        assert!(low.iter().all(|line| line.trim().is_empty()), "{shown}");
        if width != 120 {
            insta::assert_snapshot!(format!("projector_{width}x{height}"), shown);
        }
    }
    state.shared.theme.ascii = true;
    assert!(text(&state, 80, 24).is_ascii());
    state.shared.theme.ascii = false;
    // Steps go on and off here too.
    type_text(&mut state, "4");
    assert!(text(&state, 80, 24).contains("step 4 of 10, off"));
    state.shared.notice = None;
    press(&mut state, KeyCode::Esc);
    assert!(text(&state, 80, 24).contains("Next run"));
}

#[test]
fn the_projector_never_shows_a_run_against_itself() {
    let mut state = samples::compared();
    update(&mut state, Message::Started(RunId(1)));
    type_text(&mut state, "P");
    let shown = text(&state, 120, 40);
    assert!(shown.contains("run 3 against run 1") && shown.contains("4 ranks against 1"), "the best of all: {shown}");
    // A run that cannot be compared gives way as well.
    update(&mut state, Message::Started(RunId(5)));
    assert!(text(&state, 120, 40).contains("run 3 against run 1"));
}

#[test]
fn the_projector_says_what_is_missing() {
    let mut state = samples::never_used();
    type_text(&mut state, "P");
    let shown = text(&state, 80, 24);
    assert!(shown.contains("No runs yet") && shown.contains("Run once on 1 rank and once on 2 ranks"), "{shown}");
    samples::say(&mut state, Message::Runs(vec![samples::finished(1, 1, 1023.0)]));
    let shown = text(&state, 80, 24);
    assert!(shown.contains("Run 1 is measured on 1 rank. Run the same settings on 2 ranks."), "{shown}");
    let mut other = samples::finished(2, 2, 1900.0);
    other.record.as_mut().unwrap().data_label = "other".into();
    samples::say(&mut state, Message::Runs(vec![samples::finished(1, 1, 1023.0), other]));
    update(&mut state, Message::Started(RunId(2)));
    let shown = text(&state, 80, 24);
    assert!(shown.contains("No speed-up of run 2: other data than the baseline"), "{shown}");
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
