//! What the window looks like, and that it says the same without colours and without Unicode.

use crossterm::event::KeyCode;

use super::samples::{events, execution, opened, predictable, rows, summary, told};
use crate::domain::collective::{Algorithm, AllreduceReport};
use crate::domain::event::{Event, EventLine};
use crate::domain::measured::Measured;
use crate::domain::run::RunState;
use crate::runs::{RunId, RunUpdate};
use crate::tui::app::update::update;
use crate::tui::collectives::crossing::{crossings, sentence};
use crate::tui::message::Message;
use crate::tui::state::State;
use crate::tui::testing::samples;
use crate::tui::tests::{press, text, type_text, window};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (60, 16)];

/// In the middle of the second round.
fn midway(np: usize, size: (u16, u16)) -> State {
    let mut state = opened(np, size);
    type_text(&mut state, ">..");
    state
}

#[test]
fn the_player_looks_as_it_did() {
    for (width, height) in SIZES {
        insta::assert_snapshot!(format!("played_{width}x{height}"), window(&midway(4, (width, height)), width, height));
    }
    insta::assert_snapshot!("played_8_ranks_80x24", window(&midway(8, (80, 24)), 80, 24));
    let mut ascii = midway(4, (80, 24));
    ascii.shared.theme.ascii = true;
    let screen = text(&ascii, 80, 24);
    assert!(screen.is_ascii() && !screen.replace("? keys", "").contains('?'), "{screen}");
    let footer = screen.lines().last().unwrap();
    assert!([", . < > step", "Tab method", "Enter run", "? keys"].iter().all(|hint| footer.contains(hint)), "{footer}");
}

#[test]
fn the_charts_look_as_they_did() {
    for (width, height) in SIZES {
        let mut state = opened(4, (width, height));
        press(&mut state, KeyCode::Right);
        type_text(&mut state, ",");
        insta::assert_snapshot!(format!("time_{width}x{height}"), window(&state, width, height));
        press(&mut state, KeyCode::Right);
        insta::assert_snapshot!(format!("bandwidth_{width}x{height}"), window(&state, width, height));
        state.shared.theme.ascii = true;
        assert!(text(&state, width, height).is_ascii());
    }
}

#[test]
fn it_fills_the_body_and_nothing_is_cut_off_at_its_end() {
    for np in [1, 2, 3, 5, 8, 16, 64] {
        for (width, height) in SIZES {
            let state = midway(np, (width, height));
            let shown = window(&state, width, height);
            assert_eq!(shown.lines().count(), usize::from(height) - 3, "{np}: {shown}");
            assert!(np == 1 || shown.contains("rank 0") && shown.contains("message "), "{np} {width}x{height}: {shown}");
        }
    }
}

/// Whatever the number of ranks and the size: what a cell means stands below, and no number in a cell is cut.
#[test]
fn the_cells_have_a_legend() {
    for np in [2, 4, 8, 16, 33] {
        for (width, height) in [(60, 16), (80, 24), (120, 36), (200, 60)] {
            let shown = window(&midway(np, (width, height)), width, height);
            assert!(shown.contains("added up"), "{np} at {width}x{height}:\n{shown}");
            assert!(!shown.contains("/…"), "{np} at {width}x{height}:\n{shown}");
            let is_grouped = shown.contains(" 0-1 ") || shown.contains(" 0-2 ") || shown.contains(" 0-3 ");
            assert!(!is_grouped || shown.contains(&format!("2 or more of {np}")) || shown.contains("~2/"), "{np}:\n{shown}");
        }
    }
}

#[test]
fn more_ranks_than_rows_are_scrolled_to() {
    let mut state = midway(16, (60, 16));
    assert!(!window(&state, 60, 16).contains("rank 15"));
    for _ in 0..15 {
        press(&mut state, KeyCode::Down);
    }
    assert!(window(&state, 60, 16).contains("rank 15"), "{}", window(&state, 60, 16));
}

#[test]
fn a_message_that_came_last_after_a_long_wait_still_shows() {
    let mut late = execution(Algorithm::Ring, 4, 4096, 9e-6);
    let last = late.messages.iter_mut().rfind(|message| message.round == 5).unwrap();
    (last.began_s, last.ended_s) = (0.5, 0.500_001);
    let mut state = opened(4, (80, 24));
    update(&mut state, Message::Collectives(RunId(3), Box::new(told(4, &events(&late, &[])))));
    type_text(&mut state, "}");
    let screen = window(&state, 80, 24);
    let bars = screen.lines().filter(|line| line.contains("→") && line.contains('█')).count();
    assert_eq!(bars, 4, "{screen}");
}

#[test]
fn a_crossover_is_found_between_the_sizes_and_named() {
    let state = opened(4, (80, 24));
    let measured = &state.collectives.measured;
    let [one] = &crossings(measured)[..] else { panic!("{:?}", crossings(measured)) };
    // 24 us + n / 1.6 GB/s is 8 us + n / 0.8 GB/s at n = 25,600.
    assert!((20_000.0..33_000.0).contains(&one.bytes), "{one:?}");
    let said = sentence(measured).unwrap();
    assert!(said.starts_with("Below 2") && said.ends_with("KiB recursive-doubling is the fastest, above it ring."), "{said}");
    let only = |method: &str| Measured {
        rows: measured.rows.iter().filter(|row| [method, "mpi"].contains(&row.report.method.as_str())).cloned().collect(),
        ..Measured::default()
    };
    assert_eq!(sentence(&only("ring")), None, "nothing to compare it with but MPI's own");
}

