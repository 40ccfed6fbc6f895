//! `hvd-lab doctor`: everything that a run needs, each with what was found, its cause and a remedy.
//!
//! Never changes anything but HVD_LAB_HOME: it makes the folder, writes a file of its own there and in the folder of temporary files,
//! and removes it again.

use std::process::ExitCode;

use serde::Serialize;

use super::output::print;
use crate::dataset;
use crate::domain::job::Resources;
use crate::domain::training::DataSource;
use crate::domain::units;

mod check;
mod classroom;
mod hosts;
mod launcher;
mod machine;
mod trainer;

use check::{Check, Weight};

const EXAMPLES: &str = "\
Examples:
  hvd-lab doctor          a line for each thing that a run needs
  hvd-lab doctor --json   {\"ok\":..., \"checks\":[{\"name\",\"state\",\"found\",\"remedy\"}]}
  hvd-lab doctor -H node1,node2
                          looks at these hosts as well: ssh, hvd-train and its
                          libraries, the folder of runs, clock, cores, GPUs, network
  hvd-lab doctor --class 12
                          also for 12 learners who train on this machine at once

ok: good. warn: a run starts, but not as well as it could. FAIL: no run can \
start, and the exit code is 1.";

/// Check everything that a run needs.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Print one JSON object instead of text.
    #[arg(long)]
    json: bool,
    /// Look at these hosts as well, as mpirun takes them: host:slots,...
    #[arg(short = 'H', long, value_name = "HOSTS", conflicts_with = "hostfile")]
    hosts: Option<String>,
    /// Look at the hosts of this host file as well.
    #[arg(long, value_name = "FILE")]
    hostfile: Option<String>,
    /// The interfaces or networks by which hosts reach each other, such as eth0 or 10.0.0.0/8.
    #[arg(long, value_name = "NAMES")]
    network_interface: Option<String>,
    /// Also check this machine for a class: so many learners at once, each with two ranks [default: 1, a machine for each].
    #[arg(long, value_name = "LEARNERS", num_args = 0..=1, default_missing_value = "1",
          value_parser = clap::value_parser!(u16).range(1..=10_000))]
    class: Option<u16>,
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
    let load = machine::load();
    // Before the launcher makes the folder.
    let temporary = machine::temporary();
    let (gpus, check_of_gpus) = machine::gpus();
    let trainer = trainer::examine(gpus, &mut checks);
    launcher::examine(trainer.as_ref(), &mut checks);
    checks.push(check_of_gpus);
    checks.push(machine::cores());
    checks.push(load());
    checks.push(machine::memory());
    checks.extend(machine::shared_memory());
    checks.extend(machine::sharing());
    let images = dataset::locate(DataSource::Auto, None, args.offline);
    checks.push(machine::data(&images));
    checks.extend(machine::home());
    checks.push(temporary);
    if let Some(learners) = args.class {
        classroom::examine(usize::from(learners), images.as_ref().ok(), &mut checks);
    }
    let Args { hosts, hostfile, network_interface, json, .. } = args;
    hosts::examine(&Resources { hosts, hostfile, network_interface, ..Resources::ranks(1) }, &mut checks)?;
    let report = Report { ok: checks.iter().all(|check| check.weight != Weight::Bad), checks };
    let text = if json { serde_json::to_string(&report)? + "\n" } else { describe(&report) };
    print(&text)?;
    Ok(if report.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn describe(report: &Report) -> String {
    let mut text = String::new();
    // What is well with a host fits into one line.
    let hosts = report.checks.chunk_by(|one, next| !one.host.is_empty() && one.host == next.host);
    for checks in hosts {
        let good = checks.iter().filter(|check| check.weight == Weight::Good).map(|check| check.found.as_str());
        let good = good.collect::<Vec<_>>().join("; ");
        let name = |check: &Check| if check.host.is_empty() { check.what.to_owned() } else { check.host.clone() };
        if !good.is_empty() {
            text += &format!("ok    {:<12} {good}\n", name(&checks[0]));
        }
        for check in checks.iter().filter(|check| check.weight != Weight::Good) {
            let state = if check.weight == Weight::Doubt { "warn" } else { "FAIL" };
            text += &format!("{state}  {:<12} {}\n{:19}-> {}\n", name(check), check.found, "", check.remedy);
        }
    }
    let count = |weight| report.checks.iter().filter(|check| check.weight == weight).count();
    text += &match (count(Weight::Bad), count(Weight::Doubt)) {
        (0, 0) => "All is well: `hvd-lab run --np 2` starts a run.\n".into(),
        (0, warnings) => format!("A run can start; {} could be better.\n", units::counted(warnings, "thing")),
        (failures, _) => format!("A run cannot start: {} to fix first.\n", units::counted(failures, "thing")),
    };
    text
}
