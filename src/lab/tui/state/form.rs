//! The form of a run that does not train, as a window: its settings, the one under the cursor, and what it starts.
//!
//! What a feature hands in is its title, its keys, what to say below the settings, and what it keeps of them.

use ratatui::style::Style;
use ratatui::text::Line;

use super::{About, Outcome, Page, State, View, Window};
use crate::columns::left;
use crate::domain::job::RunSpec;
use crate::tui::actions::{Action, Binding, Command, Effect, Move, Typing};
use crate::tui::shared::Shared;
use crate::tui::shared::run_form::{DISTURBS, RunRow};
use crate::tui::widgets::wrapped;

/// Rows of the screen's header and footer, and of the frame.
const AROUND: usize = 3 + 2;
/// The longest path that can be typed.
const LONGEST: usize = 4096;

#[derive(Clone, Debug)]
pub struct Form {
    pub spec: RunSpec,
    /// The row under the cursor.
    pub chosen: usize,
    pub title: &'static str,
    pub keys: &'static [Binding],
    /// What is wrong with it, else what to know of it.
    pub said: fn(&Form, &State) -> Vec<(String, Style)>,
    /// It closes, and its run starts or not.
    pub left: fn(&mut State, &RunSpec, bool),
}

impl Window for Form {
    fn about(&self, _: &State) -> About {
        About { keys: self.keys, ..About::default() }
    }

    fn view(&self, state: &State, columns: u16) -> Option<View> {
        let said = (self.said)(self, state);
        Some(Page::view(self.title, columns, 84, |width| self.lines(&state.shared, &said, width)))
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        let (rows, row) = (self.rows(&state.shared), self.row(&state.shared));
        match command {
            Command::Back => {
                (self.left)(state, &self.spec, false);
                return Outcome::CLOSE;
            }
            Command::StartRun => return self.start(state),
            Command::Stop => return Outcome::Stay(vec![Action::Stop]),
            Command::Move(by @ (Move::Left | Move::Right)) => row.step(&mut self.spec, by == Move::Right),
            Command::Move(by) => self.chosen = by.within(self.chosen, rows.len()),
            Command::Type(typing) => {
                if let Some(folder) = row.folder(&mut self.spec) {
                    let mut text = folder.take().unwrap_or_default();
                    typing.into(&mut text, LONGEST);
                    *folder = (!text.is_empty()).then_some(text);
                } else if typing == Typing::Insert(' ') {
                    // Space turns a switch, as in other forms.
                    row.step(&mut self.spec, true);
                }
            }
            _ => {}
        }
        Outcome::STAY
    }
}

impl Form {
    fn rows(&self, shared: &Shared) -> Vec<RunRow> {
        RunRow::all(&self.spec, shared.hardware.as_ref().map_or(0, |hardware| hardware.gpus))
    }

    fn row(&self, shared: &Shared) -> RunRow {
        self.rows(shared).get(self.chosen).copied().unwrap_or(RunRow::Ranks)
    }

    /// Whether the chosen row is a folder, which is typed.
    pub fn is_on_folder(&self, shared: &Shared) -> bool {
        self.row(shared).folder(&mut self.spec.clone()).is_some()
    }

    /// As the verb starts it, and refuses it.
    fn start(&self, state: &mut State) -> Outcome {
        let is_starting = || "a run is starting already: wait until it appears".to_owned();
        let busy = || Some(format!("run {} {DISTURBS}. Wait, or stop it", state.shared.going()?));
        let refusal = self.spec.problem().or_else(|| state.shared.is_starting().then(is_starting)).or_else(busy);
        if let Some(refusal) = refusal {
            state.shared.error(refusal);
            return Outcome::STAY;
        }
        (self.left)(state, &self.spec, true);
        state.shared.starting.run = true;
        Outcome::Close(vec![Effect::StartOther(Box::new(self.spec.clone())).into()])
    }

    /// Settings one below the other, the chosen one marked; where not all fit, those around it. What there is to say always shows below.
    fn lines(&self, shared: &Shared, said: &[(String, Style)], width: usize) -> Vec<Line<'static>> {
        let (theme, rows) = (shared.theme, self.rows(shared));
        let said: Vec<Line> = said.iter().flat_map(|(text, style)| wrapped(text, width, *style)).collect();
        let all = rows.len();
        let room = usize::from(shared.size.1).saturating_sub(AROUND + said.len() + 1).clamp(1, all.max(1));
        let first = (self.chosen + 1).saturating_sub(room).min(all.saturating_sub(room));
        let row = |(place, row): (usize, &RunRow)| {
            let is_chosen = place == self.chosen;
            let cursor = if is_chosen && self.is_on_folder(shared) { "_" } else { "" };
            let text = format!("{}{cursor} ", row.text(&self.spec));
            if is_chosen { Line::styled(left(&text, width), theme.cursor(true)) } else { Line::raw(text) }
        };
        let mut lines: Vec<Line> = rows.iter().enumerate().skip(first).take(room).map(row).collect();
        let more = if room < all {
            format!(" {} to {} of {all}, ↑↓ shows the others", first + 1, first + room)
        } else {
            String::new()
        };
        lines.push(Line::styled(more, theme.dim()));
        lines.extend(said);
        lines
    }
}
