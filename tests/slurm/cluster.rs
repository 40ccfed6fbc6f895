//! A Slurm of the test's own on this machine, whose daemons end with it: one node that is this host, or two hosts that are one machine.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use crate::support::hosts::{HOSTS, Host, joined_hosts};
use crate::support::lab::{self, Lab, finish, stderr, stdout};
use crate::support::needs::skip;
use crate::support::wait::wait_for;

/// Its name is not the host's, as on clusters whose nodes have short names: see `comm/launcher.rs`.
pub const NODE: &str = "hvd-node";
/// Where Debian's Slurm opens `libpmix.so`. Only a package for developers has a file of that name, so the test puts one there, seen by
/// its own processes alone.
const PMIX_FOLDER: &str = "/usr/lib/x86_64-linux-gnu/pmix2/lib";
/// After the mounts that a process of this Slurm sees: `libpmix.so`, and the names of the hosts if they are not this machine's.
const MOUNTS: &str =
    r#"[ ! -d "$1" ] || mount --bind "$0" "$1" && [ -z "$2" ] || mount --bind "$2" /etc/hosts && shift 2 && exec "$@""#;

/// The daemons and their files, which end with this value.
pub struct Slurm {
    folder: tempfile::TempDir,
    /// Where its nodes are not this host.
    pub hosts: Option<[Host; 2]>,
    daemons: Vec<Child>,
}

impl Slurm {
    /// With one node. `None` where this machine has no Slurm, unless HVD_LAB_REQUIRE asks for it.
    pub fn start() -> Option<Slurm> {
        Slurm::with(None)
    }

    /// With two nodes, which are two hosts with a network of their own. `None` where there can be none.
    pub fn start_two() -> Option<Slurm> {
        Slurm::with(Some(joined_hosts()?))
    }

    fn with(hosts: Option<[Host; 2]>) -> Option<Slurm> {
        match Slurm::try_start(hosts) {
            Ok(slurm) => Some(slurm),
            Err(why) => {
                skip("slurm", format_args!("no Slurm on this machine: {why}"));
                None
            }
        }
    }

