//! Faults that are made in a run on purpose: what they do, who is named, and that they are undone.

use hvd_lab_terminal::domain::fault::{FaultKind, FaultRecord};
use hvd_lab_terminal::domain::run::RunState;
use hvd_lab_terminal::process;
use hvd_lab_terminal::runs::RunId;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

use crate::support::lab::{Lab, finish, stderr, stdout};
use crate::support::wait::wait_for;

/// Two ranks under the real launcher that wait until they are ended.
fn waiting() -> Option<Lab> {
    Some(Lab::with_mpirun()?.env("STAND_IN", "hang"))
}

fn faults(lab: &Lab) -> Vec<FaultRecord> {
    lab.store().record(RunId(1)).unwrap().attempts.swap_remove(0).faults
}

/// Makes a fault in rank 1 of run 1; what the verb printed.
fn make(lab: &Lab, fault: &[&str]) -> String {
    let output = lab.run(&[&["fault", "1"], fault].concat());
    assert_eq!(output.status.code(), Some(0), "{fault:?}: {}{}", stdout(&output), stderr(&output));
    let noted = faults(lab).pop().unwrap();
    assert_eq!(noted.request.kind.name(), fault[0]);
    assert!(noted.found_after_s.is_some_and(|after| (0.0..10.0).contains(&after)), "{noted:?}");
    stdout(&output)
}

fn cores(pid: u32) -> Vec<usize> {
    let set = sched_getaffinity(Pid::from_raw(pid.cast_signed())).unwrap();
    (0..CpuSet::count()).filter(|core| set.is_set(*core).unwrap()).collect()
}

#[test]
fn ranks_that_are_frozen_slow_or_crowded_are_named_and_go_on_afterwards() {
    let Some(lab) = waiting() else { return };
    let child = lab.start(1, 2);
    let pids = lab.pids(1);
    let is_stopped = |pid: u32| process::look_up(pid).unwrap().suspended;
    let goes_on = || wait_for("the end of the fault", || pids.iter().all(|pid| !is_stopped(*pid)).then_some(()));

    let said = make(&lab, &["freeze", "--rank", "1", "--seconds", "3"]);
    assert!(said.contains("Rank 1 is stopped (SIGSTOP)") && said.contains("found after"), "{said}");
    assert!(said.contains("rank 1 is stopped by a signal"), "{said}");
    goes_on();

    // Once more, at once: it is named again.
    make(&lab, &["freeze", "--rank", "1", "--seconds", "3"]);
    let slow = lab.spawn(&["fault", "1", "slow", "--rank", "1", "--seconds", "10"]);
    wait_for("the third fault", || (faults(&lab).len() == 3).then_some(()));
    // A second fault beside one that lasts is refused, and the first goes on to its end.
    let second = lab.run(&["fault", "1", "freeze"]);
    assert!(second.status.code() == Some(1) && stderr(&second).contains("another fault lasts"), "{}", stderr(&second));
    let said = finish(slow);
    assert!(stdout(&said).contains("rank 1 is stopped again and again"), "{}{}", stdout(&said), stderr(&said));
    goes_on();

    // Where there is one core only, nothing is left for anybody.
    let before: Vec<Vec<usize>> = pids.iter().map(|pid| cores(*pid)).collect();
    if before[0].len() > 1 {
        wait_for("room for another fault", || {
            let output = lab.run(&["fault", "1", "shared-core", "--seconds", "3"]);
            (output.status.code() == Some(0)).then(|| assert!(stdout(&output).contains("share core"), "{}", stdout(&output)))
        });
        wait_for("the cores of before", || (pids.iter().map(|pid| cores(*pid)).collect::<Vec<_>>() == before).then_some(()));
    }
    lab.run(&["stop", "1"]);
    finish(child);
    lab.assert_nothing_left(1);
}

#[test]
fn a_rank_that_is_killed_is_named_by_the_end_of_the_run() {
    let Some(lab) = waiting() else { return };
    let child = lab.start(1, 2);
    let said = make(&lab, &["kill", "--rank", "1"]);
    assert!(said.contains("Rank 1 is killed") && said.contains("rank 1 was ended by signal 9"), "{said}");
    let status = lab.wait_until_over(1);
    assert_eq!((status.state, status.failed_process), (RunState::Failed, Some(1)), "{}", status.message);
    finish(child);
    lab.assert_nothing_left(1);
}

