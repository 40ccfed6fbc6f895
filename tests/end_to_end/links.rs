//! Collectives by the real program: a run on this machine, and one whose ranks each have a slow link of their own.
//!
//! Where the system does not allow such links, the test is skipped by name; HVD_LAB_REQUIRE=netns turns the skip into a failure.

use serde_json::Value;

use super::*;
use crate::support::lab::program;
use crate::support::needs::skip;

/// The program is the one built beside the lab.
fn with_collectives() -> Option<Lab> {
    let collectives = program().with_file_name("hvd-measure");
    if collectives.is_file() {
        return Some(Lab::with_mpirun()?.env("HVD_MEASURE", &collectives.display().to_string()));
    }
    skip("train", "no hvd-measure beside hvd-lab; `make test` builds it");
    None
}

fn collectives(lab: &Lab, np: &str, flags: &[&str]) -> Output {
    lab.run(&[["collectives", "run", "--np", np].as_slice(), flags].concat())
}

fn rows(lab: &Lab, run: &str) -> Vec<Value> {
    let shown: Value = serde_json::from_str(&stdout(&lab.run(&["collectives", "show", run, "--json"]))).unwrap();
    shown["rows"].as_array().unwrap().clone()
}

#[test]
fn what_the_lab_says_of_a_run_is_what_the_program_did() {
    let (_turn, Some(lab)) = (turn(), with_collectives()) else { return };
    let output = collectives(&lab, "2", &["--algorithm", "ring,mpi,mpi-ring", "-b", "1K", "-e", "64K", "-n", "5", "-w", "1"]);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    let rows = rows(&lab, "1");
    assert_eq!(rows.len(), 12, "{rows:?}");
    assert!(rows.iter().all(|row| row["wrong"] == 0 && row["median_s"].as_f64().unwrap() > 0.0), "{rows:?}");
    assert!(rows.iter().all(|row| row["predicted_s"].is_number() == (row["algorithm"] == "ring")), "{rows:?}");
    let replayed = stdout(&lab.run(&["collectives", "replay", "1", "--algorithm", "ring"]));
    assert!(replayed.contains("# the log equals the schedule: 4 messages"), "{replayed}");
    lab.assert_nothing_left(1);
}

#[test]
fn on_slow_links_one_server_takes_several_times_as_long_as_a_ring() {
    let (_turn, Some(lab)) = (turn(), with_collectives()) else { return };
    let flags = ["--algorithm", "ring,parameter-server", "-b", "1M", "-e", "1M", "-n", "3", "-w", "1", "--link", "200mbit"];
    let output = collectives(&lab, "4", &flags);
    if stderr(&output).contains("this machine cannot make slow links") {
        return skip("netns", stderr(&output).trim_end());
    }
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains("# on 200 Mbit/s links, made on this machine\n"), "{}", stdout(&output));
    let rows = rows(&lab, "1");
    let time = |algorithm: &str| {
        let row = rows.iter().find(|row| row["algorithm"] == algorithm).unwrap();
        row["median_s"].as_f64().unwrap()
    };
    // From bandwidth alone 63 ms and 252 ms; what may pass at once makes both a little shorter, a busy machine longer.
    assert!(time("ring") > 0.03, "{rows:?}");
    assert!(time("parameter-server") > 2.0 * time("ring"), "{rows:?}");
    assert!(stdout(&lab.run(&["runs"])).contains("collectives at 200 Mbit/s"));
    lab.assert_nothing_left(1);
}

#[test]
fn links_go_with_the_run_when_its_supervisor_is_killed() {
    let (_turn, Some(lab)) = (turn(), with_collectives()) else { return };
    let flags = ["--algorithm", "ring", "-b", "4M", "-e", "4M", "-n", "1000", "--link", "10mbit", "--detach"];
    let output = collectives(&lab, "2", &flags);
    if stderr(&output).contains("this machine cannot make slow links") {
        return;
    }
    wait_for("ranks to report", || (lab.pids(1).len() == 2).then_some(()));
    let namespace = |pid: u32| std::fs::read_link(format!("/proc/{pid}/ns/net")).unwrap();
    let mut own: Vec<_> = lab.pids(1).into_iter().map(namespace).collect();
    assert!(!own.contains(&namespace(std::process::id())), "a rank is in the network of this machine");
    own.dedup();
    assert_eq!(own.len(), 2, "two ranks share a network: {own:?}");
    process::signal(lab.status(1).supervisor_pid, Signal::SIGKILL);
    // Whoever looks next ends what it left.
    wait_for("the end of the run", || {
        lab.run(&["runs"]);
        lab.processes(1).is_empty().then_some(())
    });
    let in_one = |pid: u32| std::fs::read_link(format!("/proc/{pid}/ns/net")).is_ok_and(|network| own.contains(&network));
    let everybody = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    assert_eq!(everybody.filter(|pid| in_one(*pid)).collect::<Vec<u32>>(), [0; 0], "somebody holds a network of the run");
}