#[test]
fn predictions_are_points_with_their_error_and_refusals_have_a_reason() {
    let mut state = opened(4, (120, 40));
    press(&mut state, KeyCode::Right);
    assert!(text(&state, 120, 40).contains("nothing was measured of the way between two ranks"), "{}", text(&state, 120, 40));
    assert!(!text(&state, 120, 40).contains('×') || text(&state, 120, 40).contains("fastest"));
    update(&mut state, Message::Collectives(RunId(3), Box::new(told(4, &predictable(4)))));
    insta::assert_snapshot!("predicted_120x40", window(&state, 120, 40));
    let screen = text(&state, 120, 40);
    assert!(screen.contains("predicted") && screen.contains(" %"), "{screen}");
    assert!(screen.contains("No prediction for mpi: MPI picks its algorithm"), "{screen}");
}

#[test]
fn messages_that_have_no_room_are_counted() {
    let mut state = midway(4, (60, 16));
    let shown = window(&state, 60, 16);
    assert!(shown.contains("6.0 µs+2 more") && !shown.contains("above") && !shown.contains("3 → 0"), "{shown}");
    // Wherever the player is, two of the four show, and where the others are.
    press(&mut state, KeyCode::Home);
    let mut seen = [0; 2];
    for _ in 0..24 {
        let shown = window(&state, 60, 16);
        let hidden =
            [" more", " above"].map(|side| (1..=2).find(|count| shown.contains(&format!("+{count}{side}"))).unwrap_or(0));
        assert_eq!(hidden[0] + hidden[1], 2, "{shown}");
        (seen[0], seen[1]) = (seen[0] + hidden[0], seen[1] + hidden[1]);
        type_text(&mut state, ".");
    }
    assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
}

#[test]
fn a_round_that_fits_counts_nothing() {
    assert!(!window(&opened(4, (80, 24)), 80, 24).contains("more"), "all fit");
}

/// What is shown of a log says what the log lacks.
#[test]
fn a_log_that_lacks_something_says_so() {
    let execution = execution(Algorithm::Ring, 4, 4096, 9e-6);
    let whole = events(&execution, &rows());
    let show = |measured: Measured, size: (u16, u16)| {
        let mut state = opened(4, size);
        update(&mut state, Message::Collectives(RunId(3), Box::new(measured)));
        window(&state, size.0, size.1)
    };
    let without = |process: usize| {
        let is_kept = |line: &&EventLine| line.process != process || !matches!(line.event, Event::Messages(_));
        told(4, &whole.iter().filter(is_kept).cloned().collect::<Vec<_>>())
    };
    for size in [(60, 16), (80, 24), (120, 40)] {
        let shown = show(without(2), size);
        assert!(shown.contains("The log is incomplete: it has 18 of the schedule's 24"), "{shown}");
        assert!(!show(told(4, &whole), size).contains("incomplete"));
        let rows: Vec<EventLine> = whole.iter().filter(|line| matches!(line.event, Event::Allreduce(_))).cloned().collect();
        let lost = Measured { damaged: Some("4 damaged events were skipped".into()), ..told(4, &rows) };
        let shown = show(lost, size);
        assert!(shown.contains("The log is damaged: 4 damaged events were skipped"), "{shown}");
        assert!(shown.contains("schedule, not a log"), "{shown}");
        let shown = show(told(4, &rows), size);
        assert!(shown.contains("The log has no message of it."), "{shown}");
    }
}

#[test]
fn a_run_that_ended_without_rows_says_why() {
    let show = |state: RunState, said: &str, measured: Measured| {
        let mut screen = opened(4, (80, 24));
        let mut run = summary(3, 4);
        run.status = samples::status(state, said);
        update(&mut screen, Message::Runs(vec![run]));
        update(&mut screen, Message::Updates(RunId(3), vec![RunUpdate::Status(samples::status(state, said))]));
        update(&mut screen, Message::Collectives(RunId(3), Box::new(measured)));
        press(&mut screen, KeyCode::Right);
        window(&screen, 80, 24)
    };
    let finished = show(RunState::Finished, "measured 3 rows", Measured::default());
    assert!(finished.contains("Run 3 finished, and its events hold no row"), "{finished}");
    let failed = show(RunState::Failed, "rank 1: cannot send", Measured::default());
    assert!(failed.contains("Run 3 measured nothing: it failed: rank 1: cannot send."), "{failed}");
    let zeroed: Vec<AllreduceReport> = rows()
        .into_iter()
        .enumerate()
        .map(|(at, row)| if at < 2 { AllreduceReport { mean_s: 0.0, ..row } } else { row })
        .collect();
    let partly = show(RunState::Finished, "measured 15 rows", told(4, &events(&execution(Algorithm::Ring, 4, 64, 0.0), &zeroed)));
    assert!(partly.contains("2 rows have no size or no time and are left out"), "{partly}");
    let mut alone = opened(1, (80, 24));
    press(&mut alone, KeyCode::Right);
    let shown = window(&alone, 80, 24);
    assert!(shown.contains("One rank exchanges nothing") && shown.contains("on 1 rank "), "{shown}");
}
