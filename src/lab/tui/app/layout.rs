//! Where each pane goes, by the size of the terminal and by what each has to show.
//!
//! Borders can be dragged; no pane gets smaller than it can be read.

use ratatui::layout::{Constraint, Direction, Layout, Position, Rect};

use crate::tui::actions::Pane;
use crate::tui::next_run::fields::Field;
use crate::tui::preferences::{Shares, Split};

/// Below this the screen says so and waits.
pub const LEAST: (u16, u16) = (60, 16);
/// From this size on steps and settings stand beside the rest.
const TWO_COLUMNS: (u16, u16) = (80, 24);
/// From this width on a screen that is not high enough for two columns shows the devices beside the other place.
const WIDE: u16 = 120;

#[derive(Clone, Copy, Debug)]
pub struct Border {
    pub split: Split,
    direction: Direction,
    /// The area that is divided.
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

    /// The share of the first part when the border is at `position`, in thousandths of the whole.
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
    /// The place that [`turns`] take in turn, where there is no room for all.
    pub shared: Option<Rect>,
    /// The panes that take it in turn; none where each pane has its own place.
    pub turns: &'static [Pane],
}

/// Lines that panes would like to have inside of their frames.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    pub devices: u16,
    /// Each device is one cell: with fewer lines some could not be seen at all.
    pub packed: bool,
    pub log: u16,
    pub runs: u16,
}

/// Panes that take one place in turn on a screen of this size, the one that it shows at first before the others.
pub fn turns(area: Rect) -> &'static [Pane] {
    if is_compact(area) {
        &[Pane::Chart, Pane::Runs, Pane::Log, Pane::Steps, Pane::Settings]
    } else if area.width < THREE_COLUMNS && parts(area)[1].height < TALL {
        &[Pane::Chart, Pane::Log]
    } else {
        &[]
    }
}

/// The pane that has the place which several take in turn: `slot` where it is one of them.
pub fn in_turn(area: Rect, slot: Pane) -> Option<Pane> {
    let turns = turns(area);
    turns.iter().find(|pane| **pane == slot).or(turns.first()).copied()
}

/// Two panes only.
pub fn is_compact(area: Rect) -> bool {
    area.width < TWO_COLUMNS.0 || area.height < TWO_COLUMNS.1
}

/// `None` where the terminal is too small.
pub fn places(area: Rect, zoomed: Option<Pane>, slot: Pane, wish: Wish, shares: &Shares) -> Option<Places> {
    let body = body(area)?;
    let [header, _, footer] = parts(area);
    let mut tiling = Tiling { shares, borders: Vec::new() };
    let turn = in_turn(area, slot);
    let panes = match (zoomed, turn) {
        (Some(pane), _) => vec![(pane, body)],
        (None, Some(shown)) if is_compact(area) => tiling.compact(body, shown, wish),
        (None, shown) => tiling.panes(body, shown, wish),
    };
    let place_of = |wanted: Pane| panes.iter().find(|(pane, _)| *pane == wanted).map(|(_, rect)| *rect);
    let shared = turn.filter(|_| zoomed.is_none()).and_then(place_of);
    let turns = if shared.is_some() { turns(area) } else { &[] };
    Some(Places { header, body, panes, borders: tiling.borders, footer, shared, turns })
}

/// The area between header and footer.
pub fn body(area: Rect) -> Option<Rect> {
    let is_large_enough = area.width >= LEAST.0 && area.height >= LEAST.1;
    is_large_enough.then(|| parts(area)[1])
}

/// Header, body and footer.
fn parts(area: Rect) -> [Rect; 3] {
    Layout::vertical([Constraint::Length(2), Constraint::Fill(1), Constraint::Length(1)]).areas(area)
}

/// From this height of the body on each pane has its own place.
const TALL: u16 = 33;
const THREE_COLUMNS: u16 = 150;
/// From this height on the devices get room for graphs.
const GRAPHS_FROM: u16 = 50;
const GRAPHS: u16 = 6;
/// The frame of a pane.
const FRAME: u16 = 2;
/// A log or a table that has nothing to show.
const LEAST_LOG: u16 = 5;

struct Tiling<'a> {
    shares: &'a Shares,
    borders: Vec<Border>,
}

