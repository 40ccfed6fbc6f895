//! Under a real Slurm: ranks that srun starts, and runs of the lab inside an allocation. The test starts a Slurm of its own on this
//! machine, with one node.
//!
//! Needs root and the programs munged, slurmctld, slurmd and srun (Debian: slurmd slurmctld slurm-client munge
//! slurm-wlm-basic-plugins libpmix2). Where one is missing the test is skipped by name; HVD_LAB_REQUIRE=slurm turns that into a failure.

#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
#[path = "launch/lab.rs"]
mod lab;
#[path = "support/trainer.rs"]
mod trainer;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use hvd_lab::domain::event::{Event, EventLine, MARKER};
use hvd_lab::domain::run::RunState;
use lab::{Lab, finish, stderr, stdout, wait_for};

/// Its name is not the host's, as on clusters whose nodes have short names: see `comm/launcher.rs`.
const NODE: &str = "hvd-node";
/// Where Debian's Slurm opens `libpmix.so`. Only a package for developers has a file of that name, so the test puts one there, seen by
/// its own processes alone.
const PMIX_FOLDER: &str = "/usr/lib/x86_64-linux-gnu/pmix2/lib";
const TRAINING: [&str; 15] = [
    "--events",
    "--steps",
    "1-3",
    "--data-dir",
    "generated",
    "--model",
    "wrn-10-1",
    "--batch-size",
    "16",
    "--train-images",
    "64",
    "--validation-images",
    "32",
    "--epochs",
    "1",
];

/// A run of the lab as a batch job.
const JOB: [&str; 13] = [
    "run",
    "--slurm",
    "--np",
    "2",
    "--data",
    "generated",
    "--batch-size",
    "16",
    "--train-images",
    "320",
    "--validation-images",
    "32",
    "--epochs",
];

/// The daemons and their files, which end with this value.
struct Slurm {
    folder: tempfile::TempDir,
    daemons: Vec<Child>,
}

impl Slurm {
    /// `None` where this machine has none, unless HVD_LAB_REQUIRE asks for it.
    fn start() -> Option<Slurm> {
        match Slurm::try_start() {
            Ok(slurm) => Some(slurm),
            Err(why) => {
                let required = std::env::var("HVD_LAB_REQUIRE").unwrap_or_default();
                assert!(!required.split(',').any(|word| word == "slurm"), "HVD_LAB_REQUIRE names slurm: {why}");
                eprintln!("skipped: no Slurm on this machine: {why}");
                None
            }
        }
    }

    fn try_start() -> Result<Slurm, String> {
        if !nix::unistd::geteuid().is_root() {
            return Err("its daemons want root".into());
        }
        for program in ["munged", "slurmctld", "slurmd", "srun", "salloc"] {
            let found =
                std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).any(|dir| dir.join(program).is_file());
            found.then_some(()).ok_or(format!("{program} is not on PATH"))?;
        }
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        // Munge refuses a folder that others can write to; srun's tasks want to read it.
        fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
        ["spool", "state", "log", "scratch", "pmix"].iter().for_each(|name| fs::create_dir(dir.join(name)).unwrap());
        let key: Vec<u8> = (0..1024u32).map(|at| (at.wrapping_mul(2654435761) >> 24) as u8).collect();
        fs::write(dir.join("munge.key"), key).unwrap();
        fs::set_permissions(dir.join("munge.key"), fs::Permissions::from_mode(0o400)).unwrap();
        fs::write(dir.join("slurm.conf"), configuration(dir)).unwrap();
        let library = Path::new(PMIX_FOLDER).join("libpmix.so.2");
        let names = if library.is_file() { ["libpmix.so", "libpmix.so.2"].as_slice() } else { &[] };
        names.iter().for_each(|name| _ = fs::copy(&library, dir.join("pmix").join(name)).unwrap());
        let mut slurm = Slurm { folder, daemons: Vec::new() };
        let file = |name: &str| format!("={}", slurm.path(name).display());
        let munged = [
            "--foreground".to_owned(),
            "--force".into(),
            format!("--key-file{}", file("munge.key")),
            format!("--socket{}", file("munge.socket")),
            format!("--pid-file{}", file("munged.pid")),
            format!("--log-file{}", file("log/munged.log")),
            format!("--seed-file{}", file("munged.seed")),
        ];
        let conf = slurm.path("slurm.conf").display().to_string();
        let all = [
            ("munged", munged.to_vec()),
            ("slurmctld", vec!["-D".into(), "-c".into(), "-f".into(), conf.clone()]),
            ("slurmd", vec!["-D".into(), "-c".into(), "-N".into(), NODE.into(), "-f".into(), conf]),
        ];
        for (program, args) in all {
            let mut command = slurm.client(program);
            let log = fs::File::create(slurm.path(&format!("log/{program}.out"))).unwrap();
            command.args(args).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
            slurm.daemons.push(command.spawn().map_err(|error| format!("{program}: {error}"))?);
            if program == "munged" {
                wait_for("munge's socket", || slurm.path("munge.socket").exists().then_some(()));
            }
        }
        wait_for("an idle node", || {
            stdout(&slurm.client("sinfo").args(["-h", "-o", "%T"]).output().ok()?).contains("idle").then_some(())
        });
        Ok(slurm)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A program of Slurm that talks to this one, with `libpmix.so` in its place.
    fn client(&self, program: &str) -> Command {
        let mut command = Command::new("unshare");
        let script = r#"[ ! -d "$1" ] || mount --bind "$0" "$1" && shift && exec "$@""#;
        command.args(["--mount", "sh", "-c", script]).arg(self.path("pmix")).arg(PMIX_FOLDER).arg(program);
        command.env("SLURM_CONF", self.path("slurm.conf")).stdin(Stdio::null());
        command
    }

