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