impl Tiling<'_> {
    /// Devices and one other pane: what answers what the devices do, and what was gained. From 60x16 on:
    ///
    /// ```text
    /// +---- header ----------------+
    /// | Devices                    |
    /// +----------------------------+
    /// | Chart, Runs, Log, Steps or |
    /// | Next run                   |
    /// +---- footer ----------------+
    /// ```
    fn compact(&mut self, body: Rect, shown: Pane, wish: Wish) -> Vec<(Pane, Rect)> {
        let (devices, other) = match body.width {
            WIDE.. => Layout::horizontal([Constraint::Fill(1); 2]).areas::<2>(body).into(),
            _ => {
                let height = wish.devices.saturating_add(FRAME).clamp(LEAST_PANE.1, (body.height / 2).max(LEAST_PANE.1));
                self.halves(Split::Devices, body, height, 1)
            }
        };
        vec![(Pane::Devices, devices), (shown, other)]
    }

    fn panes(&mut self, body: Rect, shown: Option<Pane>, wish: Wish) -> Vec<(Pane, Rect)> {
        // A node full of GPUs leaves the chart its place.
        let graphs = if body.height >= GRAPHS_FROM { GRAPHS } else { 0 };
        let most = match shown {
            Some(_) if !wish.packed => (body.height / 3).max(7),
            Some(_) => body.height / 2,
            None => body.height * 2 / 5,
        };
        // Where there is room each of many devices has its number.
        let wished = if wish.packed && shown.is_none() { wish.devices.saturating_mul(2) } else { wish.devices };
        let devices_height = wished.saturating_add(graphs + FRAME).clamp(6, most);
        let left_width = match body.width {
            0..110 => 33,
            110..150 => 38,
            150..180 => 40,
            _ => 46,
        };
        // Steps with room for an explanation, settings with room for each field.
        let settings = (Field::ALL.len() as u16 + 3).min(body.height.saturating_sub(12));
        let columns = if body.width >= THREE_COLUMNS { 2 } else { 1 };
        let (left, rest) = self.halves(Split::Left, body, left_width, columns);
        let (steps, next_run) = self.halves(Split::Steps, left, left.height - settings, 1);
        let mut panes = vec![(Pane::Steps, steps), (Pane::Settings, next_run)];
        panes.extend(match shown {
            Some(shown) => self.two_in_turn(rest, body.height, shown, devices_height),
            None if body.width >= THREE_COLUMNS => self.three_columns(rest, devices_height, wish),
            None => self.one_above_the_other(rest, devices_height, wish),
        });
        panes
    }

    /// Chart and log in turn. From 80x24 on:
    ///
    /// ```text
    /// +----------- header ------------+
    /// | Steps    | Devices            |
    /// |          +--------------------+
    /// +----------+ Chart or Log       |
    /// | Next run +--------------------+
    /// |          | Runs               |
    /// +----------- footer ------------+
    /// ```
    fn two_in_turn(&mut self, rest: Rect, body_height: u16, shown: Pane, devices_height: u16) -> Vec<(Pane, Rect)> {
        // A log that was asked for gets more room.
        let (devices_height, runs_height) = match shown {
            Pane::Log => (devices_height.min(6), LEAST_PANE.1),
            _ => (devices_height, (body_height * 2 / 7).max(6)),
        };
        let (devices, below) = self.halves(Split::Devices, rest, devices_height, 2);
        let (shared, runs) = self.halves(Split::Log, below, below.height - runs_height, 1);
        vec![(Pane::Devices, devices), (shown, shared), (Pane::Runs, runs)]
    }

    /// Each pane has a place. From 110x36 on:
    ///
    /// ```text
    /// +----------- header ------------+
    /// | Steps    | Devices            |
    /// |          +--------------------+
    /// |          | Chart              |
    /// +----------+--------------------+
    /// | Next run | Log                |
    /// |          +--------------------+
    /// |          | Runs               |
    /// +----------- footer ------------+
    /// ```
    fn one_above_the_other(&mut self, rest: Rect, devices_height: u16, wish: Wish) -> Vec<(Pane, Rect)> {
        let (devices, below) = self.halves(Split::Devices, rest, devices_height, 3);
        // The chart gets the lines that log and runs do not need.
        let usual = below.height - part(below.height, 5, 13);
        let log = table_height(wish.log, part(usual, 1, 2));
        let runs = table_height(wish.runs.max(LEAST_PANE.1), usual - part(usual, 1, 2));
        let (chart, below) = self.halves(Split::Chart, below, below.height.saturating_sub(log + runs), 2);
        let (log, runs) = self.halves(Split::Log, below, log, 1);
        vec![(Pane::Devices, devices), (Pane::Chart, chart), (Pane::Log, log), (Pane::Runs, runs)]
    }

    /// The largest layout, from 150x24 on. Chart and devices are as wide as each other; the runs take what they need of their
    /// column, a third at most, and the log of its own, where that leaves half of it to the devices.
    ///
    /// ```text
    /// +------------------ header (2) ------------------+
    /// | Steps    | Chart            | Devices          |
    /// |          |                  |                  |
    /// |          |                  |                  |
    /// +----------+                  |                  |
    /// | Next run |                  +------------------+
    /// |          +------------------+ Log              |
    /// |          | Runs             |                  |
    /// +------------------ footer (1) ------------------+
    /// ```
    fn three_columns(&mut self, rest: Rect, devices_height: u16, wish: Wish) -> Vec<(Pane, Rect)> {
        let [middle, _] = Layout::horizontal([Constraint::Fill(1); 2]).areas(rest);
        let (middle, right) = self.halves(Split::Middle, rest, middle.width, 1);
        let runs_height = table_height(wish.runs, (middle.height / 3).max(9));
        let (chart, runs) = self.halves(Split::Chart, middle, middle.height - runs_height, 1);
        let log = table_height(wish.log, right.height - devices_height.max(right.height / 2));
        let (devices, log) = self.halves(Split::Devices, right, right.height - log, 1);
        vec![(Pane::Devices, devices), (Pane::Chart, chart), (Pane::Log, log), (Pane::Runs, runs)]
    }

    /// Two parts, the first `usual` long where the border was not dragged; `after` panes share the second.
    fn halves(&mut self, split: Split, whole: Rect, usual: u16, after: u16) -> (Rect, Rect) {
        let (direction, length, least) = match split {
            Split::Left | Split::Middle => (Direction::Horizontal, whole.width, LEAST_PANE.0),
            _ => (Direction::Vertical, whole.height, LEAST_PANE.1),
        };
        let dragged = self.shares.get(&split).map(|share| u32::from(*share) * u32::from(length) / 1000);
        let most = length.saturating_sub(least * after).max(least).min(length);
        let first = dragged.map_or(usual, |first| first as u16).clamp(least.min(most), most);
        let [first, second] = Layout::new(direction, [Constraint::Length(first), Constraint::Fill(1)]).areas(whole);
        let at = if direction == Direction::Horizontal { second.x } else { second.y };
        self.borders.push(Border { split, direction, whole, at });
        (first, second)
    }
}