    /// Two ranks of the trainer, as srun starts them.
    fn srun(&self, flags: &[&str], trainer: &Path) -> Output {
        let mut command = self.client("srun");
        command.args(["--nodes", "1", "--ntasks", "2", "--overcommit"]).args(flags).arg(trainer).args(TRAINING);
        command.arg("--log-dir").arg(self.path("scratch")).env("OMPI_MCA_mpi_yield_when_idle", "1");
        finish(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }
}

impl Drop for Slurm {
    /// In reverse, for those before serve those after.
    fn drop(&mut self) {
        let _ = self.client("scancel").arg("--user=root").output();
        for daemon in self.daemons.iter_mut().rev() {
            let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(daemon.id() as i32), nix::sys::signal::Signal::SIGTERM);
            let _ = daemon.wait();
        }
    }
}

fn configuration(dir: &Path) -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let (host, dir) = (host.trim(), dir.display());
    // Of the process: two checkouts may be tested at once.
    let port = 20_000 + std::process::id() % 10_000 * 2;
    format!(
        "ClusterName=lab\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={port}\nSlurmUser=root\nSlurmdUser=root\n\
         AuthType=auth/munge\nAuthInfo=socket={dir}/munge.socket\nStateSaveLocation={dir}/state\nSlurmdSpoolDir={dir}/spool/%n\n\
         SlurmctldPidFile={dir}/slurmctld.pid\nSlurmdPidFile={dir}/slurmd.%n.pid\n\
         ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\n\
         AccountingStorageType=accounting_storage/none\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nMpiDefault=none\n\
         ReturnToService=2\nSlurmdParameters=config_overrides\nTmpFS={dir}/scratch\nSlurmdTimeout=30\nKillWait=2\n\
         NodeName={NODE} NodeHostname={host} NodeAddr=127.0.0.1 Port={} CPUs=2 RealMemory=1000\n\
         PartitionName=lab Nodes={NODE} Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES\n",
        port + 1
    )
}

/// Of all ranks: rank, local rank and the number of ranks.
fn places(output: &Output) -> Vec<(usize, usize, usize)> {
    let lines = stdout(output);
    let events = lines.lines().filter_map(|line| EventLine::parse_line(line.strip_prefix(MARKER)?));
    let mut places: Vec<_> = events
        .filter_map(|line| match line.event {
            Event::Topology(report) => {
                let topology = report.topology;
                Some((topology.rank.0, topology.local_rank.0, topology.size.0))
            }
            _ => None,
        })
        .collect();
    places.sort_unstable();
    places
}

