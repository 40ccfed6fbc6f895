//! Elastic runs whose ranks, launcher and hosts are killed, frozen and cut off while they train: each ends trained or says why it
//! cannot go on, and goes on from the last checkpoint.
//!
//! The real trainer on two and three ranks of this host, and on two hosts that are this one.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use hvd_lab_terminal::domain::checkpoint::Progress;
use hvd_lab_terminal::domain::event::{CheckpointAction, Event};
use hvd_lab_terminal::domain::run::RunState;
use hvd_lab_terminal::runs::RunFolder;
use nix::sys::signal::Signal;

use super::campaign::{Dice, try_all};
use super::kills::{compare, run_arguments, told};
use super::victims::{Blow, Strike, Victim};
use crate::support::hosts::{HOSTS, Host, agent, joined_hosts};
use crate::support::lab::{Lab, finish, stderr};
use crate::support::trainer::{turn, with_trainer};

/// Cases of the short campaign.
const ON_ONE_HOST: usize = 4;
const ON_TWO_HOSTS: usize = 2;
/// Three launches, each with a rank that is found frozen after some seconds, on a machine that others keep busy.
const LIMIT: Duration = Duration::from_secs(110);

const BLOWS: [(Victim, Blow); 5] = [
    (Victim::OneRank, Blow::Signal(Signal::SIGKILL)),
    (Victim::OneRank, Blow::Signal(Signal::SIGSTOP)),
    (Victim::AllRanks, Blow::Signal(Signal::SIGKILL)),
    (Victim::Launcher, Blow::Signal(Signal::SIGKILL)),
    (Victim::Launcher, Blow::Signal(Signal::SIGSTOP)),
];

