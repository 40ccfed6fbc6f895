//! What more GPUs would give: a machine that is put together at the left; beside it what is simulated, below what is said of it.
//!
//! It is computed anew at each change: that takes milliseconds.

pub mod fields;
#[cfg(test)]
mod tests;

use crate::tui::actions::On::{Char, Code, Ctrl};
use crate::tui::actions::{Action, Binding, Command, DOWN, LEFT, Move, RIGHT, UP, row};
use crossterm::event::KeyCode as K;
use ratatui::text::{Line, Span};

use self::fields::{EPOCH_IMAGES, FIELDS, Machine};
use crate::columns::{left, right, wrap};
use crate::domain::units;
use crate::runs::RunId;
use crate::runs::scaling::{Point, Scaling as Drawing};
use crate::simulate::{Bound, Scaling, numbers};
use crate::tui::shared::scaling_chart;
use crate::tui::state::{Outcome, Page, State, View, Window};
use crate::tui::widgets::theme::Theme;

/// A machine, and what is simulated of it; or why nothing can be.
#[derive(Clone, Debug)]
pub struct Simulator {
    machine: Machine,
    /// The row under the cursor.
    chosen: usize,
    shows_chart: bool,
    simulated: Result<Box<Scaling>, String>,
}

/// With the machine as it was left.
pub fn open(state: &mut State) -> Vec<Action> {
    let machine = state.simulated.clone().unwrap_or_else(Machine::usual);
    // A run that it was measured in may be gone by now.
    let machine = if machine.sources(&state.shared).contains(&machine.source) { machine } else { Machine::usual() };
    let simulated = machine.simulated().map(Box::new);
    state.windows.show(Simulator { machine, chosen: 0, shows_chart: false, simulated });
    Vec::new()
}

pub static KEYS: &[Binding] = &[
    row(UP, Command::Move(Move::Up), "↑↓", "choose", "").ranked(1),
    row(DOWN, Command::Move(Move::Down), "", "", ""),
    row(LEFT, Command::Lower, "←→", "change", "").ranked(0),
    row(RIGHT, Command::Higher, "", "", ""),
    row(&[Code(K::Tab), Code(K::Enter)], Command::Turn, "Tab", "table or chart", "").ranked(1),
    row(&[Code(K::Home)], Command::Move(Move::First), "", "", ""),
    row(&[Code(K::End)], Command::Move(Move::Last), "", "", ""),
    row(&[Code(K::Esc), Char('U'), Char('q'), Ctrl('c')], Command::Back, "Esc", "close", "").ranked(0),
];

impl Window for Simulator {
    fn keys(&self, _: &State) -> &'static [Binding] {
        KEYS
    }

    fn view(&self, state: &State, columns: u16) -> Option<View> {
        let title = "Simulated: what more GPUs would give";
        Some(Page::view(title, columns, 110, |width| lines(self, state.shared.theme, width)))
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        match command {
            Command::Back => return Outcome::CLOSE,
            Command::Move(by) => self.chosen = by.within(self.chosen, FIELDS.len()),
            Command::Turn => self.shows_chart ^= true,
            Command::Lower | Command::Higher => {
                (FIELDS[self.chosen].step)(&mut self.machine, command == Command::Higher, &state.shared);
                self.simulated = self.machine.simulated().map(Box::new);
                state.simulated = Some(self.machine.clone());
            }
            _ => {}
        }
        Outcome::STAY
    }
}

/// Columns of the form, and of the names in it.
const FORM: usize = 34;
const NAME: usize = 14;
/// Columns of the table: ranks, images/s, efficiency, exposed; and those that all of it needs.
const COLUMNS: [usize; 4] = [5, 10, 11, 9];
const WHOLE: usize = 46;
/// Columns that the table and the chart need.
const BESIDE: usize = 30;

