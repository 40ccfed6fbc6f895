//! What a user's own program can do to its run: leave processes behind, print without end, log without end.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use hvd_lab_terminal::dataset::protobuf::Message;
use hvd_lab_terminal::dataset::tfrecord::record;
use hvd_lab_terminal::domain::run::RunState;

use crate::support::lab::{Lab, finish, stderr};
use crate::support::wait::wait_for;

/// A script in the lab's home, which is where these tests start their runs.
fn script(lab: &Lab, name: &str, body: &str) {
    let file = lab.home().join(name);
    fs::write(&file, body).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
}

fn run(lab: &Lab, args: &[&str]) -> Output {
    let mut command = lab.command(&[&["run"], args].concat());
    command.current_dir(lab.home()).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    finish(command.spawn().unwrap())
}

fn text(file: impl AsRef<Path>) -> String {
    String::from_utf8_lossy(&fs::read(file).unwrap_or_default()).into_owned()
}

/// A child in a session of its own, with or without an environment, that holds the output of its rank.
const LEAVE: &str = "$CLEAN setsid sh -c 'echo $$ > there.$0; exec sleep 300' $OMPI_COMM_WORLD_RANK &
while [ ! -e there.$OMPI_COMM_WORLD_RANK ]; do sleep 0.01; done
";

