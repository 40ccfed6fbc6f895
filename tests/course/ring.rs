//! The exercise of the collectives: a ring in Python, judged and then run over MPI.

use std::fs;

use crate::support::lab::{Lab, stderr, stdout};
use crate::support::trainer;

const SOLUTION: &str = include_str!("../../solutions/ring.py");

fn attempt(lab: &Lab) -> (Option<i32>, String) {
    let output = lab.run(&["exercise", "run", "--track", "collectives"]);
    (output.status.code(), stdout(&output) + &stderr(&output))
}

#[test]
fn the_ring_is_started_judged_and_put_back() {
    let lab = Lab::with_fake_mpirun("5");
    let (code, said) = attempt(&lab);
    assert!(code == Some(2) && said.contains("`hvd-lab exercise start --track collectives` makes it"), "{said}");
    let started = lab.run(&["exercise", "start", "--track", "collectives"]);
    let program = stdout(&started).trim().to_owned();
    assert!(program.ends_with("exercise/ring.py") && stderr(&started).contains("made"), "{program}");
    let (code, said) = attempt(&lab);
    assert!(code == Some(1) && said.contains("not yet: with 2 ranks and 8 numbers, round 1: rank 0 sends"), "{said}");

    fs::write(&program, SOLUTION.replace("    rounds = []", "    print('here')\n    rounds = nothing")).unwrap();
    let (code, said) = attempt(&lab);
    assert!(code == Some(1) && said.contains("    | here") && said.contains("ring.py:22: NameError"), "{said}");
    let diff = stdout(&lab.run(&["exercise", "diff", "--track", "collectives"]));
    assert!(diff.contains("rounds = nothing"), "{diff}");
    for refused in [&["build"][..], &["diff", "--step", "3"], &["run", "--track", "none"]] {
        let mut words = vec!["exercise"];
        words.extend(refused);
        if !words.contains(&"--track") {
            words.extend(["--track", "collectives"]);
        }
        let output = lab.run(&words);
        assert_eq!((output.status.code(), stderr(&output).lines().count()), (Some(2), 1), "{words:?}: {}", stderr(&output));
    }
    let reset = lab.run(&["exercise", "reset", "--track", "collectives", "--yes"]);
    assert!(reset.status.success() && fs::read_to_string(&program).unwrap().contains("TODO 1"), "{}", stderr(&reset));
}

/// MPI's own counters are the witness of what was planned.
#[test]
fn the_right_ring_is_run_over_mpi() {
    let Some(lab) = trainer::with_trainer() else { return };
    let _turn = trainer::turn();
    let started = lab.run(&["exercise", "start", "--track", "collectives"]);
    fs::write(stdout(&started).trim(), SOLUTION).unwrap();
    let (code, said) = attempt(&lab);
    assert!(code == Some(0) && said.contains("With 4 ranks: 6 rounds, 6 messages from each rank"), "{said}");
    assert!(said.contains("MPI counted 24 messages with 384 bytes: as you planned") || said.contains("does not count"), "{said}");
}
