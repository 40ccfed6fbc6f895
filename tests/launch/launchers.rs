//! Launchers that are not installed here, as a script speaks for them.
//!
//! Never starts the real one.

use std::time::{Duration, Instant};

use hvd_lab_terminal::domain::run::RunState;
use hvd_lab_terminal::process;
use nix::sys::signal::Signal;

use super::run;
use crate::support::lab::{Lab, finish, stderr, stdout};

#[test]
fn launchers_that_are_not_installed_are_understood() {
    for flavour in ["4", "mpich"] {
        let lab = Lab::with_fake_mpirun(flavour);
        let output = run(&lab, &["--np", "2"]);
        assert_eq!(stdout(&output), "Epoch 1/3\nEpoch 2/3\nEpoch 3/3\n", "{flavour}: {}", stderr(&output));
        let lab = lab.env("STAND_IN", "exit");
        run(&lab, &["--np", "2"]);
        assert_eq!((lab.status(2).failed_process, lab.status(2).exit_code), (Some(1), Some(7)), "{:?}", lab.status(2));
        lab.assert_nothing_left(2);
    }
    let stranger = Lab::with_fake_mpirun("");
    let output = run(&stranger, &["--np", "2"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("a launcher of another kind"), "{}", stderr(&output));
}

#[test]
fn kill_9_of_a_rank_is_understood_from_every_launcher() {
    for flavour in ["4", "mpich"] {
        let lab = Lab::with_fake_mpirun(flavour).env("STAND_IN", "hang");
        let child = lab.start(1, 2);
        process::signal(lab.pids(1)[1], Signal::SIGKILL);
        let status = lab.wait_until_over(1);
        assert_eq!(status.failed_process, Some(1), "{flavour}: {status:?}");
        assert!(status.message.contains("signal 9"), "{flavour}: {}", status.message);
        lab.assert_nothing_left(1);
        finish(child);
    }
}

#[test]
fn a_launcher_that_does_not_notice_a_dead_rank_is_ended() {
    let lab = Lab::with_fake_mpirun("deaf").env("STAND_IN", "hang");
    let child = lab.start(1, 2);
    let begin = Instant::now();
    process::signal(lab.pids(1)[1], Signal::SIGKILL);
    let status = lab.wait_until_over(1);
    assert!(begin.elapsed() < Duration::from_secs(10));
    assert_eq!((status.state, status.failed_process), (RunState::Failed, Some(1)), "{status:?}");
    lab.assert_nothing_left(1);
    finish(child);
}

#[test]
fn a_launcher_that_never_says_its_version_holds_nobody_up_for_long() {
    for (flavour, why) in
        [("silent", "`mpirun.sh --version` did not answer within 10 s"), ("endless", "printed more than 64 KiB")]
    {
        let lab = Lab::with_fake_mpirun(flavour);
        let output = run(&lab, &["--np", "2"]);
        let said = stderr(&output);
        assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
        assert!(said.contains(why) && said.contains("HVD_LAB_MPIRUN"), "{said}");
        assert!(lab.store().ids().is_empty(), "nothing was started");
        let report = lab.run(&["report"]);
        assert_eq!(report.status.code(), Some(0), "{}", stderr(&report));
        assert!(stderr(&report).contains(why), "{}", stderr(&report));
    }
}
