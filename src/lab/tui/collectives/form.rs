//! The form of the next run of collectives: what to measure, and how long that should take.

use ratatui::style::Style;

use super::duration::takes_s;
use super::keys::FORM;
use super::show::Show;
use crate::domain::collective::CollectivesSpec;
use crate::domain::job::{Job, Resources, RunSpec, Workload};
use crate::domain::units;
use crate::tui::shared::run_form::{RunForm, busy};
use crate::tui::state::State;
use crate::tui::state::form::Form;

/// The lab's own methods and MPI's choice.
pub fn usual(np: usize) -> RunSpec {
    Job { resources: Resources::ranks(np), workload: Workload::Collectives(CollectivesSpec::usual(np)) }
}

pub fn form(spec: RunSpec) -> Form {
    Form { run: RunForm::new(spec), title: "Measure collectives", keys: FORM, said, left }
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
fn said(form: &RunForm, state: &State) -> Vec<(String, Style)> {
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