/// Log and runs get the room for what they show, and no more than what the panes beside them leave.
fn table_height(lines: u16, most: u16) -> u16 {
    lines.saturating_add(FRAME).clamp(LEAST_LOG, most.max(LEAST_LOG))
}

fn part(length: u16, of: u16, all: u16) -> u16 {
    ((u32::from(length) * u32::from(of) + u32::from(all) / 2) / u32::from(all)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: Wish = Wish { devices: 6, packed: false, log: 0, runs: 100 };
    const FULL: Wish = Wish { devices: 6, packed: false, log: 500, runs: 100 };

    fn at(width: u16, height: u16, wish: Wish) -> Places {
        places(Rect::new(0, 0, width, height), None, Pane::Chart, wish, &Shares::new()).unwrap()
    }

    fn height_of(places: &Places, wanted: Pane) -> u16 {
        places.panes.iter().find(|(pane, _)| *pane == wanted).map_or(0, |(_, rect)| rect.height)
    }

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
        for width in (60..=220).step_by(5) {
            for height in 16..=70 {
                let area = Rect::new(0, 0, width, height);
                let wish = Wish { devices: width % 20, packed: height % 2 == 0, log: height % 17, runs: width % 30 };
                let places = places(area, None, Pane::Chart, wish, shares).unwrap();
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
        assert!(places(Rect::new(0, 0, 59, 16), None, Pane::Log, EMPTY, &Shares::new()).is_none());
        assert!(places(Rect::new(0, 0, 60, 15), None, Pane::Log, EMPTY, &Shares::new()).is_none());
    }

    #[test]
    fn an_empty_log_leaves_its_room_to_the_others_and_a_full_one_does_not_take_it_all() {
        for (width, height) in [(120, 40), (140, 60), (160, 40), (200, 60)] {
            let (empty, full) = (at(width, height, EMPTY), at(width, height, FULL));
            assert_eq!(height_of(&empty, Pane::Log), LEAST_LOG, "{width}x{height}");
            assert!(height_of(&full, Pane::Log) > LEAST_LOG && height_of(&full, Pane::Log) <= height / 2, "{width}x{height}");
            let of_both = |places| height_of(places, Pane::Chart) + height_of(places, Pane::Devices);
            assert!(of_both(&empty) > of_both(&full), "{width}x{height}");
            assert!(height_of(&full, Pane::Devices) >= 8, "{width}x{height}");
        }
    }

    #[test]
    fn chart_and_devices_come_before_the_log_where_not_all_have_room() {
        for (width, height) in [(80, 24), (100, 30)] {
            let places = at(width, height, FULL);
            let shown: Vec<Pane> = places.panes.iter().map(|(pane, _)| *pane).collect();
            assert_eq!(shown, [Pane::Steps, Pane::Settings, Pane::Devices, Pane::Chart, Pane::Runs], "{width}x{height}");
        }
        for (width, height) in [(60, 16), (79, 50), (200, 16), (119, 23)] {
            for slot in [Pane::Chart, Pane::Runs, Pane::Log, Pane::Steps, Pane::Settings] {
                let places = places(Rect::new(0, 0, width, height), None, slot, FULL, &Shares::new()).unwrap();
                let shown: Vec<Pane> = places.panes.iter().map(|(pane, _)| *pane).collect();
                assert_eq!(shown, [Pane::Devices, slot], "{width}x{height}");
                assert_eq!(places.shared, Some(places.panes[1].1));
            }
        }
    }

    #[test]
    fn a_dragged_border_follows_the_pointer_in_every_layout() {
        for (width, height) in [(80, 24), (120, 40), (200, 60)] {
            let area = Rect::new(0, 0, width, height);
            let tiled = |shares: &Shares| places(area, None, Pane::Chart, FULL, shares).unwrap();
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
