//! Programs of the user's own under the lab: real processes, with and without a launcher.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Output;

use hvd_lab_terminal::domain::run::RunState;
use hvd_lab_terminal::process;
use hvd_lab_terminal::runs::{RunId, RunSummary, gained};
use nix::sys::signal::Signal;

use crate::support::lab::{Lab, finish, stderr};
use crate::support::wait::wait_for;

/// Two epochs as Keras prints them.
const KERAS: &str = r#"for epoch in 1 2; do
    echo "Epoch $epoch/2"
    echo "50/50 - 1s - 20ms/step - accuracy: 0.5$epoch - loss: 0.7$epoch - val_accuracy: 0.6$epoch - val_loss: 0.6$epoch"
done"#;

/// A script in the lab's home, which is where the tests start their runs.
pub fn script(lab: &Lab, name: &str, body: &str) -> PathBuf {
    let file = lab.home().join(name);
    std::fs::write(&file, body).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    file
}

pub fn run(lab: &Lab, args: &[&str]) -> Output {
    let mut command = lab.command(&[&["run"], args].concat());
    command.current_dir(lab.home()).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    finish(command.spawn().unwrap())
}

pub fn summary(lab: &Lab, id: u32) -> RunSummary {
    lab.store().summary(RunId(id)).unwrap()
}

