//! Runs that lose ranks and go on with those that are left, from the last checkpoint.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;

use hvd_lab_terminal::domain::event::{CheckpointAction, Event, EventLine};
use hvd_lab_terminal::domain::run::RunState;
use hvd_lab_terminal::process;
use hvd_lab_terminal::runs::RunId;
use nix::sys::signal::Signal;

use super::killed::assert_unbroken;
use super::{SMALL, events, run};
use crate::support::lab::{Lab, finish, stderr};
use crate::support::trainer::{turn, with_trainer};
use crate::support::wait::wait_for;

/// From the death of a rank to the next step; a busy machine takes longer than the second or two that it is.
const MOST_SECONDS: f64 = 20.0;

/// Start the run, and kill a rank in the middle of its third epoch. Returns when that was, and what the command said.
fn with_a_kill(lab: &Lab, id: u32, victim: usize, flags: &[&str]) -> (f64, std::process::Output) {
    with_a_blow(lab, id, victim, &[&SMALL[..], flags].concat(), Signal::SIGKILL)
}

fn with_a_blow(lab: &Lab, id: u32, victim: usize, words: &[&str], signal: Signal) -> (f64, std::process::Output) {
    let going = lab.spawn(&[&["run"], words].concat());
    let has_begun = |line: &EventLine| line.process == victim && matches!(line.event, Event::Step { epoch: 2, .. });
    let so_far = || std::fs::read_to_string(lab.folder(id).events_file()).unwrap_or_default();
    let trains = || so_far().lines().filter_map(EventLine::parse_line).any(|line| has_begun(&line));
    wait_for("the third epoch", || trains().then_some(()));
    process::signal(lab.pids(id)[victim], signal);
    (hvd_lab_terminal::host::now_s(), finish(going))
}

#[test]
fn a_run_goes_on_without_the_rank_that_was_killed() {
    let (_turn, Some(lab)) = (turn(), with_trainer()) else { return };
    let flags = ["--np", "3", "--force", "--min-np", "1", "--data", "auto", "--epochs", "4", "--target-accuracy", "1"];
    // So many that the third epoch still goes on when the signal arrives.
    let small = SMALL.map(|word| if word == "400" { "1920" } else { word });
    let (killed_s, output) = with_a_blow(&lab, 1, 2, &[&small[..], &flags].concat(), Signal::SIGKILL);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stderr(&output);
    let goes_on =
        |text: &str| text.contains("rank 2 was ended") && text.contains("going on with 2 ranks from the last checkpoint");
    assert!(goes_on(&said), "{said}");
    let log = std::fs::read_to_string(lab.folder(1).launcher_log()).unwrap();
    assert!(goes_on(&log), "{log}");
    let summary = lab.store().summary(RunId(1)).unwrap();
    assert_eq!((summary.status.state, summary.last_epoch), (RunState::Finished, 4));
    assert!(summary.status.message.contains("it lost ranks once and went on"), "{}", summary.status.message);
    let record = summary.record.unwrap();
    assert_eq!(record.np_of_attempts().collect::<Vec<_>>(), [3, 2]);
    let because: Vec<&str> = record.attempts.iter().map(|attempt| attempt.because.as_deref().unwrap_or_default()).collect();
    assert!(because[0].is_empty() && because[1].contains("rank 2 was ended"), "{because:?}");
    let launched: Vec<usize> =
        events(&lab, 1).iter().filter_map(|line| if let Event::Launched { np } = line.event { Some(np) } else { None }).collect();
    assert_eq!(launched, [3, 2], "one event for each launch");
    let next = events(&lab, 1).into_iter().find(|line| line.time_s > killed_s + 0.2 && matches!(line.event, Event::Step { .. }));
    let took = next.unwrap().time_s - killed_s;
    assert!(took < MOST_SECONDS, "from the death of the rank to the next step: {took} s");
    // Steps 5 and 8 follow from the new number of ranks.
    let mut lengths: BTreeMap<usize, usize> = BTreeMap::new();
    for line in events(&lab, 1) {
        if let (0, Event::Epoch(report)) = (line.process, &line.event) {
            lengths.insert(report.epoch, report.batches);
        }
    }
    // 1920 images in batches of 32 are 60 steps of one rank.
    assert_eq!(lengths.into_iter().collect::<Vec<_>>(), [(1, 20), (2, 20), (3, 30), (4, 30)]);
    // A rank that is lost later has been paid for until then.
    let ends: BTreeMap<usize, f64> = events(&lab, 1)
        .iter()
        .filter_map(|line| match &line.event {
            Event::Epoch(report) if line.process == 0 => Some((report.epoch, report.cumulative_seconds)),
            _ => None,
        })
        .collect();
    let paid = lab.store().summary(RunId(1)).unwrap().device_seconds().unwrap();
    // Each launch counts its own seconds.
    assert!((paid - (3.0 * ends[&2] + 2.0 * ends[&4])).abs() < 1e-6, "{paid}: {ends:?}");
    let scaled = lab.run(&["check", "1", "--json"]);
    assert!(String::from_utf8_lossy(&scaled.stdout).contains("0.002 x 2 ranks"), "{}", String::from_utf8_lossy(&scaled.stdout));
    lab.assert_nothing_left(1);
}