fn trainer_program() -> PathBuf {
    lab::program().with_file_name("hvd-train")
}

#[test]
fn ranks_that_srun_starts_know_each_other_or_are_refused() {
    let _turn = trainer::turn();
    let (Some(_lab), Some(slurm)) = (trainer::with_trainer(), Slurm::start()) else { return };
    let alone = slurm.srun(&["--mpi=none"], &trainer_program());
    let said = stderr(&alone);
    assert!(!alone.status.success(), "{said}");
    assert_eq!(said.matches("this is one of 2 processes").count(), 1, "one speaks for all: {said}");
    assert!(said.contains("--mpi=pmix"), "{said}");
    assert!(places(&alone).is_empty(), "nobody trains");

    let known = stdout(&slurm.client("srun").arg("--mpi=list").output().unwrap());
    let together = slurm.srun(&["--mpi=pmix"], &trainer_program());
    assert!(together.status.success(), "{}\n{known}", stderr(&together));
    assert_eq!(places(&together), [(0, 0, 2), (1, 1, 2)], "a local rank each, though the node has another name than the host");
}

#[test]
fn the_lab_trains_inside_an_allocation() {
    let _turn = trainer::turn();
    let (Some(lab), Some(slurm)) = (trainer::with_trainer(), Slurm::start()) else { return };
    let run = ["run", "--np", "2", "--data", "generated", "--epochs", "1", "--batch-size", "16", "--train-images", "64"];
    let mut command = slurm.client("salloc");
    command.args(["--nodes", "1", "--ntasks", "2"]).arg(lab::program()).args(run);
    lab.set_environment(&mut command);
    let output = finish(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    let status: hvd_lab::domain::run::RunStatus = Lab::status(&lab, 1);
    assert_eq!(status.state, RunState::Finished);
    lab.assert_nothing_left(1);
}

impl Slurm {
    /// The lab on this machine of the cluster.
    fn lab(&self, lab: &Lab, words: &[&str]) -> Child {
        let mut command = self.client(lab::program().to_str().unwrap());
        lab.set_environment(&mut command);
        command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// What Slurm still has to do.
    fn queue(&self) -> String {
        stdout(&self.client("squeue").args(["-h", "-o", "%i %T"]).output().unwrap())
    }

    fn control(&self, words: &[&str]) {
        let output = self.client("scontrol").args(words).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
    }
}

fn training(lab: &Lab, epoch: usize) {
    let wanted = format!("\"epoch\":{epoch}");
    wait_for("an epoch", || std::fs::read_to_string(lab.folder(1).events_file()).ok()?.contains(&wanted).then_some(()));
}

#[test]
fn a_batch_job_is_followed_through_the_queue_and_trains() {
    let _turn = trainer::turn();
    let (Some(lab), Some(slurm)) = (trainer::with_trainer(), Slurm::start()) else { return };
    // Nothing starts until the node is back.
    slurm.control(&["update", &format!("NodeName={NODE}"), "State=DRAIN", "Reason=test"]);
    let run = slurm.lab(&lab, &[&JOB[..], &["1", "--nodes", "1", "--time", "0:05:00"]].concat());
    wait_for("a place in the queue", || {
        let status = lab.folder(1).read_status().ok()?;
        (status.state == RunState::Preparing && status.message.contains("waiting in Slurm's queue as job ")).then_some(())
    });
    let script = fs::read_to_string(lab.folder(1).path().join("job.sh")).unwrap();
    assert!(script.contains("#SBATCH --ntasks=2\n#SBATCH --nodes=1\n#SBATCH --time=5:00\n"), "{script}");
    slurm.control(&["update", &format!("NodeName={NODE}"), "State=RESUME"]);
    let output = finish(run);
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    assert!(stderr(&output).contains("waiting in Slurm's queue"), "{}", stderr(&output));
    let status = lab.status(1);
    assert_eq!((status.state, slurm.queue().contains("RUNNING")), (RunState::Finished, false), "{}", status.message);
    lab.assert_nothing_left(1);
}

#[test]
fn stop_cancels_a_batch_job_that_waits_and_one_that_trains() {
    let _turn = trainer::turn();
    let (Some(lab), Some(slurm)) = (trainer::with_trainer(), Slurm::start()) else { return };
    let run = slurm.lab(&lab, &[&JOB[..], &["500"]].concat());
    training(&lab, 2);
    assert!(finish(slurm.lab(&lab, &["stop", "1"])).status.success());
    assert_eq!(finish(run).status.code(), Some(1));
    assert_eq!(lab.status(1).state, RunState::Stopped, "{}", lab.status(1).message);
    wait_for("an empty queue", || slurm.queue().is_empty().then_some(()));
    slurm.control(&["update", &format!("NodeName={NODE}"), "State=DRAIN", "Reason=test"]);
    let run = slurm.lab(&lab, &[&JOB[..], &["500"]].concat());
    wait_for("a place in the queue", || slurm.queue().contains("PENDING").then_some(()));
    assert!(finish(slurm.lab(&lab, &["stop", "2"])).status.success());
    assert_eq!(finish(run).status.code(), Some(1));
    wait_for("an empty queue", || slurm.queue().is_empty().then_some(()));
}

#[test]
fn what_slurm_does_to_a_batch_job_is_said() {
    let _turn = trainer::turn();
    let (Some(lab), Some(slurm)) = (trainer::with_trainer(), Slurm::start()) else { return };
    // Put back into the queue, it goes on from its checkpoint.
    let run = slurm.lab(&lab, &[&JOB[..], &["40"]].concat());
    training(&lab, 2);
    let number = slurm.queue().split_whitespace().next().unwrap().to_owned();
    slurm.control(&["requeue", &number]);
    wait_for("the queue again", || {
        lab.folder(1).read_status().ok().filter(|status| status.state == RunState::Preparing).map(drop)
    });
    // Slurm lets a requeued job wait for two minutes.
    slurm.control(&["update", &format!("JobId={number}"), "StartTime=now"]);
    let output = finish(run);
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    let record = lab.store().record(hvd_lab::runs::RunId(1)).unwrap();
    assert_eq!(record.attempts.len(), 2);
    let saved = lab.folder(1).events().filter(|line| matches!(line.event, Event::Launched { .. })).count();
    assert_eq!(saved, 2, "a launch each");

    let run = slurm.lab(&lab, &[&JOB[..], &["500"]].concat());
    wait_for("a second run", || lab.folder(2).read_status().ok().filter(|status| status.message == "training").map(drop));
    let number = slurm.queue().split_whitespace().next().unwrap().to_owned();
    assert!(slurm.client("scancel").arg(&number).status().unwrap().success());
    assert_eq!(finish(run).status.code(), Some(1));
    let message = lab.status(2).message;
    assert!(message.contains(&format!("job {number} was cancelled in Slurm, and not by the lab")), "{message}");

    let output = finish(slurm.lab(&lab, &[&JOB[..], &["1", "--partition", "nowhere"]].concat()));
    assert_eq!(output.status.code(), Some(1));
    assert!(
        lab.status(3).message.contains("sbatch refused the job: ") && lab.status(3).message.contains("partition"),
        "{}",
        lab.status(3).message
    );
    for (flags, words) in [(&["--nodes", "3"][..], "3 nodes are more than 2 ranks"), (&["-H", "a:2"], "Slurm chooses the hosts")]
    {
        let output = finish(slurm.lab(&lab, &[&JOB[..], &["1"], flags].concat()));
        assert!(output.status.code() == Some(2) && stderr(&output).contains(words), "{}", stderr(&output));
    }
}

#[test]
fn a_batch_job_whose_supervisor_was_killed_is_cancelled() {
    let _turn = trainer::turn();
    let (Some(lab), Some(slurm)) = (trainer::with_trainer(), Slurm::start()) else { return };
    let run = slurm.lab(&lab, &[&JOB[..], &["500"]].concat());
    training(&lab, 2);
    let supervisor = lab.status(1).supervisor_pid as i32;
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(supervisor), nix::sys::signal::Signal::SIGKILL).unwrap();
    assert_eq!(finish(run).status.code(), Some(1));
    assert_eq!(lab.status(1).state, RunState::Failed);
    wait_for("an empty queue", || slurm.queue().is_empty().then_some(()));
    lab.assert_nothing_left(1);
}
