//! Hosts of a run as `hvd-lab doctor` looks at them, played by an agent or by an ssh of the test's own.

use serde_json::Value;

use super::{Machine, examine};

/// Hosts that an agent plays on this machine. What a host is wrong about is its name.
const AGENT: &str = r#"case $1 in
good) shift; exec sh -c "$*" ;;
locked) echo 'Welcome!' >&2; echo 'ada@locked: Permission denied (publickey).' >&2; exit 255 ;;
mumbling) echo 'no such command'; exit 0 ;;
older) shift; sh -c "$*" | sed 's/host hash ......../host hash 01234567/' ;;
bare) shift; sh -c "$(echo "$*" | sed 's,[^ ]*/hvd-train,/dev/null/hvd-train,')" ;;
broken) shift; sh -c "$*" | sed 's/host start .*/host start 127 libtorch_cpu.so: cannot open shared object file/' ;;
apart) shift; sh -c "$(echo "$*" | sed 's,/home/runs/[^ ]*,/home/gone,')" ;;
full) shift; sh -c "$*" | sed 's/host write .*/host write sh: 1: cannot create x: No space left on device/' ;;
late) shift; sh -c "$*" | sed 's/host time [0-9]*/host time 1000/' ;;
hostile) printf 'hvd-lab-host hash missing\nhvd-lab-host write \033[2Jgone\nhvd-lab-host end ok\n' ;;
esac"#;

#[test]
fn each_host_is_looked_at_and_what_it_lacks_is_told_with_a_remedy() {
    let machine = Machine::new();
    machine.script("agent", AGENT);
    let names = ["good", "locked", "mumbling", "older", "bare", "broken", "apart", "full", "late", "hostile"];
    let doctor = |more: &[&str]| {
        let mut lab = machine.lab(&[&["-H", &names.join(",")], more].concat());
        let agent = machine.path("agent");
        lab.env("PRTE_MCA_plm_ssh_agent", &agent).env("OMPI_MCA_plm_rsh_agent", &agent);
        lab
    };
    let (code, report) = examine(&mut doctor(&[]));
    assert_eq!((code, &report["ok"]), (1, &Value::Bool(false)), "{report}");
    // What is not well with each host. They are one machine, so they share their addresses.
    let odd = |host: &str| -> Vec<(String, String, String)> {
        let of_host = report["checks"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|check| check["host"] == host && check["state"] != "ok" && check["name"] != "network");
        let text = |check: &Value, key: &str| check[key].as_str().unwrap().to_owned();
        of_host.map(|check| (text(check, "name"), text(check, "found"), text(check, "remedy"))).collect()
    };
    assert_eq!(odd("good"), []);
    for (host, name, cause, remedy) in [
        ("locked", "reach", "cannot be reached by agent: ada@locked: Permission denied", "ssh-copy-id locked"),
        ("mumbling", "reach", "not what it was asked", "echo hello"),
        ("older", "program", "hvd-train is another build there (sha256 01234567...)", "copy "),
        ("bare", "program", "hvd-train is not there", "share"),
        ("broken", "libraries", "libtorch_cpu.so: cannot open", "make setup"),
        ("apart", "folder", "cannot be seen there", "HVD_LAB_HOME"),
        ("full", "folder", "No space left on device", "its space"),
        ("late", "clock", "behind this host's", "timedatectl"),
        ("hostile", "program", "is not there", "share"),
    ] {
        let found = odd(host);
        let one = found.iter().find(|(what, ..)| what == name).unwrap_or_else(|| panic!("{host}: {found:?}"));
        assert!(one.1.contains(cause) && one.2.contains(remedy), "{host}: {one:?}");
        assert!(host == "hostile" || found.len() == 1, "{host}: {found:?}");
    }
    let output = doctor(&[]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\nok    good         hvd-train is the same; hvd-train starts; "), "{text}");
    assert!(text.contains("\nFAIL  locked       cannot be reached") && !text.contains('\u{1b}'), "{text}");
    let left = std::fs::read_dir(machine.path("home").join("runs")).unwrap().count();
    assert_eq!(left, 0, "nothing is left where runs are");
}

#[test]
fn hosts_that_are_none_are_refused() {
    let machine = Machine::new();
    let gone = machine.path("gone/hosts");
    for (flags, cause) in [
        (["-H", "a;reboot"], "is not a host"),
        (["-H", "a,,b"], "is not a host"),
        (["--hostfile", gone.to_str().unwrap()], "gone/hosts cannot be read"),
    ] {
        let output = machine.lab(&flags).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(cause), "{flags:?}: {said}");
    }
}

/// An ssh whose host answers at one port only, as ssh reads its words.
const SSH: &str = r#"port=22
while :; do
    case $1 in
    -p) port=$2; shift ;;
    -p*) port=${1#-p} ;;
    -o) case $2 in Port=*) port=${2#Port=} ;; esac; shift ;;
    -l | -F) shift ;;
    -*) ;;
    *) break ;;
    esac
    shift
