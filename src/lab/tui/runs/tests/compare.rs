//! The comparison in front of the table: its headline, its drawing, and which run it is about.

use crossterm::event::KeyCode;

use super::table::{states, two_versions, with};
use crate::runs::{RunId, RunSummary};
use crate::tui::testing::samples;
use crate::tui::tests::{press, text, type_text};

#[test]
fn a_comparison_says_what_differs_and_what_cannot_be_compared() {
    let mut state = with(two_versions());
    type_text(&mut state, "v");
    let screen = text(&state, 120, 60);
    for expected in [
        "3.81x speed-up",
        "95 % efficiency",
        "3.81x to the target accuracy",
        "GPU-seconds",
        "1-8,10, not 1-10",
        "without 9 Warm the rate up",
        "--precision bf16, not none",
        "libtorch 2.12.0, not libtorch 2.11.0",
        "⠿ measured",
        "run 2 3.81x",
        "ideal   ",
        "Run 2 trained 3.81x as many images per second as run 1, on 4 ranks instead of 1: 95 % efficiency.",
    ] {
        assert!(screen.contains(expected), "no `{expected}` in\n{screen}");
    }
    let (_, mut other) = states().remove(6);
    type_text(&mut other, "v");
    assert!(text(&other, 120, 60).contains("Run 2 cannot be compared with run 1: other model"));
}

#[test]
fn a_drawing_of_scaling_has_round_ticks_and_begins_where_its_runs_do() {
    let ticks = |runs: Vec<RunSummary>| {
        let mut state = with(runs);
        type_text(&mut state, "v");
        let screen = text(&state, 120, 60);
        let tick = |line: &str| Some(line.split_once(['┤', '└'])?.0.split_whitespace().last()?.to_owned());
        let ticks: Vec<String> = screen.lines().filter_map(tick).filter(|tick| tick.ends_with('x')).collect();
        ticks.join(" ")
    };
    assert_eq!(ticks(two_versions()), "4x 3x 2x 1x");
    let eight = samples::finished(2, 16, 12_000.0);
    assert_eq!(ticks(vec![samples::finished(1, 1, 1000.0), eight]), "20x 15x 10x 5x 0x");
    let alike = vec![samples::finished(1, 4, 1000.0), samples::finished(2, 4, 1010.0)];
    assert_eq!(ticks(alike), "1.0x 0.5x");
}

#[test]
fn no_run_is_compared_with_itself() {
    let mut state = with(two_versions());
    press(&mut state, KeyCode::End);
    assert_eq!(state.shared.watched.as_ref().map(|watched| watched.id), state.shared.baseline().map(|run| run.id));
    type_text(&mut state, "v");
    assert!(text(&state, 120, 60).contains("Run 2 against run 1"), "{}", text(&state, 120, 60));
    type_text(&mut state, "b");
    assert_eq!(state.shared.baseline, Some(RunId(2)), "of the run in the window");
    let mut alone = with(vec![samples::finished(1, 1, 1000.0)]);
    type_text(&mut alone, "v");
    assert!(alone.windows.is_empty());
    assert!(alone.shared.notice.unwrap().text.contains("the only run"));
}

#[test]
fn a_name_takes_no_column_away() {
    for (width, height) in [(60, 16), (80, 24), (100, 30), (120, 36), (150, 45), (200, 60)] {
        let mut state = with(vec![samples::finished(1, 1, 1000.0), samples::finished(2, 2, 1900.0)]);
        state.zoom = true;
        state.focus = crate::tui::actions::Pane::Runs;
        let head = |state: &_| text(state, width, height).lines().find(|line| line.contains("img/s")).unwrap().to_owned();
        let before = head(&state);
        for run in &mut state.shared.runs {
            run.record.as_mut().unwrap().request.name = Some("two ranks, no warm-up".into());
        }
        assert_eq!(head(&state), before, "{width}x{height}");
        assert!(text(&state, width, height).contains("two ranks"), "it is in its column, or on the border");
    }
}
