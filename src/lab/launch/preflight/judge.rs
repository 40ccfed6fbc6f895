//! Judges what the hosts answered: what is wrong there, with its cause and a remedy.

use std::path::Path;

use super::agent::Agent;
use super::finding::{Finding, Judged, Needs, Weight};
use super::probe::{Program, Seen, Unheard};
use crate::domain::units;

/// Clocks that differ by less are taken for equal, in seconds.
const CLOCKS_APART_S: f64 = 2.0;
/// Characters of a hash in a sentence.
const SHORT_HASH: usize = 8;

/// What to do about words with which ssh refuses to reach a host.
const REFUSALS: [(&str, &str); 4] = [
    ("Permission denied", "let ssh log in without a password: `ssh-copy-id {host}`"),
    ("Host key verification failed", "log in once by hand, `ssh {host}`, and accept its key"),
    ("resolve", "check the name, or enter it in /etc/hosts"),
    ("not known", "check the name, or enter it in /etc/hosts"),
];

fn doubt(found: impl Into<String>, remedy: impl Into<String>) -> Judged {
    Err((Weight::Doubt, found.into(), remedy.into()))
}

fn bad(found: impl Into<String>, remedy: impl Into<String>) -> Judged {
    Err((Weight::Bad, found.into(), remedy.into()))
}

/// The finding on a host that could not be asked.
pub(super) fn unheard(host: &str, agent: &Agent, why: &Unheard) -> Finding {
    let name = agent.name();
    let by_hand = format!("try `{name} {host} true` by hand until it works without a question");
    let (cause, remedy) = match why {
        Unheard::Late(seconds) => {
            (format!("did not answer within {seconds} s"), format!("is it on, and the network up? Then {by_hand}"))
        }
        Unheard::Garbled => {
            ("answered, but not what it was asked".to_owned(), format!("does `{name} {host} echo hello` print hello?"))
        }
        Unheard::Refused(code, words) => match REFUSALS.iter().find(|(part, _)| words.contains(part)) {
            Some((_, remedy)) => (words.clone(), remedy.replace("{host}", host)),
            None => {
                let code = code.map_or_else(String::new, |code| format!("{name} ended with exit code {code}"));
                let said = [code, words.clone()].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ");
                (said, by_hand)
            }
        },
    };
    Finding::new(host, "reach", bad(format!("cannot be reached by {name}: {cause}"), remedy))
}

/// The findings on a host that answered. `here` is what this host says of itself.
pub(super) fn heard(host: &str, slots: Option<usize>, seen: &Seen, here: &Seen, token: &str, needs: &Needs) -> Vec<Finding> {
    let rows = [
        ("program", Some(program(host, seen, here, needs.program))),
        ("libraries", seen.started.as_ref().map(|(code, words)| starts(host, *code, words, needs.program))),
        ("folder", Some(folder(host, seen, token, needs.folder))),
        ("clock", Some(clock(seen.clock_ahead_s))),
        ("devices", Some(devices(host, slots, seen, needs.takes_gpus))),
        ("network", Some(network(seen, needs.interfaces))),
    ];
    rows.into_iter().filter_map(|(what, judged)| Some(Finding::new(host, what, judged?))).collect()
}

fn program(host: &str, seen: &Seen, here: &Seen, path: &Path) -> Judged {
    let (name, path) = (short(path), path.display());
    match (&seen.program, &here.program) {
        (Program::Missing, _) => {
            bad(format!("{path} is not there"), "put it there, at the same path, or into a folder that all hosts share")
        }
        (Program::Closed, _) => bad(format!("{path} may not be run there"), format!("`chmod +x {path}` on {host}")),
        (Program::There(Some(there)), Program::There(Some(own))) if there != own => {
            let part = |hash: &str| hash.chars().take(SHORT_HASH).collect::<String>();
            let found = format!("{name} is another build there (sha256 {}...) than here ({}...)", part(there), part(own));
            bad(found, format!("copy {path} from here to {host}, or share the folder"))
        }
        (Program::There(Some(_)), Program::There(Some(_))) => Ok(format!("{name} is the same")),
        (Program::There(_), _) => {
            let found = format!("{name} is there, and nobody knows whether it is the same: there is no sha256sum");
            doubt(found, format!("install coreutils on {host}"))
        }
    }
}

fn starts(host: &str, code: i32, words: &str, path: &Path) -> Judged {
    let name = short(path);
    if code == 0 {
        return Ok(format!("{name} starts"));
    }
    let said = if words.is_empty() { format!("exit code {code}") } else { words.to_owned() };
    let remedy = format!("run `make setup` on {host}, or share the project's folder with the libraries in it");
    bad(format!("{name} does not start there: {said}"), remedy)
}

