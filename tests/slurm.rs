//! Under a real Slurm: ranks that srun starts, runs of the lab inside an allocation, and batch jobs. The tests start a Slurm of their own
//! on this machine.
//!
//! Needs root and the programs munged, slurmctld, slurmd and srun (Debian: slurmd slurmctld slurm-client munge
//! slurm-wlm-basic-plugins libpmix2). Where one is missing the test is skipped by name; HVD_LAB_REQUIRE=slurm turns that into a failure.

mod cluster;
mod two_nodes;

use std::fs;
use std::path::PathBuf;
use std::process::{Output, Stdio};

use cluster::{NODE, Slurm};
use hvd_lab_terminal::domain::event::{Event, EventLine, MARKER};
use hvd_lab_terminal::domain::run::RunState;

use crate::support::lab::{self, Lab, finish, stderr, stdout};
use crate::support::trainer;
use crate::support::wait::wait_for;

const TRAINING: [&str; 15] = [
    "--events",
    "--steps",
    "1-3",
    "--data-dir",
    "generated",
    "--model",
    "wrn-10-1",
    "--batch-size",
    "16",
    "--train-images",
    "64",
    "--validation-images",
    "32",
    "--epochs",
    "1",
];

/// A run of the lab as a batch job.
const JOB: [&str; 13] = [
    "run",
    "--slurm",
    "--np",
    "2",
    "--data",
    "generated",
    "--batch-size",
    "16",
    "--train-images",
    "320",
    "--validation-images",
    "32",
    "--epochs",
];

/// Of all ranks: rank, local rank and the number of ranks.
fn places(output: &Output) -> Vec<(usize, usize, usize)> {
    let lines = stdout(output);
    let events = lines.lines().filter_map(|line| EventLine::parse_line(line.strip_prefix(MARKER)?));
    let mut places: Vec<_> = events
        .filter_map(|line| match line.event {
            Event::Topology(report) => {
                let topology = report.topology;
                Some((topology.rank.0, topology.local_rank.0, topology.size.0))
            }
            _ => None,
        })
        .collect();
    places.sort_unstable();
    places
}

fn trainer_program() -> PathBuf {
    lab::program().with_file_name("hvd-train")
}

#[test]
fn ranks_that_srun_starts_know_each_other_or_are_refused() {
    let _turn = trainer::turn();
    let (Some(_lab), Some(slurm)) = (trainer::with_trainer(), Slurm::start()) else { return };
    let alone = slurm.srun(&["--mpi=none"], &trainer_program(), &TRAINING);
    let said = stderr(&alone);
    assert!(!alone.status.success(), "{said}");
    assert_eq!(said.matches("this is one of 2 processes").count(), 1, "one speaks for all: {said}");
    assert!(said.contains("--mpi=pmix"), "{said}");
    assert!(places(&alone).is_empty(), "nobody trains");

    let known = stdout(&slurm.client("srun").arg("--mpi=list").output().unwrap());
    let together = slurm.srun(&["--mpi=pmix"], &trainer_program(), &TRAINING);
    assert!(together.status.success(), "{}\n{known}", stderr(&together));
    assert_eq!(places(&together), [(0, 0, 2), (1, 1, 2)], "a local rank each, though the node has another name than the host");
}

