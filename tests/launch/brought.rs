//! What people bring: launchers as they type them, scripts that start things behind their back, ranks whose errors come in any order.
//!
//! Never starts a real launcher but mpirun: the others are scripts that print and fork as those do.

use hvd_lab_terminal::domain::run::RunState;
use serde_json::Value;

use super::own::{run, script, summary};
use crate::support::disk::SmallDisk;
use crate::support::lab::{Lab, stderr, stdout};
use crate::support::wait::wait_for;

/// Starts as many processes as torchrun would, each with its variables and its tag: `torchrun NP ...`.
const TORCHRUN: &str = r#"#!/bin/sh
while [ "${1#-}" != "$1" ]; do case $1 in --standalone) shift;; --*=*) shift;; *) shift 2;; esac; done
for rank in 0 1; do
    RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 sh "$@" 2>&1 | sed -u "s/^/[$rank]<stdout>:/" &
done
wait"#;

/// The newest run as `hvd-lab runs --json` has it.
fn newest(lab: &Lab) -> Value {
    let all: Value = serde_json::from_str(&stdout(&lab.run(&["runs", "--json"]))).unwrap();
    all.as_array().unwrap().last().unwrap().clone()
}

/// With this launcher found by its name.
fn with_launcher(lab: Lab, name: &str, body: &str) -> Lab {
    let bin = lab.home().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    script(&lab, &format!("bin/{name}"), body);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    lab.env("PATH", &path)
}

