//! What hosts lack, from what they say.

use super::*;

fn seen() -> Seen {
    Seen {
        program: Program::There(Some("a".repeat(64))),
        started: Some((0, "hvd-train 0.1.0".into())),
        token: "token".into(),
        write: String::new(),
        cores: Some(8),
        gpus: 2,
        interfaces: vec![("lo".into(), "127.0.0.1/8".into()), ("eth0".into(), "10.0.0.7/24".into())],
        clock_ahead_s: 0.0,
    }
}

const NEEDS: fn() -> Needs<'static> = || Needs {
    program: Path::new("/lab/hvd-train"),
    may_start: true,
    folder: Path::new("/home/runs"),
    interfaces: None,
    takes_gpus: false,
};

/// The one finding that is not good.
fn only(change: impl FnOnce(&mut Seen, &mut Needs<'static>)) -> Finding {
    let (mut there, mut needs) = (seen(), NEEDS());
    change(&mut there, &mut needs);
    let findings = heard("node2", Some(4), &there, &seen(), "token", &needs);
    let mut odd = findings.into_iter().filter(|finding| finding.weight != Weight::Good);
    let first = odd.next().unwrap();
    assert_eq!(odd.next(), None);
    assert!(first.host == "node2" && !first.remedy.is_empty(), "{first:?}");
    first
}

#[test]
fn a_host_that_has_everything_is_good_in_every_respect() {
    let findings = heard("node2", Some(4), &seen(), &seen(), "token", &NEEDS());
    assert_eq!(
        findings.iter().map(|finding| finding.what).collect::<Vec<_>>(),
        ["program", "libraries", "folder", "clock", "devices", "network"]
    );
    assert!(findings.iter().all(|finding| finding.weight == Weight::Good && finding.remedy.is_empty()), "{findings:?}");
}

#[test]
fn each_thing_that_a_host_lacks_is_named_with_its_cause() {
    type Change = fn(&mut Seen, &mut Needs<'static>);
    let cases: [(Change, &str, Weight, &str); 11] = [
        (|seen, _| seen.program = Program::Missing, "program", Weight::Bad, "/lab/hvd-train is not there"),
        (|seen, _| seen.program = Program::Closed, "program", Weight::Bad, "may not be run"),
        (
            |seen, _| seen.program = Program::There(Some("b".repeat(64))),
            "program",
            Weight::Bad,
            "sha256 bbbbbbbb...) than here (aaaaaaaa...",
        ),
        (|seen, _| seen.program = Program::There(None), "program", Weight::Doubt, "no sha256sum"),
        (
            |seen, _| seen.started = Some((127, "libtorch_cpu.so: cannot open".into())),
            "libraries",
            Weight::Bad,
            "libtorch_cpu.so: cannot",
        ),
        (|seen, _| seen.token = "another".into(), "folder", Weight::Bad, "/home/runs of this host cannot be seen"),
        (
            |seen, _| seen.write = "sh: 1: cannot create /x: Read-only file system".into(),
            "folder",
            Weight::Bad,
            "there: Read-only file system",
        ),
        (|seen, _| seen.clock_ahead_s = -3600.0, "clock", Weight::Doubt, "1:00:00 behind"),
        (|_, needs| needs.takes_gpus = true, "devices", Weight::Bad, "4 ranks are to start there, and there are 2 GPUs"),
        (
            |_, needs| needs.interfaces = Some("eth0,ib0"),
            "network",
            Weight::Bad,
            "interface ib0 is not there, or not up; there are: eth0 10.0.0.7/24",
        ),
        (|_, needs| needs.interfaces = Some("10.1.0.0/16"), "network", Weight::Bad, "10.1.0.0/16 is not there"),
    ];
    for (change, what, weight, words) in cases {
        let finding = only(change);
        assert_eq!((finding.what, finding.weight), (what, weight), "{finding:?}");
        assert!(finding.found.contains(words), "{finding:?}");
    }
    let (there, mut needs) = (seen(), NEEDS());
    needs.interfaces = Some("10.0.0.0/8,eth0");
    let findings = heard("node2", None, &there, &seen(), "token", &needs);
    assert!(findings.iter().all(|finding| finding.weight == Weight::Good), "{findings:?}");
}

#[test]
fn an_address_that_two_hosts_have_is_no_way_between_them() {
    let with = |name: &str, own: &str| {
        let bridge = ("docker0".to_owned(), "172.17.0.1/16".to_owned());
        let interfaces = vec![("lo".into(), "127.0.0.1/8".into()), ("eth0".into(), own.to_owned()), bridge];
        (name.to_owned(), Seen { interfaces, ..seen() })
    };
    let hosts = [with("a", "10.0.0.1/24"), with("b", "10.0.0.2/24")];
    let found = same_addresses(&hosts, None);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].found.contains("docker0") && found[0].remedy.contains("--network-interface"), "{found:?}");
    assert_eq!(same_addresses(&hosts, Some("eth0")), []);
    let found = same_addresses(&[with("a", "10.0.0.1/24"), with("localhost", "10.0.0.1/24")], None);
    assert!(found.len() == 1 && found[0].found.contains("all addresses of a") && found[0].remedy.contains("once"), "{found:?}");
}

#[test]
fn why_a_host_cannot_be_reached_has_its_own_remedy() {
    let agent = Agent { words: vec!["ssh".into()], args: Vec::new() };
    let refused = |words: &str| Unheard::Refused(Some(255), words.into());
    for (why, cause, remedy) in [
        (refused("ada@b: Permission denied (publickey)."), "Permission denied", "ssh-copy-id b"),
        (refused("Host key verification failed."), "key verification", "accept its key"),
        (refused("ssh: Could not resolve hostname b: Name or service not known"), "resolve", "/etc/hosts"),
        (refused("ssh: connect to host b port 22: Connection refused"), "exit code 255: ssh: connect", "ssh b true"),
        (Unheard::Late(25), "within 25 s", "is it on"),
        (Unheard::Garbled, "not what it was asked", "echo hello"),
    ] {
        let finding = unheard("b", &agent, &why);
        assert!(finding.found.starts_with("cannot be reached by ssh: ") && finding.found.contains(cause), "{finding:?}");
        assert!(finding.remedy.contains(remedy), "{finding:?}");
    }
}
