//! `hvd-lab queue`: who has which device of a shared machine, and who waits for some.
//!
//! Never takes a place in the queue: runs do that by themselves.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;

use super::interrupt;
use super::output::print_json_done;
use super::table::{or_dash, render};
use crate::domain::units;
use crate::launch::{DeviceRow, DeviceState, RunOf, SharedMachine, WaitingRow};

const EXAMPLES: &str = "\
Examples:
  hvd-lab queue
  hvd-lab queue --watch
  hvd-lab queue --json | jq '.waiting | length'

A machine is shared where whoever looks after it has written /etc/hvd-lab.toml (HVD_LAB_SHARE_FILE names another file):

  [share]
  folder = \"/var/lib/hvd-lab\"      made once with `install -d -m 1777 /var/lib/hvd-lab` [default: /var/tmp/hvd-lab-share]
  devices = \"gpus\"                 or \"cores\" [default: GPUs where there are any]
  gpus_per_user = 2                that one user may have at a time [default: no limit]; cores_per_user likewise
  time_limit = \"0:30:00\"           of each run, from the moment when it gets its devices [default: none]

Every run started with hvd-lab then waits for its turn: first come, first served, and nobody has more than the limit. A run that needs \
many devices is not overtaken by smaller ones. What other programs use is shown as busy, and is not taken from them.";

/// Looked at again so often with --watch.
const AGAIN: Duration = Duration::from_secs(1);

/// Show who has which GPU or core of a shared machine, and who waits.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Show it again at every change, until Ctrl-C.
    #[arg(long, conflicts_with = "json")]
    watch: bool,
    /// One JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.json {
        return print_json_done(&as_json(SharedMachine::look()?.as_ref()));
    }
    if args.watch {
        interrupt::heed(interrupt::CTRL_C)?;
    }
    interrupt::print_changes(args.watch, AGAIN, || Ok(SharedMachine::look()?.as_ref().map_or(NOT_SHARED.to_owned(), describe)))
}

const NOT_SHARED: &str =
    "this machine is not shared: runs start at once, beside each other (`hvd-lab queue --help` says how to share it)\n";

fn describe(machine: &SharedMachine) -> String {
    let limits = Some(machine.limits()).filter(|limits| !limits.is_empty()).map(|limits| format!(": {limits}"));
    let mut text = format!(
        "{} of this machine are shared ({}){}\n\n",
        machine.devices,
        machine.rules.file.display(),
        limits.unwrap_or_default()
    );
    let device = |row: &DeviceRow| {
        let (state, run) = match &row.state {
            DeviceState::Free => ("free".to_owned(), None),
            DeviceState::Busy(by) => (format!("busy, not leased ({by})"), None),
            DeviceState::Leased(run) => ("leased".to_owned(), Some(run)),
        };
        let of = |field: fn(&RunOf) -> String| or_dash(run.map(field));
        let ends = run.and_then(|run| run.ends_s).map(|ends_s| machine.in_about(ends_s));
        vec![row.name.clone(), state, of(|run| run.user.clone()), of(|run| run.run.clone()), or_dash(ends)]
    };
    text += &render(&["device", "state", "user", "run", "free again"], machine.rows.iter().map(device));
    if machine.waiting.is_empty() {
        return text + "\nnobody waits\n";
    }
    let waiting = |row: &WaitingRow| {
        let WaitingRow { run, count, estimate } = row;
        vec![
            estimate.place.to_string(),
            run.user.clone(),
            run.run.clone(),
            machine.devices.counted(*count),
            units::clock(machine.now_s - run.since_s),
            machine.start_of(row),
        ]
    };
    text += "\n";
    text += &render(&["place", "user", "run", "needs", "waits", "expected start"], machine.waiting.iter().map(waiting));
    text += &machine.kept().map(|kept| format!("\n{kept}\n")).unwrap_or_default();
    text + "\nTimes follow from time limits, and from how fast epochs went so far: a run may end earlier.\n"
}

fn as_json(machine: Option<&SharedMachine>) -> serde_json::Value {
    let Some(machine) = machine else { return json!({ "shared": false }) };
    let run =
        |run: &RunOf| json!({ "user": run.user, "run": run.run, "pid": run.pid, "since_s": run.since_s, "ends_s": run.ends_s });
    let device = |row: &DeviceRow| match &row.state {
        DeviceState::Free => json!({ "name": row.name, "device": row.device, "state": "free" }),
        DeviceState::Busy(by) => json!({ "name": row.name, "device": row.device, "state": "busy", "by": by }),
        DeviceState::Leased(of) => json!({ "name": row.name, "device": row.device, "state": "leased", "run": run(of) }),
    };
    let waiting = |row: &WaitingRow| {
        json!({
            "place": row.estimate.place, "run": run(&row.run), "needs": row.count, "start_s": row.estimate.start_s,
            "passed_over": row.estimate.is_skipped,
        })
    };
    json!({
        "shared": true,
        "file": machine.rules.file,
        "lent": machine.devices.to_string(),
        "devices": machine.rows.iter().map(device).collect::<Vec<_>>(),
        "waiting": machine.waiting.iter().map(waiting).collect::<Vec<_>>(),
    })
}