#[test]
fn ranks_that_no_word_counts_are_unknown_until_they_are_found() {
    let lab = with_launcher(Lab::with_fake_mpirun("stranger"), "torchrun", TORCHRUN);
    // The ranks begin when they are let.
    script(&lab, "train.sh", "until [ -e go ]; do sleep 0.05; done\necho loss: 0.5\nuntil [ -e end ]; do sleep 0.05; done");
    let slow = r#"#!/bin/sh
until [ -e start ]; do sleep 0.05; done
exec torchrun "$@""#;
    let slow = script(&lab, "torchrun", slow);
    let output = run(&lab, &["--detach", "--", slow.to_str().unwrap(), "--nproc-per-node=gpu", "train.sh"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    wait_for("the launcher", || (lab.status(1).message == "starting the ranks").then_some(()));
    assert_eq!(newest(&lab)["figures"]["np"], Value::Null);
    let table = stdout(&lab.run(&["runs"]));
    assert!(table.lines().nth(1).unwrap().contains(" ?  "), "{table}");
    std::fs::write(lab.home().join("start"), "").unwrap();
    wait_for("both ranks", || (newest(&lab)["figures"]["np"] == 2).then_some(()));
    for file in ["go", "end"] {
        std::fs::write(lab.home().join(file), "").unwrap();
    }
    assert_eq!(lab.wait_until_over(1).state, RunState::Finished);
    assert_eq!((newest(&lab)["figures"]["np"].as_u64(), summary(&lab, 1).np_in_words()), (Some(2), Some("2".into())));
    lab.assert_nothing_left(1);
}

#[test]
fn a_launcher_around_another_is_looked_through() {
    let lab = with_launcher(Lab::with_fake_mpirun("stranger"), "torchrun", TORCHRUN);
    let srun = "#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done\nexec \"$@\" | sed -u 's/^/0: /'";
    let lab = with_launcher(lab, "srun", srun);
    script(&lab, "train.sh", "echo epoch 1 loss: 0.5$RANK");
    for (line, said) in [
        (&["srun", "-N1", "-ln1", "torchrun", "--nproc_per_node=2", "train.sh"][..], ""),
        (&["env", "A=1", "torchrun", "--nproc=2", "train.sh"], ""),
        (&["sh", "-c", "torchrun --nproc_per_node=2 train.sh"], "Write torchrun itself behind --"),
    ] {
        let output = run(&lab, &[&["--"], line].concat());
        assert!(output.status.success() && stderr(&output).contains(said), "{line:?}: {}", stderr(&output));
        let id = newest(&lab)["id"].as_u64().unwrap() as u32;
        if said.is_empty() {
            let log = std::fs::read_to_string(lab.folder(id).rank_log(1)).unwrap();
            assert_eq!((log.as_str(), newest(&lab)["figures"]["np"].as_u64()), ("epoch 1 loss: 0.51\n", Some(2)), "{line:?}");
        }
    }
}

#[test]
fn what_mpirun_is_asked_to_print_does_not_hide_its_tags() {
    let Some(lab) = Lab::with_mpirun() else { return };
    for flags in ["--timestamp-output", "--output rank", "--output timestamp", "--output tag-detailed", "--stream-buffering 0"] {
        let line = format!("-- {} {flags} -np 2 --map-by :OVERSUBSCRIBE sh -c", env!("HVD_LAB_BUILD_MPIRUN"));
        let words: Vec<&str> = line.split(' ').chain(["echo loss: 0.5$OMPI_COMM_WORLD_RANK"]).collect();
        let output = run(&lab, &words);
        let id = newest(&lab)["id"].as_u64().unwrap() as u32;
        assert!(output.status.success(), "{flags}: {}", stderr(&output));
        assert_eq!(std::fs::read_to_string(lab.folder(id).rank_log(1)).unwrap(), "loss: 0.51\n", "{flags}");
    }
}

/// What Python prints of an error that ends it.
fn traceback(prefix: &str, error: &str) -> String {
    ["Traceback (most recent call last):", "  File \"train.py\", line 1, in <module>", error]
        .map(|line| format!("echo '{prefix}{line}'\n"))
        .concat()
}

#[test]
fn the_first_real_error_is_the_cause_whoever_ends_first_and_whatever_wrappers_say_behind_it() {
    let lab = Lab::with_fake_mpirun("stranger");
    let (bad, lost) = ("ValueError: bad layer", "RuntimeError: Connection closed by peer [127.0.0.1]:9453");
    let both = |tag: fn(usize) -> String| traceback(&tag(1), bad) + &traceback(&tag(0), lost);
    let horovodrun = both(|rank| format!("[{rank}]<stderr>:")) + "echo 'Process 0 exit with status code 1.' >&2\n";
    let srun = both(|rank| format!("{rank}: ")) + "echo 'srun: error: n1: task 0: Exited with exit code 1' >&2\n";
    let root = |rank| {
        format!(
            "echo 'Root Cause (first observed failure):'; echo '[0]:'; echo '  rank      : {rank} (local_rank: 0)'; echo '  exitcode  : 1 (pid: 7)'\n"
        )
    };
    let torchrun = both(|rank| format!("[{rank}]<stdout>:")) + &root(0);
    let accelerate = both(|rank| format!("[rank{rank}]: ")) + &root(1);
    let deepspeed =
        traceback("", bad) + "echo '[2026-01-01 10:00:00,1] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 70'\n";
    let first = "rank 1 failed first: ValueError: bad layer";
    for (id, (name, body, process, message)) in (1..).zip([
        ("horovodrun", &horovodrun, Some(1), first),
        ("srun", &srun, Some(1), first),
        // Its own words are that it has lost another one.
        ("torchrun", &torchrun, Some(1), first),
        ("accelerate", &accelerate, Some(1), "rank 1 ended with exit code 1: ValueError: bad layer"),
        (
            "torchrun",
            &"echo 'torchrun: error: ambiguous option: --n' >&2\n".to_owned(),
            None,
            "exit code 1: torchrun: error: ambiguous option",
        ),
        ("deepspeed", &deepspeed, None, "the program ended with exit code 1: ValueError: bad layer"),
        (
            "conda",
            &(traceback("", bad) + "echo 'ERROR conda.cli.main_run:execute(125): failed.'\n"),
            Some(0),
            "exit code 1: ValueError: bad layer",
        ),
        (
            "make",
            &"echo 'cc: bad.c: no such file'\necho 'make: *** [Makefile:2: train] Error 1'\n".to_owned(),
            Some(0),
            "exit code 1: cc: bad.c",
        ),
        ("torchrun", &(traceback("[0]<stdout>:", bad) + &root(1)), Some(1), "rank 1 ended with exit code 1"),
        (
            "srun",
            &(traceback("1: ", lost) + "echo 'srun: error: n1: tasks 0-1: Exited with exit code 1' >&2\n"),
            None,
            "one of the ranks ended",
        ),
    ]) {
        let launcher = script(&lab, name, &format!("#!/bin/sh\n{body}exit 1"));
        run(&lab, &["--", launcher.to_str().unwrap(), "train.py"]);
        let status = lab.status(id);
        assert!(
            status.failed_process == process && status.message.contains(message),
            "{name}: {:?} {}",
            status.failed_process,
            status.message
        );
    }
}

#[test]
fn a_script_that_ends_before_its_training_is_waited_for_and_its_helpers_are_not() {
    let lab = Lab::with_fake_mpirun("stranger");
    for (id, body) in (1..).zip(["sh train.sh &", "nohup sh train.sh > train.log 2>&1 &"]) {
        script(&lab, "train.sh", "sleep 1.5; echo loss: 0.5; touch trained");
        let output = run(&lab, &["--", "sh", "-c", body]);
        assert!(output.status.success() && lab.home().join("trained").is_file(), "{}", stderr(&output));
        assert_eq!(
            stderr(&output).matches("goes on in the background: the run lasts until that ends").count(),
            1,
            "{}",
            stderr(&output)
        );
        std::fs::remove_file(lab.home().join("trained")).unwrap();
        lab.assert_nothing_left(id);
    }
    let output = run(&lab, &["--", "sh", "-c", "sleep 300 & echo loss: 0.5"]);
    assert!(output.status.success() && stderr(&output).contains("has left `sleep 300` (pid"), "{}", stderr(&output));
    lab.assert_nothing_left(3);
    // It can be stopped.
    assert!(run(&lab, &["--detach", "--", "sh", "-c", "sleep 300 &"]).status.success());
    wait_for("the sentence", || lab.status(4).message.contains("background").then_some(()));
    assert!(lab.run(&["stop", "4"]).status.success());
    assert_eq!(lab.wait_until_over(4).state, RunState::Stopped);
    lab.assert_nothing_left(4);
}

#[test]
fn a_log_that_cannot_be_opened_ends_no_training() {
    let lab = with_launcher(Lab::with_fake_mpirun("stranger"), "torchrun", TORCHRUN);
    script(&lab, "train.sh", "mkdir -p $HVD_LAB_RUN_DIR/rank-1.log; echo loss: 0.5; touch trained-$RANK");
    let output = run(&lab, &["--", "torchrun", "--nproc-per-node=gpu", "train.sh"]);
    assert!(output.status.success() && lab.home().join("trained-1").is_file(), "{}", stderr(&output));
    let said = std::fs::read_to_string(lab.folder(1).launcher_log()).unwrap();
    assert!(said.contains("what rank 1 prints is not kept, and it goes on"), "{said}");
    assert_eq!(std::fs::read_to_string(lab.folder(1).rank_log(0)).unwrap(), "loss: 0.5\n");
}

#[test]
fn a_full_disk_ends_no_training() {
    let lab = Lab::with_fake_mpirun("stranger");
    let Some(disk) = SmallDisk::mount(lab.home(), 1 << 20) else { return };
    let outside = tempfile::tempdir().unwrap();
    let file = |name: &str| outside.path().join(name);
    let body = "cd \"$0\"; echo training; touch begun; until [ -e full ]; do sleep 0.05; done\n\
                for i in 1 2 3 4 5 6 7 8; do head -c 30000 /dev/zero | tr '\\0' x; echo; sleep 0.1; done; until [ -e told ]; do sleep 0.05; done\n\
                (until [ -e told_again ]; do sleep 0.05; done; touch trained) &";
    let folder = outside.path().to_str().unwrap();
    let mut command = disk.inside(&lab.command(&["run", "--detach", "--", "sh", "-c", body, folder]));
    assert!(command.output().unwrap().status.success());
    wait_for("the program", || file("begun").exists().then_some(()));
    let ballast = disk.fill(0);
    std::fs::write(file("full"), "").unwrap();
    let status = || hvd_lab_terminal::runs::RunFolder::new(disk.path().join("runs/0001")).read_status();
    let notice = |words: &str| {
        wait_for(words, || {
            status().ok().filter(|status| {
                status.message.starts_with(words)
                    && status.message.contains("what it prints is neither kept nor shown: cannot write")
            })
        });
    };
    notice("");
    std::fs::write(file("told"), "").unwrap();
    // Whatever is told later says it too, for it may come at once.
    notice("what the program has put into the background goes on");
    std::fs::write(file("told_again"), "").unwrap();
    wait_for("the end of the training", || file("trained").exists().then_some(()));
    let status = wait_for("the end of the run", || status().ok().filter(|status| status.state.is_over()));
    std::fs::remove_file(ballast).unwrap();
    assert_eq!(status.state, RunState::Finished, "{}", status.message);
    let said = &status.message;
    assert!(
        said.contains("a part of what it printed (")
            && said.contains(" lines) is neither kept nor shown: cannot write")
            && said.contains("No space left"),
        "{said}"
    );
}
