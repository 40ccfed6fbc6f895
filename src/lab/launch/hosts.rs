//! Which hosts a run is for, from `-H` or a host file.

use std::path::Path;

use crate::domain::job::Resources;
use crate::domain::printable;
use crate::host::read;
use crate::launch::host_name::HostName;
use crate::launch::{Flavour, LaunchError};

/// A host file of thousands of hosts is smaller.
const MOST_BYTES: u64 = 1 << 20;

/// A host as it is named to mpirun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// A name or an address, perhaps with `user@` before it.
    pub name: String,
    /// Ranks that may start there; `None` if that was not given, and the launcher counts cores.
    pub slots: Option<usize>,
    /// Of its ssh, where a host file names one.
    pub port: Option<u16>,
}

/// The hosts of `host:slots,...`; a host without a number has one slot. Each host once, with all its slots.
///
/// # Errors
/// [`LaunchError::Spec`] if it is not such a list.
pub(in crate::launch) fn listed(hosts: &str) -> Result<Vec<Host>, LaunchError> {
    let host = |text: &str| {
        LaunchError::refuse_if(HostName::of(text.trim()).problem())?;
        let (name, slots) = text.trim().rsplit_once(':').unwrap_or((text.trim(), "1"));
        match (HostName::of(name).is_sound(name), slots.parse::<usize>()) {
            (true, Ok(slots @ 1..=100_000)) => Ok(Host { name: name.to_owned(), slots: Some(slots), port: None }),
            _ => Err(LaunchError::Spec(format!("`{text}` in the hosts `{hosts}` is not a host: write host:slots,host:slots"))),
        }
    };
    Ok(each_once(hosts.split(',').map(host).collect::<Result<_, _>>()?))
}

/// The hosts that a run names; none where it stays on this one.
///
/// # Errors
/// [`LaunchError::Spec`] where the list or the host file is none.
pub fn hosts_of(resources: &Resources, flavour: Flavour) -> Result<Vec<Host>, LaunchError> {
    match (&resources.hosts, &resources.hostfile) {
        (Some(hosts), _) => listed(hosts),
        (None, Some(file)) => {
            let text = read::small_text_with_mark(Path::new(file), MOST_BYTES).map_err(|error| unreadable(file, &error))?;
            in_file(file, &text, flavour)
        }
        (None, None) => Ok(Vec::new()),
    }
}

pub(super) fn unreadable(file: &str, error: &std::io::Error) -> LaunchError {
    LaunchError::Spec(format!("the host file {file} cannot be read: {error}. Give a file that mpirun can read"))
}

/// Settings of a host in a host file: those that both versions of Open MPI read, and those of version 4 and of MPICH alone.
const SLOTS: [&str; 3] = ["slots", "count", "cpu"];
const PORT_AND_USER: [&str; 4] = ["port", "username", "user-name", "user_name"];
const MOST_SLOTS: [&str; 8] =
    ["max_slots", "max-slots", "slots_max", "slots-max", "max_count", "max-count", "max_cpu", "max-cpu"];
const OF_4: [&str; 5] = ["boards", "sockets", "sockets_per_board", "cores", "cores_per_socket"];
const OF_MPICH: [&str; 3] = ["ifhn", "user", "binding"];

