//! How the user likes the screen: borders, mouse, projector, tour, and what happens when a run ends.
//!
//! Never about a run: nothing here changes what is trained or measured.

use std::path::Path;

use super::config::{self, Config};
use super::kept::Kept;
use super::layout::{Shares, Split};
use super::state::State;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dragged {
    Border(Split),
    /// The cursor of the chart.
    Cursor,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Habits {
    pub config: Config,
    /// Where borders were dragged to.
    pub shares: Shares,
    /// What the pressed button holds.
    pub dragged: Option<Dragged>,
    /// The terminal tells the mouse to the lab; released, it selects text as ever.
    pub mouse: bool,
    /// Large step and speed-up, for the last row of a lecture hall.
    pub projector: bool,
    /// The page of the tour that is on the screen.
    pub tour: Option<usize>,
    /// The tour was shown before.
    pub toured: bool,
}

/// The tour: five pages of a title and a few lines.
pub static TOUR: [(&str, &str); 5] = [
    (
        "Ten steps",
        "On the left are the ten steps that make a program for one device into one for many. 1 to 9 and 0 switch them on \
         and off; Enter on a step reads its lesson.",
    ),
    ("Run", "r trains with these steps and settings, here and for real. A run goes on in the background, also when you leave."),
    ("Watch", "Devices, Chart and Log show the run as it goes. Tab goes from pane to pane, z shows one alone."),
    (
        "Compare",
        "Each run stays in the table. Switch a step off, run again, and see what it is for; b chooses the run that others \
         are compared with.",
    ),
    ("Find your way", "? shows all keys, : finds a command by its words, T changes the theme, F2 shows this tour again."),
];

/// Puts the screen as the configuration wants it and as it was left. What is wrong with the file is a notice.
pub fn settle(state: &mut State, kept: Option<&Path>, tour: bool) {
    if let Some(path) = config::path() {
        match Config::read(&path) {
            Ok((config, problems)) => {
                state.habits.config = config;
                if let Some(problem) = problems.first() {
                    state.error(format!("{}, {problem}", path.display()));
                }
            }
            Err(error) => state.error(format!("`{}` cannot be read: {error}", path.display())),
        }
    }
    state.theme.ascii |= state.habits.config.ascii;
    state.theme.look = state.habits.config.theme;
    state.habits.mouse = state.habits.config.mouse;
    if let Some(path) = kept {
        Kept::read(path).restore(state);
    }
    if tour || !state.habits.toured {
        start_tour(state);
    }
}

pub fn start_tour(state: &mut State) {
    state.habits.tour = Some(0);
    state.habits.toured = true;
}
