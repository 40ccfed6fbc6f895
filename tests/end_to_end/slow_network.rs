//! A cable of a training run that is made slow: found by its queue, undone, and without a trace in the losses.
//!
//! Where the system does not allow cables, the tests are skipped by name; HVD_LAB_REQUIRE=netns turns the skip into a failure.

use std::collections::BTreeSet;
use std::path::PathBuf;

use hvd_lab_terminal::domain::event::Event;
use hvd_lab_terminal::domain::history::{History, Keep};
use hvd_lab_terminal::domain::run::RunState;
use hvd_lab_terminal::runs::RunId;

use super::killed::losses;
use super::{SMALL, events};
use crate::support::lab::{Lab, finish, stderr, stdout};
use crate::support::needs::skip;
use crate::support::trainer::{turn, with_trainer};
use crate::support::wait::wait_for;

const TRAINING: [&str; 6] = ["--np", "2", "--data", "auto", "--target-accuracy", "1"];

/// A lab on a machine where ranks can be given links.
fn with_links() -> Option<Lab> {
    let lab = with_trainer()?;
    let output = lab.run(&["run", "--np", "2", "--data", "auto", "--link", "1gbit", "--dry-run"]);
    if !stderr(&output).contains("this machine cannot make slow links") {
        return Some(lab);
    }
    skip("netns", stderr(&output).trim_end());
    None
}

fn words<'a>(link: &'a str, epochs: &'a str) -> Vec<&'a str> {
    [["run"].as_slice(), &SMALL, &TRAINING, &["--link", link, "--epochs", epochs]].concat()
}

fn history(lab: &Lab, id: u32) -> History {
    let mut history = History::new(Keep::Everything);
    events(lab, id).iter().for_each(|line| history.take(line));
    history
}

/// Seconds of each epoch, as rank 0 measured them.
fn epochs(lab: &Lab, id: u32) -> Vec<f64> {
    let ends: Vec<f64> = history(lab, id).epochs(0).map(|report| report.cumulative_seconds).collect();
    ends.iter().scan(0.0, |before, end| Some(end - std::mem::replace(before, *end))).collect()
}

/// What the lab said of slow networks.
fn named(lab: &Lab, id: u32) -> Vec<String> {
    let warning = |event| if let Event::Warning { message } = event { Some(message) } else { None };
    let warnings = events(lab, id).into_iter().filter_map(|line| warning(line.event));
    warnings.filter(|message| message.contains("the network of rank")).collect()
}

/// The networks that processes of this machine are in.
fn networks(pids: impl IntoIterator<Item = u32>) -> BTreeSet<PathBuf> {
    pids.into_iter().filter_map(|pid| std::fs::read_link(format!("/proc/{pid}/ns/net")).ok()).collect()
}

fn everybody() -> Vec<u32> {
    std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn wait_for_epoch(lab: &Lab, id: u32, epoch: usize) {
    let is_there = || lab.folder(id).events_file().exists() && history(lab, id).epochs(0).count() >= epoch;
    wait_for("an epoch", || is_there().then_some(()));
}

#[test]
fn a_slow_cable_is_named_by_its_queue_and_costs_time_but_no_digit_of_a_loss() {
    let (_turn, Some(lab)) = (turn(), with_links()) else { return };
    let well = lab.run(&words("1gbit", "16"));
    assert_eq!(well.status.code(), Some(0), "{}", stderr(&well));
    assert_eq!(named(&lab, 1), [""; 0], "every cable of run 1 is as fast as the others");

    let going = lab.spawn(&words("1gbit", "16"));
    wait_for_epoch(&lab, 2, 2);
    let output = lab.run(&["fault", "2", "slow-network", "--rank", "1", "--seconds", "9"]);
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    let said = stdout(&output);
    assert!(said.starts_with("The cable to rank 1 lets at most 2 Mbit/s through"), "{said}");
    assert!(said.contains("found after") && said.contains("the network of rank 1 is slow"), "{said}");
    finish(going);

    assert_eq!(lab.status(2).state, RunState::Finished, "{}", lab.status(2).message);
    assert_eq!(named(&lab, 2).len(), 1, "{:?}", named(&lab, 2));
    let faults = &lab.store().record(RunId(2)).unwrap().attempts[0].faults;
    assert!(faults[0].found_after_s.is_some_and(|after| after < 10.0), "{faults:?}");
    let seconds = epochs(&lab, 2);
    let (slowest, most) = seconds.iter().copied().enumerate().max_by(|one, other| one.1.total_cmp(&other.1)).unwrap();
    let fastest = |of: &[f64]| of.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(fastest(&seconds[..slowest]) < most / 2.0, "slower than before: {seconds:?}");
    assert!(fastest(&seconds[slowest + 1..]) < most / 2.0, "as fast as before: {seconds:?}");
    assert!(!losses(&lab, 1).is_empty());
    assert_eq!(losses(&lab, 1), losses(&lab, 2), "the losses know nothing of it");
    let test = |id| history(&lab, id).process(0).and_then(|process| process.test);
    assert!(test(1).is_some() && test(1) == test(2));
    lab.assert_nothing_left(2);
}

#[test]
fn links_that_are_slow_for_all_ranks_name_nobody() {
    let (_turn, Some(lab)) = (turn(), with_links()) else { return };
    let output = lab.run(&words("10mbit", "4"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let seconds: f64 = epochs(&lab, 1).iter().sum();
    assert!(seconds > 6.0, "long enough to be looked at: {seconds} s");
    assert_eq!(named(&lab, 1), [""; 0]);
    lab.assert_nothing_left(1);
}

#[test]
fn a_run_that_is_stopped_while_a_cable_is_slow_leaves_no_process_and_no_network() {
    let (_turn, Some(lab)) = (turn(), with_links()) else { return };
    let going = lab.spawn(&words("1gbit", "900"));
    wait_for_epoch(&lab, 1, 1);
    let fault = lab.spawn(&["fault", "1", "slow-network", "--seconds", "600"]);
    wait_for("the fault", || lab.store().record(RunId(1)).ok()?.attempts.last()?.faults.first()?.found_after_s);
    let mut of_run = networks(lab.processes(1));
    networks([std::process::id()]).iter().for_each(|own| _ = of_run.remove(own));
    assert_eq!(of_run.len(), 3, "two ranks and the launcher: {of_run:?}");
    assert_eq!(lab.run(&["stop", "1"]).status.code(), Some(0));
    assert_eq!(lab.wait_until_over(1).state, RunState::Stopped);
    assert!(stdout(&finish(fault)).contains("found after"));
    finish(going);
    lab.assert_nothing_left(1);
    let left: Vec<u32> = everybody().into_iter().filter(|pid| !networks([*pid]).is_disjoint(&of_run)).collect();
    assert_eq!(left, [0; 0], "somebody holds a network of the run");
}
