//! Which hosts a run is for, from `-H` or a host file.
//!
//! Never asks a host anything.

use std::net::{ToSocketAddrs, UdpSocket};

use crate::host;
use crate::launch::{Flavour, LaunchError};

/// A host as mpirun is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// A name or an address, perhaps with `user@` before it.
    pub name: String,
    /// Ranks that may start there; `None` where nobody said so, and the launcher counts cores.
    pub slots: Option<usize>,
}

/// The hosts of `host:slots,...`; a host without a number has one slot. Each host once, with all its slots.
///
/// # Errors
/// [`LaunchError::Spec`] where it is no such list.
pub(in crate::launch) fn listed(hosts: &str) -> Result<Vec<Host>, LaunchError> {
    let host = |text: &str| {
        let (name, slots) = text.trim().rsplit_once(':').unwrap_or((text.trim(), "1"));
        match (is_name(name), slots.parse::<usize>()) {
            (true, Ok(slots @ 1..=100_000)) => Ok(Host { name: name.to_owned(), slots: Some(slots) }),
            _ => Err(LaunchError::Spec(format!("`{text}` in the hosts `{hosts}` is not a host: write host:slots,host:slots"))),
        }
    };
    Ok(each_once(hosts.split(',').map(host).collect::<Result<_, _>>()?))
}

/// The hosts of a host file as Open MPI (`name slots=2`) or MPICH (`name:2`) reads it.
///
/// # Errors
/// [`LaunchError::Spec`] where a line begins with no host.
pub(super) fn in_file(file: &str, text: &str, flavour: Flavour) -> Result<Vec<Host>, LaunchError> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()).filter(|line| !line.is_empty());
    let host = |line: &str| {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        let (name, after) = match flavour {
            Flavour::Mpich => first.rsplit_once(':').map_or((first, None), |(name, slots)| (name, Some(slots))),
            Flavour::OpenMpi4 | Flavour::OpenMpi5 => (first, words.find_map(|word| word.strip_prefix("slots="))),
        };
        match is_name(name) {
            true => Ok(Host { name: name.to_owned(), slots: after.and_then(|slots| slots.parse().ok()) }),
            false => Err(LaunchError::Spec(format!("the host file {file} has a line that begins with no host: `{line}`"))),
        }
    };
    let hosts = each_once(lines.map(host).collect::<Result<_, _>>()?);
    if hosts.is_empty() {
        return Err(LaunchError::Spec(format!("the host file {file} names no host: write one on each line")));
    }
    Ok(hosts)
}

/// What starts with a dash would be an option of ssh.
fn is_name(name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "-_.@:[]%".contains(c);
    !name.is_empty() && !name.starts_with('-') && name.chars().all(is_part)
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

/// Whether this is the host that the lab runs on, by its name or by an address of it. Looks the name up, which can take seconds.
pub(super) fn is_here(name: &str) -> bool {
    let name = name.rsplit_once('@').map_or(name, |(_, host)| host);
    let own = host::name();
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    if name == "localhost" || name == own || (name.parse::<std::net::IpAddr>().is_err() && short(name) == short(&own)) {
        return true;
    }
    // Only an address of this host can be bound to.
    let addresses = (name, 0).to_socket_addrs().into_iter().flatten();
    addresses.into_iter().any(|address| UdpSocket::bind(address).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, slots: Option<usize>) -> Host {
        Host { name: name.into(), slots }
    }

    #[test]
    fn a_list_names_each_host_once_with_all_its_slots() {
        let hosts = listed("a:2, b ,a:1,ada@10.0.0.7:3").unwrap();
        assert_eq!(hosts, [host("a", Some(3)), host("b", Some(1)), host("ada@10.0.0.7", Some(3))]);
        for wrong in ["", "a,,b", ":2", "a:0", "a:x", "-oProxyCommand=reboot:1", "a;reboot", "a b:1", "a\u{1b}[1m"] {
            assert!(listed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_host_file_is_read_as_its_launcher_reads_it() {
        let text = "# two hosts\nnode1 slots=4 max_slots=8\n\nnode2   # the old one\n";
        assert_eq!(in_file("f", text, Flavour::OpenMpi5).unwrap(), [host("node1", Some(4)), host("node2", None)]);
        assert_eq!(in_file("f", "node1:4\nnode2\n", Flavour::Mpich).unwrap(), [host("node1", Some(4)), host("node2", None)]);
        let error = in_file("f", "-oProxyCommand=reboot\n", Flavour::OpenMpi5).unwrap_err().to_string();
        assert!(error.contains("host file f"), "{error}");
    }

    #[test]
    fn this_host_is_known_by_its_names_and_addresses() {
        let own = host::name();
        for name in ["localhost", "127.0.0.1", &own, &format!("{own}.example.org"), &format!("ada@{own}")] {
            assert!(is_here(name), "{name}");
        }
        // An address that is set aside for documents.
        assert!(!is_here("192.0.2.1"));
    }
}
