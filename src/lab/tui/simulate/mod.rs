//! What more GPUs would give: a machine that is put together at the left; beside it what is simulated, below it what is said.
//!
//! It is computed anew at each change: that takes milliseconds.

pub mod fields;
#[cfg(test)]
mod tests;

use crate::tui::actions::{Action, Binding, Char, Code, Command, Ctrl, K, LEFT_RIGHT, LIST, Move, row};
use ratatui::text::Line;

use self::fields::{EPOCH_IMAGES, FIELDS, Field, Machine, sources};
use crate::columns::{left, right, wrap};
use crate::domain::units;
use crate::simulate::{Bound, Scaling, Size, numbers};
use crate::tui::shared::Shared;
use crate::tui::shared::scaling_chart::{self, Mark, ScalingChart};
use crate::tui::state::{About, Outcome, Page, State, View, Window};
use crate::tui::widgets::axis::decimals;
use crate::tui::widgets::{Theme, wrapped};

/// A machine, and what is simulated of it; or why nothing can be.
#[derive(Clone, Debug)]
pub struct Simulator {
    machine: Machine,
    /// The row under the cursor.
    chosen: usize,
    shown: Shown,
    simulated: Result<Box<Scaling>, String>,
}

/// What stands beside the machine.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shown {
    Efficiency,
    SpeedUp,
    Table,
}

impl Shown {
    /// The table is no picture where it has a place of its own.
    fn next(self, has_table: bool) -> Shown {
        match self {
            Shown::Efficiency => Shown::SpeedUp,
            Shown::SpeedUp if !has_table => Shown::Table,
            Shown::SpeedUp | Shown::Table => Shown::Efficiency,
        }
    }
}

/// With the machine as it was left.
pub fn open(state: &mut State) -> Vec<Action> {
    let machine = state.simulated.clone().unwrap_or_else(Machine::usual);
    // A run that it was measured in may be gone by now.
    let machine = if sources(&state.shared).contains(&machine.source) { machine } else { Machine::usual() };
    let simulated = machine.simulated().map(Box::new);
    state.windows.show(Simulator { machine, chosen: 0, shown: Shown::Efficiency, simulated });
    Vec::new()
}

pub static KEYS: &[Binding] = &[
    row(LIST, Command::Move(Move::Up), "↑↓", "choose", "").ranked(1),
    row(LEFT_RIGHT, Command::Move(Move::Left), "←→", "change", "").ranked(0),
    row(&[Code(K::Tab), Code(K::Enter)], Command::Turn, "Tab", "efficiency, speed-up, table", "").ranked(1),
    row(&[Code(K::Esc), Char('U'), Char('q'), Ctrl('c')], Command::Back, "Esc", "close", "").ranked(0),
];

impl Window for Simulator {
    fn about(&self, _: &State) -> About {
        About { keys: KEYS, ..About::default() }
    }

    fn view(&self, state: &State, columns: u16) -> Option<View> {
        let title = "Simulated: what more GPUs would give";
        Some(Page::view(title, columns, 180, |width| lines(self, &state.shared, width)))
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        match command {
            Command::Back => return Outcome::CLOSE,
            Command::Turn => self.shown = self.shown.next(is_roomy(&state.shared)),
            Command::Move(by @ (Move::Left | Move::Right)) => {
                (FIELDS[self.chosen].2)(&mut self.machine, by, &state.shared);
                self.simulated = self.machine.simulated().map(Box::new);
                state.simulated = Some(self.machine.clone());
            }
            Command::Move(by) => self.chosen = by.within(self.chosen, FIELDS.len()),
            _ => {}
        }
        Outcome::STAY
    }
}

/// Columns of the form, and of the names in it.
const FORM: usize = 34;
const NAME: usize = 14;
/// Columns of the table: ranks, images/s, efficiency, exposed; and those that all of it needs.
const COLUMNS: [usize; 4] = [6, 11, 11, 9];
const WHOLE: usize = 49;
/// Columns that the table and a picture need.
const BESIDE: usize = 30;
/// Rows of the table on a screen where it has to stand beside the form.
const FEW: usize = 10;
/// Rows of the screen that are not the window's, with its frame.
const AROUND: usize = 5;
/// Rows of a picture.
const LEAST_PICTURE: usize = 10;
const MOST_PICTURE: usize = 40;
/// From this size on the table stands below the form, and pictures have the rest.
const ROOMY: (u16, u16) = (120, 44);

fn is_roomy(shared: &Shared) -> bool {
    shared.size.0 >= ROOMY.0 && shared.size.1 >= ROOMY.1
}

