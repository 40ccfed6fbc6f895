//! The form of the next run of collectives: what to measure, and how long that should take.

use ratatui::style::Style;

use super::keys::FORM;
use super::state::Show;
use crate::domain::collective::CollectivesSpec;
use crate::domain::job::{Job, Resources, RunSpec, Workload};
use crate::domain::measured::Measured;
use crate::domain::units;
use crate::tui::shared::run_form::busy;
use crate::tui::state::State;
use crate::tui::state::form::Form;

/// Seconds of each message, and bytes a second, before anything was measured here.
const GUESSED_LATENCY_S: f64 = 50e-6;
const GUESSED_SPEED: f64 = 0.5e9;
/// Seconds until all ranks have started, and until they have ended.
const START_S: f64 = 2.0;

/// The lab's own methods and MPI's choice.
pub fn usual(np: usize) -> RunSpec {
    Job { resources: Resources::ranks(np), workload: Workload::Collectives(CollectivesSpec::usual(np)) }
}

pub fn form(spec: RunSpec) -> Form {
    Form { spec, chosen: 0, title: "Measure collectives", keys: FORM, said, left }
}

/// The window behind it waits for the rows of the run that starts.
fn left(state: &mut State, spec: &RunSpec, starts: bool) {
    let own = &mut state.collectives;
    own.show = if starts { Show::Time } else { Show::Messages };
    if starts {
        (own.asked, own.is_starting) = (Some(spec.clone()), true);
    }
}

/// What is wrong with it, else how long it takes and what to know of it.
fn said(form: &Form, state: &State) -> Vec<(String, Style)> {
    let (spec, own, shared, theme) = (&form.spec, &state.collectives, &state.shared, state.shared.theme);
    let collectives = match (spec.problem(), spec.collectives()) {
        (Some(problem), _) => return vec![(format!("Cannot start: {problem}"), theme.warn())],
        (None, Some(collectives)) => collectives,
        (None, None) => return Vec::new(),
    };
    let np = spec.resources.np;
    let (seconds, is_measured) = takes_s(collectives, np, &own.measured);
    let source = match own.run.filter(|_| is_measured) {
        Some(run) => format!("at the times of run {run}"),
        None => "an estimate, because nothing was measured on so many ranks yet".to_owned(),
    };
    let takes = if seconds < 60.0 { format!("{} s", seconds.ceil()) } else { units::clock(seconds) };
    let mut said = vec![(format!("It takes about {takes} ({source})."), theme.text())];
    if collectives.link_bits.is_some() {
        let text = "Each rank gets a network of that speed, made on this machine where the system allows it.";
        said.push((text.to_owned(), theme.text()));
    }
    let cores = shared.hardware.as_ref().map_or(0, |hardware| hardware.cores);
    if cores > 0 && np > cores {
        let cores = units::counted(cores, "core");
        let text =
            format!("{np} ranks share {cores}: they wait for a core and not only for messages, so there will be no predictions.");
        said.push((text, theme.warn()));
    }
    said.extend(busy(shared).map(|busy| (busy, theme.warn())));
    said
}

/// Seconds that all of it should take, and whether that was measured on `np` ranks rather than guessed.
pub fn takes_s(spec: &CollectivesSpec, np: usize, measured: &Measured) -> (f64, bool) {
    let mut is_measured = !measured.rows.is_empty() && measured.ranks == np && spec.link_bits.is_none();
    let speed = spec.link_bits.map_or(GUESSED_SPEED, |bits| bits as f64 / 8.0);
    let rounds = (spec.iterations + spec.warmup) as f64;
    let mut sum_s = START_S;
    for bytes in spec.sizes() {
        for method in &spec.methods {
            let known = if is_measured { time_of(measured, method, bytes) } else { None };
            is_measured &= known.is_some();
            sum_s += rounds * known.unwrap_or(GUESSED_LATENCY_S * np as f64 + 2.0 * bytes as f64 / speed);
        }
    }
    (sum_s, is_measured)
}

/// Seconds of one allreduce, scaled from the nearest size that was measured. A method without a row takes as long as the slowest.
fn time_of(measured: &Measured, method: &str, bytes: u64) -> Option<f64> {
    let distance = |other: &u64| (*other.max(&1) as f64 / bytes.max(1) as f64).ln().abs();
    let nearest = measured.sizes().into_iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    let slowest = || measured.at(nearest).map(|row| row.report.mean_s).reduce(f64::max);
    let seconds = measured.row(method, nearest).map(|row| row.report.mean_s).or_else(slowest)?;
    Some(seconds * (bytes as f64 / nearest.max(1) as f64).max(1.0))
}
