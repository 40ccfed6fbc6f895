//! Which hosts a run is for, from `-H` or a host file.
//!
//! Never asks a host anything.

use crate::launch::host_name::HostName;
use crate::launch::{Flavour, LaunchError};

/// A host as mpirun is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// A name or an address, perhaps with `user@` before it.
    pub name: String,
    /// Ranks that may start there; `None` where nobody said so, and the launcher counts cores.
    pub slots: Option<usize>,
    /// Of its ssh, where a host file names one.
    pub port: Option<u16>,
}

/// The hosts of `host:slots,...`; a host without a number has one slot. Each host once, with all its slots.
///
/// # Errors
/// [`LaunchError::Spec`] where it is no such list.
pub(in crate::launch) fn listed(hosts: &str) -> Result<Vec<Host>, LaunchError> {
    let host = |text: &str| {
        if let Some(problem) = HostName::of(text.trim()).problem() {
            return Err(LaunchError::Spec(problem));
        }
        let (name, slots) = text.trim().rsplit_once(':').unwrap_or((text.trim(), "1"));
        match (HostName::of(name).is_sound(name), slots.parse::<usize>()) {
            (true, Ok(slots @ 1..=100_000)) => Ok(Host { name: name.to_owned(), slots: Some(slots), port: None }),
            _ => Err(LaunchError::Spec(format!("`{text}` in the hosts `{hosts}` is not a host: write host:slots,host:slots"))),
        }
    };
    Ok(each_once(hosts.split(',').map(host).collect::<Result<_, _>>()?))
}

/// The hosts of a host file as Open MPI (`name slots=2 port=2222 username=ada`) or MPICH (`name:2`) reads it.
///
/// # Errors
/// [`LaunchError::Spec`] where a line begins with no host.
pub(super) fn in_file(file: &str, text: &str, flavour: Flavour) -> Result<Vec<Host>, LaunchError> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()).filter(|line| !line.is_empty());
    let host = |line: &str| {
        // `slots = 2` is one setting.
        let spaced = line.replace('=', " = ");
        let words: Vec<&str> = spaced.split_whitespace().collect();
        let first = words.first().copied().unwrap_or_default();
        if let Some(problem) = HostName::of(first).problem() {
            return Err(LaunchError::Spec(format!("the host file {file} has the line `{line}`: {problem}")));
        }
        let is_mpich = flavour == Flavour::Mpich;
        let of = |name: &str| {
            let mut settings = words.windows(3).filter(|words| !is_mpich && words[1] == "=");
            settings.find(|words| words[0] == name).map(|words| words[2])
        };
        let (name, slots) = match first.rsplit_once(':').filter(|_| is_mpich) {
            Some((name, slots)) => (name, Some(slots)),
            None => (first, of("slots")),
        };
        let user = of("username").filter(|_| !name.contains('@'));
        let name = user.map_or_else(|| name.to_owned(), |user| format!("{user}@{name}"));
        let port = of("port").and_then(|port| port.parse().ok());
        match HostName::of(&name).is_sound(&name) {
            true => Ok(Host { name, slots: slots.and_then(|slots| slots.parse().ok()), port }),
            false => Err(LaunchError::Spec(format!("the host file {file} has a line that begins with no host: `{line}`"))),
        }
    };
    let hosts = each_once(lines.map(host).collect::<Result<_, _>>()?);
    if hosts.is_empty() {
        return Err(LaunchError::Spec(format!("the host file {file} names no host: write one on each line")));
    }
    Ok(hosts)
}

fn each_once(hosts: Vec<Host>) -> Vec<Host> {
    let mut once: Vec<Host> = Vec::new();
    for host in hosts {
        match once.iter_mut().find(|known| known.name == host.name) {
            Some(known) => known.slots = known.slots.zip(host.slots).map(|(one, other)| one + other),
            None => once.push(host),
        }
    }
    once
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, slots: Option<usize>) -> Host {
        Host { name: name.into(), slots, port: None }
    }

    #[test]
    fn a_list_names_each_host_once_with_all_its_slots() {
        let hosts = listed("a:2, b ,a:1,ada@10.0.0.7:3").unwrap();
        assert_eq!(hosts, [host("a", Some(3)), host("b", Some(1)), host("ada@10.0.0.7", Some(3))]);
        for wrong in
            ["", "a,,b", ":2", "a:0", "a:x", "-oProxyCommand=reboot:1", "a;reboot", "a b:1", "a\u{1b}[1m", "fd00::1", "n[1-2]"]
        {
            assert!(listed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_host_file_is_read_as_its_launcher_reads_it() {
        let text = "# two hosts\nnode1 slots=4 max_slots=8\n\nnode2   # the old one\n";
        assert_eq!(in_file("f", text, Flavour::OpenMpi5).unwrap(), [host("node1", Some(4)), host("node2", None)]);
        let settings = "node1 slots = 2 port=2222\r\nada@node1 slots=1\nnode2 username=ada port = 22\n";
        let hosts = in_file("f", settings, Flavour::OpenMpi5).unwrap();
        let told: Vec<_> = hosts.iter().map(|host| (host.name.as_str(), host.slots, host.port)).collect();
        assert_eq!(told, [("node1", Some(2), Some(2222)), ("ada@node1", Some(1), None), ("ada@node2", None, Some(22))]);
        for (line, words) in [("[fd00::7] slots=2", "IPv6"), ("n[01-04]", "Slurm")] {
            let said = in_file("f", line, Flavour::OpenMpi5).unwrap_err().to_string();
            assert!(said.contains("host file f") && said.contains(words), "{said}");
        }
        assert_eq!(in_file("f", "node1:4\nnode2\n", Flavour::Mpich).unwrap(), [host("node1", Some(4)), host("node2", None)]);
        let error = in_file("f", "-oProxyCommand=reboot\n", Flavour::OpenMpi5).unwrap_err().to_string();
        assert!(error.contains("host file f"), "{error}");
    }
}
