//! A run that has a checkpoint and does not go on from it is told by step 7 alone, whatever else it does.
//!
//! Never starts a run: the evidence is made. Real ones are in tests/wrong/python_causes.toml.

use hvd_lab_terminal::course::{Evidence, Outcome, check_all};
use hvd_lab_terminal::domain::event::{CheckpointAction, CheckpointReport};
use hvd_lab_terminal::domain::step::Step;

use super::good::{self, NP, attempt, checkpoint};

#[test]
fn a_run_that_does_not_go_on_from_its_checkpoint_fails_step_7_alone() {
    let mut anew = Evidence::new(good::spec(NP));
    attempt(0, 2).iter().chain(&attempt(0, 2)).for_each(|line| anew.take(line));
    (1..=2).for_each(|epoch| anew.take_line(0, &format!("Epoch {epoch}/2")));
    let failed = |evidence: &Evidence| {
        let failed = check_all(evidence).into_iter().filter(|verdict| verdict.outcome != Outcome::Passed);
        failed.map(|verdict| (verdict.number, verdict.evidence)).collect::<Vec<_>>()
    };
    let said = failed(&anew);
    assert!(said.len() == 1 && said[0].0 == Step::CheckpointOnRoot.number(), "{said:?}");
    assert!(said[0].1.contains("there was a checkpoint of epoch 2, and nobody loaded it"), "{said:?}");
    let files = &mut anew.history.attempts[1].processes.get_mut(&0).unwrap().checkpoints;
    files.push(CheckpointReport { action: CheckpointAction::Loaded, ..checkpoint(2) });
    assert!(failed(&anew)[0].1.contains("nobody loaded it before training"), "after training it is too late");
    let files = &mut anew.history.attempts[1].processes.get_mut(&0).unwrap().checkpoints;
    files.rotate_right(1);
    let said = failed(&anew);
    assert!(
        said.len() == 1 && said[0].1.contains("rank 0 loaded the checkpoint of epoch 2, and training began from the start"),
        "{said:?}"
    );
    let files = &mut anew.history.attempts[1].processes.get_mut(&0).unwrap().checkpoints;
    files[0].action = CheckpointAction::Refused;
    assert_eq!(failed(&anew), [], "it cannot be used");
}