#[test]
fn ranks_that_end_at_once_and_leave_a_child_with_their_output_do_not_hold_up_the_end() {
    for clean in ["", "env -i"] {
        let Some(lab) = Lab::with_mpirun() else { return };
        script(&lab, "leave.sh", &LEAVE.replace("$CLEAN", clean));
        let began = Instant::now();
        let output = run(&lab, &["--np", "2", "--force", "--", "sh", "leave.sh"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(began.elapsed() < Duration::from_secs(60), "{clean}: {:?}", began.elapsed());
        let said = text(lab.folder(1).launcher_log());
        let who = if clean.is_empty() { "rank 1 has left `sleep 300` (pid " } else { "a rank has left `sleep 300` (pid " };
        assert!(said.contains(who) && said.contains("holds the output of the run open"), "{said}");
        lab.assert_nothing_left(1);
    }
}

#[test]
fn the_same_of_the_ranks_of_a_training() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let stand_in = Path::new(env!("HVD_LAB_CHECKOUT")).join("tests/launch/hvd-train.sh");
    let body = format!(
        "#!/bin/sh\n{}exec {} \"$@\"\n",
        LEAVE.replace("$CLEAN", "").replace("there.", "\"$HVD_LAB_RUN_DIR\"/there."),
        stand_in.display()
    );
    script(&lab, "trainer.sh", &body);
    let trainer = lab.home().join("trainer.sh").display().to_string();
    let lab = lab.env("HVD_TRAIN", &trainer).env("STAND_IN_EPOCH_SECONDS", "0.01");
    let output = run(&lab, &["--np", "2", "--force", "--data", "generated"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(text(lab.folder(1).launcher_log()).contains("rank 1 has left `sleep 300` (pid "));
    lab.assert_nothing_left(1);
}

#[test]
fn what_ranks_print_while_they_are_stopped_is_in_their_logs() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let body = "import signal, sys, time\n\
                def leave(*_):\n    for left in range(4, 0, -1):\n        print('saving', left, flush=True)\n        time.sleep(0.1)\n    sys.exit(0)\n\
                signal.signal(signal.SIGTERM, leave)\nprint('ready', flush=True)\nwhile True: time.sleep(0.01)\n";
    script(&lab, "save.py", body);
    let output = run(&lab, &["--np", "2", "--force", "--detach", "--", "python3", "save.py"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let log = |rank| text(lab.folder(1).rank_log(rank));
    wait_for("both ranks", || (0..2).all(|rank| log(rank).contains("ready")).then_some(()));
    assert!(lab.run(&["stop", "1"]).status.success());
    assert_eq!(lab.wait_until_over(1).state, RunState::Stopped);
    for rank in 0..2 {
        assert!(log(rank).ends_with("saving 2\nsaving 1\n"), "rank {rank}: {}", log(rank));
    }
    lab.assert_nothing_left(1);
}

#[test]
fn ranks_that_ignore_the_end_are_ended_and_what_they_printed_is_kept() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let body = "import signal, time\n\
                signal.signal(signal.SIGTERM, lambda *_: open('asked', 'a').close())\nnumber = 0\n\
                while True:\n    number += 1\n    print('line', number, flush=True)\n    print(number, file=open('last', 'w'))\n    time.sleep(0.05)\n";
    script(&lab, "ignore.py", body);
    run(
        &lab,
        &[
            "--np",
            "2",
            "--force",
            "--detach",
            "--",
            "sh",
            "-c",
            "mkdir -p $OMPI_COMM_WORLD_RANK; cd $OMPI_COMM_WORLD_RANK; exec python3 ../ignore.py",
        ],
    );
    wait_for("both ranks", || (0..2).all(|rank| text(lab.folder(1).rank_log(rank)).contains("line 5")).then_some(()));
    let began = Instant::now();
    assert!(lab.run(&["stop", "1"]).status.success());
    assert_eq!(lab.wait_until_over(1).state, RunState::Stopped);
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    for rank in 0..2 {
        let told = text(lab.home().join(format!("{rank}/last"))).trim().parse::<usize>();
        let log = text(lab.folder(1).rank_log(rank));
        let logged = log.lines().last().and_then(|line| line.strip_prefix("line ")?.parse::<usize>().ok());
        // The file may be empty for a moment in which it is killed.
        assert!(told.is_err() || logged >= told.ok(), "rank {rank}: {log}");
        assert!(lab.home().join(format!("{rank}/asked")).exists());
    }
    lab.assert_nothing_left(1);
}

#[test]
fn a_line_without_an_end_that_stalls_the_launcher_is_told_with_its_rank() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let body = "import os, time\n\
                if os.environ['OMPI_COMM_WORLD_RANK'] == '1':\n    for _ in range(1000): os.write(1, b'x' * 65536)\n\
                while True: time.sleep(1)\n";
    script(&lab, "long.py", body);
    run(&lab, &["--np", "2", "--force", "--detach", "--", "python3", "long.py"]);
    let said = wait_for("what is told of the line", || {
        Some(text(lab.folder(1).launcher_log())).filter(|said| said.contains("prints a line that does not end"))
    });
    assert!(said.contains("rank 1 prints a line that does not end (") && said.contains("MiB so far)"), "{said}");
    assert!(lab.run(&["stop", "1"]).status.success());
    assert_eq!(lab.wait_until_over(1).state, RunState::Stopped);
    lab.assert_nothing_left(1);
}

#[test]
fn of_a_program_that_logs_in_a_loop_a_part_is_kept_and_the_last_of_it() {
    let lab = Lab::with_fake_mpirun("stranger");
    // Other figures in each: which of two channels is read to its end first is chance.
    let body = "import hvd_lab\nfor step in range(1, 100001): hvd_lab.log(step=step, learning_rate=1 / step)\n\
                for step in range(1, 100001): print(f'step {step} loss {step}.5')\n";
    script(&lab, "loop.py", body);
    let output = run(&lab, &["--", "python3", "loop.py"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let events = text(lab.folder(1).events_file());
    assert!((2_000..40_000).contains(&events.lines().count()), "{} events", events.lines().count());
    let said = text(lab.folder(1).launcher_log());
    assert_eq!(said.matches("rank 0 logs more than a run keeps").count(), 1, "{said}");
    let all: Vec<serde_json::Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for by in ["hvd_lab.log", "words before numbers"] {
        let mut of_both = all.iter().filter(|event| event["by"] == by);
        assert!(
            of_both.clone().count() > 500 && of_both.all(|event| !event["step"].is_null()),
            "nothing is read out of an event"
        );
    }
    assert!(all.iter().any(|event| event["step"] == 100_000.0 && event["loss"] == 100_000.5));
    let logged = lab.store().summary(hvd_lab_terminal::runs::RunId(1)).unwrap().logged.clone().unwrap();
    assert_eq!(logged.last.loss, Some(100_000.5));
}

#[test]
fn a_large_tensorboard_file_is_read_in_seconds_and_thinned() {
    let lab = Lab::with_fake_mpirun("stranger");
    let mut bytes = Vec::new();
    for step in 0..400_000 {
        let value = Message::default().bytes(1, b"train/loss").float(2, step as f32);
        let summary = Message::default().bytes(1, &value.0);
        bytes.extend(record(&Message::default().double(1, 1000.0).varint(2, step).bytes(5, &summary.0).0));
    }
    // Pictures make such files large.
    let picture = record(&Message::default().varint(2, 1).bytes(3, &vec![7; 64 << 20]).0);
    fs::write(lab.home().join("large"), [picture, bytes].concat()).unwrap();
    let body = "mkdir board && cp large board/events.out.tfevents.1.host";
    let output = run(&lab, &["--tensorboard", "board", "--", "sh", "-c", body]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let events = text(lab.folder(1).events_file());
    assert!((1_000..20_000).contains(&events.lines().count()), "{} events", events.lines().count());
    let logged = lab.store().summary(hvd_lab_terminal::runs::RunId(1)).unwrap().logged.clone().unwrap();
    assert_eq!((logged.last.step, logged.last.loss), (Some(399_999.0), Some(399_999.0)));
}
