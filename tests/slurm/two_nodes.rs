//! A Slurm of two nodes, each a host with a network of its own: jobs that span both, and what becomes of one whose node fails.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use hvd_lab_terminal::domain::event::Event;
use hvd_lab_terminal::domain::run::RunState;

use super::cluster::Slurm;
use super::{JOB, training};
use crate::support::hosts::HOSTS;
use crate::support::lab::{finish, stderr, stdout};
use crate::support::trainer;

/// Slurm itself waits 30 s for a node that does not answer, before the job is over.
const NAMED: Duration = Duration::from_secs(90);

#[test]
fn a_batch_job_trains_on_two_nodes_and_a_node_that_fails_is_named() {
    let _turn = trainer::turn();
    let (Some(lab), Some(slurm)) = (trainer::with_trainer(), Slurm::start_two()) else { return };
    let network = ["--nodes", "2", "--network-interface", "10.213.7.0/24"];
    let output = finish(slurm.lab(&lab, &[&JOB[..], &["1"], &network].concat()));
    assert!(output.status.success(), "{}{}{}", stdout(&output), stderr(&output), lab.status(1).message);
    let hosts: BTreeSet<String> = lab
        .folder(1)
        .events()
        .filter_map(|line| if let Event::Topology(report) = line.event { Some(report.host) } else { None })
        .collect();
    assert!(hosts.iter().map(String::as_str).eq(HOSTS.map(|(name, ..)| name)), "{hosts:?}");

    let run = slurm.lab(&lab, &[&JOB[..], &["500"], &network].concat());
    training(&lab, 2, 2);
    let begin = Instant::now();
    slurm.hosts.as_ref().unwrap()[1].kill_all();
    let output = finish(run);
    let (took, status) = (begin.elapsed(), lab.status(2));
    assert_eq!((output.status.code(), status.state), (Some(1), RunState::Failed), "{}", stderr(&output));
    let names_it = status.message.contains(HOSTS[1].0) || status.message.contains("one of its nodes failed");
    assert!(names_it && took < NAMED, "{took:?}: {}", status.message);
}
