//! Mistakes of a program that a rank is told to make: the ranks find them before any data moves, and the run names who made it.

use std::time::{Duration, Instant};

use hvd_lab_terminal::domain::run::RunState;
use hvd_lab_terminal::runs::RunId;

use super::{SMALL, log_files};
use crate::support::lab::{finish, stderr, stdout};
use crate::support::trainer::{turn, with_trainer};
use crate::support::wait::wait_for;

#[test]
fn a_rank_that_calls_something_else_than_the_others_is_found_by_what_it_called() {
    let (_turn, Some(lab)) = (turn(), with_trainer()) else { return };
    let flags = ["--np", "2", "--data", "auto", "--epochs", "900", "--target-accuracy", "1"];
    let cases = [
        ("wrong-shape", "rank 1 wait for"),
        ("root-collective", "rank 0 allreduce Sum of 1 f64"),
        ("own-early-stop", "rank 1 allreduce Sum of"),
    ];
    for (run, (fault, words)) in (1..).zip(cases) {
        let going = lab.spawn(&[["run"].as_slice(), &SMALL, &flags].concat());
        wait_for("a checkpoint", || (lab.folder(run).log_dir().exists() && !log_files(&lab, run).is_empty()).then_some(()));
        let begin = Instant::now();
        let output = lab.run(&["fault", &run.to_string(), fault]);
        let (said, took) = (stdout(&output), begin.elapsed());
        assert!(output.status.success(), "{fault}: {said}{}", stderr(&output));
        assert!(
            said.contains("found after") && said.contains("different collectives") && said.contains(words),
            "{fault}: {said}"
        );
        assert!(took < Duration::from_secs(30), "{fault} took {took:?}");
        finish(going);
        let status = lab.status(run);
        assert_eq!(status.state, RunState::Failed, "{fault}: {}", status.message);
        assert!(status.message.contains("different collectives"), "{fault}: {}", status.message);
        let record = lab.store().record(RunId(run)).unwrap();
        let made = &record.attempts[0].faults[0];
        assert!(made.request.kind.name() == fault && made.found_after_s.is_some_and(|after| after < 10.0), "{made:?}");
        lab.assert_nothing_left(run);
    }
}

#[test]
fn a_mistake_that_the_run_would_never_make_is_refused() {
    let (_turn, Some(lab)) = (turn(), with_trainer()) else { return };
    let flags = ["--np", "2", "--data", "auto", "--epochs", "900", "--target-accuracy", "1", "--steps", "1,2"];
    let going = lab.spawn(&[["run"].as_slice(), &SMALL, &flags].concat());
    wait_for("both ranks", || (lab.pids(1).len() == 2).then_some(()));
    let output = lab.run(&["fault", "1", "wrong-shape"]);
    assert!(output.status.code() == Some(1) && stderr(&output).contains("needs step 3"), "{}", stderr(&output));
    assert_eq!(lab.status(1).state, RunState::Running);
    assert!(lab.run(&["stop", "1"]).status.success());
    finish(going);
    lab.assert_nothing_left(1);
}
