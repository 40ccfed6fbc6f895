//! Benchmarks by the real program under the real mpirun: one rank against two, a killed rank, and Ctrl-C.

use hvd_lab_terminal::domain::benchmark::IterationReport;
use nix::sys::signal::kill;
use nix::unistd::Pid;

use super::*;
use crate::support::lab::program;
use crate::support::needs::skip;

const SMALL: [&str; 9] = ["bench", "--model", "wrn-10-1", "--batch-size", "8", "--num-warmup-batches", "1", "--num-iters", "3"];

/// The program is the one built beside the lab.
fn with_bench() -> Option<Lab> {
    let bench = program().with_file_name("hvd-measure");
    if bench.is_file() {
        return Some(Lab::with_mpirun()?.env("HVD_MEASURE", &bench.display().to_string()));
    }
    skip("train", "no hvd-measure beside hvd-lab; `make test` builds it");
    None
}

#[test]
fn one_rank_is_compared_with_two() {
    let (_turn, Some(lab)) = (turn(), with_bench()) else { return };
    for (np, style) in [("1", "horovod"), ("2", "tf-cnn")] {
        let output = lab.run(&[&SMALL, ["--np", np, "--style", style, "--num-batches-per-iter", "2"].as_slice()].concat());
        assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
        let words = if style == "horovod" { "Total img/sec on 1 CPU(s): " } else { "total images/sec: " };
        let text = stdout(&output);
        let told: Vec<f64> = text.lines().filter_map(|line| line.strip_prefix(words)?.split(' ').next()?.parse().ok()).collect();
        let rate = lab.store().summary(RunId(if np == "1" { 1 } else { 2 })).unwrap().figures.images_per_sec.unwrap();
        assert!(told.len() == 1 && (told[0] - rate).abs() < 0.06, "the list has what was printed: {rate}: {text}");
    }
    for (id, np) in [(1, 1), (2, 2)] {
        let reports = |process: usize| {
            let of = |line: EventLine| match line.event {
                Event::Iteration(report) if line.process == process => Some(report),
                _ => None,
            };
            events(&lab, id).into_iter().filter_map(of).collect::<Vec<_>>()
        };
        let all: Vec<_> = (0..np).map(reports).collect();
        assert!(all.iter().all(|reports| reports.len() == 3), "{all:?}");
        // Horovod's is the mean of the rates, that of tf_cnn_benchmarks all images over all the time.
        let mean_rate = |reports: &Vec<IterationReport>| reports.iter().map(IterationReport::rate).sum::<f64>() / 3.0;
        let over_time = |reports: &Vec<IterationReport>| 48.0 / reports.iter().map(|report| report.seconds).sum::<f64>();
        let mean: f64 = if id == 1 { all.iter().map(mean_rate).sum() } else { all.iter().map(over_time).sum() };
        let summary = lab.store().summary(RunId(id)).unwrap();
        let told = summary.figures.images_per_sec.unwrap();
        assert!((told - mean).abs() < 1e-6 * mean, "the ranks of run {id} added up: {told} {mean}");
        assert_eq!(summary.status.message, "measured 3 iterations");
        lab.assert_nothing_left(id);
    }
    let compared = lab.run(&["compare", "1", "2", "--json"]);
    let rows: serde_json::Value = serde_json::from_slice(&compared.stdout).unwrap();
    assert!(rows.to_string().contains("\"speedup\":"), "{rows}");
}

#[test]
fn a_rank_that_is_bound_to_a_core_says_which_it_got() {
    let (_turn, Some(lab)) = (turn(), with_bench()) else { return };
    let output = lab.run(&[&SMALL, ["--np", "2", "--bind", "core", "--num-batches-per-iter", "1"].as_slice()].concat());
    // One core for two ranks is refused before anything starts.
    if output.status.code() == Some(2) {
        assert!(stderr(&output).contains("gives each rank cores of its own"), "{}", stderr(&output));
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let of = |line: EventLine| match line.event {
        Event::Placement(place) => Some(place.cores),
        _ => None,
    };
    let cores: Vec<Vec<usize>> = events(&lab, 1).into_iter().filter_map(of).collect();
    assert!(cores.len() == 2 && cores.iter().all(|own| !own.is_empty()), "{cores:?}");
    assert!(cores[0].iter().all(|core| !cores[1].contains(core)), "a core of its own each: {cores:?}");
    assert!(stdout(&output).contains("# binding: core. What each rank really got:\n# rank 0 on "), "{}", stdout(&output));
    lab.assert_nothing_left(1);
}

#[test]
fn a_killed_rank_is_named_and_ctrl_c_stops_the_others() {
    let (_turn, Some(lab)) = (turn(), with_bench()) else { return };
    let endless = [&SMALL[..7], &["--num-iters", "1000000", "--num-batches-per-iter", "1", "--np", "2"]].concat();
    let measures = |id: u32| {
        let text = std::fs::read_to_string(lab.folder(id).events_file()).unwrap_or_default();
        text.lines().filter_map(EventLine::parse_line).any(|line| matches!(line.event, Event::Iteration(_)))
    };
    let going = lab.spawn(&endless);
    wait_for("the ranks to measure", || measures(1).then_some(()));
    process::signal(lab.pids(1)[1], Signal::SIGKILL);
    assert_eq!(finish(going).status.code(), Some(1));
    let status = lab.status(1);
    assert_eq!((status.state, status.failed_process), (RunState::Failed, Some(1)), "{status:?}");
    assert!(status.message.contains(" iteration") && status.message.contains("SIGKILL"), "{}", status.message);
    lab.assert_nothing_left(1);

    let going = lab.spawn(&endless);
    wait_for("the ranks to measure", || measures(2).then_some(()));
    kill(Pid::from_raw(going.id() as i32), Signal::SIGINT).unwrap();
    assert_eq!(finish(going).status.code(), Some(1));
    let status = lab.status(2);
    assert_eq!(status.state, RunState::Stopped, "{status:?}");
    assert!(status.message.starts_with("stopped after "), "{}", status.message);
    assert!(lab.store().summary(RunId(2)).unwrap().figures.images_per_sec.is_some(), "what was measured counts");
    lab.assert_nothing_left(2);
}