fn folder(host: &str, seen: &Seen, token: &str, path: &Path) -> Judged {
    let path = path.display();
    if seen.token != token {
        let remedy = "point HVD_LAB_HOME at a folder that all hosts share, such as one on NFS";
        return bad(format!("{path} of this host cannot be seen there"), remedy);
    }
    if seen.write.is_empty() {
        return Ok("the folder of runs is shared".to_owned());
    }
    let cause = seen.write.rsplit(": ").next().unwrap_or(&seen.write);
    let remedy = format!("let your account write there: look at its owner, its space and how {host} mounts it");
    bad(format!("{path} cannot be written there: {cause}"), remedy)
}

fn clock(ahead_s: f64) -> Judged {
    if ahead_s.abs() < CLOCKS_APART_S {
        return Ok("the clock is right".to_owned());
    }
    let way = if ahead_s > 0.0 { "ahead of" } else { "behind" };
    let remedy = "let both take the time from the network (`timedatectl set-ntp true`): until then times are wrong";
    doubt(format!("its clock is {} {way} this host's", units::clock(ahead_s.abs())), remedy)
}

fn devices(host: &str, slots: Option<usize>, seen: &Seen, takes_gpus: bool) -> Judged {
    let gpus = units::counted(seen.gpus, "GPU");
    if let Some(slots) = slots.filter(|slots| takes_gpus && *slots > seen.gpus) {
        let remedy = match seen.gpus {
            0 => format!("leave {host} out, or use the preset cpu"),
            gpus => format!("write {host}:{gpus}"),
        };
        return bad(format!("{slots} ranks are to start there, and there are {gpus}"), remedy);
    }
    let cores = seen.cores.map(|cores| format!("{}, ", units::counted(cores, "core"))).unwrap_or_default();
    Ok(format!("{cores}{gpus}"))
}

/// An interface may be named, or a network that it is in, such as 10.0.0.0/8.
fn network(seen: &Seen, wanted: Option<&str>) -> Judged {
    let words = |(name, address): &(String, String)| if address.is_empty() { name.clone() } else { format!("{name} {address}") };
    let usable = |(name, address): &&(String, String)| name != "lo" && !address.starts_with("127.");
    let all: Vec<String> = seen.interfaces.iter().filter(usable).map(words).collect();
    let all = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
    let is = |wanted: &str| {
        let mut interfaces = seen.interfaces.iter();
        if wanted.contains('/') {
            interfaces.any(|(_, address)| is_within(address, wanted))
        } else {
            interfaces.any(|(name, _)| name == wanted)
        }
    };
    let Some(missing) = wanted.and_then(|wanted| wanted.split(',').map(str::trim).find(|wanted| !is(wanted))) else {
        return Ok(all);
    };
    let found = format!("the network interface {missing} is not there, or not up; there are: {all}");
    bad(found, "name one that every host has: --network-interface NAME, or a network such as 10.0.0.0/8")
}

/// Whether an IPv4 address such as 10.0.0.7/24 is in the network.
fn is_within(address: &str, network: &str) -> bool {
    let parse = |text: &str| -> Option<(u32, u32)> {
        let (address, bits) = text.split_once('/').unwrap_or((text, "32"));
        let address: std::net::Ipv4Addr = address.parse().ok()?;
        Some((u32::from(address), bits.parse().ok().filter(|bits| *bits <= 32)?))
    };
    let (Some((address, _)), Some((network, bits))) = (parse(address), parse(network)) else { return false };
    let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
    address & mask == network & mask
}

/// An address that several hosts have does not connect them: virtual bridges of containers have the same one everywhere.
pub(super) fn same_addresses(hosts: &[(String, Seen)], interfaces: Option<&str>) -> Vec<Finding> {
    if interfaces.is_some() {
        return Vec::new();
    }
    let is_outward = |(name, address): &&(String, String)| name != "lo" && !address.is_empty() && !address.starts_with("127.");
    let outward = |seen: &Seen| -> Vec<(String, String)> { seen.interfaces.iter().filter(is_outward).cloned().collect() };
    let twin = |at: usize| {
        let (host, seen) = &hosts[at];
        let own = outward(seen);
        if let Some((other, _)) = hosts[..at].iter().find(|(_, other)| !own.is_empty() && outward(other) == own) {
            let found = format!(
                "it has all addresses of {other}: both names are of one machine, and mpirun stops at one that is named twice"
            );
            return Some(Finding::new(host, "network", doubt(found, "name it once, with all its slots")));
        }
        let is_twin = |(_, address): &&(String, String)| {
            hosts[..at].iter().any(|(_, other)| other.interfaces.iter().any(|(_, same)| same == address))
        };
        let (name, address) = own.iter().find(is_twin)?;
        let found = format!("{name} has the address {address}, which another host has as well: ranks that try it wait for ever");
        let remedy = "name the interface that joins the hosts: --network-interface NAME";
        Some(Finding::new(host, "network", doubt(found, remedy)))
    };
    (0..hosts.len()).filter_map(twin).collect()
}

fn short(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
