//! Runs of the lab over two hosts that are one machine: what is looked at first, and what is said when a host goes.
//!
//! Never leaves a process behind: the lab of each test ends its ranks, and the hosts end with it. Skipped by name where there can be
//! no second host; HVD_LAB_REQUIRE=netns turns that into a failure.

use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use hvd_lab_terminal::domain::run::RunState;
use hvd_lab_terminal::runs::RunId;

use crate::support::hosts::{HOSTS, Host, agent, joined_hosts};
use crate::support::lab::{Lab, finish, stderr, stdout};
use crate::support::trainer::{turn, with_trainer};
use crate::support::wait::wait_for;

const BOTH: &str = "hvd-one:1,hvd-two:1";
/// More epochs than any test waits for.
const TRAINING: [&str; 12] = [
    "--data",
    "auto",
    "--model",
    "wrn-10-1",
    "--batch-size",
    "16",
    "--train-images",
    "320",
    "--validation-images",
    "64",
    "--epochs",
    "500",
];

impl Host {
    /// Everything on it but the process that is the host, as when its power fails.
    pub fn kill_all(&self) {
        let network = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/net")).ok();
        let (me, own) = (self.pid(), network(&self.pid()));
        let pids = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        let is_there = |pid: &String| *pid != me && pid.parse::<u32>().is_ok() && own.is_some() && network(pid) == own;
        let there: Vec<String> = pids.filter(is_there).collect();
        let _ = Command::new("kill").arg("-9").args(&there).stderr(Stdio::null()).status();
    }
}

struct Cluster {
    lab: Lab,
    hosts: [Host; 2],
}

impl Cluster {
    fn new() -> Option<Cluster> {
        let (lab, hosts) = (with_trainer()?, joined_hosts()?);
        let agent = agent(&hosts, lab.home()).display().to_string();
        let lab = lab.env("PRTE_MCA_plm_ssh_agent", &agent).env("OMPI_MCA_plm_rsh_agent", &agent);
        Some(Cluster { lab, hosts })
    }

    /// The lab, on the first host.
    fn spawn(&self, args: &[&str]) -> Child {
        let plain = self.lab.command(args);
        let mut command = self.hosts[0].enter();
        command.arg(plain.get_program()).args(plain.get_args()).stdin(Stdio::null());
        self.lab.set_environment(&mut command);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn run(&self, args: &[&str]) -> Output {
        finish(self.spawn(args))
    }

    /// Ranks on both hosts, training, and the lab that waits for them.
    fn training(&self) -> Child {
        let lab = self
            .spawn(&[["run", "--np", "2", "-H", BOTH, "--network-interface", "10.213.7.0/24"].as_slice(), &TRAINING].concat());
        wait_for("the third epoch", || {
            let events = std::fs::read_to_string(self.lab.folder(1).events_file()).ok()?;
            events.contains("\"epoch\":3").then_some(())
        });
        lab
    }

    /// The run that [`Cluster::training`] began has failed, in time, for the second host.
    fn assert_named(&self, lab: Child, since: Instant) {
        let status = self.lab.wait_until_over(1);
        let took = since.elapsed();
        let output = finish(lab);
        assert_eq!((status.state, output.status.code()), (RunState::Failed, Some(1)), "{}", stderr(&output));
        let wanted = "host hvd-two died or was cut off in epoch ";
        assert!(status.message.starts_with(wanted) && status.message.ends_with(", and rank 1 with it"), "{}", status.message);
        assert_eq!(status.failed_process, Some(1));
        // 7 s at most where nothing else runs; a machine that others keep busy takes its time.
        assert!(took < Duration::from_secs(15), "it took {took:?}");
        self.lab.assert_nothing_left(1);
    }
}

#[test]
fn both_hosts_are_looked_at_and_then_train() {
    let (Some(cluster), _turn) = (Cluster::new(), turn()) else { return };
    let output = cluster.run(&["doctor", "-H", BOTH, "--network-interface", "10.213.7.0/24"]);
    let text = stdout(&output);
    for (name, address, interface) in HOSTS {
        let line = text.lines().find(|line| line.starts_with(&format!("ok    {name}"))).unwrap_or_else(|| panic!("{text}"));
        assert!(line.contains("hvd-train is the same; hvd-train starts; the folder of runs is shared"), "{line}");
        assert!(line.contains(&format!("{interface} {address}")), "{line}");
    }
    assert!(!text.contains("FAIL  hvd-"), "{text}");

    // The second host does not have the interface of the first.
    let output = cluster.run(&["doctor", "-H", BOTH, "--network-interface", "one"]);
    assert!(stdout(&output).contains("FAIL  hvd-two      the network interface one is not there"), "{}", stdout(&output));

    let few = [["run", "--np", "2", "-H", BOTH, "--epochs", "2"].as_slice(), &TRAINING[..10]].concat();
    let output = cluster.run(&few);
    assert_eq!((cluster.lab.status(1).state, output.status.code()), (RunState::Finished, Some(0)), "{}", stderr(&output));
    assert_eq!(cluster.lab.store().summary(RunId(1)).unwrap().last_epoch, 2);
    cluster.lab.assert_nothing_left(1);
}

#[test]
fn a_host_that_is_cut_off_is_named_in_time() {
    let (Some(cluster), _turn) = (Cluster::new(), turn()) else { return };
    let lab = cluster.training();
    let since = Instant::now();
    let mut command = cluster.hosts[1].enter();
    assert!(command.args(["ip", "link", "set", HOSTS[1].2, "down"]).status().unwrap().success());
    cluster.assert_named(lab, since);
}

#[test]
fn a_host_that_dies_is_named_in_time() {
    let (Some(cluster), _turn) = (Cluster::new(), turn()) else { return };
    let lab = cluster.training();
    let since = Instant::now();
    // Everything on it but the process that is the host.
    let network = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/net")).ok();
    let host = cluster.hosts[1].pid();
    let own = network(&host).unwrap();
    let pids = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let there: Vec<String> = pids.filter(|pid| *pid != host && network(pid).is_some_and(|network| network == own)).collect();
    assert!(there.len() >= 2, "mpirun's daemon and a rank: {there:?}");
    assert!(Command::new("kill").arg("-9").args(&there).status().unwrap().success());
    cluster.assert_named(lab, since);
}
