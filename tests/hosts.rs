//! A run over two hosts that are one machine: each a network and a host name of its own, joined by one cable.
//!
//! Never leaves a host behind: each lasts as long as the process that holds it, which ends with this test. Without root
//! or `ip`, `unshare` and `nsenter` the test is skipped by name; HVD_LAB_REQUIRE=netns turns the skip into a failure.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hvd_lab::domain::event::{Event, EventLine, MARKER, TopologyReport};

#[path = "support/mpi.rs"]
mod mpi;

/// Each with its address and its end of the cable.
const HOSTS: [(&str, &str, &str); 2] = [("hvd-one", "10.213.7.1/24", "one"), ("hvd-two", "10.213.7.2/24", "two")];
const LIMIT: Duration = Duration::from_secs(240);

/// A process in the network and under the name of a host. It ends at the end of its standard input: with its owner.
struct Host(Child);

impl Host {
    fn new(name: &str) -> Result<Host, String> {
        let script =
            format!("echo {name} > /proc/sys/kernel/hostname && ip link set lo up && echo ready && exec cat > /dev/null");
        let mut command = Command::new("unshare");
        command.args(["--net", "--uts", "sh", "-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut host = Host(command.spawn().map_err(|error| format!("unshare: {error}"))?);
        let mut said = String::new();
        let _ = BufReader::new(host.0.stdout.take().unwrap()).read_line(&mut said);
        if said == "ready\n" { Ok(host) } else { Err("no network and host name of its own for a process here".into()) }
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }

    /// The start of a command on this host.
    fn enter(&self) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.pid(), "--net", "--uts", "--"]);
        command
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn succeed(mut command: Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() { Ok(()) } else { Err(format!("{command:?}: {}", mpi::text(&output).trim_end())) }
}

/// Both hosts, joined.
fn two_hosts() -> Result<[Host; 2], String> {
    let [one, two] = HOSTS;
    let hosts = [Host::new(one.0)?, Host::new(two.0)?];
    let mut cable = Command::new("ip");
    cable.args(["link", "add", one.2, "netns", &hosts[0].pid(), "type", "veth", "peer", "name", two.2]);
    cable.args(["netns", &hosts[1].pid()]);
    succeed(cable)?;
    for (host, (_, address, end)) in hosts.iter().zip(HOSTS) {
        for arguments in [["addr", "add", address, "dev", end].as_slice(), &["link", "set", end, "up"]] {
            let mut command = host.enter();
            command.arg("ip").args(arguments);
            succeed(command)?;
        }
    }
    Ok(hosts)
}

fn joined_hosts() -> Option<[Host; 2]> {
    match two_hosts() {
        Ok(hosts) => Some(hosts),
        Err(why) => {
            let required = std::env::var("HVD_LAB_REQUIRE").unwrap_or_default();
            assert!(!required.split(',').any(|word| word == "netns"), "HVD_LAB_REQUIRE names netns: {why}");
            eprintln!("skipped: no second host on this machine: {why}");
            None
        }
    }
}

#[test]
fn every_host_of_a_run_tells_what_its_devices_do() {
    let (Some(mpirun), Some(hosts)) = (mpi::mpirun(), joined_hosts()) else { return };
    let folder = tempfile::tempdir().unwrap();
    // What ssh is to a cluster: the name of a host, then what to run there.
    let agent = folder.path().join("agent");
    let cases: String = hosts.iter().zip(HOSTS).map(|(host, (name, ..))| format!("{name}) pid={};;\n", host.pid())).collect();
    let script = format!("#!/bin/sh\ncase $1 in\n{cases}esac\nshift\nexec nsenter --target $pid --net --uts -- sh -c \"$*\"\n");
    std::fs::write(&agent, script).unwrap();
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();

    let plain = mpi::command(&mpirun, 2);
    let mut command = hosts[0].enter();
    command.arg(plain.get_program()).args(plain.get_args());
    command.args(["-H", "hvd-one:1,hvd-two:1", "--mca", "btl", "tcp,self"]);
    command.env("PRTE_MCA_plm_ssh_agent", &agent).env("OMPI_MCA_plm_rsh_agent", &agent);
    command.args([env!("CARGO_BIN_EXE_hvd-train"), "--events", "--steps", "1-10", "--data-dir", "generated"]);
    command.args(["--model", "wrn-10-1", "--batch-size", "16", "--train-images", "640", "--validation-images", "64"]);
    command.args(["--epochs", "25", "--log-dir"]).arg(folder.path());
    let output = mpi::run_limited(command, LIMIT);
    assert!(output.status.success(), "{}", mpi::text(&output));
    let printed = String::from_utf8_lossy(&output.stdout);
    let events: Vec<EventLine> = printed.lines().filter_map(|line| EventLine::parse_line(line.strip_prefix(MARKER)?)).collect();

    let topology = |process: usize| -> TopologyReport {
        let of = |line: &EventLine| match &line.event {
            Event::Topology(report) if line.process == process => Some(report.clone()),
            _ => None,
        };
        events.iter().find_map(of).unwrap()
    };
    for (process, (name, ..)) in HOSTS.into_iter().enumerate() {
        let report = topology(process);
        assert_eq!((report.host.as_str(), report.topology.size.0, report.topology.local_size.0), (name, 2, 1));
        let samples: Vec<_> = events
            .iter()
            .filter(|line| line.process == process)
            .filter_map(|line| if let Event::Devices { sample } = &line.event { Some((line.time_s, sample)) } else { None })
            .collect();
        assert!(samples.iter().all(|(_, sample)| sample.host == name), "{samples:?}");
        let own = events.iter().filter(|line| line.process == process);
        let ended = own.clone().find(|line| matches!(line.event, Event::Finished { .. })).unwrap().time_s;
        let began = own.map(|line| line.time_s).next().unwrap();
        // At once, and then every second; a machine under load may miss some.
        let seconds = (ended - began) as usize;
        assert!(samples.len() > seconds / 3 && samples.len() <= seconds + 2, "{} in {seconds} s", samples.len());
        assert!(samples.len() > 1, "use is a difference of two samples, and the run was over in {seconds} s");

        let last = &samples.last().unwrap().1;
        assert!(last.gpu_missing.as_deref().is_some_and(|why| why.contains("lab's own host")), "{last:?}");
        let cpu = &last.devices[0];
        assert!(!cpu.core_percent.is_empty() && cpu.memory_used_bytes.value().is_some_and(|&bytes| bytes > 0), "{cpu:?}");
        let ranks: BTreeSet<_> = cpu.processes.iter().map(|found| (found.rank, found.pid)).collect();
        assert_eq!(ranks, BTreeSet::from([(Some(process), report.pid)]), "its own rank, by its pid");
        assert!(cpu.processes[0].utilization_percent.value().is_some_and(|&percent| percent > 0.0), "{cpu:?}");
    }
}