/// The hosts of a host file as Open MPI (`name slots=2 port=2222 username=ada`) or MPICH (`name:2 ifhn=name-ib`) reads it. What the
/// launcher would stop at, or pass over without a word, is refused.
///
/// # Errors
/// [`LaunchError::Spec`] with the line and what to write.
fn in_file(file: &str, text: &str, flavour: Flavour) -> Result<Vec<Host>, LaunchError> {
    let refuse = |why: String| Err(LaunchError::Spec(format!("the host file {file} {why}")));
    let is_mpich = flavour == Flavour::Mpich;
    if text.starts_with('\u{feff}') {
        return refuse(format!(
            "begins with a byte order mark, which mpirun takes for a host: `sed -i '1s/^\\xEF\\xBB\\xBF//' {file}`"
        ));
    }
    if text.contains('\r') && !is_mpich {
        return refuse(format!("ends its lines as Windows does, which mpirun cannot read: `sed -i 's/\\r$//' {file}`"));
    }
    let (mut hosts, mut left_out) = (Vec::new(), Vec::new());
    for line in without_comments(text, is_mpich).lines().map(str::trim).filter(|line| !line.is_empty()) {
        match host(line, flavour) {
            Ok(host) if flavour == Flavour::OpenMpi4 && host.name.starts_with('^') => left_out.push(host.name[1..].to_owned()),
            Ok(host) => hosts.push(host),
            Err(why) => return refuse(format!("has the line `{}`: {why}", printable::line(line))),
        }
    }
    let mut hosts = each_once(hosts);
    hosts.retain(|host| !left_out.contains(&host.name));
    if hosts.is_empty() { refuse("names no host: write one on each line".to_owned()) } else { Ok(hosts) }
}

