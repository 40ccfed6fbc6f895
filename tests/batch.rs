//! Batch jobs under a stand-in for Slurm, which greets, forgets, is away and refuses as real ones do.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use hvd_lab_terminal::domain::run::RunState;
use hvd_lab_terminal::process;
use nix::sys::signal::Signal;

use crate::support::lab::{Lab, finish, stderr, stdout};
use crate::support::wait::{wait_for, wait_until};

/// The programs of a Slurm of one node, in a folder that is also where they keep what was asked of them. `before` of each is run first.
struct StandIn {
    folder: tempfile::TempDir,
}

const SBATCH: &str = r#"echo "$*" > sbatch.words; env > sbatch.env
for last; do :; done
cd "$OLDPWD"
setsid sh -c 'sh "$0"; echo $? > "$1/rc"' "$last" "$STANDIN" >> job.log 2>&1 < /dev/null &
echo $! > "$STANDIN/pid""#;
const SCONTROL: &str = r#"state="JobState=RUNNING NodeList=n1"
[ ! -e rc ] || state="JobState=COMPLETED ExitCode=$(cat rc):0"
[ ! -e cancelled ] || state="JobState=CANCELLED ExitCode=0:15"
echo "JobId=4711 JobName=x $state Restarts=0""#;
const SCANCEL: &str = r#"touch cancelled; kill -TERM -$(cat pid)"#;
const UNKNOWN: &str = "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1";