done
host=$1; shift
case $1 in -p) port=$2; shift 2 ;; esac
[ "$port" = 2222 ] || { echo "ssh: connect to host $host port $port: Connection refused" >&2; exit 255; }
exec sh -c "$*""#;

#[test]
fn the_look_reaches_hosts_by_the_words_that_the_launcher_is_given() {
    let machine = Machine::new();
    std::fs::create_dir_all(machine.path("bin")).unwrap();
    machine.script("bin/ssh", SSH);
    let path = format!("{}:{}", machine.path("bin").display(), std::env::var("PATH").unwrap_or_default());
    let (of_5, of_4) = ("PRTE_MCA_plm_ssh_args", "OMPI_MCA_plm_rsh_args");
    let (file_5, file_4) = (".prte/mca-params.conf", ".openmpi/mca-params.conf");
    for (version, setting, words, is_reached) in [
        ("5.0.11", "", "", false),
        ("5.0.11", of_5, "-p 2222", true),
        ("5.0.11", "PRTE_MCA_plm_ssh_agent", "ssh -p 2222", true),
        ("5.0.11", file_5, "plm_ssh_args = -o Port=2222", true),
        ("5.0.11", ".pmix/mca-params.conf", "prte_plm_ssh_args=-p2222", true),
        ("5.0.11", file_5, "# plm_ssh_args = -p 2222", false),
        // What version 5 does not hear, the lab passes on.
        ("5.0.11", of_4, "-p 2222", true),
        ("5.0.11", file_4, "plm_rsh_args = -p 2222", true),
        ("4.1.8", of_4, "-p 2222", true),
        ("4.1.8", "OMPI_MCA_plm_rsh_agent", "nowhere : ssh -p 2222", true),
        ("4.1.8", file_4, "plm_rsh_agent = ssh -p 2222", true),
        ("4.1.8", of_5, "-p 2222", false),
        ("4.1.8", file_5, "plm_ssh_args = -p 2222", false),
        ("hostfile", "", "node7 slots=1 port=2222\n", true),
        ("hostfile", "", "node7 slots=1\n", false),
    ] {
        let version_words = if version == "hostfile" { "5.0.11" } else { version };
        machine.script(
            "mpirun",
            &format!("[ \"$1\" = --version ] && {{ echo 'mpirun (Open MPI) {version_words}'; exit; }}\nexit 1"),
        );
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("hosts"), words).unwrap();
        let file = home.path().join("hosts");
        let named = if version == "hostfile" { ["--hostfile", file.to_str().unwrap()] } else { ["-H", "node7:1"] };
        let mut lab = machine.lab(&named);
        lab.env("PATH", &path).env("HOME", home.path());
        for name in [of_5, of_4, "PRTE_MCA_plm_ssh_agent", "OMPI_MCA_plm_rsh_agent"] {
            lab.env_remove(name);
        }
        match setting.strip_prefix('.') {
            Some(_) => {
                std::fs::create_dir_all(home.path().join(setting).parent().unwrap()).unwrap();
                std::fs::write(home.path().join(setting), words).unwrap();
            }
            None if setting.is_empty() => {}
            None => drop(lab.env(setting, words)),
        }
        let (_, report) = examine(&mut lab);
        let of_host = report["checks"].as_array().unwrap().iter().filter(|check| check["host"] == "node7");
        let unreached = of_host.clone().any(|check| check["name"] == "reach" && check["state"] == "fail");
        assert!(of_host.count() > 0 && unreached != is_reached, "{version}, {setting} {words:?}: {report}");
    }
}

#[test]
fn a_host_file_that_mpirun_cannot_read_is_refused_by_doctor_and_by_run() {
    let machine = Machine::new();
    let file = machine.path("hosts");
    for (text, cause) in [
        ("node7 slots=abc\n", "slots takes a whole number"),
        ("\u{feff}node7 slots=2\n", "byte order mark"),
        ("node7 slots=2\r\n", "as Windows does"),
        ("^node7\nlocalhost\n", "of Open MPI 4"),
        ("node7:2\n", "node7 slots=2"),
    ] {
        std::fs::write(&file, text).unwrap();
        let flags = ["--hostfile", file.to_str().unwrap()];
        let doctor = machine.lab(&flags).output().unwrap();
        let mut run = assert_cmd::Command::cargo_bin("hvd-lab").unwrap();
        run.args(["run", "--dry-run", "--np", "2", "--data", "generated"])
            .args(flags)
            .timeout(std::time::Duration::from_secs(60));
        run.env("HVD_TRAIN", machine.path("hvd-train")).env("HVD_LAB_MPIRUN", machine.path("mpirun"));
        let run = run.env("HVD_LAB_HOME", machine.path("home")).output().unwrap();
        for output in [doctor, run] {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.code() == Some(2) && said.contains(cause) && said.contains("hosts"), "{text:?}: {said}");
        }
    }
}
