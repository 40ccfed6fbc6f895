//! Runs that are given a time.

use hvd_lab_terminal::domain::run::RunState;
use hvd_lab_terminal::runs::RunId;

use crate::support::lab::{Lab, stderr};

#[test]
fn a_run_ends_when_its_time_is_over_and_says_so() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let lab = lab.env("STAND_IN", "hang");
    let output = lab.run(&["run", "--data", "generated", "--np", "2", "--time-limit", "0:01"]);
    let status = lab.status(1);
    assert_eq!((status.state, output.status.code()), (RunState::Stopped, Some(1)), "{}", stderr(&output));
    assert_eq!(status.message, "stopped after 0 epochs: its time limit of 0:01 was over");
    lab.assert_nothing_left(1);
}

#[test]
fn a_run_that_goes_on_may_be_given_another_time() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let run = |flags: &[&str]| lab.run(&[&["run"], flags].concat());
    run(&["--data", "generated", "--np", "2", "--epochs", "2", "--time-limit", "1:00:00"]);
    let output = run(&["--continue", "1", "--epochs", "4", "--time-limit", "2:00:00"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(lab.store().record(RunId(1)).unwrap().request.spec.resources.time_limit_s, Some(7200.0));
}

#[test]
fn a_run_that_is_faster_never_notices() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let output = lab.run(&["run", "--data", "generated", "--np", "2", "--time-limit", "1:00:00"]);
    assert_eq!((lab.status(1).state, output.status.code()), (RunState::Finished, Some(0)));
}

#[test]
fn a_time_that_means_nothing_is_refused() {
    let lab = Lab::with_fake_mpirun("5");
    for bad in ["soon", "1:99", "0"] {
        let output = lab.run(&["run", "--data", "generated", "--np", "1", "--time-limit", bad]);
        assert_eq!(output.status.code(), Some(2), "{bad}");
        assert!(stderr(&output).contains("time"), "{}", stderr(&output));
        assert!(lab.store().ids().is_empty());
    }
}
