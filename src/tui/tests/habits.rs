//! Tour, projector, dragged-back borders, and what happens when a run ends.

use crossterm::event::KeyCode;

use super::super::effect::Effect;
use super::super::habits::{TOUR, start_tour};
use super::super::layout::Split;
use super::super::message::Message;
use super::super::mode::Mode;
use super::super::pane::header;
use super::super::samples;
use super::super::update::update;
use super::{press, text, type_text};
use crate::domain::run::RunState;
use crate::domain::step::Step;
use crate::runs::{RunId, RunUpdate};

#[test]
fn the_tour_has_five_pages_and_fits_the_smallest_screen() {
    assert_eq!(TOUR.len(), 5);
    let mut state = samples::never_used();
    start_tour(&mut state);
    for (page, (title, words)) in TOUR.iter().enumerate() {
        for (width, height) in [(80, 24), (120, 40), (200, 60)] {
            let shown = text(&state, width, height);
            assert!(shown.contains(&format!("Tour {} of 5: {title}", page + 1)), "{shown}");
            let last = words.split_whitespace().last().unwrap();
            assert!(shown.contains(last), "the last word of page {page} is cut at {width}x{height}");
            assert!(shown.contains("press r to run") || shown.contains("to run"), "the header is free");
        }
        insta::assert_snapshot!(format!("tour_{}_80x24", page + 1), text(&state, 80, 24));
        press(&mut state, KeyCode::Enter);
    }
    assert_eq!((state.habits.tour, &state.mode), (None, &Mode::Normal));
}

#[test]
fn escape_skips_the_tour_and_any_other_key_does_what_it_does() {
    let mut state = samples::never_used();
    start_tour(&mut state);
    press(&mut state, KeyCode::Esc);
    assert_eq!(state.habits.tour, None);
    press(&mut state, KeyCode::F(2));
    assert_eq!(state.habits.tour, Some(0));
    type_text(&mut state, "4");
    assert!(!state.spec.steps.contains(Step::Broadcast) && state.habits.tour.is_none());
    assert!(state.habits.toured);
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
    let run = state.summary(RunId(2)).unwrap().id;
    update(&mut state, Message::Started(run));
    state.notice = None;
    type_text(&mut state, "P");
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        let shown = text(&state, width, height);
        assert!(shown.contains("speed-up of run 2 over run 1") && shown.contains("scaling efficiency 96 %"), "{shown}");
        assert!(!shown.contains("Next run"));
        // But for the footer's keys.
        let lines: Vec<&str> = shown.lines().map(|line| line.trim_matches('"')).collect();
        let low = &lines[lines.len() - 1 - lines.len() / 8..lines.len() - 1];
        assert!(low.iter().all(|line| line.trim().is_empty()), "{shown}");
        insta::assert_snapshot!(format!("projector_{width}x{height}"), shown);
    }
    state.theme.ascii = true;
    assert!(text(&state, 80, 24).is_ascii());
    state.theme.ascii = false;
    // Steps go on and off here too.
    type_text(&mut state, "4");
    assert!(text(&state, 80, 24).contains("step 4 of 10, off"));
    state.notice = None;
    press(&mut state, KeyCode::Esc);
    assert!(text(&state, 80, 24).contains("Next run"));
}

#[test]
fn the_projector_says_what_is_missing() {
    let mut state = samples::never_used();
    type_text(&mut state, "P");
    assert!(text(&state, 80, 24).contains("no run yet"));
}

#[test]
fn dragged_borders_go_back() {
    let mut state = samples::compared();
    let before = text(&state, 120, 40);
    state.habits.shares.insert(Split::Left, 500);
    assert_ne!(text(&state, 120, 40), before);
    press(&mut state, KeyCode::F(5));
    state.notice = None;
    assert_eq!(text(&state, 120, 40), before);
}
