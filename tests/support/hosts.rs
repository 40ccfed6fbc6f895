//! Two hosts that are one machine: each a network and a host name of its own, joined by one cable.
//!
//! Never leaves a host behind: each lasts as long as the process that holds it, which ends with the test. Without root or `ip`,
//! `unshare` and `nsenter` there are none; HVD_LAB_REQUIRE=netns turns that into a failure.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::needs::skip;

/// Each with its address and its end of the cable.
pub const HOSTS: [(&str, &str, &str); 2] = [("hvd-one", "10.213.7.1/24", "one"), ("hvd-two", "10.213.7.2/24", "two")];

/// A process in the network and under the name of a host. It ends at the end of its standard input: with its owner.
pub struct Host(Child);

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

    pub fn pid(&self) -> String {
        self.0.id().to_string()
    }

    /// The start of a command on this host.
    pub fn enter(&self) -> Command {
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
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim_end()))
    }
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

pub fn joined_hosts() -> Option<[Host; 2]> {
    match two_hosts() {
        Ok(hosts) => Some(hosts),
        Err(why) => {
            skip("netns", format_args!("no second host on this machine: {why}"));
            None
        }
    }
}

/// What ssh is to a cluster, as a program in this folder: the name of a host, then what to run there.
pub fn agent(hosts: &[Host; 2], folder: &Path) -> PathBuf {
    let agent = folder.join("agent");
    let cases: String = hosts.iter().zip(HOSTS).map(|(host, (name, ..))| format!("{name}) pid={};;\n", host.pid())).collect();
    let script = format!("#!/bin/sh\ncase $1 in\n{cases}esac\nshift\nexec nsenter --target $pid --net --uts -- sh -c \"$*\"\n");
    std::fs::write(&agent, script).unwrap();
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
    agent
}