#[test]
fn a_run_that_is_stopped_while_a_rank_is_frozen_ends_all_the_same() {
    let Some(lab) = waiting() else { return };
    let child = lab.start(1, 2);
    let freeze = lab.spawn(&["fault", "1", "freeze", "--seconds", "600"]);
    wait_for("the fault", || faults(&lab).first()?.found_after_s);
    assert_eq!(lab.run(&["stop", "1"]).status.code(), Some(0));
    assert_eq!(lab.wait_until_over(1).state, RunState::Stopped);
    assert!(stdout(&finish(freeze)).contains("found after"));
    finish(child);
    lab.assert_nothing_left(1);
}

#[test]
fn what_cannot_be_made_is_one_line_and_does_nothing() {
    let Some(lab) = waiting() else { return };
    let child = lab.start(1, 2);
    for (words, said) in [
        (["1", "freeze", "--rank", "2"].as_slice(), "the run has the ranks 0 to 1"),
        (&["1", "file-limit", "--rank", "1"], "only rank 0 writes files"),
        (&["1", "damaged-checkpoint", "--rank", "1"], "only rank 0 writes files"),
        (&["1", "freeze", "--seconds", "0"], "--seconds is 0"),
        (&["1", "freeze", "--seconds", "NaN"], "--seconds is NaN"),
        (
            &["1", "sneeze"],
            "`sneeze` is not a fault: use kill, freeze, slow, shared-core, slow-network, file-limit, damaged-checkpoint, no-write",
        ),
        (&["1", "root-collective", "--rank", "1"], "only rank 0 writes files and is the root"),
        (&["1"], "<KIND>"),
        (&["7", "kill"], "7"),
    ] {
        let output = lab.run(&[&["fault"], words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", stdout(&output));
        assert!(stderr(&output).contains(said), "{words:?}: {}", stderr(&output));
    }
    // These ranks train nothing.
    let none = lab.run(&["fault", "1", "damaged-checkpoint"]);
    assert!(none.status.code() == Some(1) && stderr(&none).contains("there is no checkpoint yet"), "{}", stderr(&none));
    let cable = lab.run(&["fault", "1", "slow-network"]);
    assert!(cable.status.code() == Some(1) && stderr(&cable).contains("start the run with --link 1gbit"), "{}", stderr(&cable));
    assert_eq!(stderr(&cable).lines().count(), 1, "{}", stderr(&cable));
    if nix::unistd::geteuid().is_root() {
        let root = lab.run(&["fault", "1", "no-write"]);
        assert!(root.status.code() == Some(1) && stderr(&root).contains("root may write everywhere"), "{}", stderr(&root));
    }
    // What a stranger writes there is thrown away, and said.
    for strange in ["{", r#"{"kind":"kill","process":1,"seconds":1e300}"#, r#"{"kind":"kill","process":99,"seconds":1}"#] {
        std::fs::write(lab.folder(1).fault_file(), strange).unwrap();
        wait_for("the request's end", || (!lab.folder(1).fault_file().exists()).then_some(()));
    }
    let log = || std::fs::read_to_string(lab.folder(1).launcher_log()).unwrap();
    wait_for("three more refusals", || {
        (log().matches("hvd-lab: no fault was made: ").count() == 5 + usize::from(nix::unistd::geteuid().is_root())).then_some(())
    });
    let dry = lab.run(&["fault", "1", "kill", "--dry-run"]);
    assert!(dry.status.success() && stdout(&dry).contains("Rank 1 is killed"), "{}", stdout(&dry));
    assert_eq!(lab.status(1).state, RunState::Running);
    assert_eq!(faults(&lab), []);
    lab.run(&["stop", "1"]);
    finish(child);
    let over = lab.run(&["fault", "1", "kill"]);
    assert!(over.status.code() == Some(2) && stderr(&over).contains("run 1 is not running"), "{}", stderr(&over));
    let list = stdout(&lab.run(&["fault"]));
    assert!(FaultKind::ALL.iter().all(|kind| list.contains(&format!("{kind}\n"))), "{list}");
    lab.assert_nothing_left(1);
}
