//! `hvd-lab collectives replay`: the messages that a run really sent, step by step as text.

use std::process::ExitCode;

use super::super::output::{Usage, print_either};
use super::super::table::render;
use super::options::{ended, open};
use super::{json, schedule};
use crate::domain::collective::{Method, Operation};
use crate::domain::measured::MessageLog;
use crate::domain::units;
use crate::runs::{Measurement, RunId, RunStore};

const EXAMPLES: &str = "\
Examples:
  hvd-lab collectives replay 7
  hvd-lab collectives replay 7 --algorithm ring
  hvd-lab collectives replay 7 --algorithm ring --json | jq '.messages[0]'

Times are in microseconds since the allreduce began, on one clock for all ranks: when the sender handed the message to MPI, and \
when the receiver had it. `hvd-lab collectives show --algorithm ring --np 4` prints a schedule that nobody ran.";

/// Print the messages of a run, round by round, with their times.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Number of the run [default: the newest that measured collectives].
    run: Option<RunId>,
    /// Only these.
    // By its whole path, for clap takes a plain `Vec` for a flag that is given several times.
    #[arg(long, value_name = "LIST", value_parser = Method::parse_list)]
    algorithm: Option<std::vec::Vec<Method>>,
    /// One JSON object; of several algorithms an array.
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let store = RunStore::open_default()?;
    let told = open(&store, args.run)?;
    let is_wanted = |name: &str| args.algorithm.as_ref().is_none_or(|all| all.iter().any(|one| one.name() == name));
    let logs: Vec<&MessageLog> = told.measured.logs.iter().filter(|log| is_wanted(&log.method)).collect();
    if logs.is_empty() {
        let logged = told.measured.logs.iter().map(|log| log.method.as_str()).collect::<Vec<_>>().join(", ");
        // What the run was asked to log, of what is asked for now.
        let has_schedule = |name: &str| name.parse::<Method>().is_ok_and(|method| method.algorithm().is_some());
        let asked = told.spec.methods.iter().map(String::as_str).filter(|_| told.spec.log_bytes.is_some());
        let due: Vec<&str> = asked.filter(|name| is_wanted(name) && has_schedule(name)).collect();
        let (id, names) = (told.id, due.join(", "));
        let what = match logged.as_str() {
            _ if !due.is_empty() && told.measured.damaged.is_some() => {
                anyhow::bail!(
                    "run {id}: the log of its messages is damaged, and nothing of it can be read ({names}). Measure again"
                )
            }
            _ if !due.is_empty() => {
                anyhow::bail!("run {id}: the log of its messages ({names}) is not there: {}", ended(&store, &told)?)
            }
            "" => "has no log of messages: start one with --log-bytes and one of the lab's algorithms".to_owned(),
            logged => format!("has no log of these: it has {logged}"),
        };
        return Err(Usage(format!("run {} {what}", told.id)).into());
    }
    let whole = || json::one_or_all(logs.iter().map(|log| json::log(told.id, log)).collect());
    print_either(args.json, whole, || logs.iter().map(|log| text(&told, log)).collect::<Vec<_>>().join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn text(told: &Measurement, log: &MessageLog) -> String {
    let ranks = told.measured.ranks;
    let size = units::bytes(4 * log.elements as u64);
    let mut text =
        format!("# run {}: {}, np {ranks}, {} float32 ({size})", told.id, log.method, units::counted(log.elements, "number"));
    text += &told.spec.link().map(|link| format!(", {link}")).unwrap_or_default();
    text += &format!("\n# {}\n", log.compared(ranks, told.spec.shape));
    let micro = |seconds: f64| format!("{:.1}", seconds * 1e6);
    for messages in log.messages.chunk_by(|one, other| one.round == other.round) {
        let began = messages.iter().map(|message| message.began_s).fold(f64::INFINITY, f64::min);
        let ended = messages.iter().map(|message| message.ended_s).fold(f64::NEG_INFINITY, f64::max);
        text += &format!("round {}: {} to {} us\n", messages[0].round + 1, micro(began), micro(ended));
        for message in messages {
            text += &format!(
                "  {}  {} to {} us ({} us)\n",
                schedule::one(message.from, message.to, message.start..message.end, message.operation),
                micro(message.began_s),
                micro(message.ended_s),
                micro(message.ended_s - message.began_s)
            );
        }
    }
    let of = |rank: usize| {
        let bytes = |messages: &mut dyn Iterator<Item = usize>| units::bytes(4 * messages.sum::<usize>() as u64);
        let sent = || log.messages.iter().filter(move |message| message.from == rank);
        let received = || log.messages.iter().filter(move |message| message.to == rank);
        let added = received().filter(|message| message.operation == Operation::Reduce);
        let length = |message: &crate::domain::collective::MessageReport| message.end - message.start;
        vec![
            rank.to_string(),
            sent().count().to_string(),
            bytes(&mut sent().map(length)),
            received().count().to_string(),
            bytes(&mut received().map(length)),
            bytes(&mut added.map(length)),
        ]
    };
    let heading = ["rank", "messages sent", "bytes sent", "messages received", "bytes received", "bytes added"];
    text + &render(&heading, (0..ranks).map(of))
}
