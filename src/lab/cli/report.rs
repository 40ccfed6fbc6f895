//! `hvd-lab report`: what a learner hands in, as Markdown, HTML or JSON.
//!
//! It does not say where the user's files are, nor, without a flag, on which host.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::output::{Usage, print, print_json_text, say, say_damaged};
use crate::course::{Catalog, InspectedRow, LONGEST_NAME, MachineRow, Private, ProgressFile, Report, Share, Sources};
use crate::domain::device::Reading;
use crate::host;
use crate::inspect::{Inspected, Outcome, Topic};
use crate::launch::{LaunchError, Launcher, Machine};
use crate::runs::{RunId, RunStore, RunSummary};
use crate::telemetry::NvmlProbe;

const EXAMPLES: &str = "\
Examples:
  hvd-lab report --name Ada --out report.html     one page, for a browser or paper
  hvd-lab report > report.md
  hvd-lab report --format json | jq '.steps[] | select(.levels[] == \"written\") | .step'

Steps with the evidence that showed them, predictions, runs, speed-up and the machine; no code, no path, and no host \
name without --host. JSON fields (report: 1, the version; times in Unix seconds):
  learner, time_s, date
  steps[]        step, title, is_done (proven or written), levels[], run, time_s, date, evidence, failed_runs
  predictions[]  lesson, title, answers[], tries, right_at_try, is_late (after the run), outcome
  ring           started_s, attempts, time_s, passed_s, said: the ring exercise, if it was started
  collectives[]  run, time_s, passed, failed, unclear, said: runs of collectives that were checked
  inspected[]    run, topics (how many were judged), wrong[], look[] (to look at): your own programs, run with --inspect
  runs[]         run, name, date, state, np, steps, model, images, epochs, epochs_asked, images_per_sec, baseline,
                 speedup, scaling_efficiency, accuracy, training_seconds, seconds_to_target
  speedup        work, baseline, bars[]: np, run, images_per_sec, speedup, ideal
  machine        host, cores, physical_cores, memory_bytes, gpus[], no_gpus, versions[]";

/// Write a report to hand in: steps with their evidence, predictions, runs, speed-up, machine.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// md, html or json [default: by the name of the file, else md].
    #[arg(long, value_name = "md|html|json")]
    format: Option<Format>,
    /// Write it there [default: standard output].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file if it is there.
    #[arg(long, requires = "out")]
    force: bool,
    /// Whose report it is [default: the name given to `hvd-lab progress --share`].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Say the name of this host.
    #[arg(long)]
    host: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    #[value(alias = "markdown")]
    Md,
    Html,
    Json,
}

