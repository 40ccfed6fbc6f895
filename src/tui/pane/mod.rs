//! The panes, one file each: pure functions from the state to cells.
//!
//! Never changes the state, and never writes outside the given area.

use ratatui::Frame;
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Margin, Position, Rect};
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Padding};

use super::graph::Graph;
use super::log_view::LogTab;
use super::settings::{Direction, Field};
use super::state::{Pane, State};
use crate::columns::{cut, wrap};
use crate::domain::step::Step;
use crate::runs::RunId;

pub mod ask;
pub mod chart;
pub mod compare;
pub mod details;
pub mod devices;
pub mod diff;
pub mod exercise;
pub mod footer;
pub mod header;
pub mod help;
pub mod lesson;
pub mod log;
pub mod notice;
pub mod palette;
pub mod projector;
pub mod runs;
pub mod scaling;
pub mod series;
pub mod settings;
pub mod steps;
pub mod tour;
pub mod window;

/// What of a pane lies under the pointer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Hit {
    Step {
        step: Step,
        /// On its mark, which toggles.
        mark: bool,
    },
    Field(Field),
    /// An arrow beside the value of the chosen setting.
    Change(Direction),
    Run(RunId),
    /// The title of a column of the runs.
    RunsTitle(&'static str),
    /// By its place among the shown.
    Device(usize),
    /// A graph of the chart, and where along its curves.
    Graph {
        graph: Graph,
        x: Option<f64>,
    },
    Tab(LogTab),
}

/// What a click at `at` means in a pane drawn in `area`. A pane without an answer just gets the focus.
pub fn hit(state: &State, pane: Pane, area: Rect, at: Position) -> Option<Hit> {
    let inner = area.inner(Margin::new(1, 1));
    if !inner.contains(at) {
        return match pane {
            Pane::Log => log::tab_hit(state, area, at).map(Hit::Tab),
            Pane::Chart => chart::legend_hit(state, area, at).map(Hit::Run),
            _ => None,
        };
    }
    match pane {
        Pane::Steps => steps::hit(inner, at),
        Pane::Settings => settings::hit(state, inner, at),
        Pane::Runs => runs::hit(state, inner, at),
        Pane::Devices => devices::hit(state, inner, at),
        Pane::Chart => chart::hit(state, inner, at),
        Pane::Log => None,
    }
}

/// The frame of a pane: calm, blue with a bold title where the focus is.
fn frame_of(state: &State, pane: Pane, extra: Vec<Span<'static>>) -> Block<'static> {
    let focused = state.focus == pane && state.mode == super::mode::Mode::Normal || state.zoom;
    let theme = state.theme;
    let style = if focused { theme.accent().add_modifier(Modifier::BOLD) } else { theme.strong() };
    let mut title = vec![Span::raw(" "), Span::styled(pane.title(), style), Span::raw(" ")];
    title.extend(extra);
    Block::bordered().border_type(theme.lines(focused)).border_style(theme.border(focused)).title(Line::from(title))
}

/// The column where [`frame_of`] puts what follows the title: behind the corner, and a space on either side of the name.
fn behind_title(pane: Pane, area: Rect) -> u16 {
    area.x + pane.title().len() as u16 + 3
}

/// Says on the lower border which panes take turns in this place.
pub fn shared_by(frame: &mut Frame, area: Rect, state: &State) {
    let theme = state.theme;
    let panes = Pane::ALL.into_iter().filter(|pane| pane.shares_slot());
    let names = panes
        .map(|pane| Span::styled(format!(" {} ", pane.title()), if pane == state.slot { theme.strong() } else { theme.dim() }));
    let line = Line::from_iter(names);
    let width = (line.width() as u16).min(area.width.saturating_sub(2));
    let place = Rect::new(area.x + 1, area.bottom().saturating_sub(1), width, 1);
    frame.render_widget(line, place);
}

/// The pane whose name on the lower border of the shared place is under the pointer.
pub fn shared_hit(area: Rect, at: Position) -> Option<Pane> {
    let mut from = area.x + 1;
    Pane::ALL.into_iter().filter(|pane| pane.shares_slot()).find(|pane| {
        let name = Rect::new(from, area.bottom().saturating_sub(1), pane.title().len() as u16 + 2, 1);
        from += name.width;
        name.contains(at)
    })
}

/// The frame of a window in front of the panes.
fn window_frame(state: &State, title: &str) -> Block<'static> {
    Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(state.theme.accent())
        .padding(Padding::horizontal(1))
        .title(Span::styled(format!(" {title} "), state.theme.key()))
}

/// `width` x `height` in the middle of `area`, smaller where it does not fit.
fn centred(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect::new(area.x + (area.width - width) / 2, area.y + (area.height - height) / 2, width, height)
}

/// A window over half of a wide sign leaves a space of it: the other half would push the border to the right.
pub fn whole_signs(buffer: &mut Buffer) {
    let area = buffer.area;
    for row in area.rows() {
        for x in row.x..row.right() {
            let is_wide = |cell: &Cell| cell.symbol().len() > 1 && crate::columns::width(cell.symbol()) > 1;
            let has_room = x + 1 < row.right() && buffer[(x + 1, row.y)].symbol() == " ";
            if is_wide(&buffer[(x, row.y)]) && !has_room {
                buffer[(x, row.y)].set_symbol(" ");
            }
        }
    }
}