fn lines(window: &Simulator, shared: &Shared, width: usize) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let is_narrow = width < FORM + 2 + BESIDE;
    let below = below(window, theme, width);
    let all = usize::from(shared.size.1).saturating_sub(AROUND);
    let left = if is_roomy(shared) { WHOLE } else { FORM };
    let (left, room) = if is_narrow { (width, width) } else { (left, width - left - 2) };
    let high = all.saturating_sub(if is_narrow { 1 } else { below.len() }).clamp(LEAST_PICTURE, MOST_PICTURE);
    let shown = match &window.simulated {
        Err(problem) => wrapped(problem, room, theme.warn()),
        Ok(scaling) => match window.shown {
            Shown::Table => table(scaling, theme, room, FEW),
            picture => chart(scaling, picture, theme, room, high),
        },
    };
    let mut form = form(window, theme, left);
    if is_narrow {
        // The row under the cursor, so that what it changes is in sight.
        let chosen = form.swap_remove(window.chosen);
        return std::iter::once(chosen).chain(shown).chain(below).collect();
    }
    if let (true, Ok(scaling)) = (is_roomy(shared), &window.simulated) {
        form.push(Line::raw(" ".repeat(left)));
        form.extend(table(scaling, theme, left, usize::MAX));
    }
    let rows = form.len().max(shown.len());
    form.resize(rows, Line::raw(" ".repeat(left)));
    let mut shown = shown.into_iter();
    let beside = form.into_iter().map(|mut line| {
        line.push_span("  ");
        line.extend(shown.next().unwrap_or_default());
        line
    });
    beside.chain(below).collect()
}

fn form(window: &Simulator, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let row = |(place, (name, value, _)): (usize, &Field)| {
        let is_chosen = place == window.chosen;
        let text = format!("{} {}{}", if is_chosen { "▶" } else { " " }, left(name, NAME), value(&window.machine));
        Line::styled(left(&text, width), if is_chosen { theme.cursor(true) } else { theme.text() })
    };
    FIELDS.iter().enumerate().map(row).collect()
}

/// What is said of the machine.
fn below(window: &Simulator, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let mut lines = vec![Line::raw("")];
    if let Ok(scaling) = &window.simulated {
        lines.extend(wrap(&epoch(scaling), width).into_iter().map(Line::raw));
        lines.extend(wrapped(&knee(scaling), width, theme.strong()));
    }
    let origin = window.machine.source.origin(numbers());
    let more = "Your own layers, prices and more of your runs: `hvd-lab simulate --help`. All figures here are simulated.";
    lines.extend([origin.as_str(), more].iter().flat_map(|text| wrapped(text, width, theme.dim())));
    lines
}

/// Every size, or every second one and the largest where there are more than `most`.
fn table(scaling: &Scaling, theme: Theme, width: usize, most: usize) -> Vec<Line<'static>> {
    let heading = ["ranks", "images/s", "efficiency", "exposed"];
    let cells = |cells: [String; 4], bound: &str| {
        let fitting = if width < WHOLE { COLUMNS.len() - 1 } else { COLUMNS.len() };
        let cells = cells.iter().zip(COLUMNS).take(fitting).map(|(cell, columns)| right(cell, columns));
        left(&format!("{} {bound}", cells.collect::<String>()), width)
    };
    let mut lines = vec![Line::styled(cells(heading.map(String::from), "bound by"), theme.dim())];
    let every = if scaling.sizes.len() > most { 2 } else { 1 };
    let last = scaling.sizes.len().saturating_sub(1);
    let sizes = scaling.sizes.iter().enumerate().filter(|(place, _)| place % every == 0 || *place == last);
    for (_, size) in sizes {
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

/// Efficiency or speed-up over ranks, with the sign of what nobody measured.
fn chart(scaling: &Scaling, shown: Shown, theme: Theme, width: usize, height: usize) -> Vec<Line<'static>> {
    let is_speedup = shown == Shown::SpeedUp;
    let mark = |size: &Size| {
        let label = if is_speedup {
            format!("{:.*}x", usize::from(size.speedup < 10.0), size.speedup)
        } else {
            units::percent(size.efficiency)
        };
        Mark { np: size.ranks, value: if is_speedup { size.speedup } else { size.efficiency }, label, is_measured: false }
    };
    let np_end = scaling.sizes.last().map_or(2, |size| size.ranks.max(2));
    let chart = ScalingChart {
        marks: scaling.sizes.iter().map(mark).collect(),
        np_end,
        log_ranks: true,
        log_values: is_speedup,
        is_joined: true,
        ideal: if is_speedup { Box::new(|np| np) } else { Box::new(|_| 1.0) },
        figure: match is_speedup {
            true => |value, step| format!("{}x", decimals(value, step)),
            false => |value, step| format!("{} %", decimals(value * 100.0, step * 100.0)),
        },
        most: if is_speedup { f64::INFINITY } else { 1.0 },
    };
    let title = if is_speedup { "○ simulated speed-up by ranks" } else { "○ simulated efficiency by ranks" };
    let mut lines = vec![Line::styled(title, theme.dim())];
    lines.extend(scaling_chart::lines(&chart, theme, width, height - 1));
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