impl Format {
    fn of(path: &Path) -> Option<Format> {
        match path.extension()?.to_str()?.to_lowercase().as_str() {
            "html" | "htm" => Some(Format::Html),
            "json" => Some(Format::Json),
            _ => None,
        }
    }
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let home = RunStore::default_home()?;
    let reading = ProgressFile::of(&home).read()?;
    reading.note.iter().for_each(|note| say(note));
    // Problems with the folder of the class were reported above.
    let shared = || Share::of(&home).ok().flatten().map(|share| share.learner);
    let name = args.name.clone().or_else(shared);
    if let Some(length) = name.as_ref().map(|name| name.chars().count()).filter(|length| *length > LONGEST_NAME) {
        return Err(Usage(format!("--name has {length} characters: give one of at most {LONGEST_NAME}")).into());
    }
    let store = RunStore::open(&home)?;
    let runs = store.list();
    say_damaged(&runs);
    let inspected = runs.iter().filter_map(|run| inspected(&store, run)).collect();
    let report = Report::new(Sources {
        learner: name,
        now_s: host::now_s(),
        progress: &reading.progress,
        lessons: &Catalog::open(None)?,
        machine: machine(args.host, &runs),
        private: private(args.host, &home, &runs),
        runs: &runs,
        inspected,
    });
    let format = args.format.or_else(|| args.out.as_deref().and_then(Format::of)).unwrap_or(Format::Md);
    let text = match format {
        Format::Md => report.to_markdown(),
        Format::Html => report.to_html(),
        Format::Json => report.to_json(),
    };
    match args.out.as_ref().filter(|path| !super::output::is_standard_output(path)) {
        Some(path) => {
            super::output::save(path, text.as_bytes(), args.force)?;
            say(&format!("{} says: {}", path.display(), report.summary()));
        }
        None if format == Format::Json => _ = print_json_text(&text)?,
        None => _ = print(&text)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// What the inspector found in a run, if it looked.
fn inspected(store: &RunStore, run: &RunSummary) -> Option<InspectedRow> {
    let judged = Inspected::read(store, run.record.as_ref()?, run.status.state).filter(|judged| !judged.is_empty)?;
    Some(inspected_row(run.id, &judged))
}

fn inspected_row(run: RunId, judged: &Inspected) -> InspectedRow {
    let of_outcome = |outcome: Outcome| {
        judged.findings.iter().filter(|finding| finding.outcome == outcome).map(|finding| judged.in_words(finding)).collect()
    };
    let topics: BTreeSet<Topic> = judged.findings.iter().map(|finding| finding.topic).collect();
    InspectedRow { run, topics: topics.len(), wrong: of_outcome(Outcome::Wrong), look: of_outcome(Outcome::Look) }
}

fn machine(with_host: bool, runs: &[RunSummary]) -> MachineRow {
    let machine = Machine::detect();
    let (gpus, no_gpus, driver) = match NvmlProbe::open() {
        Ok(probe) => {
            let system = probe.system();
            let driver = Reading::value(&system.driver).map(|version| format!("NVIDIA driver {version}"));
            (system.gpus, None, driver)
        }
        Err(reason) => (Vec::new(), Some(format!("none: {reason}")), None),
    };
    let mut versions = vec![format!("hvd-lab {}", env!("CARGO_PKG_VERSION"))];
    let launcher = match Launcher::detect() {
        Ok(launcher) => Some(launcher.version),
        Err(LaunchError::NoLauncher) => None,
        Err(error) => {
            say(&format!("the report does not say which launcher this machine has: {error}"));
            None
        }
    };
    let of_runs = runs.iter().rev().filter_map(|run| run.record.as_ref()).flat_map(|record| record.versions.clone());
    for version in launcher.into_iter().chain(driver).chain(of_runs) {
        // The text after a comma says who built it, where and when.
        let version = version.split(',').next().unwrap_or_default().to_owned();
        if !versions.contains(&version) {
            versions.push(version);
        }
    }
    MachineRow {
        host: with_host.then(host::name),
        cores: machine.cores,
        physical_cores: machine.physical_cores,
        memory_bytes: host::cpu::host_memory().1,
        gpus,
        no_gpus,
        versions,
    }
}

fn private(with_host: bool, home: &Path, runs: &[RunSummary]) -> Private {
    let of_user = std::env::var("HOME").ok().map(|home| (home, "~"));
    let of_lab = (home.display().to_string(), "the lab's home");
    let hosts = runs.iter().filter_map(|run| run.record.as_ref()).map(|record| record.host.clone());
    Private {
        folders: [of_lab].into_iter().chain(of_user).collect(),
        hosts: if with_host { Vec::new() } else { hosts.chain([host::name()]).collect() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::Finding;

    #[test]
    fn a_report_keeps_what_is_wrong_and_what_is_to_be_looked_at() {
        let finding = |topic, outcome| Finding { remedy: "Fix it".into(), ..Finding::new(topic, outcome, "Seen".into()) };
        let findings = vec![
            finding(Topic::Data, Outcome::Wrong),
            finding(Topic::Metrics, Outcome::Look),
            finding(Topic::Ranks, Outcome::Ok),
        ];
        let row = inspected_row(RunId(3), &Inspected { findings, ..Inspected::default() });
        let line = |topic: &str| vec![format!("{topic}: Seen; remedy: Fix it")];
        assert_eq!(row, InspectedRow { run: RunId(3), topics: 3, wrong: line("data"), look: line("metrics") });
    }
}
