//! A run of 512 ranks on 64 hosts, all played by one process: none of its steps is lost, and whoever fails is named and comes first.

use std::collections::BTreeMap;

use hvd_lab_terminal::domain::event::Event;
use hvd_lab_terminal::domain::run::RunState;

use crate::support::lab::{Lab, stderr, stdout};

#[test]
fn of_512_ranks_no_step_is_lost_and_the_one_that_fails_is_found() {
    let cluster = concat!(env!("HVD_LAB_CHECKOUT"), "/tests/launch/cluster.py");
    let lab = Lab::with_fake_mpirun("4").env("HVD_LAB_MPIRUN", cluster);
    // Long enough for the host to count as silent.
    let lab = lab.env("STAND_IN_CLUSTER", "batches=20 fail=317,44@8 silent=17@1");
    let output = lab.run(&["run", "--np", "512", "--force", "--data", "generated", "--epochs", "50"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let status = lab.status(1);
    assert_eq!((status.state, status.failed_process), (RunState::Failed, Some(317)), "{status:?}");
    assert!(status.message.contains("rank 317") && status.message.contains("out of memory"), "{}", status.message);

    let (mut reported, mut steps) = (0, BTreeMap::<usize, Vec<usize>>::new());
    for line in lab.folder(1).events() {
        match line.event {
            Event::Topology(_) => reported += 1,
            Event::Step { epoch, batch, .. } => steps.entry(line.process).or_default().push(20 * epoch + batch),
            _ => {}
        }
    }
    assert_eq!((reported, steps.len()), (512, 512));
    for (rank, steps) in &steps {
        assert!(steps.iter().copied().eq(0..steps.len()), "rank {rank}: {steps:?}");
    }
    let said = std::fs::read_to_string(lab.folder(1).launcher_log()).unwrap();
    let printed = said.lines().find_map(|line| line.strip_prefix("stand-in: ")?.split(' ').next()?.parse().ok());
    assert_eq!(printed, Some(steps.values().map(Vec::len).sum::<usize>()), "{said}");

    let listed = lab.run(&["runs", "ranks", "1"]);
    let text = stdout(&listed);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("rank 317 on node39 failed: out of memory"), "{text}");
    assert!(lines[1].starts_with("rank 44 on node05 failed: process 317 is gone"), "{text}");
    let hosts: Vec<&str> = lines[3..].iter().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!((&hosts[..4], hosts.len()), (&["node39", "node05", "node17", "node00"][..], 64), "{text}");
    assert!(lines[5].contains("136-143") && lines[5].contains("silent for 0:0"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&stdout(&lab.run(&["runs", "ranks", "1", "--json"]))).unwrap();
    assert_eq!((&json["failed"][0]["rank"], &json["hosts"][0]["failed"][0]), (&317.into(), &317.into()));

    let log = stdout(&lab.run(&["runs", "log", "1", "317"]));
    assert!(
        log.starts_with("rank 317 of 512 on node39") && log.ends_with("error: out of memory: 812 MiB asked, 97 MiB free\n"),
        "{log}"
    );
    // Of 512 ranks only the root prints much; what another has not said is said to be nothing.
    std::fs::write(lab.folder(1).rank_log(7), "").unwrap();
    let silent = lab.run(&["runs", "log", "1", "7"]);
    assert_eq!(silent.status.code(), Some(0));
    assert!(stderr(&silent).contains("rank 7 of run 1 has printed nothing"), "{}", stderr(&silent));
    let none = lab.run(&["runs", "log", "1", "512"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(stderr(&none).contains("run 1 has no log of rank 512: its ranks are 0 to 511"), "{}", stderr(&none));
    lab.assert_nothing_left(1);
}