    fn try_start(hosts: Option<[Host; 2]>) -> Result<Slurm, String> {
        if !nix::unistd::geteuid().is_root() {
            return Err("its daemons want root".into());
        }
        for program in ["munged", "slurmctld", "slurmd", "srun", "salloc"] {
            let found =
                std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).any(|dir| dir.join(program).is_file());
            found.then_some(()).ok_or(format!("{program} is not on PATH"))?;
        }
        let folder = tempfile::tempdir().unwrap();
        let mut slurm = Slurm { folder, hosts, daemons: Vec::new() };
        slurm.prepare();
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
        slurm.spawn(slurm.client("munged"), &munged)?;
        wait_for("munge's socket", || slurm.path("munge.socket").exists().then_some(()));
        let conf = slurm.path("slurm.conf").display().to_string();
        slurm.spawn(slurm.client("slurmctld"), &["-D", "-c", "-f", &conf].map(String::from))?;
        for node in 0..slurm.nodes().len() {
            slurm.start_node(node)?;
        }
        wait_for("idle nodes", || {
            let states = stdout(&slurm.client("sinfo").args(["-h", "-N", "-o", "%T"]).output().ok()?);
            let idle = states.lines().filter(|state| state.trim() == "idle").count();
            (idle == slurm.nodes().len()).then_some(())
        });
        Ok(slurm)
    }

    /// Its files and folders.
    fn prepare(&self) {
        let dir = self.folder.path();
        // Munge refuses a folder that others can write to; srun's tasks want to read it.
        fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
        ["spool", "state", "log", "scratch", "pmix"].iter().for_each(|name| fs::create_dir(dir.join(name)).unwrap());
        let key: Vec<u8> = (0..1024u32).map(|at| (at.wrapping_mul(2654435761) >> 24) as u8).collect();
        fs::write(dir.join("munge.key"), key).unwrap();
        fs::set_permissions(dir.join("munge.key"), fs::Permissions::from_mode(0o400)).unwrap();
        fs::write(dir.join("slurm.conf"), self.configuration()).unwrap();
        let names = HOSTS.iter().map(|(name, address, _)| format!("{} {name}\n", ip(address)));
        fs::write(dir.join("hosts"), format!("127.0.0.1 localhost\n{}", names.collect::<String>())).unwrap();
        let library = Path::new(PMIX_FOLDER).join("libpmix.so.2");
        let names = if library.is_file() { ["libpmix.so", "libpmix.so.2"].as_slice() } else { &[] };
        names.iter().for_each(|name| _ = fs::copy(&library, dir.join("pmix").join(name)).unwrap());
    }

    fn configuration(&self) -> String {
        let dir = self.folder.path().display();
        let here = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        // Of the process: two checkouts may be tested at once.
        let port = 20_000 + std::process::id() % 10_000 * 2;
        let (controller, nodes) = match &self.hosts {
            None => {
                let node = format!("NodeName={NODE} NodeHostname={} NodeAddr=127.0.0.1 Port={}", here.trim(), port + 1);
                (format!("{}(127.0.0.1)", here.trim()), format!("{node} CPUs=2 RealMemory=1000\n"))
            }
            Some(_) => {
                let node = |(name, address, _): &(&str, &str, &str)| {
                    format!("NodeName={name} NodeAddr={} Port={} CPUs=2 RealMemory=1000\n", ip(address), port + 1)
                };
                (format!("{}({})", HOSTS[0].0, ip(HOSTS[0].1)), HOSTS.iter().map(node).collect())
            }
        };
        format!(
            "ClusterName=lab\nSlurmctldHost={controller}\nSlurmctldPort={port}\nSlurmUser=root\nSlurmdUser=root\n\
             AuthType=auth/munge\nAuthInfo=socket={dir}/munge.socket\nStateSaveLocation={dir}/state\nSlurmdSpoolDir={dir}/spool/%n\n\
             SlurmctldPidFile={dir}/slurmctld.pid\nSlurmdPidFile={dir}/slurmd.%n.pid\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\n\
             AccountingStorageType=accounting_storage/none\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nMpiDefault=none\n\
             ReturnToService=2\nSlurmdParameters=config_overrides\nTmpFS={dir}/scratch\nSlurmdTimeout=30\nKillWait=2\n\
             {nodes}PartitionName=lab Nodes={} Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES\n",
            self.nodes().join(",")
        )
    }

    fn nodes(&self) -> Vec<&'static str> {
        if self.hosts.is_some() { HOSTS.iter().map(|(name, ..)| *name).collect() } else { vec![NODE] }
    }

    fn start_node(&mut self, node: usize) -> Result<(), String> {
        let conf = self.path("slurm.conf").display().to_string();
        let words = ["-D", "-c", "-N", self.nodes()[node], "-f", &conf].map(String::from);
        self.spawn(self.on(node, "slurmd"), &words)
    }

    fn spawn(&mut self, mut command: Command, words: &[String]) -> Result<(), String> {
        let log = fs::File::create(self.path(&format!("log/{}.out", self.daemons.len()))).unwrap();
        command.args(words).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.daemons.push(command.spawn().map_err(|error| format!("{command:?}: {error}"))?);
        Ok(())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A program of Slurm that talks to this one, on the first node.
    pub fn client(&self, program: &str) -> Command {
        self.on(0, program)
    }

    /// A program on a node, with `libpmix.so` in its place.
    fn on(&self, node: usize, program: &str) -> Command {
        let names = self.hosts.as_ref().map_or_else(PathBuf::new, |_| self.path("hosts"));
        let mut command = match &self.hosts {
            Some(hosts) => {
                let mut command = hosts[node].enter();
                command.arg("unshare");
                command
            }
            None => Command::new("unshare"),
        };
        command.args(["--mount", "sh", "-c", MOUNTS]).arg(self.path("pmix")).arg(PMIX_FOLDER).arg(names).arg(program);
        command.env("SLURM_CONF", self.path("slurm.conf")).stdin(Stdio::null());
        command
    }

    /// Two ranks of the trainer, as srun starts them.
    pub fn srun(&self, flags: &[&str], trainer: &Path, training: &[&str]) -> Output {
        let mut command = self.client("srun");
        command.args(["--nodes", "1", "--ntasks", "2", "--overcommit"]).args(flags).arg(trainer).args(training);
        command.arg("--log-dir").arg(self.path("scratch")).env("OMPI_MCA_mpi_yield_when_idle", "1");
        finish(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// The lab on the first node.
    pub fn lab(&self, lab: &Lab, words: &[&str]) -> Child {
        let mut command = self.client(lab::program().to_str().unwrap());
        lab.set_environment(&mut command);
        command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// What Slurm still has to do.
    pub fn queue(&self) -> String {
        stdout(&self.client("squeue").args(["-h", "-o", "%i %T"]).output().unwrap())
    }

    pub fn control(&self, words: &[&str]) {
        let output = self.client("scontrol").args(words).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
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

/// An address without the size of its network.
fn ip(address: &str) -> &str {
    address.split('/').next().unwrap_or_default()
}
