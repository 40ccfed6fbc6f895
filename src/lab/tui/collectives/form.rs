//! The form of the next run of collectives: what to measure, and how long that should take.

use ratatui::text::Line;

use super::keys::FORM;
use super::settings::{Field, Settings};
use super::show::Show;
use super::state::Collectives;
use crate::columns::left;
use crate::domain::units;
use crate::tui::actions::action::Action;
use crate::tui::actions::command::{Command, Move};
use crate::tui::actions::effect::Effect;
use crate::tui::actions::keys::Binding;
use crate::tui::shared::state::Shared;
use crate::tui::state::{Outcome, State, Window};
use crate::tui::widgets::form as settings;
use crate::tui::window::{Page, View};

/// Columns of the names of the settings.
const NAME: usize = 26;

/// What the next run measures.
#[derive(Clone, Debug)]
pub struct Form {
    pub settings: Settings,
    /// The row under the cursor.
    pub chosen: usize,
}

impl Window for Form {
    fn keys(&self, _: &State) -> &'static [Binding] {
        FORM
    }

    fn view(&self, state: &State, columns: u16) -> Option<View> {
        let (own, shared) = (&state.collectives, &state.shared);
        let rows = settings::room(shared.size.1);
        Some(Page::view("Measure collectives", columns, 84, |width| lines(self, own, shared, width, rows)))
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        let State { collectives: own, shared, .. } = state;
        let fields = Settings::fields(gpus(shared));
        let field = fields.get(self.chosen).copied().unwrap_or(Field::Ranks);
        match command {
            Command::Back => {
                own.show = Show::Messages;
                return Outcome::CLOSE;
            }
            Command::StartRun => return start(self, own, shared),
            Command::Move(by @ (Move::Left | Move::Right)) => self.settings.step(field, by == Move::Right),
            Command::Move(by) => self.chosen = by.within(self.chosen, fields.len()),
            Command::Play => self.settings.step(field, true),
            Command::Stop => return Outcome::Stay(vec![Action::Stop]),
            _ => {}
        }
        Outcome::STAY
    }
}

/// As the verb starts it. The window waits for its rows.
fn start(form: &Form, own: &mut Collectives, shared: &mut Shared) -> Outcome {
    let spec = form.settings.job();
    let going = shared.going();
    let refused = match (spec.problem(), going) {
        (Some(problem), _) => Some(format!("cannot start: {problem}")),
        _ if shared.is_starting() => Some("a run is starting already: wait until it appears".to_owned()),
        (None, Some(run)) => {
            Some(format!("run {run} is still running, and what you measure at the same time means nothing. Wait, or stop it"))
        }
        (None, None) => None,
    };
    own.asked = Some(form.settings.clone());
    if let Some(refused) = refused {
        shared.error(refused);
        return Outcome::STAY;
    }
    (shared.starting.run, own.is_starting) = (true, true);
    own.show = Show::Time;
    Outcome::Close(vec![Effect::StartOther(Box::new(spec)).into()])
}

fn gpus(shared: &Shared) -> usize {
    shared.hardware.as_ref().map_or(0, |hardware| hardware.gpus)
}

fn name(field: Field) -> String {
    match field {
        Field::Ranks => "ranks".to_owned(),
        Field::Smallest => "smallest buffer".to_owned(),
        Field::Largest => "largest buffer".to_owned(),
        Field::Factor => "from size to size".to_owned(),
        Field::Iterations => "allreduces timed".to_owned(),
        Field::Servers => "parameter servers".to_owned(),
        Field::RanksPerHost => "ranks per host".to_owned(),
        Field::Link => "network between ranks".to_owned(),
        Field::Method(method) => format!("  {method}"),
    }
}

fn lines(form: &Form, own: &Collectives, shared: &Shared, width: usize, rows: usize) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let fields = Settings::fields(gpus(shared));
    let row = |field: &Field| match field {
        Field::Method(_) => format!(" {} {} ", form.settings.value(*field), name(*field).trim_start()),
        _ => format!(" {}{} ", left(&name(*field), NAME), form.settings.value(*field)),
    };
    let texts: Vec<String> = fields.iter().map(row).collect();
    settings::lines(theme, &texts, form.chosen, &said(form, own, shared), (width, rows))
}

/// What is wrong with it, else how long it takes and what to know of it.
fn said(form: &Form, own: &Collectives, shared: &Shared) -> Vec<(String, ratatui::style::Style)> {
    let theme = shared.theme;
    let settings = &form.settings;
    if let Some(problem) = settings.job().problem() {
        return vec![(format!("Cannot start: {problem}"), theme.warn())];
    }
    let (seconds, is_measured) = settings.takes_s(&own.measured);
    let source = match own.run.filter(|_| is_measured) {
        Some(run) => format!("at the times of run {run}"),
        None => "an estimate, because nothing was measured on so many ranks yet".to_owned(),
    };
    let takes = if seconds < 60.0 { format!("{} s", seconds.ceil()) } else { units::clock(seconds) };
    let mut said = vec![(format!("It takes about {takes} ({source})."), theme.text())];
    if settings.spec.link_bits.is_some() {
        let text = "Each rank gets a network of that speed, made on this machine where the system allows it.";
        said.push((text.to_owned(), theme.text()));
    }
    let cores = shared.hardware.as_ref().map_or(0, |hardware| hardware.cores);
    if cores > 0 && settings.np > cores {
        let text = format!(
            "{} ranks share {}: they wait for a core and not only for messages, so there will be no predictions.",
            settings.np,
            units::counted(cores, "core")
        );
        said.push((text, theme.warn()));
    }
    if let Some(going) = shared.going() {
        said.push((format!("Run {going} is still running, and what you measure at the same time means nothing."), theme.warn()));
    }
    said
}
