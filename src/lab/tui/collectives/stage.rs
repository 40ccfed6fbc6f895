//! The window of the collectives: over all panes, with the keys of what it shows.

use super::draw;
use super::form::{form, usual};
use super::keys::{CHART, HELP, PLAYER};
use super::state::{Collectives, LEAST_RANKS, Show};
use crate::runs::RunId;
use crate::tui::actions::{Action, Command, Move, cycle};
use crate::tui::shared::Shared;
use crate::tui::state::{About, FRAME, Outcome, Page, State, View, Window};

/// Rows of the screen's header and footer, and of the frame.
const AROUND: u16 = 3 + 2;

/// Over all panes: the player, or a chart.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Whose measurements it shows; `None` for schedules alone.
    pub run: Option<RunId>,
}

impl Window for Stage {
    fn about(&self, state: &State) -> About {
        About { keys: if state.collectives.show == Show::Messages { PLAYER } else { CHART }, run: self.run, ..About::default() }
    }

    fn view(&self, state: &State, columns: u16) -> Option<View> {
        let (own, shared) = (&state.collectives, &state.shared);
        let (width, height) = (columns.saturating_sub(FRAME), shared.size.1.saturating_sub(AROUND));
        let lines = draw::lines(own, shared, own.show, width.into(), height.into());
        Some(View::Page(Page { title: draw::title(own, own.show), columns, lines }))
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        let State { collectives: own, shared, windows, .. } = state;
        match command {
            Command::Back => {
                own.player.pause();
                return Outcome::CLOSE;
            }
            Command::Move(Move::Left) => turn(own, Show::ALL.len() - 1),
            Command::Move(Move::Right) => turn(own, 1),
            Command::Move(by) => own.scroll = by.within(own.scroll, rows(own)),
            Command::Measure => {
                own.player.pause();
                // The form, as it was left.
                let cores = shared.hardware.as_ref().map_or(0, |hardware| hardware.cores);
                let np = shared.spec.resources.np.max(cores.clamp(2, LEAST_RANKS));
                let spec = own.asked.clone().unwrap_or_else(|| usual(np));
                windows.show_over(form(spec));
            }
            // The question, or the help, takes the place of the window.
            Command::Stop => {
                own.player.pause();
                return Outcome::Stay(vec![Action::Stop]);
            }
            Command::Help => {
                own.player.pause();
                return Outcome::Stay(vec![Action::Keys(HELP)]);
            }
            Command::NextMethod => choose(own, 1),
            Command::PreviousMethod => choose(own, own.methods().len().saturating_sub(1)),
            command if own.show == Show::Messages => play(own, shared, command),
            command => move_cursor(own, command),
        }
        Outcome::STAY
    }
}

/// What there is to scroll through.
fn rows(own: &Collectives) -> usize {
    if own.show == Show::Messages { own.log.as_ref().map_or(0, |log| log.ranks) } else { own.methods().len() }
}

fn turn(own: &mut Collectives, by: usize) {
    own.show = cycle(&Show::ALL, own.show, by);
    own.player.pause();
    own.scroll = 0;
}

fn choose(own: &mut Collectives, by: usize) {
    let count = own.methods().len().max(1);
    own.method = (own.method + by) % count;
    own.scroll = 0;
    own.take_log();
}

fn play(own: &mut Collectives, shared: &mut Shared, command: Command) {
    let Some(log) = &own.log else {
        return shared.inform(format!("{} has no messages to play: Tab chooses another method", own.method()));
    };
    let player = &mut own.player;
    match command {
        Command::Play => player.turn(log),
        Command::Forwards => player.step(log, true),
        Command::Backwards => player.step(log, false),
        Command::RoundForwards => player.step_round(log, true),
        Command::RoundBackwards => player.step_round(log, false),
        Command::Start => player.go_to(log, 0),
        Command::End => player.go_to(log, log.messages.len()),
        Command::Faster => player.change_speed(1),
        Command::Slower => player.change_speed(-1),
        _ => {}
    }
}

/// To another size of the chart.
fn move_cursor(own: &mut Collectives, command: Command) {
    let by = match command {
        Command::Backwards => Move::Left,
        Command::Forwards => Move::Right,
        Command::Start => Move::First,
        Command::End => Move::Last,
        _ => return,
    };
    let sizes = own.measured.sizes();
    let now = own.shown_size().and_then(|size| sizes.iter().position(|other| *other == size)).unwrap_or(0);
    own.size = sizes.get(by.within(now, sizes.len())).copied();
}
