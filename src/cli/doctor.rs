//! `hvd-lab doctor`: everything that a run needs, each with what was found, its cause and a remedy.
//!
//! Never changes anything but HVD_LAB_HOME: it makes the folder, writes a file of its own there and removes it again.

use std::process::ExitCode;

use serde::Serialize;

use super::output::print;
use crate::domain::units;

mod check;
mod launcher;
mod machine;
mod trainer;

use check::{Check, State};

const EXAMPLES: &str = "\
Examples:
  hvd-lab doctor          a line for each thing that a run needs
  hvd-lab doctor --json   {\"ok\":..., \"checks\":[{\"name\",\"state\",\"found\",\"remedy\"}]}

ok: good. warn: a run starts, but not as well as it could. FAIL: no run can \
start, and the exit code is 1.";

/// Check everything that a run needs.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Print one JSON object instead of text.
    #[arg(long)]
    json: bool,
    /// Act as if there were no network (also by HVD_LAB_OFFLINE=1).
    #[arg(long)]
    offline: bool,
}

#[derive(Serialize)]
struct Report {
    ok: bool,
    checks: Vec<Check>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut checks = Vec::new();
    let load = machine::LoadNow::begin();
    let gpus = machine::gpus();
    let trainer = trainer::examine(gpus.count, &mut checks);
    launcher::examine(trainer.as_ref(), &mut checks);
    checks.push(gpus.check);
    checks.push(machine::cores());
    checks.push(load.check());
    checks.push(machine::memory());
    checks.push(machine::data(args.offline));
    checks.extend(machine::home());
    let report = Report { ok: checks.iter().all(|check| check.state != State::Fail), checks };
    let text = if args.json { serde_json::to_string(&report)? + "\n" } else { describe(&report) };
    print(&text)?;
    Ok(if report.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn describe(report: &Report) -> String {
    let mut text = String::new();
    for check in &report.checks {
        let state = match check.state {
            State::Ok => "ok  ",
            State::Warn => "warn",
            State::Fail => "FAIL",
        };
        text += &format!("{state}  {:<13}{}\n", check.name, check.found);
        if !check.remedy.is_empty() {
            text += &format!("{:19}-> {}\n", "", check.remedy);
        }
    }
    let count = |state| report.checks.iter().filter(|check| check.state == state).count();
    text += &match (count(State::Fail), count(State::Warn)) {
        (0, 0) => "All is well: `hvd-lab run --np 2` starts a run.\n".into(),
        (0, warnings) => format!("A run can start; {} could be better.\n", units::counted(warnings, "thing")),
        (failures, _) => format!("A run cannot start: {} to fix first.\n", units::counted(failures, "thing")),
    };
    text
}