/// Each attempt begins where the last checkpoint was, and has as many ranks as are allowed.
fn goes_on_from_commits(folder: &RunFolder, np: usize, least: usize) -> Result<(), String> {
    let record = folder.read_record().map_err(|error| error.to_string())?;
    let sizes: Vec<usize> = record.np_of_attempts().collect();
    if sizes.iter().any(|size| !(least..=np).contains(size)) || sizes.windows(2).any(|pair| pair[1] > pair[0]) {
        return Err(format!("its attempts have {sizes:?} ranks"));
    }
    let mut saved = Progress::default();
    for line in folder.events() {
        let Event::Checkpoint(report) = line.event else { continue };
        let place = Progress { epoch: report.epoch, images: report.images };
        match report.action {
            CheckpointAction::Written | CheckpointAction::Committed => saved = saved.max(place),
            CheckpointAction::Loaded if place < saved => {
                return Err(format!("it went on from {place:?}, and {saved:?} was saved"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Trained to its end, or failed with a reason that names what was lost or which limit was reached.
fn ends_well(lab: &Lab, np: usize, least: usize, epochs: usize) -> Result<(), String> {
    let status = lab.status(1);
    lab.assert_nothing_left(1);
    goes_on_from_commits(&lab.folder(1), np, least)?;
    let last = lab.store().summary(hvd_lab_terminal::runs::RunId(1)).map_err(|error| error.to_string())?.last_epoch;
    let names = ["rank ", "host ", "mpirun was ended", "--min-np", "--reset-limit"];
    match status.state {
        RunState::Finished if last == epochs => Ok(()),
        RunState::Failed if names.iter().any(|name| status.message.contains(name)) => Ok(()),
        state => Err(format!("{state:?} after {last} epochs: {}", status.message)),
    }
}

/// Wait for the end of the lab, and for no longer than a run may take.
fn ended(lab: Child) -> Result<(), String> {
    let begin = Instant::now();
    let output = finish(lab);
    match begin.elapsed() {
        took if took > LIMIT => Err(format!("it took {took:?}: {}", stderr(&output))),
        _ => Ok(()),
    }
}

fn on_one_host(number: usize, dice: &mut Dice) -> (String, Result<(), String>) {
    let _turn = turn();
    let lab = with_trainer().unwrap();
    let np = 2 + dice.below(2);
    let least = 1 + dice.below(np);
    let (first, more) = (BLOWS[number % BLOWS.len()], dice.below(3));
    let words = [np.to_string(), least.to_string()];
    let mut arguments = run_arguments();
    arguments[2] = &words[0];
    arguments.extend(["--min-np", &words[1]]);
    // Every other one goes on within an epoch.
    let commits = number % 2 == 1;
    arguments.extend(["--commit-every", "2"].into_iter().filter(|_| commits));
    let mut child = lab.spawn(&arguments);
    let mut is_killed_only = true;
    for (victim, blow) in [first].into_iter().chain((0..more).map(|_| *dice.pick(&BLOWS))).collect::<Vec<_>>() {
        let strike = Strike::with(dice, (victim, blow), 40);
        strike.moment.wait(&lab.folder(1), &mut child);
        strike.strike(dice, &lab.folder(1), &child);
        is_killed_only &= victim == Victim::OneRank && blow == Blow::Signal(Signal::SIGKILL);
    }
    let what = format!("np {np}, at least {least}, {:?}, commits: {commits}", first);
    let result = ended(child).and_then(|()| ends_well(&lab, np, least, 4));
    // With as many ranks as before nothing has changed but the time.
    let is_the_same = is_killed_only && !commits && (np, least) == (2, 2) && lab.status(1).state == RunState::Finished;
    (what, result.and_then(|()| if is_the_same { compare(&lab.folder(1), &told(&lab)) } else { Ok(()) }))
}

fn on_two_hosts(hosts: &[Host; 2], number: usize, dice: &mut Dice) -> (String, Result<(), String>) {
    let _turn = turn();
    let lab = with_trainer().unwrap();
    let agent = agent(hosts, lab.home()).display().to_string();
    let lab = lab.env("PRTE_MCA_plm_ssh_agent", &agent).env("OMPI_MCA_plm_rsh_agent", &agent);
    let link = |state: &str| hosts[1].enter().args(["ip", "link", "set", HOSTS[1].2, state]).status().unwrap();
    let mut arguments = run_arguments();
    arguments.extend(["--commit-every", "2"].into_iter().filter(|_| number % 2 == 1));
    arguments.extend(["--min-np", "1", "-H", "hvd-one:1,hvd-two:1", "--network-interface", "10.213.7.0/24"]);
    let plain = lab.command(&arguments);
    let mut command = hosts[0].enter();
    command.arg(plain.get_program()).args(plain.get_args()).stdin(Stdio::null());
    lab.set_environment(&mut command);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let strike = Strike::with(dice, (Victim::OneRank, Blow::Signal(Signal::SIGKILL)), 40);
    strike.moment.wait(&lab.folder(1), &mut child);
    let what = ["a host is killed", "a host is cut off", "a rank is killed"][number % 3];
    match number % 3 {
        0 => hosts[1].kill_all(),
        1 => drop(link("down")),
        _ => strike.strike(dice, &lab.folder(1), &child),
    }
    let result = ended(child).and_then(|()| ends_well(&lab, 2, 1, 4));
    // What is left on a host that was cut off nobody could end.
    hosts[1].kill_all();
    link("up");
    (what.into(), result.map_err(|why| format!("{:?}: {why}", strike.moment)))
}

#[test]
fn an_elastic_run_ends_trained_or_says_why_it_cannot() {
    if with_trainer().is_some() {
        try_all("elastic", ON_ONE_HOST, on_one_host);
    }
}

#[test]
fn an_elastic_run_that_loses_a_host_goes_on_with_the_other() {
    let (Some(_), Some(hosts)) = (with_trainer(), joined_hosts()) else { return };
    try_all("hosts", ON_TWO_HOSTS, |number, dice| on_two_hosts(&hosts, number, dice));
}
