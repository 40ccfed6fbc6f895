//! Where each pane goes, by the size of the terminal.
//!
//! Never draws. Borders can be dragged; no pane gets smaller than it can be read.
//!
//! ```text
//! 80x24 up                          110x36 up                        150x24 up
//! +-------- header (2) ---------+   +---------- header (2) --------+ +-------------- header (2) ---------------+
//! | Steps     | Devices, Chart  |   | Steps     | Devices          | | Steps    | Log          | Devices       |
//! |           | or Log          |   |           +------------------+ |          |              +---------------+
//! |           |                 |   |           | Chart            | |          |              | Chart         |
//! +-----------+-----------------+   +-----------+------------------+ +----------+              |               |
//! | Next run  | Runs            |   | Next run  | Log              | | Next run +--------------+               |
//! |           |                 |   |           +------------------+ |          | Runs         |               |
//! |           |                 |   |           | Runs             | |          |              |               |
//! +-------- footer (1) ---------+   +---------- footer (1) --------+ +-------------- footer (1) ---------------+
//! ```

use std::collections::BTreeMap;

use ratatui::layout::{Constraint, Direction, Layout, Position, Rect};
use serde::{Deserialize, Serialize};

use crate::tui::actions::pane::Pane;
use crate::tui::next_run::fields::Field;

/// Below this the screen says so and waits.
pub const LEAST: (u16, u16) = (80, 24);

/// A border that can be dragged, by what lies before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Split {
    /// The left column, with steps and settings.
    Left,
    Steps,
    /// The middle column of three.
    Middle,
    Devices,
    Chart,
    Log,
}

/// Where borders were dragged to, in thousandths of what they divide, so that they keep their place in any terminal.
pub type Shares = BTreeMap<Split, u16>;

#[derive(Clone, Copy, Debug)]
pub struct Border {
    pub split: Split,
    direction: Direction,
    /// What is divided.
    whole: Rect,
    /// Where the second part begins.
    at: u16,
}

impl Border {
    /// Both frames that meet at the border can be taken hold of.
    pub fn contains(&self, position: Position) -> bool {
        let along = if self.direction == Direction::Horizontal { position.x } else { position.y };
        self.whole.contains(position) && (along == self.at || along + 1 == self.at)
    }

    /// What is before the border when it is at `position`, in thousandths of the whole.
    pub fn share(&self, position: Position) -> u16 {
        let (from, length, to) = match self.direction {
            Direction::Horizontal => (self.whole.x, self.whole.width, position.x),
            Direction::Vertical => (self.whole.y, self.whole.height, position.y),
        };
        // Rounded up, so that the border comes to lie exactly there again.
        (u32::from(to.saturating_sub(from)) * 1000).div_ceil(u32::from(length.max(1))).min(1000) as u16
    }
}

/// No pane gets smaller by dragging.
const LEAST_PANE: (u16, u16) = (30, 5);

#[derive(Clone, Debug)]
pub struct Places {
    pub header: Rect,
    /// Between header and footer.
    pub body: Rect,
    pub panes: Vec<(Pane, Rect)>,
    pub borders: Vec<Border>,
    pub footer: Rect,
    /// The place that devices, chart and log take in turn, where there is no room for all.
    pub shared: Option<Rect>,
}

/// `None` where the terminal is too small. `device_rows` is what the devices would like to have.
pub fn places(area: Rect, zoomed: Option<Pane>, slot: Pane, device_rows: u16, shares: &Shares) -> Option<Places> {
    if area.width < LEAST.0 || area.height < LEAST.1 {
        return None;
    }
    let [header, body, footer] = parts(area);
    let mut tiling = Tiling { shares, borders: Vec::new() };
    let panes = match zoomed {
        Some(pane) => vec![(pane, body)],
        None => tiling.panes(body, slot, device_rows),
    };
    let slots: Vec<Rect> = panes.iter().filter(|(pane, _)| pane.shares_slot()).map(|(_, rect)| *rect).collect();
    let shared = (zoomed.is_none() && slots.len() == 1).then(|| slots[0]);
    Some(Places { header, body, panes, borders: tiling.borders, footer, shared })
}

/// What is between header and footer.
pub fn body(area: Rect) -> Option<Rect> {
    let is_large_enough = area.width >= LEAST.0 && area.height >= LEAST.1;
    is_large_enough.then(|| parts(area)[1])
}

/// Header, body and footer.
fn parts(area: Rect) -> [Rect; 3] {
    Layout::vertical([Constraint::Length(2), Constraint::Fill(1), Constraint::Length(1)]).areas(area)
}

/// From this height on the devices get room for graphs.
const TALL: u16 = 50;
const GRAPHS: u16 = 6;

struct Tiling<'a> {
    shares: &'a Shares,
    borders: Vec<Border>,
}