fn lines(window: &Simulator, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let form: Vec<(String, bool)> = FIELDS
        .iter()
        .enumerate()
        .map(|(place, field)| {
            let sign = if place == window.chosen { "▶" } else { " " };
            (format!("{sign} {}{}", left(field.name, NAME), (field.value)(&window.machine)), place == window.chosen)
        })
        .collect();
    let is_narrow = width < FORM + 2 + BESIDE;
    let (form_width, room) = if is_narrow { (width, width) } else { (FORM, width - FORM - 1) };
    let shown = match &window.simulated {
        Err(problem) => wrap(problem, room).into_iter().map(|line| Line::styled(line, theme.warn())).collect(),
        Ok(scaling) if window.shows_chart => chart(scaling, theme, room),
        Ok(scaling) => table(scaling, theme, room),
    };
    let row = |(text, is_chosen): &(String, bool)| {
        let style = if *is_chosen { theme.cursor(true) } else { theme.text() };
        Span::styled(left(text, form_width), style)
    };
    let mut lines: Vec<Line> = Vec::new();
    if is_narrow {
        // What does not fit is below: Tab turns to the chart, which then stands first.
        let form = form.iter().map(|of| Line::from(row(of)));
        let gap = [Line::raw("")];
        match window.shows_chart {
            true => lines.extend(shown.into_iter().chain(gap).chain(form)),
            false => lines.extend(form.chain(gap).chain(shown)),
        }
    } else {
        let rows = form.len().max(shown.len());
        let mut shown = shown.into_iter();
        for place in 0..rows {
            let mut spans = vec![form.get(place).map_or_else(|| Span::raw(" ".repeat(form_width)), row), Span::raw(" ")];
            spans.extend(shown.next().unwrap_or_default().spans);
            lines.push(Line::from(spans));
        }
    }
    lines.push(Line::raw(""));
    if let Ok(scaling) = &window.simulated {
        lines.extend(wrap(&epoch(scaling), width).into_iter().map(Line::raw));
        lines.extend(wrap(&knee(scaling), width).into_iter().map(|line| Line::styled(line, theme.strong())));
    }
    let origin = window.machine.source.origin(numbers());
    let more = "Your own layers, prices and more of your runs: `hvd-lab simulate --help`. All figures here are simulated.";
    lines.extend([origin.as_str(), more].iter().flat_map(|text| wrap(text, width)).map(|line| Line::styled(line, theme.dim())));
    lines
}

fn table(scaling: &Scaling, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let heading = ["ranks", "images/s", "efficiency", "exposed"];
    let cells = |cells: [String; 4], bound: &str| {
        let fitting = if width < WHOLE { COLUMNS.len() - 1 } else { COLUMNS.len() };
        let cells = cells.iter().zip(COLUMNS).take(fitting).map(|(cell, columns)| right(cell, columns));
        left(&format!("{} {bound}", cells.collect::<String>()), width)
    };
    let mut lines = vec![Line::styled(cells(heading.map(String::from), "bound by"), theme.dim())];
    for size in &scaling.sizes {
        let exposed = if size.exposed_s > 0.0 { units::short_time(size.exposed_s) } else { "–".into() };
        let row = [
            size.ranks.to_string(),
            units::count(size.images_per_s.round() as usize),
            format!("{:.1} %", size.efficiency * 100.0),
            exposed,
        ];
        lines.push(Line::raw(cells(row, size.bound.map_or("–", Bound::name))));
    }
    lines
}

/// The drawing of real runs, with the sign of what nobody measured.
fn chart(scaling: &Scaling, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let largest = scaling.sizes.last().map_or(2, |size| size.ranks.max(2)) as f64;
    let points = scaling.sizes.iter().map(|size| Point { np: size.ranks, speedup: size.speedup, label: String::new() });
    let drawing = Drawing {
        baseline: RunId(0),
        baseline_np: 1,
        measured: Vec::new(),
        published: points.collect(),
        left_out: 0,
        np_end: largest * 1.1,
        speedup_end: largest * 1.1,
    };
    let mut lines = vec![Line::styled("○ simulated speed-up by ranks", theme.dim())];
    lines.extend(scaling_chart::lines(&drawing, theme, width, FIELDS.len() - 3));
    lines
}

/// What the largest size gives and costs.
fn epoch(scaling: &Scaling) -> String {
    let Some(size) = scaling.sizes.last() else { return String::new() };
    let (ranks, images, hours) = (units::count(size.ranks), units::count(EPOCH_IMAGES), units::figure(size.gpu_hours));
    format!("{ranks} ranks: an epoch of {images} images in {}, {hours} GPU-hours.", units::seconds(size.epoch_s))
}

fn knee(scaling: &Scaling) -> String {
    match scaling.knee {
        Some(knee) => format!(
            "Knee: up to {}. Twice as many give less than 1.6 times the images/s, bound by {}.",
            if knee.ranks == 1 { "1 rank".to_owned() } else { format!("{} ranks", units::count(knee.ranks)) },
            knee.bound.map_or("nothing that stands out", Bound::name)
        ),
        None => "Knee: none up to 32,768 ranks.".to_owned(),
    }
}
