//! The form of the next run of collectives: what to measure, and how long that should take.

use crate::tui::actions::{Action, Binding, Command, Effect, Move};
use crate::tui::shared::Shared;
use ratatui::style::Style;

use super::duration::takes_s;
use super::keys::FORM;
use super::show::Show;
use super::state::Collectives;
use crate::domain::collective::CollectivesSpec;
use crate::domain::job::{Job, Resources, RunSpec, Workload};
use crate::domain::units;
use crate::tui::shared::run_form::{RunForm, busy};
use crate::tui::state::{Outcome, Page, State, View, Window};

/// What the next run measures.
#[derive(Clone, Debug)]
pub struct Form(pub RunForm);

/// The lab's own methods and MPI's choice.
pub fn usual(np: usize) -> RunSpec {
    Job { resources: Resources::ranks(np), workload: Workload::Collectives(CollectivesSpec::usual(np)) }
}

impl Window for Form {
    fn keys(&self, _: &State) -> &'static [Binding] {
        FORM
    }

    fn view(&self, state: &State, columns: u16) -> Option<View> {
        let (own, shared) = (&state.collectives, &state.shared);
        Some(Page::view("Measure collectives", columns, 84, |width| {
            self.0.lines(shared, &said(&self.0.spec, own, shared), width)
        }))
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        let State { collectives: own, shared, .. } = state;
        match command {
            Command::Back => {
                own.show = Show::Messages;
                return Outcome::CLOSE;
            }
            Command::StartRun => return start(&self.0, own, shared),
            Command::Move(by) => self.0.go(by, shared),
            Command::Play => self.0.go(Move::Right, shared),
            Command::Stop => return Outcome::Stay(vec![Action::Stop]),
            _ => {}
        }
        Outcome::STAY
    }
}

/// As the verb starts it. The window waits for its rows.
fn start(form: &RunForm, own: &mut Collectives, shared: &mut Shared) -> Outcome {
    own.asked = Some(form.spec.clone());
    let problem = form.spec.problem().map(|problem| format!("cannot start: {problem}"));
    if let Some(refusal) = problem.or_else(|| form.refusal(shared)) {
        shared.error(refusal);
        return Outcome::STAY;
    }
    (shared.starting.run, own.is_starting) = (true, true);
    own.show = Show::Time;
    Outcome::Close(vec![Effect::StartOther(Box::new(form.spec.clone())).into()])
}

/// What is wrong with it, else how long it takes and what to know of it.
fn said(spec: &RunSpec, own: &Collectives, shared: &Shared) -> Vec<(String, Style)> {
    let theme = shared.theme;
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