impl StandIn {
    /// What each program does before its usual work, and what sbatch says after it.
    fn new(before: &[(&str, &str)], says: &str) -> StandIn {
        let slurm = StandIn { folder: tempfile::tempdir().unwrap() };
        let usual = [("sbatch", format!("{SBATCH}\n{says}")), ("scontrol", SCONTROL.into()), ("scancel", SCANCEL.into())];
        for (name, usual) in usual.into_iter().chain([("squeue", "[ ! -e pid ] || echo 4711".into()), ("sacct", "exit 1".into())])
        {
            let first: String = before.iter().filter(|(of, _)| *of == name).map(|(_, text)| format!("{text}\n")).collect();
            let path = slurm.path(name);
            let folder = slurm.folder.path().display();
            let text =
                format!("#!/bin/sh\nSTANDIN={folder}; export STANDIN; cd $STANDIN; echo \"$*\" >> {name}.log\n{first}{usual}\n");
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        slurm
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn command(&self, lab: &Lab, words: &[&str]) -> std::process::Command {
        let mut command = lab.command(words);
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", self.folder.path().display())).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        if let Ok(group) = self.read("pid").trim().parse() {
            let _ = nix::sys::signal::killpg(nix::unistd::Pid::from_raw(group), Signal::SIGKILL);
        }
    }
}

const RUN: [&str; 8] = ["run", "--slurm", "--np", "1", "--data", "generated", "--epochs", "2"];

fn lab() -> Option<Lab> {
    Lab::with_mpirun()
}

#[test]
fn what_sbatch_and_scontrol_say_beside_their_answer_ends_nothing() {
    let once = |what: &str| format!("[ -e asked ] || {{ touch asked; {what}; }}");
    let away = once("echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1");
    let (unknown, failed_node) = (once(UNKNOWN), once("echo JobId=4711 JobState=NODE_FAIL; exit"));
    // It says what scontrol would, as squeue does.
    let in_queue = "case \"$*\" in *%T*) [ -e rc ] && echo 'COMPLETED|None|n1|N/A' || echo 'RUNNING|None|n1|N/A'; exit;; esac";
    let rows: [(&[(&str, &str)], &str); 8] = [
        (&[("sbatch", "echo '--> 1 allocation ...OK'; echo 3 jobs >&2")], "echo 4711; echo Good luck"),
        (&[("scontrol", &unknown)], "echo Submitted batch job 4711"),
        (&[("scontrol", &away)], "echo 4711"),
        (&[("scontrol", &failed_node)], "echo 4711"),
        // Slurm knows which of the numbers it is, and whose words are none of sbatch's.
        (&[], "echo 'Job 4711 is in the queue of'; echo 12 users; echo 'Lmod has detected the following error: 7' >&2; exit 3"),
        (&[("scontrol", "exit 127"), ("squeue", in_queue)], "echo 4711"),
        (&[("scontrol", r#"case "$*" in "-M b "*) ;; *) exit 1;; esac"#)], "echo '4711;b'"),
        (&[], "echo 'sbatch: error: Socket timed out on send/recv operation' >&2; exit 1"),
    ];
    for (before, says) in rows {
        let Some(lab) = lab() else { return };
        let slurm = StandIn::new(before, says);
        let output = finish(slurm.command(&lab, &RUN).spawn().unwrap());
        assert!(output.status.success(), "{before:?} {says}: {}{}", stdout(&output), stderr(&output));
        assert_eq!((lab.status(1).state, slurm.read("scancel.log")), (RunState::Finished, String::new()), "{says}");
    }
}

#[test]
fn variables_of_outside_do_not_win_and_wishes_stay() {
    let Some(lab) = lab() else { return };
    let slurm = StandIn::new(&[], "echo 4711");
    let mut run = slurm.command(&lab, &[&RUN[..], &["--time", "0:10:00"]].concat());
    run.env("SBATCH_EXPORT", "NONE").env("SBATCH_ARRAY_INX", "1-3").env("SBATCH_TIMELIMIT", "1").env("SBATCH_QOS", "course");
    run.env("SLURM_JOB_ID", "1").env("SLURM_CPU_BIND", "quiet").env("PMIX_RANK", "0").env("SLURM_CONF", "/etc/slurm.conf");
    let output = finish(run.spawn().unwrap());
    assert!(output.status.success(), "{}", stderr(&output));
    let (words, env) = (slurm.read("sbatch.words"), slurm.read("sbatch.env"));
    assert!(words.contains("--export=ALL") && words.contains("--time=10:00"), "{words}");
    let has = |name: &str| env.lines().any(|line| line.starts_with(&format!("{name}=")));
    let stays = ["SBATCH_QOS", "SLURM_CONF"].iter().all(|name| has(name));
    let goes = ["SBATCH_EXPORT", "SBATCH_ARRAY_INX", "SLURM_JOB_ID", "SLURM_CPU_BIND", "PMIX_RANK"];
    assert!(stays && !goes.iter().any(|name| has(name)), "{env}");
}

#[test]
fn a_refusal_says_what_to_write() {
    let Some(lab) = lab() else { return };
    let refused = "echo 'sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified' >&2; exit 1";
    let slurm = StandIn::new(&[("sbatch", refused)], "");
    let output = finish(slurm.command(&lab, &RUN).spawn().unwrap());
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("--account NAME"), "{}", stderr(&output));
}

/// The processes that follow the first run: its supervisor and what that has started.
fn followers(lab: &Lab) -> Vec<u32> {
    let supervisor = lab.status(1).supervisor_pid;
    let mut pids = vec![supervisor];
    let is_follower = |pid: &u32| {
        let words = fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline")).unwrap_or_default();
        words.split(|byte| *byte == 0).any(|word| word == b"slurm-job")
    };
    pids.extend(process::descendants(supervisor).iter().map(|process| process.pid).filter(is_follower));
    pids
}

/// They are gone when it returns: until then the lab takes a process that is dying for one that follows.
fn kill(pids: &[u32]) {
    pids.iter().rev().for_each(|pid| process::signal(*pid, Signal::SIGKILL));
    wait_until("the followers are gone", || pids.iter().all(|pid| process::look_up(*pid).is_none_or(|found| found.zombie)));
}

#[test]
#[cfg(target_os = "linux")]
fn a_job_whose_followers_are_killed_trains_on_is_followed_again_and_stopped() {
    for (epochs, is_stopped) in [("12", false), ("500", true)] {
        let Some(lab) = lab() else { return };
        let slurm = StandIn::new(&[], "echo 4711");
        let run = [&RUN[..7], &[epochs, "--detach"]].concat();
        assert!(finish(slurm.command(&lab, &run).spawn().unwrap()).status.success());
        let has_trained = |wanted: &str| fs::read_to_string(lab.folder(1).events_file()).ok()?.contains(wanted).then_some(());
        wait_for("an epoch", || has_trained("\"epoch\":2"));
        kill(&followers(&lab));
        let listed = finish(slurm.command(&lab, &["runs"]).spawn().unwrap());
        assert!(stdout(&listed).contains("running"), "{}", stdout(&listed));
        assert_eq!(slurm.read("scancel.log"), "", "a list cancels nothing");
        if is_stopped {
            let output = finish(slurm.command(&lab, &["stop", "1"]).spawn().unwrap());
            assert!(output.status.success(), "{}", stderr(&output));
            assert!(slurm.read("scancel.log").contains("4711"));
        }
        wait_for("the end", || lab.folder(1).read_status().ok()?.state.is_over().then_some(()));
        let wanted = if is_stopped { RunState::Stopped } else { RunState::Finished };
        assert_eq!(lab.status(1).state, wanted, "{}", lab.status(1).message);
        let record = lab.store().record(hvd_lab_terminal::runs::RunId(1)).unwrap();
        assert_eq!(record.attempts.len(), 1, "one job is one attempt");
    }
}

#[test]
fn a_job_that_slurm_does_not_cancel_is_not_called_stopped_and_can_be_stopped_again() {
    let Some(lab) = lab() else { return };
    let refuses =
        "[ -e may ] || { echo 'scancel: error: Kill job error on job id 4711: Unable to contact slurm controller' >&2; exit 0; }";
    let slurm = StandIn::new(&[("scancel", refuses)], "echo 4711");
    let run = [&RUN[..7], &["500", "--detach"]].concat();
    assert!(finish(slurm.command(&lab, &run).spawn().unwrap()).status.success());
    wait_for("training", || fs::read_to_string(lab.folder(1).events_file()).ok()?.contains("\"epoch\":1").then_some(()));
    let mut stop = slurm.command(&lab, &["stop", "1"]).spawn().unwrap();
    wait_for("what scancel says", || lab.status(1).message.contains("job 4711 of Slurm could not be cancelled").then_some(()));
    assert_eq!(lab.status(1).state, RunState::Stopping);
    let deleted = finish(slurm.command(&lab, &["runs", "delete", "1"]).spawn().unwrap());
    assert!(stderr(&deleted).contains("still running"), "{}", stderr(&deleted));
    // Without anybody who follows it, stop says so, and cancels it once Slurm does.
    stop.kill().unwrap();
    stop.wait().unwrap();
    kill(&followers(&lab));
    fs::write(slurm.path("may"), "").unwrap();
    let output = finish(slurm.command(&lab, &["stop", "1"]).spawn().unwrap());
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!((lab.status(1).state, slurm.path("cancelled").exists()), (RunState::Stopped, true), "{}", lab.status(1).message);
}

#[test]
fn a_job_that_slurm_knows_no_more_has_vanished_and_whose_end_is_seen_says_why() {
    let forgets = format!("[ ! -e told ] || {{ {UNKNOWN}; }}; touch told");
    let ends = |state: &str| format!("echo 'JobId=4711 JobName=x {state} Restarts=0'; exit");
    let no_disk = ends("JobState=FAILED ExitCode=0:53 Reason=RaisedSignal:53");
    let memory = ends("JobState=OUT_OF_MEMORY ExitCode=0:125");
    let rows = [
        (&forgets, "job 4711 has vanished"),
        (&no_disk, "on a disk that all nodes share"),
        (&memory, "it used more memory than it had asked for"),
    ];
    for (scontrol, words) in rows {
        let Some(lab) = lab() else { return };
        // It begins, and does nothing.
        let slurm = StandIn::new(&[("sbatch", "touch pid; echo 4711; exit"), ("scontrol", scontrol)], "");
        let output = finish(slurm.command(&lab, &RUN).spawn().unwrap());
        let status = lab.status(1);
        assert_eq!((output.status.code(), status.state), (Some(1), RunState::Failed), "{}", status.message);
        assert!(status.message.contains(words), "{}", status.message);
    }
}
