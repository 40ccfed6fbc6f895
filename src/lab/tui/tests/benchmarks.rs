//! A benchmark on the screen: its place in the table, its curve, its details, and no window that falls over it.

use crossterm::event::KeyCode;

use crate::domain::benchmark::{BenchmarkSpec, IterationReport};
use crate::domain::event::{Event, EventLine};
use crate::domain::job::Workload;
use crate::domain::pipeline::PipelineReport;
use crate::domain::run::RunState;
use crate::runs::{RunId, RunSummary, RunUpdate};
use crate::tui::actions::{Effect, Pane};
use crate::tui::app::update::update;
use crate::tui::message::Message;
use crate::tui::state::State;
use crate::tui::testing::samples;
use crate::tui::tests::{pane, press, text, type_text};

fn summary(id: u32, np: usize, rate: f64) -> RunSummary {
    let mut run = samples::finished(id, np, rate);
    run.status.message = "measured 3 iterations".into();
    (run.tally.test, run.tally.validation, run.tally.train, run.tally.last_epoch) = (None, None, None, 0);
    if let Some(record) = &mut run.record {
        record.request.spec.resources.np = np;
        record.request.spec.workload = Workload::Benchmark(BenchmarkSpec::sample());
    }
    run
}

/// Run 2 of two benchmarks, which has just ended, and what the last message asked for.
fn watching() -> (State, Vec<Effect>) {
    let mut state = samples::never_used();
    let run = summary(2, 2, 1960.0);
    let over = run.status.clone();
    samples::say(&mut state, Message::Runs(vec![summary(1, 1, 1000.0), run]));
    samples::say(&mut state, Message::Started(RunId(2)));
    let at =
        |seconds: usize, process, event| RunUpdate::Event(EventLine { time_s: 1_700_000_000.0 + seconds as f64, process, event });
    let mut updates = vec![RunUpdate::Status(samples::status(RunState::Running, "measuring"))];
    updates.extend((0..2).map(|process| at(0, process, samples::topology(process, 2))));
    for iteration in 1..=3 {
        for process in 0..2 {
            let images_per_sec = 1900.0 + 30.0 * iteration as f64;
            let report = IterationReport { of: 3, images_per_sec, ..IterationReport::sample(iteration) };
            updates.push(at(iteration, process, Event::Iteration(report)));
        }
    }
    samples::say(&mut state, Message::Updates(RunId(2), updates));
    let effects = update(&mut state, Message::Updates(RunId(2), vec![RunUpdate::Status(over)]));
    (state, effects)
}

#[test]
fn a_benchmark_has_a_rate_a_speed_up_and_a_curve_and_no_steps_to_judge() {
    let (mut state, effects) = watching();
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Judge(_))), "{effects:?}");
    let screen = text(&state, 140, 40);
    let lines: Vec<&str> = screen.lines().collect();
    assert!(lines[0].contains("run 2 ✓ finished") && !lines[0].contains("epoch"), "{screen}");
    assert!(lines[0].contains("1 rank 1000/s") && lines[0].contains("2 ranks 1960/s"), "{screen}");
    assert!(lines[0].contains("1.96x of 2x, 98 %"), "{screen}");
    let table = pane(&state, Pane::Runs, 140, 40);
    assert!(table.lines().filter(|line| line.contains(" bench ")).count() == 2 && table.contains("1960"), "{table}");
    assert_eq!(table.lines().filter(|line| line.contains("wrn-10-1")).count(), 2, "what was measured: {table}");
    let chart = pane(&state, Pane::Chart, 140, 40);
    assert!(chart.contains("images/s") && chart.contains("1990") && !chart.contains("accuracy"), "{chart}");
    type_text(&mut state, "i");
    let details = text(&state, 140, 60);
    assert!(!details.contains("continue"), "a benchmark cannot go on: {details}");
    for words in
        ["benchmark wrn-10-1, np 2", "64 per rank, 128 in total", "3 iterations, 2 batches each, after 1 to warm up", "share"]
    {
        assert!(details.contains(words), "{words}: {details}");
    }
}

#[test]
fn what_the_image_pipeline_of_each_rank_told_stands_in_the_details() {
    let (mut state, _) = watching();
    let told = |process, model_waited| {
        let event = Event::Pipeline(PipelineReport::sample(model_waited, 0.0));
        RunUpdate::Event(EventLine { time_s: 1_700_000_009.0, process, event })
    };
    samples::say(&mut state, Message::Updates(RunId(2), vec![told(0, 0.4), told(1, 0.02)]));
    state.focus = Pane::Runs;
    type_text(&mut state, "i");
    let details = text(&state, 140, 60);
    for words in ["Image pipeline", "rank 0", "decode 700;", "40 %", "rank 1", "keep pace"] {
        assert!(details.contains(words), "{words}: {details}");
    }
}

/// A training gains nothing over a benchmark, so it has a training for its baseline.
#[test]
fn runs_are_compared_with_their_like() {
    let mut state = samples::never_used();
    let runs =
        vec![summary(1, 1, 1000.0), samples::finished(2, 1, 900.0), samples::finished(3, 2, 1700.0), summary(4, 2, 1900.0)];
    samples::say(&mut state, Message::Runs(runs));
    let mut of = |run: u32| {
        samples::say(&mut state, Message::Started(RunId(run)));
        state.shared.baseline().map(|baseline| baseline.id)
    };
    assert_eq!([of(3), of(4), of(2)], [Some(RunId(2)), Some(RunId(1)), Some(RunId(2))]);
}

/// Epochs and iterations have no axis in common.
#[test]
fn a_training_is_not_drawn_beside_a_benchmark_and_the_chart_says_so() {
    let mut state = samples::never_used();
    let runs =
        vec![samples::finished(1, 1, 900.0), samples::finished(2, 2, 1700.0), summary(3, 1, 1000.0), summary(4, 2, 1900.0)];
    samples::say(&mut state, Message::Runs(runs));
    samples::say(&mut state, Message::Started(RunId(2)));
    state.focus = Pane::Runs;
    type_text(&mut state, "p");
    samples::say(&mut state, Message::Started(RunId(4)));
    let drawn = |state: &State| crate::tui::chart::state::shown(&state.shared);
    assert_eq!(drawn(&state), [RunId(4), RunId(3)], "the benchmark and its baseline, not the pinned training");
    let chart = pane(&state, Pane::Chart, 140, 40);
    assert!(chart.contains("run 2 is a training: not drawn beside a benchmark"), "{chart}");
    samples::say(&mut state, Message::Started(RunId(1)));
    assert_eq!(drawn(&state), [RunId(1), RunId(2)]);
    assert!(!pane(&state, Pane::Chart, 140, 40).contains("not drawn"));
}

#[test]
fn a_benchmark_cannot_go_on_and_no_key_falls_over_it() {
    let (mut state, _) = watching();
    state.focus = Pane::Runs;
    type_text(&mut state, "c");
    let screen = text(&state, 140, 40);
    assert!(screen.contains("it trains nothing (benchmark wrn-10-1)"), "{screen}");
    for keys in ["v", "i", "w", "E", "g", "G", "P", "C", "x", "p", "b", "s", "d", "n", "r", "R", "e", "l", "?", ":"] {
        for focus in Pane::ALL {
            let (mut state, _) = watching();
            state.focus = focus;
            type_text(&mut state, keys);
            for (width, height) in [(60, 16), (80, 24), (150, 50)] {
                text(&state, width, height);
            }
            press(&mut state, KeyCode::Enter);
            text(&state, 80, 24);
        }
    }
}