#[test]
fn a_program_without_a_launcher_is_read_by_its_adapter() {
    let lab = Lab::with_fake_mpirun("stranger");
    script(&lab, "train.sh", KERAS);
    let output = run(&lab, &["--name", "mine", "--", "sh", "train.sh"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        stderr(&output).contains(
            "read: epoch, number of epochs, step, number of steps, loss, accuracy, validation loss, validation accuracy (lines like those of Keras)"
        ),
        "{}",
        stderr(&output)
    );
    let run = summary(&lab, 1);
    let logged = run.logged.clone().unwrap().last;
    assert_eq!((logged.epoch, logged.loss, logged.val_accuracy), (Some(2.0), Some(0.72), Some(0.62)));
    assert_eq!((run.last_epoch, run.figures.images_per_sec), (2, None), "nobody said how fast it is");
    assert_eq!(std::fs::read_to_string(lab.folder(1).rank_log(0)).unwrap().lines().count(), 4, "its lines, and no others");
    let shown = lab.run(&["runs"]);
    let table = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(table.contains("train.sh") && table.contains("62.0 % val") && table.contains("mine"), "{table}");
    lab.assert_nothing_left(1);
}

#[test]
fn ranks_tell_figures_by_the_python_module_and_more_ranks_are_compared() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let body = "import hvd_lab, os, time\n\
                for step in range(1, 4):\n    hvd_lab.log(step=step, loss=1 / step, images_per_sec=100 + int(os.environ.get('OMPI_COMM_WORLD_RANK', 0)))\n\
                # In per cent, which is left out with a warning.\n\
                hvd_lab.log(accuracy=95)\n\
                print('Epoch 7')\n\
                time.sleep(2.5)\n";
    script(&lab, "train.py", body);
    for np in ["1", "2"] {
        let output = run(&lab, &["--np", np, "--force", "--", "python3", "-W", "ignore", "train.py"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    let (one, two) = (summary(&lab, 1), summary(&lab, 2));
    assert_eq!((one.figures.images_per_sec, two.figures.images_per_sec), (Some(100.0), Some(201.0)));
    assert_eq!(gained(&two, &one).unwrap().speedup, Some(2.01));
    assert_eq!(lab.pids(2).len(), 2, "both ranks were found");
    let log = std::fs::read_to_string(lab.folder(2).rank_log(1)).unwrap();
    assert_eq!(log, "Epoch 7\n", "events are no lines of the log");
    let read_by = two.logged.clone().unwrap().read_by;
    assert_eq!(read_by, "step, loss, images/s (hvd_lab.log), epoch (words before numbers)");
}

#[test]
fn a_program_that_fails_is_told_with_its_last_line() {
    let lab = Lab::with_fake_mpirun("stranger");
    let output = run(&lab, &["--", "sh", "-c", "echo begun; echo 'no such layer: conv9' >&2; exit 3"]);
    let status = lab.status(1);
    assert_eq!((output.status.code(), status.state, status.exit_code), (Some(1), RunState::Failed, Some(3)));
    assert_eq!(
        (status.message.as_str(), status.failed_process),
        ("the program ended with exit code 3: no such layer: conv9", Some(0))
    );
    let output = run(&lab, &["--", "sh", "-c", "kill -9 $$"]);
    assert!(stderr(&output).contains("failed: the program was ended by signal 9 (SIGKILL)"), "{}", stderr(&output));
}

#[test]
fn a_port_that_another_run_may_hold_names_that_run() {
    let lab = Lab::with_fake_mpirun("stranger");
    script(&lab, "taken.sh", "echo 'OSError: [Errno 98] Address already in use' >&2\nexit 1");
    let failure = |id: u32| {
        run(&lab, &["--", "sh", "taken.sh"]);
        summary(&lab, id).status.message
    };
    assert_eq!(failure(1), "the program ended with exit code 1: OSError: [Errno 98] Address already in use");
    run(&lab, &["--detach", "--", "sleep", "60"]);
    assert!(
        failure(3).ends_with(". run 2 is still going and may hold the port: `hvd-lab stop 2`"),
        "{}",
        summary(&lab, 3).status.message
    );
    assert_eq!(lab.run(&["stop"]).status.code(), Some(0));
    lab.assert_nothing_left(2);
}

#[test]
fn whom_its_launcher_names_is_blamed_and_the_launcher_is_called_by_its_name() {
    let lab = Lab::with_fake_mpirun("stranger");
    let torchrun = r#"#!/bin/sh
echo '[default0]:epoch 1 loss: 0.5'; echo '[default1]:epoch 1 loss: 1.5'
echo '[default0]:RuntimeError: Read error [127.0.0.1]:9453: Connection reset by peer' >&2
printf '%s\n' =========== 'train.py FAILED' Failures: '[1]:' '  rank      : 0 (local_rank: 0)' '  exitcode  : 1 (pid: 70)' \
  'Root Cause (first observed failure):' '[0]:' '  rank      : 1 (local_rank: 1)' '  exitcode  : -9 (pid: 71)' =========== >&2
exit 1"#;
    let accelerate = "#!/bin/sh\necho 'accelerate: error: unrecognized arguments: --np' >&2; exit 2";
    for (id, (name, body, blamed, said, shown)) in (1..).zip([
        ("torchrun", torchrun, Some(1), "rank 1 was ended by signal 9 (SIGKILL)", "last lines of rank 1 ("),
        ("accelerate", accelerate, None, "the program ended with exit code 2: accelerate: error", "accelerate's last lines:"),
    ]) {
        let launcher = script(&lab, name, body);
        let output = run(&lab, &["--", launcher.to_str().unwrap(), "train.py"]);
        let status = lab.status(id);
        assert_eq!(
            (output.status.code(), status.failed_process),
            (Some(if id == 1 { 1 } else { 2 }), blamed),
            "{}",
            status.message
        );
        assert!(status.message.starts_with(said) && stderr(&output).contains(&status.message), "{}", status.message);
        assert!(stderr(&output).contains(shown) && !stderr(&output).contains("mpirun's"), "{}", stderr(&output));
        lab.assert_nothing_left(id);
    }
}

#[test]
fn what_a_program_keeps_among_temporary_files_is_kept_or_told_as_lost() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let temporary = tempfile::tempdir().unwrap();
    let lab = lab.env("TMPDIR", temporary.path().to_str().unwrap());
    script(&lab, "compile.sh", "touch $TMPDIR/compiled_kernels; echo loss 0.5");
    let output = run(&lab, &["--", "sh", "compile.sh"]);
    assert!(temporary.path().join("compiled_kernels").is_file() && !stderr(&output).contains("TMPDIR"), "{}", stderr(&output));
    let output = run(&lab, &["--np", "2", "--force", "--", "sh", "compile.sh"]);
    assert_eq!(stderr(&output).matches("put into TMPDIR (compiled_kernels)").count(), 1, "{}", stderr(&output));
    script(&lab, "plain.sh", "echo loss 0.5");
    let output = run(&lab, &["--np", "2", "--force", "--", "sh", "plain.sh"]);
    assert!(output.status.success() && !stderr(&output).contains("TMPDIR"), "MPI's own files are no loss: {}", stderr(&output));
}

#[test]
fn a_killed_rank_is_named_and_a_stop_leaves_nothing() {
    let Some(lab) = Lab::with_mpirun() else { return };
    script(&lab, "wait.sh", "echo step 1 loss 0.5\nsleep 300 & wait");
    for id in [1, 2] {
        let output = run(&lab, &["--np", "2", "--force", "--detach", "--", "sh", "wait.sh"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let pids = wait_for("both ranks to be found", || Some(lab.pids(id)).filter(|pids| pids.len() == 2));
        if id == 1 {
            process::signal_proven(
                pids[1],
                process::look_up(pids[1]).unwrap().start_ticks,
                lab.folder(1).path(),
                Signal::SIGKILL,
            );
            let status = lab.wait_until_over(1);
            assert_eq!((status.state, status.failed_process), (RunState::Failed, Some(1)), "{}", status.message);
            assert!(status.message.starts_with("rank 1 was ended by signal 9"), "{}", status.message);
        } else {
            assert!(lab.run(&["stop", "2"]).status.success());
            assert_eq!(lab.wait_until_over(2).state, RunState::Stopped);
        }
        lab.assert_nothing_left(id);
    }
}

#[test]
fn a_line_with_a_launcher_of_its_own_runs_as_it_is() {
    let Some(lab) = Lab::with_mpirun() else { return };
    script(&lab, "rank.sh", "echo \"Iter #1: 5$OMPI_COMM_WORLD_RANK.0 img/sec per CPU\"");
    let mpirun = PathBuf::from(env!("HVD_LAB_BUILD_MPIRUN"));
    let output = run(&lab, &["--", mpirun.to_str().unwrap(), "-np", "2", "--map-by", ":OVERSUBSCRIBE", "sh", "rank.sh"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(std::fs::read_to_string(lab.folder(1).rank_log(1)).unwrap(), "Iter #1: 51.0 img/sec per CPU\n");
    let one = summary(&lab, 1);
    assert_eq!((one.figures.np, one.figures.images_per_sec), (2, Some(101.0)));
    // One that tags its lines only when it is asked to.
    let torchrun = script(
        &lab,
        "torchrun",
        "#!/bin/sh\ntest \"$1 $2\" = '--tee 3' || exit 9\necho 'W torch is not here'\necho '[default1]:Epoch: 4 loss: 0.25'",
    );
    let output = run(&lab, &["--", torchrun.to_str().unwrap(), "--nproc_per_node", "2", "train.py"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(std::fs::read_to_string(lab.folder(2).rank_log(1)).unwrap(), "Epoch: 4 loss: 0.25\n");
    assert!(std::fs::read_to_string(lab.folder(2).launcher_log()).unwrap().contains("W torch is not here"));
    assert_eq!(summary(&lab, 2).logged.clone().unwrap().last.loss, Some(0.25));
}

#[test]
fn what_cannot_be_meant_is_refused_before_anything_starts() {
    let lab = Lab::with_fake_mpirun("stranger");
    let plain = lab.home().join("plain.py");
    std::fs::write(&plain, "").unwrap();
    for (args, expected) in [
        (&["--", "no-such-program"][..], "there is no program `no-such-program`"),
        (&["--", "./plain.py"], "such as `hvd-lab run -- python3 ./plain.py`"),
        (&["--epochs", "3", "--", "true"], "--epochs is for the lab's trainer"),
        (&["--steps", "1-3", "--", "true"], "--steps is for the lab's trainer"),
        (&["--preset", "cpu", "--", "true"], "--preset is for the lab's trainer"),
        (&["--np", "2", "--", "mpirun", "-np", "2", "true"], "mpirun starts the ranks itself"),
        (&["--pattern", "loss=(", "--", "true"], "--pattern loss=(: unclosed group"),
        (&["--pattern", "loss=[0-9.]+", "--", "true"], "has no group: put parentheses around the number"),
        (&["--pattern", "cost=x", "--", "true"], "`cost` is no figure of a training"),
        (&["--pattern", "loss=x"], "--pattern is for a program of your own"),
        (&["--", ""], "no program is named"),
    ] {
        let output = run(&lab, args);
        assert!(stderr(&output).contains(expected), "{args:?}: {}", stderr(&output));
        assert_eq!((output.status.code(), stderr(&output).lines().count()), (Some(2), 1), "{args:?}");
    }
    assert_eq!(lab.store().list().len(), 0);
    let output = run(&lab, &["--dry-run", "--np", "1", "--", "true", "a b"]);
    assert!(String::from_utf8_lossy(&output.stdout).trim_end().ends_with("true 'a b'"), "{output:?}");
    // What an own program began, only its own flags can go on with.
    assert_eq!(run(&lab, &["--", "true"]).status.code(), Some(0));
    let output = run(&lab, &["--continue", "1"]);
    assert!(stderr(&output).contains("run 1 is a program of your own (true)"), "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(2));
}