fn without_comments(text: &str, is_mpich: bool) -> String {
    let mut rest = text;
    let mut kept = String::new();
    // Open MPI has those of C as well.
    while let Some((before, after)) = rest.split_once("/*").filter(|_| !is_mpich) {
        kept.extend([before, "\n"]);
        rest = after.split_once("*/").map_or("", |(_, rest)| rest);
    }
    kept += rest;
    let marks: &[&str] = if is_mpich { &["#"] } else { &["#", "//"] };
    let line =
        |line: &str| marks.iter().fold(line.to_owned(), |line, mark| line.split(mark).next().unwrap_or_default().to_owned());
    kept.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The host of a line, or why there is none.
fn host(line: &str, flavour: Flavour) -> Result<Host, String> {
    let is_mpich = flavour == Flavour::Mpich;
    // `slots = 2` is one setting.
    let spaced = line.replace('=', " = ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let (first, mut rest) = words.split_first().map_or(("", [].as_slice()), |(first, rest)| (*first, rest));
    HostName::of(first).problem().map_or(Ok(()), Err)?;
    let known: &[&[&str]] = match flavour {
        Flavour::OpenMpi5 => &[&SLOTS, &PORT_AND_USER, &MOST_SLOTS],
        Flavour::OpenMpi4 => &[&SLOTS, &PORT_AND_USER, &MOST_SLOTS, &OF_4],
        Flavour::Mpich => &[&OF_MPICH],
    };
    let number = |name: &str, value: &str| {
        let wrong = || format!("{name} takes a whole number above 0, and `{value}` is none");
        value.parse::<usize>().ok().filter(|number| *number > 0).ok_or_else(wrong)
    };
    let (mut name, mut slots, mut port, mut user) = (first, None, None, None);
    match first.split_once(':') {
        Some((host, ranks)) if is_mpich => (name, slots) = (host, Some(number("host:ranks", ranks)?)),
        Some((host, ranks)) => return Err(format!("Open MPI writes the slots of a host as `{host} slots={ranks}`")),
        None => {}
    }
    let is_sound = |name: &str| HostName::of(name).is_sound(name);
    if !is_sound(name.strip_prefix('^').unwrap_or(name)) {
        return Err("it begins with no host".to_owned());
    }
    while let [setting, more @ ..] = rest {
        match more {
            ["=", value, after @ ..] if known.iter().any(|names| names.contains(setting)) => {
                match *setting {
                    setting if SLOTS.contains(&setting) => slots = Some(number(setting, value)?),
                    "port" => port = Some(number("port", value)?).and_then(|port| u16::try_from(port).ok()),
                    "username" | "user-name" | "user_name" | "user" => user = Some(*value),
                    setting if MOST_SLOTS.contains(&setting) => drop(number(setting, value)?),
                    _ => {}
                }
                rest = after;
            }
            // Open MPI passes over a number.
            _ if !is_mpich && setting.parse::<usize>().is_ok() => rest = more,
            _ => {
                let example = if is_mpich { "node1:2" } else { "node1 slots=2" };
                return Err(format!("{flavour} knows no `{setting}` there: write one host on each line, such as `{example}`"));
            }
        }
    }
    if name.starts_with('^') && flavour != Flavour::OpenMpi4 {
        return Err(format!("leaving a host out with ^ is of Open MPI 4: take the line out, and that of {}", &name[1..]));
    }
    let name = user.filter(|_| !name.contains('@')).map_or_else(|| name.to_owned(), |user| format!("{user}@{name}"));
    if is_sound(name.strip_prefix('^').unwrap_or(&name)) {
        Ok(Host { name, slots, port })
    } else {
        Err(format!("`{}` is no user", user.unwrap_or_default()))
    }
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
        use Flavour::{Mpich, OpenMpi4, OpenMpi5};
        let text = "# two hosts\nnode1 slots=4 max_slots=8\n\nnode2   # the old one\n// no node3\n/* node4\nnode5 */";
        assert_eq!(in_file("f", text, OpenMpi5).unwrap(), [host("node1", Some(4)), host("node2", None)]);
        let settings = "node1 slots = 2 port=2222\nada@node1 count=1 max-slots = 9\nnode2 user_name=ada port = 22\nnode3 2";
        let hosts = in_file("f", settings, OpenMpi5).unwrap();
        let told: Vec<_> = hosts.iter().map(|host| (host.name.as_str(), host.slots, host.port)).collect();
        let expected =
            [("node1", Some(2), Some(2222)), ("ada@node1", Some(1), None), ("ada@node2", None, Some(22)), ("node3", None, None)];
        assert_eq!(told, expected);
        let left_out = in_file("f", "node1 slots=1\nw.2.lab slots=2\n^node1\n", OpenMpi4).unwrap();
        assert_eq!(left_out, [host("w.2.lab", Some(2))]);
        let mpich = in_file("f", "node1:4\r\nnode2 ifhn=node2-ib\nnode3 user=ada\n", Mpich).unwrap();
        assert_eq!(mpich, [host("node1", Some(4)), host("node2", None), host("ada@node3", None)]);
        for (flavour, text, words) in [
            (OpenMpi5, "[fd00::7] slots=2", "IPv6"),
            (OpenMpi5, "n[01-04]", "Slurm"),
            (OpenMpi5, "-oProxyCommand=reboot\n", "no host"),
            (OpenMpi5, "\u{feff}node1 slots=2\n", "byte order mark"),
            (OpenMpi4, "node1 slots=2\r\n", "Windows"),
            (OpenMpi5, "node1 slots=abc\n", "slots takes a whole number above 0, and `abc` is none"),
            (OpenMpi5, "node1 slots=0\n", "`0` is none"),
            (OpenMpi5, "node1 slots=\n", "knows no `slots`"),
            (OpenMpi5, "node1 slots=-1\n", "`-1` is none"),
            (OpenMpi5, "node1 port=0x10\n", "port takes"),
            (OpenMpi5, "node1 slots=1 user=ada\n", "knows no `user`"),
            (OpenMpi5, "node1 SLOTS=2\n", "knows no `SLOTS`"),
            (OpenMpi5, "node1 node2\n", "one host on each line"),
            (OpenMpi5, "node1:2\n", "`node1 slots=2`"),
            (OpenMpi5, "^node1\n", "of Open MPI 4"),
            (OpenMpi5, "node1,node2\n", "no host"),
            (OpenMpi5, "rank 0=node1 slot=0\n", "one host on each line"),
            (OpenMpi5, "# none\n", "names no host"),
            (Mpich, "node1 slots=2\n", "MPICH knows no `slots` there"),
            (Mpich, "node1:many\n", "`many` is none"),
            (Mpich, "\u{feff}node1:2\n", "byte order mark"),
        ] {
            let said = in_file("f", text, flavour).unwrap_err().to_string();
            assert!(said.contains("host file f") && said.contains(words), "{text:?}: {said}");
        }
    }
}
