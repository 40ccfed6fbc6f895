//! Host names as users and launchers write them, and which of them mean the same host. Names are compared nowhere else.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr, ToSocketAddrs, UdpSocket};

use crate::host;

/// A name or an address, perhaps with `user@` before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostName<'a>(&'a str);

impl<'a> HostName<'a> {
    pub fn of(text: &'a str) -> HostName<'a> {
        let host = text.rsplit_once('@').map_or(text, |(_, host)| host);
        HostName(host.trim_end_matches('.'))
    }

    /// Whether this could be handed to ssh: what starts with a dash would be an option of it.
    pub fn is_sound(self, whole: &str) -> bool {
        let is_part = |c: char| c.is_alphanumeric() || "-_.@".contains(c);
        !self.0.is_empty() && !whole.starts_with(['-', '@']) && !self.0.starts_with('-') && whole.chars().all(is_part)
    }

    /// Why a host written like this can have no rank, as a sentence; `None` where it is a name or an address of IPv4. With or
    /// without slots behind it.
    pub fn problem(self) -> Option<String> {
        let HostName(text) = self;
        let address = text.split(['[', ']', '%']).find(|part| !part.is_empty()).unwrap_or_default();
        let is_ipv6 = address.matches(':').count() > 1 && address.chars().all(|c| c.is_ascii_hexdigit() || ":.".contains(c));
        if is_ipv6 || address.parse::<Ipv6Addr>().is_ok() {
            let remedy = "write its IPv4 address, or a name that has one";
            return Some(format!("`{text}` is an address of IPv6, and mpirun reaches hosts by IPv4 only: {remedy}"));
        }
        if text.contains('[') {
            return Some(format!(
                "`{text}` is a range as Slurm writes it, which mpirun does not take: write each host by its name"
            ));
        }
        text.starts_with('+')
            .then(|| format!("`{text}` counts hosts of an allocation, and there is none: write hosts by their names"))
    }

    /// The part before the first dot of a name with a domain.
    pub fn without_domain(self) -> Option<&'a str> {
        self.0.split_once('.').filter(|_| !self.is_address()).map(|(name, _)| name)
    }

    fn is_address(self) -> bool {
        self.0.parse::<IpAddr>().is_ok()
    }

    fn equals(self, other: HostName) -> bool {
        self.0.eq_ignore_ascii_case(other.0)
    }

    /// Whether one is the other without its domain, or a part of that. An address has none.
    fn shortens(self, other: HostName) -> bool {
        let (short, long) = if self.0.len() < other.0.len() { (self.0, other.0) } else { (other.0, self.0) };
        let is_domain = long.get(short.len()..).is_some_and(|rest| rest.starts_with('.'));
        let are_names = !self.is_address() && !other.is_address();
        are_names && is_domain && long.get(..short.len()).is_some_and(|start| start.eq_ignore_ascii_case(short))
    }

    /// Which of these hosts it means: the one with its name, or else the only one that it is short or long for.
    pub fn among<'h>(self, hosts: impl IntoIterator<Item = &'h str>) -> Option<&'h str> {
        let hosts: BTreeSet<&str> = hosts.into_iter().collect();
        if let Some(equal) = hosts.iter().find(|host| self.equals(HostName::of(host))) {
            return Some(equal);
        }
        let mut alike = hosts.into_iter().filter(|host| self.shortens(HostName::of(host)));
        alike.next().filter(|_| alike.next().is_none())
    }

    /// As [`HostName::among`], also where one is a name and the other its address, or where it can be no other host than the one
    /// that is not this. Looks names up, which can take seconds.
    pub fn looked_up_among<'h>(self, hosts: &[&'h str]) -> Option<&'h str> {
        let addresses = self.addresses();
        let shares = |host: &&&str| HostName::of(host).addresses().iter().any(|address| addresses.contains(address));
        let by_address = || hosts.iter().find(shares).copied();
        self.among(hosts.iter().copied()).or_else(by_address).or_else(|| {
            let mut others = hosts.iter().copied().filter(|host| !HostName::of(host).is_here());
            others.next().filter(|_| !self.is_here() && others.next().is_none())
        })
    }

    /// Whether this is the host that the lab runs on, by its name or by an address of it. Looks the name up, which can take seconds.
    pub fn is_here(self) -> bool {
        let own = host::name();
        // Only an address of this host can be bound to.
        let is_own = |address: IpAddr| UdpSocket::bind((address, 0)).is_ok();
        self.0 == "localhost"
            || self.equals(HostName(&own))
            || self.addresses().into_iter().any(is_own)
            // This host's name without its domain. One that can be resolved is another host's.
            || self.shortens(HostName(&own)) && self.addresses().is_empty()
    }

    fn addresses(self) -> Vec<IpAddr> {
        (self.0, 0).to_socket_addrs().into_iter().flatten().map(|address| address.ip()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_the_host_that_has_it_or_the_only_one_it_is_short_for() {
        for (name, hosts, meant) in [
            ("a", "a b", Some("a")),
            ("a", "a.lab b.lab", Some("a.lab")),
            ("a.lab", "a b", Some("a")),
            ("A.Lab", "ada@a.lab b", Some("ada@a.lab")),
            ("w.2.lab", "w.1.lab w.2.lab", Some("w.2.lab")),
            ("w.2", "w.1.lab w.2.lab", Some("w.2.lab")),
            ("w", "w.1.lab w.2.lab", None),
            ("w", "w w.1.lab", Some("w")),
            ("w.3.lab", "w.1.lab w.2.lab", None),
            ("node1", "node10 node11", None),
            ("10.0.0.2", "10.0.0.1 10.0.0.2", Some("10.0.0.2")),
            ("10.0.0.3", "10.0.0.1 10.0.0.2", None),
            ("10", "10.0.0.1", None),
        ] {
            assert_eq!(HostName::of(name).among(hosts.split(' ')), meant, "{name} among {hosts}");
        }
        assert_eq!(HostName::of("127.0.0.1").looked_up_among(&["localhost", "198.51.100.1"]), Some("localhost"));
        assert_eq!(HostName::of("nowhere.invalid").looked_up_among(&["localhost", "198.51.100.1"]), Some("198.51.100.1"));
        assert_eq!(HostName::of("nowhere.invalid").looked_up_among(&["198.51.100.2", "198.51.100.1"]), None);
    }

    #[test]
    fn what_no_launcher_takes_is_told_in_a_sentence() {
        for (host, words) in [
            ("fd00::1", Some("IPv6")),
            ("[fd00::1]:2", Some("IPv6")),
            ("ada@fe80::1%eth0", Some("IPv6")),
            ("::ffff:10.0.0.1", Some("IPv6")),
            ("n[01-04]", Some("Slurm")),
            ("+n0", Some("allocation")),
            ("10.0.0.1", None),
            ("cafe", None),
            ("w.1.lab:2", None),
        ] {
            let said = HostName::of(host).problem();
            assert!(
                said.as_deref().map_or(words.is_none(), |said| words.is_some_and(|words| said.contains(words))),
                "{host}: {said:?}"
            );
        }
    }

    #[test]
    fn this_host_is_known_by_its_names_and_addresses() {
        let own = host::name();
        for name in ["localhost", "127.0.0.1", &own, &format!("ada@{own}")] {
            assert!(HostName::of(name).is_here(), "{name}");
        }
        // An address that is set aside for documents.
        assert!(!HostName::of("198.51.100.1").is_here());
    }
}
