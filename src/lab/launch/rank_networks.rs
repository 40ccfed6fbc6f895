//! A slow network for each rank on one machine: the words before the launcher and before each rank's program, and whether the system
//! allows it.
//!
//! Needs no root, and nothing of it is ever cleaned up: the launcher gets a network namespace with a bridge, each rank one of its
//! own with a cable to that bridge, both ends of the cable let through so many bits a second, and all of it is gone with the
//! processes that live in it, however they end.

use std::process::Command;

use super::LaunchError;
use crate::process::probe_command::{LAUNCHER_PATIENCE, ask};

/// The bridge: PMIx, by which ranks talk with the launcher, has to listen there.
pub const HUB: &str = "hub";
/// The addresses of the ranks. Nobody outside of these namespaces sees them.
pub const NETWORK: &str = "10.213.0.0/16";

/// Makes the bridge and the cables in the launcher's namespace, then becomes the launcher.
const AROUND_LAUNCHER: &str = "set -e; np=$1 rate=$2 burst=$3; shift 3; \
    ip link set lo up; ip link add hub type bridge; ip addr add 10.213.0.1/16 dev hub; ip link set hub up; \
    rank=0; while [ $rank -lt $np ]; do \
    ip link add hub$rank type veth peer name rank$rank; ip link set hub$rank master hub; ip link set hub$rank up; \
    tc qdisc add dev hub$rank root tbf rate $rate burst $burst latency 400ms; rank=$((rank + 1)); done; \
    export HVD_LAB_HUB=$$ HVD_LAB_LINK=\"$rate burst $burst\"; exec \"$@\"";

/// In a namespace of the rank's own: fetches its end of the cable, then becomes the rank.
const AROUND_RANK: &str = "set -e; rank=$OMPI_COMM_WORLD_RANK; \
    nsenter --net=/proc/$HVD_LAB_HUB/ns/net ip link set rank$rank netns $$; \
    ip link set lo up; ip addr add 10.213.$((1 + rank / 250)).$((1 + rank % 250))/16 dev rank$rank; ip link set rank$rank up; \
    tc qdisc add dev rank$rank root tbf rate $HVD_LAB_LINK latency 400ms; exec \"$@\"";

/// Everything that a run with such links uses, in a namespace that is gone at once.
const TRIAL: &str = "set -e; ip link add hub type bridge; ip link add one type veth peer name other; \
    ip link set one master hub; tc qdisc add dev one root tbf rate 200mbit burst 100k latency 400ms; \
    hub=$$; unshare --net sh -c \"nsenter --net=/proc/$hub/ns/net ip link set other netns \\$\\$\"";

/// Programs that it takes, and where they come from.
const PROGRAMS: [(&str, &str); 4] =
    [("unshare", "util-linux"), ("nsenter", "util-linux"), ("ip", "iproute2"), ("tc", "iproute2")];

/// What may pass at once: four milliseconds' worth, for timers are no finer, and no less than a packet of any size.
fn burst(bits: u64) -> u64 {
    (bits / 8 / 250).max(64 << 10)
}

/// The words before the launcher's.
pub fn around_launcher(np: usize, bits: u64) -> Vec<String> {
    let words = ["unshare", "-Urnm", "sh", "-c", AROUND_LAUNCHER, "links"].map(String::from);
    words.into_iter().chain([np.to_string(), format!("{bits}bit"), burst(bits).to_string()]).collect()
}

/// A program in the network of the launcher, where the bridge and its ends of the cables are. Its first words are those of `tc`.
pub fn tc(launcher: u32, words: &[&str]) -> Command {
    let mut command = Command::new("nsenter");
    // Without root it is not allowed to change groups there, which nsenter would try.
    let target = launcher.to_string();
    command.args(["--user", "--net", "--preserve-credentials", "--target", &target, "tc"]).args(words);
    command
}

/// The `tc` that lets so much through to a rank from now on, by the end of its cable that is at the bridge: what is on its way to the
/// rank waits there.
pub fn let_through(launcher: u32, process: usize, bits: u64) -> Command {
    let words = format!("qdisc change dev {HUB}{process} root tbf rate {bits}bit burst {} latency 400ms", burst(bits));
    tc(launcher, &words.split(' ').collect::<Vec<_>>())
}

/// The words before each rank's program.
pub fn around_rank() -> Vec<String> {
    ["unshare", "--net", "sh", "-c", AROUND_RANK, "link"].map(String::from).to_vec()
}

/// Whether this system allows it.
///
/// # Errors
/// [`LaunchError::Spec`] with what is missing, and what to do.
pub fn probe() -> Result<(), LaunchError> {
    let refuse =
        |cause: String, remedy: &str| Err(LaunchError::Spec(format!("this machine cannot make slow links: {cause}; {remedy}")));
    if !cfg!(target_os = "linux") {
        return refuse("this system has no network namespaces".into(), "run it on Linux, or leave the link out");
    }
    for (program, package) in PROGRAMS {
        if !super::setup::is_program_at(program) {
            return refuse(format!("{program} was not found"), &format!("install {package}, or leave the link out"));
        }
    }
    let namespaces = "the system has to allow user namespaces without root (sysctl kernel.unprivileged_userns_clone, \
                      user.max_user_namespaces, and AppArmor's kernel.apparmor_restrict_unprivileged_userns)";
    succeeds(Command::new("unshare").args(["-Urnm", "true"])).or_else(|cause| refuse(cause, namespaces))?;
    let needed = "the kernel needs bridges, veth and the tbf scheduler (modules bridge, veth, sch_tbf)";
    succeeds(Command::new("unshare").args(["-Urnm", "sh", "-c", TRIAL])).or_else(|cause| refuse(cause, needed))
}

/// Its last words where it does not.
fn succeeds(command: &mut Command) -> Result<(), String> {
    let answer = ask(command, LAUNCHER_PATIENCE).map_err(|error| error.to_string())?;
    if answer.status.success() {
        Ok(())
    } else {
        Err(answer.stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing").trim().to_owned())
    }
}
