//! Runs that name hosts, with an agent that plays the other ones; and flags that users of horovodrun know.

use std::os::unix::fs::PermissionsExt;

use hvd_lab_terminal::domain::run::RunState;
use hvd_lab_terminal::runs::RunId;

use crate::support::lab::{Lab, stderr};
use crate::support::wait::wait_for;

/// An agent instead of ssh: this, for the shell of a host named `$1`.
fn with_agent(lab: Lab, body: &str) -> Lab {
    let agent = lab.home().join("agent");
    std::fs::write(&agent, format!("#!/bin/sh\n{body}\n")).unwrap();
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
    let agent = agent.display().to_string();
    lab.env("PRTE_MCA_plm_ssh_agent", &agent).env("OMPI_MCA_plm_rsh_agent", &agent)
}

#[test]
fn a_host_that_cannot_be_reached_is_named_before_any_rank_starts() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let lab = with_agent(lab, "echo \"ada@$1: Permission denied (publickey).\" >&2; exit 255");
    let output = lab.run(&["run", "--data", "generated", "--np", "3", "-H", "localhost:1,node7,node8"]);
    let (said, status) = (stderr(&output), lab.status(1));
    assert_eq!((status.state, output.status.code()), (RunState::Failed, Some(1)), "{said}");
    let wanted = "host node7: cannot be reached by agent: ada@node7: Permission denied (publickey). To do: ";
    assert!(status.message.starts_with(wanted) && status.message.ends_with("There is 1 more thing to fix"), "{}", status.message);
    assert_eq!(status.last_lines.len(), 2);
    assert!(said.contains("to fix:\n") && said.contains("host node8: ") && said.contains("ssh-copy-id node8"), "{said}");
    let record = lab.store().record(RunId(1)).unwrap();
    assert!(record.attempts.is_empty(), "no rank was started");
    assert!(
        !std::fs::read_dir(lab.folder(1).path())
            .unwrap()
            .flatten()
            .any(|entry| entry.file_name().to_string_lossy().contains("hosts"))
    );
}

#[test]
fn a_host_with_another_trainer_starts_nothing() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let lab = with_agent(lab, "shift; sh -c \"$*\" | sed 's/host hash ......../host hash 01234567/'");
    let output = lab.run(&["run", "--data", "generated", "--np", "2", "-H", "localhost:1,node7"]);
    let said = stderr(&output);
    assert!(said.contains("host node7: hvd-train.sh is another build there (sha256 01234567...)"), "{said}");
    assert!(!said.contains("to fix:"), "one thing needs no list: {said}");
    assert_eq!(output.status.code(), Some(1));
    lab.assert_nothing_left(1);
}

#[test]
fn a_stop_ends_the_look_at_a_host_that_never_answers() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let lab = with_agent(lab, "touch \"$HVD_LAB_HOME/asked\"; exec sleep 300");
    let output = lab.run(&["run", "--data", "generated", "--np", "2", "-H", "localhost:1,node7", "--detach"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    wait_for("the agent to be asked", || lab.home().join("asked").exists().then_some(()));
    assert!(lab.run(&["stop", "1"]).status.success());
    assert_eq!(lab.wait_until_over(1).state, RunState::Stopped);
    lab.assert_nothing_left(1);
}

#[test]
fn this_host_by_any_name_needs_no_agent() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let lab = with_agent(lab, "touch \"$HVD_LAB_HOME/asked\"; exit 1");
    let output = lab.run(&["run", "--data", "generated", "--np", "2", "-H", "localhost:2"]);
    assert_eq!((lab.status(1).state, output.status.code()), (RunState::Finished, Some(0)), "{}", stderr(&output));
    assert!(!lab.home().join("asked").exists());
}

#[test]
fn a_rank_that_never_reports_is_named_when_the_start_timeout_is_over() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let lab = lab.env("STAND_IN", "mute");
    let output = lab.run(&["run", "--data", "generated", "--np", "2", "--start-timeout", "3"]);
    let status = lab.status(1);
    assert_eq!((status.state, output.status.code().is_some_and(|code| code != 0)), (RunState::Failed, true));
    assert!(status.message.starts_with("rank 1 of 2 did not report within 0:03"), "{}", status.message);
    lab.assert_nothing_left(1);
}

#[test]
fn a_start_timeout_does_not_end_a_run_that_has_begun() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let lab = lab.env("STAND_IN_EPOCH_SECONDS", "2");
    let output = lab.run(&["run", "--data", "generated", "--np", "2", "--epochs", "3", "--start-timeout", "4"]);
    assert_eq!((lab.status(1).state, output.status.code()), (RunState::Finished, Some(0)), "{}", stderr(&output));
}

#[test]
fn what_each_rank_prints_is_found_where_horovodrun_puts_it() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let lab = lab.env("STAND_IN_ALL_PRINT", "1");
    let folder = lab.home().join("out");
    let out = folder.display().to_string();
    let run = || lab.run(&["run", "--data", "generated", "--np", "2", "--epochs", "2", "--output-filename", &out]);
    for _ in 0..2 {
        assert_eq!(run().status.code(), Some(0));
    }
    for rank in ["rank.0", "rank.1"] {
        let text = std::fs::read_to_string(folder.join(rank).join("stdout")).unwrap();
        assert!(text.starts_with("Epoch 1/2\n") && !text.contains("@hvd"), "{text}");
    }
    let newest = std::fs::read_link(folder.join("rank.1/stdout")).unwrap();
    assert_eq!(newest, lab.folder(2).rank_log(1));
    // What somebody else wrote stays, and nothing is started.
    std::fs::remove_file(folder.join("rank.0/stdout")).unwrap();
    std::fs::write(folder.join("rank.0/stdout"), "precious").unwrap();
    let output = run();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("rank.0/stdout is there already") && lab.store().ids().len() == 2);
}