#[test]
fn the_lab_trains_inside_an_allocation() {
    let _turn = trainer::turn();
    let (Some(lab), Some(slurm)) = (trainer::with_trainer(), Slurm::start()) else { return };
    let run = ["run", "--np", "2", "--data", "generated", "--epochs", "1", "--batch-size", "16", "--train-images", "64"];
    let line = format!("{} {}", lab::program().display(), run.join(" "));
    let script = slurm.path("script.sh");
    fs::write(&script, format!("#!/bin/sh\n{line}\n")).unwrap();
    let asked = ["--nodes", "1", "--ntasks", "2"];
    let mut salloc = slurm.client("salloc");
    salloc.args(asked).arg(lab::program()).args(run);
    let mut sbatch = slurm.client("sbatch");
    sbatch.args(asked).arg("--wait").arg("--output").arg(slurm.path("script.log")).arg(&script);
    for (id, mut command) in [(1, salloc), (2, sbatch)] {
        lab.set_environment(&mut command);
        let output = finish(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
        let status: hvd_lab_terminal::domain::run::RunStatus = Lab::status(&lab, id);
        assert_eq!(status.state, RunState::Finished);
        lab.assert_nothing_left(id);
    }
}

fn training(lab: &Lab, id: u32, epoch: usize) {
    let wanted = format!("\"epoch\":{epoch}");
    wait_for("an epoch", || std::fs::read_to_string(lab.folder(id).events_file()).ok()?.contains(&wanted).then_some(()));
}

#[test]
fn a_batch_job_is_followed_through_the_queue_and_trains() {
    let _turn = trainer::turn();
    let (Some(lab), Some(slurm)) = (trainer::with_trainer(), Slurm::start()) else { return };
    // Nothing starts until the node is back.
    slurm.control(&["update", &format!("NodeName={NODE}"), "State=DRAIN", "Reason=test"]);
    let run = slurm.lab(&lab, &[&JOB[..], &["1", "--nodes", "1", "--time", "0:05:00"]].concat());
    wait_for("a place in the queue", || {
        let status = lab.folder(1).read_status().ok()?;
        (status.state == RunState::Preparing && status.message.contains("waiting in Slurm's queue as job ")).then_some(())
    });
    let script = fs::read_to_string(lab.folder(1).path().join("job.sh")).unwrap();
    assert!(script.contains("#SBATCH --ntasks=2\n#SBATCH --nodes=1\n#SBATCH --time=5:00\n"), "{script}");
    slurm.control(&["update", &format!("NodeName={NODE}"), "State=RESUME"]);
    let output = finish(run);
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    assert!(stderr(&output).contains("waiting in Slurm's queue"), "{}", stderr(&output));
    let status = lab.status(1);
    assert_eq!((status.state, slurm.queue().contains("RUNNING")), (RunState::Finished, false), "{}", status.message);
    lab.assert_nothing_left(1);
}

#[test]
fn stop_cancels_a_batch_job_that_waits_and_one_that_trains() {
    let _turn = trainer::turn();
    let (Some(lab), Some(slurm)) = (trainer::with_trainer(), Slurm::start()) else { return };
    let run = slurm.lab(&lab, &[&JOB[..], &["500"]].concat());
    training(&lab, 1, 2);
    assert!(finish(slurm.lab(&lab, &["stop", "1"])).status.success());
    assert_eq!(finish(run).status.code(), Some(1));
    assert_eq!(lab.status(1).state, RunState::Stopped, "{}", lab.status(1).message);
    wait_for("an empty queue", || slurm.queue().is_empty().then_some(()));
    slurm.control(&["update", &format!("NodeName={NODE}"), "State=DRAIN", "Reason=test"]);
    let run = slurm.lab(&lab, &[&JOB[..], &["500"]].concat());
    wait_for("a place in the queue", || slurm.queue().contains("PENDING").then_some(()));
    assert!(finish(slurm.lab(&lab, &["stop", "2"])).status.success());
    assert_eq!(finish(run).status.code(), Some(1));
    wait_for("an empty queue", || slurm.queue().is_empty().then_some(()));
}

#[test]
fn what_slurm_does_to_a_batch_job_is_said() {
    let _turn = trainer::turn();
    let (Some(lab), Some(slurm)) = (trainer::with_trainer(), Slurm::start()) else { return };
    // Put back into the queue, it goes on from its checkpoint.
    let run = slurm.lab(&lab, &[&JOB[..], &["40"]].concat());
    training(&lab, 1, 2);
    let number = slurm.queue().split_whitespace().next().unwrap().to_owned();
    slurm.control(&["requeue", &number]);
    wait_for("the queue again", || {
        lab.folder(1).read_status().ok().filter(|status| status.state == RunState::Preparing).map(drop)
    });
    // Slurm lets a requeued job wait for two minutes.
    slurm.control(&["update", &format!("JobId={number}"), "StartTime=now"]);
    let output = finish(run);
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    let record = lab.store().record(hvd_lab_terminal::runs::RunId(1)).unwrap();
    assert_eq!(record.attempts.len(), 2);
    let saved = lab.folder(1).events().filter(|line| matches!(line.event, Event::Launched { .. })).count();
    assert_eq!(saved, 2, "a launch each");

    let run = slurm.lab(&lab, &[&JOB[..], &["500"]].concat());
    wait_for("a second run", || lab.folder(2).read_status().ok().filter(|status| status.message == "training").map(drop));
    let number = slurm.queue().split_whitespace().next().unwrap().to_owned();
    assert!(slurm.client("scancel").arg(&number).status().unwrap().success());
    assert_eq!(finish(run).status.code(), Some(1));
    let message = lab.status(2).message;
    assert!(message.contains(&format!("job {number} was cancelled in Slurm, and not by the lab")), "{message}");

    let output = finish(slurm.lab(&lab, &[&JOB[..], &["1", "--partition", "nowhere"]].concat()));
    assert_eq!(output.status.code(), Some(1));
    assert!(
        lab.status(3).message.contains("sbatch refused the job: ") && lab.status(3).message.contains("partition"),
        "{}",
        lab.status(3).message
    );
    let refused = [
        (&["--nodes", "3"][..], "3 nodes are more than 2 ranks"),
        (&["-H", "a:2"], "Slurm chooses the hosts"),
        (&["--min-np", "1"], "started again by Slurm: leave --min-np out"),
    ];
    for (flags, words) in refused {
        let output = finish(slurm.lab(&lab, &[&JOB[..], &["1"], flags].concat()));
        assert!(output.status.code() == Some(2) && stderr(&output).contains(words), "{}", stderr(&output));
    }
}

/// A minute is the shortest that Slurm takes.
#[test]
fn a_batch_job_over_its_time_limit_keeps_its_epochs() {
    let _turn = trainer::turn();
    let (Some(lab), Some(slurm)) = (trainer::with_trainer(), Slurm::start()) else { return };
    let run = slurm.lab(&lab, &[&JOB[..], &["20000", "--target-accuracy", "1", "--time", "0:01:00"]].concat());
    let output = finish(run);
    let status = lab.status(1);
    assert!(status.message.contains("time limit of 00:01:00"), "{:?}: {}", status.state, status.message);
    assert_eq!((output.status.code(), status.state), (Some(1), RunState::Stopped), "{}", stderr(&output));
    let done = lab.store().summary(hvd_lab_terminal::runs::RunId(1)).unwrap().last_epoch;
    assert!(done > 0 && lab.folder(1).last_checkpoint().is_some_and(|place| place.epoch == done), "{done}");
    lab.assert_nothing_left(1);
}

#[test]
fn a_batch_job_whose_supervisor_was_killed_is_followed_again() {
    let _turn = trainer::turn();
    let (Some(lab), Some(slurm)) = (trainer::with_trainer(), Slurm::start()) else { return };
    let run = slurm.lab(&lab, &[&JOB[..], &["500"]].concat());
    training(&lab, 1, 2);
    let before = lab.status(1).supervisor_pid;
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(before as i32), nix::sys::signal::Signal::SIGKILL).unwrap();
    wait_for("another supervisor", || (lab.folder(1).read_status().ok()?.supervisor_pid != before).then_some(()));
    assert!(slurm.queue().contains("RUNNING"), "{}", slurm.queue());
    assert!(finish(slurm.lab(&lab, &["stop", "1"])).status.success());
    assert_eq!(finish(run).status.code(), Some(1));
    assert_eq!(lab.status(1).state, RunState::Stopped);
    wait_for("an empty queue", || slurm.queue().is_empty().then_some(()));
    lab.assert_nothing_left(1);
}