impl Tiling<'_> {
    fn panes(&mut self, body: Rect, slot: Pane, device_rows: u16) -> Vec<(Pane, Rect)> {
        // At most a third of the height, so that a node full of GPUs leaves the chart its place.
        let graphs = if body.height >= TALL { GRAPHS } else { 0 };
        let devices_height = (device_rows + graphs + 2).clamp(7, (body.height / 3).max(7));
        let left_width = match body.width {
            0..110 => 33,
            110..150 => 38,
            150..180 => 40,
            _ => 46,
        };
        // Steps with room for an explanation, settings with room for each field.
        let settings = (Field::ALL.len() as u16 + 3).min(body.height.saturating_sub(12));
        let three_columns = body.width >= 150;
        let columns = if three_columns { 2 } else { 1 };
        let (left, rest) = self.columns(Split::Left, body, left_width, columns);
        let (steps, next_run) = self.rows(Split::Steps, left, left.height - settings, 1);
        let mut panes = vec![(Pane::Steps, steps), (Pane::Settings, next_run)];
        if three_columns {
            let [middle, _] = Layout::horizontal([Constraint::Fill(6), Constraint::Fill(5)]).areas(rest);
            let (middle, right) = self.columns(Split::Middle, rest, middle.width, 1);
            let runs_height = (middle.height / 3).max(9);
            let (log, runs) = self.rows(Split::Log, middle, middle.height - runs_height, 1);
            let (devices, chart) = self.rows(Split::Devices, right, devices_height, 1);
            panes.extend([(Pane::Devices, devices), (Pane::Chart, chart), (Pane::Log, log), (Pane::Runs, runs)]);
        } else if body.height >= 33 {
            let (devices, below) = self.rows(Split::Devices, rest, devices_height, 3);
            let (chart, below) = self.rows(Split::Chart, below, part(below.height, 5, 13), 2);
            let (log, runs) = self.rows(Split::Log, below, part(below.height, 1, 2), 1);
            panes.extend([(Pane::Devices, devices), (Pane::Chart, chart), (Pane::Log, log), (Pane::Runs, runs)]);
        } else {
            let (shared, runs) = self.rows(Split::Log, rest, rest.height - settings, 1);
            panes.extend([(slot, shared), (Pane::Runs, runs)]);
        }
        panes
    }

    /// Two parts side by side, the first `width` wide where the border was not dragged; `after` panes share the second.
    fn columns(&mut self, split: Split, whole: Rect, width: u16, after: u16) -> (Rect, Rect) {
        let width = self.first(split, whole.width, width, LEAST_PANE.0, after);
        let second = Rect { x: whole.x + width, width: whole.width - width, ..whole };
        self.borders.push(Border { split, direction: Direction::Horizontal, whole, at: second.x });
        (Rect { width, ..whole }, second)
    }

    /// As [`Tiling::columns`], one above the other.
    fn rows(&mut self, split: Split, whole: Rect, height: u16, after: u16) -> (Rect, Rect) {
        let height = self.first(split, whole.height, height, LEAST_PANE.1, after);
        let second = Rect { y: whole.y + height, height: whole.height - height, ..whole };
        self.borders.push(Border { split, direction: Direction::Vertical, whole, at: second.y });
        (Rect { height, ..whole }, second)
    }

    fn first(&self, split: Split, length: u16, unless_dragged: u16, least: u16, after: u16) -> u16 {
        let dragged = self.shares.get(&split).map(|share| u32::from(*share) * u32::from(length) / 1000);
        let most = length.saturating_sub(least * after).max(least).min(length);
        dragged.map_or(unless_dragged, |first| first as u16).clamp(least.min(most), most)
    }
}

fn part(length: u16, of: u16, all: u16) -> u16 {
    ((u32::from(length) * u32::from(of) + u32::from(all) / 2) / u32::from(all)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panes_fill_the_body_without_overlap() {
        let at = |share| {
            [Split::Left, Split::Steps, Split::Middle, Split::Devices, Split::Chart, Split::Log].map(|split| (split, share))
        };
        // As it comes, and with all borders dragged to either end or somewhere.
        let dragged = [0, 400, 1000].map(|share| Shares::from(at(share)));
        for shares in [Shares::new()].into_iter().chain(dragged) {
            filled(&shares);
        }
    }

    fn filled(shares: &Shares) {
        for width in (80..=220).step_by(7) {
            for height in 24..=70 {
                let area = Rect::new(0, 0, width, height);
                let places = places(area, None, Pane::Chart, width % 20, shares).unwrap();
                let cells: u32 = places.panes.iter().map(|(_, rect)| rect.area()).sum();
                assert_eq!(cells, u32::from(width) * u32::from(height - 3), "{width}x{height}");
                for (index, (pane, rect)) in places.panes.iter().enumerate() {
                    assert!(rect.width >= 30 && rect.height >= 5, "{pane:?} is {rect} at {width}x{height}");
                    assert!(places.panes[index + 1..].iter().all(|(_, other)| !other.intersects(*rect)));
                }
            }
        }
    }

    #[test]
    fn below_the_least_size_there_is_no_layout() {
        assert!(places(Rect::new(0, 0, 79, 24), None, Pane::Log, 5, &Shares::new()).is_none());
        assert!(places(Rect::new(0, 0, 80, 23), None, Pane::Log, 5, &Shares::new()).is_none());
    }

    #[test]
    fn a_dragged_border_follows_the_pointer_in_every_layout() {
        for (width, height) in [(80, 24), (120, 40), (200, 60)] {
            let area = Rect::new(0, 0, width, height);
            let tiled = |shares: &Shares| places(area, None, Pane::Log, 5, shares).unwrap();
            let borders = tiled(&Shares::new()).borders;
            assert!(borders.len() >= 3);
            for border in borders {
                let to = match border.direction {
                    Direction::Horizontal => Position::new(border.at + 2, border.whole.y),
                    Direction::Vertical => Position::new(border.whole.x, border.at - 2),
                };
                let moved = tiled(&Shares::from([(border.split, border.share(to))]));
                let moved = moved.borders.iter().find(|moved| moved.split == border.split).unwrap();
                assert!(moved.contains(to) && moved.at != border.at, "{:?} at {width}x{height}: {} {to}", border.split, moved.at);
            }
        }
    }
}
