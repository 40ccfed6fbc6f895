//! A checkpoint that is damaged on purpose while its run goes: the run fails by name, and goes on from the checkpoint before.

use hvd_lab_terminal::domain::checkpoint;
use hvd_lab_terminal::domain::event::{CheckpointAction, Event};
use hvd_lab_terminal::domain::run::RunState;

use super::{SMALL, events, log_files};
use crate::support::lab::{Lab, finish, stderr, stdout};
use crate::support::trainer::{turn, with_trainer};
use crate::support::wait::wait_for;

/// The newest, with its size.
fn newest(lab: &Lab) -> Option<(usize, u64)> {
    if !lab.folder(1).log_dir().exists() {
        return None;
    }
    let epoch = log_files(lab, 1).iter().filter_map(|name| checkpoint::epoch_of(name)).max()?;
    let path = lab.folder(1).log_dir().join(checkpoint::file_name(epoch));
    Some((epoch, std::fs::metadata(path).ok()?.len()))
}

#[test]
fn a_damaged_checkpoint_is_refused_and_the_one_before_it_is_taken() {
    let (_turn, Some(lab)) = (turn(), with_trainer()) else { return };
    let flags = ["--np", "2", "--data", "auto", "--epochs", "900", "--target-accuracy", "1"];
    let going = lab.spawn(&[["run"].as_slice(), &SMALL, &flags].concat());
    let (_, whole) = wait_for("two checkpoints", || newest(&lab).filter(|(epoch, _)| *epoch >= 2));
    let output = lab.run(&["fault", "1", "damaged-checkpoint"]);
    let said = stdout(&output);
    assert!(output.status.success() && said.contains("rank 0 is killed") && said.contains("found after"), "{said}");
    finish(going);
    let status = lab.status(1);
    assert_eq!((status.state, status.failed_process), (RunState::Failed, Some(0)), "{}", status.message);
    let (damaged, left) = newest(&lab).unwrap();
    // What it says of the run grows a little with every epoch.
    assert!(left > whole / 3 && left < whole * 2 / 3, "checkpoint {damaged}: {left} of {whole} bytes");

    let until = (damaged + 1).to_string();
    let output = lab.run(&["run", "--continue", "1", "--epochs", &until]);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    let refused: Vec<usize> = events(&lab, 1)
        .into_iter()
        .filter_map(|line| match line.event {
            Event::Checkpoint(report) if report.action == CheckpointAction::Refused => Some(report.epoch),
            _ => None,
        })
        .collect();
    assert!(!refused.is_empty() && refused.iter().all(|epoch| *epoch == damaged), "{refused:?}, not {damaged}");
    let mut again = events(&lab, 1).into_iter().filter_map(|line| match line.event {
        Event::Config(config) => Some(config.resume_epoch),
        _ => None,
    });
    assert_eq!(again.next_back(), Some(damaged - 1), "one epoch more is done again");
    assert!(newest(&lab).is_some_and(|(epoch, bytes)| epoch == damaged + 1 && bytes >= whole), "a whole one: {:?}", newest(&lab));
    lab.assert_nothing_left(1);
}
