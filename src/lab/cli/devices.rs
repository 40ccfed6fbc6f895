//! `hvd-lab devices`: the GPUs or CPU cores of this host and what runs on them.
//!
//! A figure that a device does not give is shown as N/A with its reason.

use std::collections::{BTreeMap, HashMap};
use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

mod device_bars;

use super::output::print_exact;
use crate::domain::device::{DeviceKind, DeviceProcess, DeviceSample, RankPlace, Reading, TelemetrySample};
use crate::domain::event::{Event, EventLine};
use crate::domain::{printable, units};
use crate::host;
use crate::runs::{Follower, RunId, RunStore, RunUpdate};
use crate::telemetry::{self, SAMPLE_PERIOD, Sampler};

const EXAMPLES: &str = "\
Examples:
  hvd-lab devices                   what there is, once
  hvd-lab devices --watch           twice a second, until Ctrl-C; on a terminal a line a device, in place
  hvd-lab devices --watch --json    one line of JSON a sample";

/// After this time without a sample the driver hangs, and we say so.
const PATIENCE: Duration = Duration::from_secs(30);

/// Show the GPUs (or CPU cores) of this host and what runs on them, ranks of your runs by number.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Show it again twice a second until Ctrl-C.
    #[arg(long)]
    watch: bool,
    /// Print one line of JSON a sample instead of text.
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (sender, samples) = channel();
    let mut runs = Runs::new();
    let sampler = Sampler::spawn(SAMPLE_PERIOD, telemetry::probe(), move |sample| {
        // The receiver is gone: the command is about to end.
        let _ = sender.send(sample);
    });
    // Use is a difference of two samples: the first one, taken without knowing the ranks, has none to show.
    sampler.watch(running_ranks(&mut runs));
    next(&samples)?;
    next(&samples)?;
    let redraws = args.watch && !args.json && std::io::stdout().is_terminal();
    // Cleared once; then over the block before, each line cleared behind its end, and what is left below: so nothing flickers.
    let mut start = "\x1b[2J\x1b[H";
    loop {
        let sample = next(&samples)?;
        let text = if args.json {
            printable::json(&format!("{}\n", serde_json::to_string(&sample)?)).into_owned()
        } else if redraws {
            // Over what is there already: no more than fits, or it would scroll away.
            let (columns, rows) = crate::tui::size().unwrap_or((80, 24));
            device_bars::lines(&sample, columns, rows.saturating_sub(1).max(1)).join("\n") + "\n"
        } else {
            printable::lines(&describe(&sample)).into_owned()
        };
        let shown = match redraws {
            true => format!("{start}{}\x1b[J", text.replace('\n', "\x1b[K\n")),
            false if args.watch && !args.json => format!("{text}\n"),
            false => text,
        };
        start = "\x1b[H";
        // Its parts are safe already.
        let is_read = print_exact(&shown)?;
        if !(args.watch && is_read) {
            return Ok(ExitCode::SUCCESS);
        }
        sampler.watch(running_ranks(&mut runs));
    }
}

/// The runs that are followed, each with the places of its ranks.
type Runs = HashMap<RunId, (Follower, BTreeMap<usize, RankPlace>)>;

/// The ranks of all runs that are going on this host, from the runs' own events. Empty if there are no runs, or none can be read.
fn running_ranks(runs: &mut Runs) -> Vec<RankPlace> {
    let Some(store) = RunStore::open_existing() else { return Vec::new() };
    let going = store.going();
    runs.retain(|id, _| going.contains(id));
    let host = host::name();
    for id in going {
        let (follower, places) = runs.entry(id).or_insert_with(|| (Follower::without_lines(store.folder(id)), BTreeMap::new()));
        for update in std::iter::repeat_with(|| follower.poll()).take_while(|updates| !updates.is_empty()).flatten() {
            if let RunUpdate::Event(EventLine { process, event: Event::Topology(report), .. }) = update
                && report.host == host
            {
                places.insert(process, report.place(process));
            }
        }
    }
    runs.values().flat_map(|(_, places)| places.values().cloned()).collect()
}

fn next(samples: &Receiver<TelemetrySample>) -> anyhow::Result<TelemetrySample> {
    samples.recv_timeout(PATIENCE + SAMPLE_PERIOD).map_err(|_| {
        anyhow::anyhow!("the devices did not answer in {} s: `nvidia-smi` may hang too; see `dmesg`", PATIENCE.as_secs())
    })
}

fn describe(sample: &TelemetrySample) -> String {
    let mut lines = vec![format!("host {}", sample.host)];
    lines.extend(sample.gpu_missing.iter().map(|reason| format!("no GPU: {reason}")));
    lines.extend(sample.devices.iter().flat_map(describe_device));
    lines.join("\n") + "\n"
}

fn describe_device(device: &DeviceSample) -> Vec<String> {
    let facts = device.facts();
    let fact = |name: &str| facts.iter().find(|(known, _)| *known == name).map_or(String::new(), |(_, text)| or_reason(text));
    let mut lines = Vec::new();
    match device.kind {
        DeviceKind::Cpu => {
            let load = device.load_name();
            lines.push(format!("CPU  {}", device.name));
            lines.push(format!("  {load} {}, memory {}", fact(load), fact("memory")));
            let cores: Vec<String> = device.core_percent.iter().map(|percent| format!("{percent:.0}")).collect();
            lines.push(format!("  cores in %: {}", cores.join(" ")));
        }
        DeviceKind::Gpu => {
            lines.push(format!("GPU {}  {}  {}", device.index, device.name, device.uuid));
            lines.extend(facts.iter().map(|(name, text)| format!("  {name:<13}{}", or_reason(text))));
        }
    }
    lines.extend(device.processes.iter().map(|process| describe_process(device, process)));
    lines
}

fn describe_process(device: &DeviceSample, process: &DeviceProcess) -> String {
    let load = device.load_name();
    let rank = process.rank.map(|rank| format!("  rank {rank}")).unwrap_or_default();
    let memory = or_reason(&process.memory_bytes.map(|&bytes| units::bytes(bytes)));
    let use_of = or_reason(&process.utilization_percent.map(|value| format!("{value:.0} %")));
    let owner = or_reason(&process.owner);
    format!("  pid {}  {}{rank}  owner {owner}  memory {memory}  {load} {use_of}", process.pid, process.command)
}

fn or_reason(reading: &Reading<String>) -> String {
    match reading {
        Reading::Value(text) => text.clone(),
        Reading::Missing { missing } => format!("N/A ({missing})"),
    }
}