#[test]
fn with_as_many_ranks_as_before_it_trains_as_if_nothing_had_happened() {
    let (_turn, Some(lab)) = (turn(), with_trainer()) else { return };
    let flags = ["--np", "2", "--data", "auto", "--epochs", "4"];
    assert_eq!(run(&lab, &flags).status.code(), Some(0));
    let (_, output) = with_a_kill(&lab, 2, 0, &[&flags[..], &["--min-np", "2"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(lab.store().record(RunId(2)).unwrap().np_of_attempts().collect::<Vec<_>>(), [2, 2]);
    assert_unbroken(&lab, 2, 1);
}

/// A program that prints these hosts, which can be changed.
fn script(lab: &Lab, hosts: &str) -> String {
    let path = lab.home().join("hosts.sh");
    // In one go: it is asked at any moment.
    let scratch = lab.home().join("hosts.new");
    std::fs::write(&scratch, format!("#!/bin/sh\nprintf '{hosts}'\n")).unwrap();
    std::fs::set_permissions(&scratch, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::rename(&scratch, &path).unwrap();
    path.display().to_string()
}

#[test]
fn it_goes_on_with_more_ranks_and_with_fewer_as_hosts_come_and_go() {
    let (_turn, Some(lab)) = (turn(), with_trainer()) else { return };
    // A host that cannot be reached gets no rank, and counts for nothing.
    let hosts = script(&lab, "localhost:1\\nnowhere.invalid:4\\n");
    let flags =
        ["--np", "2", "--min-np", "2", "--max-np", "3", "--host-discovery-script", &hosts, "--data", "auto", "--epochs", "400"];
    let going = lab.spawn(&[["run"].as_slice(), &SMALL, &flags].concat());
    wait_for("a wait for hosts", || {
        let is_named = |message: &str| {
            message.contains("1 slot is there, and --min-np is 2; nowhere.invalid is left out for 60 s: host nowhere.invalid: ")
        };
        lab.folder(1).read_status().ok().filter(|status| is_named(&status.message))
    });
    let launched = |ranks: &[usize]| {
        wait_for("ranks that train", || {
            let lines: Vec<_> = lab.folder(1).events().collect();
            let sizes = lines.iter().filter_map(|line| if let Event::Launched { np } = line.event { Some(np) } else { None });
            let trains = lines.iter().rev().take_while(|line| !matches!(line.event, Event::Launched { .. }));
            let has_checkpoint = trains
                .into_iter()
                .any(|line| matches!(&line.event, Event::Checkpoint(report) if report.action == CheckpointAction::Written));
            (sizes.collect::<Vec<_>>() == ranks && has_checkpoint).then_some(())
        });
    };
    script(&lab, "localhost:2\\n");
    launched(&[2]);
    script(&lab, "localhost:8\\n");
    launched(&[2, 3]);
    script(&lab, "localhost:2\\n");
    launched(&[2, 3, 2]);
    // Each goes on from the last checkpoint.
    let (mut written, mut loaded) = (0, Vec::new());
    for line in lab.folder(1).events().filter(|line| line.process == 0) {
        match line.event {
            Event::Checkpoint(report) if report.action == CheckpointAction::Written => written = report.epoch,
            Event::Checkpoint(report) if report.action == CheckpointAction::Loaded => loaded.push((report.epoch, written)),
            _ => {}
        }
    }
    assert_eq!(loaded.len(), 2);
    // The word of the last one may be lost with the rank that wrote it.
    assert!(loaded.iter().all(|(epoch, written)| epoch >= written), "{loaded:?}");
    assert!(lab.run(&["stop", "1"]).status.success());
    let output = finish(going);
    assert!(stderr(&output).contains("there are other hosts now; going on with 3 ranks"), "{}", stderr(&output));
    lab.assert_nothing_left(1);
    // Too few for too long.
    script(&lab, "");
    let output = run(&lab, &[&flags[..], &["--elastic-timeout", "2"]].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(lab.status(2).message.contains("0 slots are there, and --min-np is 2; waited for 0:02"), "{}", lab.status(2).message);
    lab.assert_nothing_left(2);
}

#[test]
fn a_script_that_hangs_is_not_left_behind() {
    let (_turn, Some(lab)) = (turn(), with_trainer()) else { return };
    let hosts = script(&lab, "localhost:2\\n");
    let more = ["--min-np", "1", "--host-discovery-script", &hosts, "--elastic-timeout", "1"];
    let flags = [&["--np", "2", "--data", "auto", "--epochs", "400"][..], &more].concat();
    let going = lab.spawn(&[["run"].as_slice(), &SMALL, &flags].concat());
    let trains = |line: &EventLine| matches!(line.event, Event::Step { .. });
    wait_for("a step", || lab.folder(1).events().any(|line| trains(&line)).then_some(()));
    let scratch = lab.home().join("hosts.new");
    std::fs::write(&scratch, "#!/bin/sh\nsleep 300\n").unwrap();
    std::fs::set_permissions(&scratch, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::rename(&scratch, &hosts).unwrap();
    process::signal(lab.pids(1)[1], Signal::SIGKILL);
    assert_eq!(finish(going).status.code(), Some(1));
    let said = lab.status(1).message;
    let parts = ["rank 1 was ended", "did not answer within 10 s", "--elastic-timeout is 0:01"];
    assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    lab.assert_nothing_left(1);
}

#[test]
fn it_does_not_wait_for_a_launcher_that_stays_frozen() {
    let (_turn, Some(lab)) = (turn(), with_trainer()) else { return };
    let flags = ["--np", "2", "--min-np", "1", "--data", "auto", "--epochs", "400"];
    let going = lab.spawn(&[["run"].as_slice(), &SMALL, &flags].concat());
    wait_for("a step", || lab.folder(1).events().any(|line| matches!(line.event, Event::Step { .. })).then_some(()));
    let rank = process::look_up(lab.pids(1)[0]).unwrap();
    process::signal(rank.parent, Signal::SIGSTOP);
    assert_eq!(finish(going).status.code(), Some(1));
    assert!(lab.status(1).message.contains("mpirun was ended by signal 9"), "{}", lab.status(1).message);
    let told =
        |line: EventLine| matches!(line.event, Event::Warning { message } if message.contains("mpirun is stopped by a signal"));
    assert!(lab.folder(1).events().any(told));
    lab.assert_nothing_left(1);
}

#[test]
fn it_goes_on_without_a_rank_that_stays_frozen() {
    let (_turn, Some(lab)) = (turn(), with_trainer()) else { return };
    let flags = ["--np", "2", "--min-np", "1", "--data", "auto", "--epochs", "4"];
    let (_, output) = with_a_blow(&lab, 1, 1, &[&SMALL[..], &flags].concat(), Signal::SIGSTOP);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(lab.store().record(RunId(1)).unwrap().np_of_attempts().collect::<Vec<_>>(), [2, 1]);
    let log = std::fs::read_to_string(lab.folder(1).launcher_log()).unwrap();
    assert!(log.contains("rank 1 has been stopped for 8 s"), "{log}");
    let because = lab.store().record(RunId(1)).unwrap().attempts.pop().unwrap().because.unwrap();
    assert!(because.contains("so the lab has ended it"), "{because}");
    lab.assert_nothing_left(1);
}

#[test]
fn it_ends_where_going_on_is_of_no_use() {
    let (_turn, Some(lab)) = (turn(), with_trainer()) else { return };
    let flags = ["--np", "2", "--min-np", "1", "--data", "auto", "--epochs", "4"];
    // The program says itself that it cannot go on, and would say so again.
    let output = run(&lab, &[&flags[..], &["--base-lr", "1e20"]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert_eq!(lab.store().record(RunId(1)).unwrap().attempts.len(), 1, "{}", stderr(&output));
    let (_, output) = with_a_kill(&lab, 2, 1, &[&flags[..], &["--reset-limit", "0"]].concat());
    assert_eq!(output.status.code(), Some(1));
    let said = lab.status(2).message;
    assert!(said.contains("rank 1 was ended") && said.contains("which is the limit (--reset-limit)"), "{said}");
    lab.assert_nothing_left(2);
}

#[test]
fn what_cannot_be_is_refused_in_a_line() {
    let Some(lab) = with_trainer() else { return };
    for (flags, words) in [
        (&["--np", "2", "--min-np", "3"][..], "min np 3 is more than np 2"),
        (&["--np", "2", "--min-np", "0"], "min np is 0"),
        (&["--np", "2", "--reset-limit", "3"], "add --min-np"),
        (&["--np", "2", "--min-np", "1", "--no-checkpointing"], "leave --no-checkpointing out"),
        (&["--np", "2", "--min-np", "some"], "whole number"),
        (&["--np", "2", "--min-np", "1", "--max-np", "3"], "add --host-discovery-script"),
        (&["--np", "2", "--host-discovery-script", "/bin/true"], "add --min-np"),
        (&["--np", "2", "--min-np", "1", "--host-discovery-script", "/bin/false"], "/bin/false ended with"),
    ] {
        let output = run(&lab, flags);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {said}");
        assert!(said.contains(words) && said.lines().count() == 1, "{flags:?}: {said}");
    }
}
