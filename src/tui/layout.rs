//! Where each pane goes, by the size of the terminal.
//!
//! Never draws.
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

use ratatui::layout::{Constraint, Layout, Rect};

use super::settings::Field;
use super::state::Pane;

/// Below this the screen says so and waits.
pub const LEAST: (u16, u16) = (80, 24);

#[derive(Clone, Debug)]
pub struct Places {
    pub header: Rect,
    /// Between header and footer.
    pub body: Rect,
    pub panes: Vec<(Pane, Rect)>,
    pub footer: Rect,
    /// The place that devices, chart and log take in turn, where there is no room for all.
    pub shared: Option<Rect>,
}

/// `None` where the terminal is too small. `device_rows` is what the devices would like to have.
pub fn places(area: Rect, zoomed: Option<Pane>, slot: Pane, device_rows: u16) -> Option<Places> {
    if area.width < LEAST.0 || area.height < LEAST.1 {
        return None;
    }
    let [header, body, footer] =
        Layout::vertical([Constraint::Length(2), Constraint::Fill(1), Constraint::Length(1)]).areas(area);
    let panes = match zoomed {
        Some(pane) => vec![(pane, body)],
        None => tiled(body, slot, device_rows),
    };
    let slots: Vec<Rect> = panes.iter().filter(|(pane, _)| pane.shares_slot()).map(|(_, rect)| *rect).collect();
    let shared = (zoomed.is_none() && slots.len() == 1).then(|| slots[0]);
    Some(Places { header, body, panes, footer, shared })
}

fn tiled(body: Rect, slot: Pane, device_rows: u16) -> Vec<(Pane, Rect)> {
    // At most a third of the height, so that a node full of GPUs leaves the chart its place.
    let devices_height = (device_rows + 2).clamp(7, (body.height / 3).max(7));
    let three_columns = body.width >= 150;
    let left_width = match body.width {
        0..110 => 33,
        110..150 => 38,
        150..180 => 40,
        _ => 46,
    };
    // Steps with room for an explanation, settings with room for each field.
    let settings = (Field::ALL.len() as u16 + 3).min(body.height.saturating_sub(12));
    let [left, rest] = Layout::horizontal([Constraint::Length(left_width), Constraint::Fill(1)]).areas(body);
    let [steps, next_run] = Layout::vertical([Constraint::Fill(1), Constraint::Length(settings)]).areas(left);
    let mut panes = vec![(Pane::Steps, steps), (Pane::Settings, next_run)];
    if three_columns {
        let [middle, right] = Layout::horizontal([Constraint::Fill(6), Constraint::Fill(5)]).areas(rest);
        let runs_height = (middle.height / 3).max(9);
        let [log, runs] = Layout::vertical([Constraint::Fill(1), Constraint::Length(runs_height)]).areas(middle);
        let [devices, chart] = Layout::vertical([Constraint::Length(devices_height), Constraint::Fill(1)]).areas(right);
        panes.extend([(Pane::Devices, devices), (Pane::Chart, chart), (Pane::Log, log), (Pane::Runs, runs)]);
    } else if body.height >= 33 {
        let [devices, chart, log, runs] =
            Layout::vertical([Constraint::Length(devices_height), Constraint::Fill(5), Constraint::Fill(4), Constraint::Fill(4)])
                .areas(rest);
        panes.extend([(Pane::Devices, devices), (Pane::Chart, chart), (Pane::Log, log), (Pane::Runs, runs)]);
    } else {
        let [shared, runs] = Layout::vertical([Constraint::Fill(1), Constraint::Length(settings)]).areas(rest);
        panes.extend([(slot, shared), (Pane::Runs, runs)]);
    }
    panes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panes_fill_the_body_without_overlap() {
        for width in (80..=220).step_by(7) {
            for height in 24..=70 {
                let area = Rect::new(0, 0, width, height);
                let places = places(area, None, Pane::Chart, width % 20).unwrap();
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
        assert!(places(Rect::new(0, 0, 79, 24), None, Pane::Log, 5).is_none());
        assert!(places(Rect::new(0, 0, 80, 23), None, Pane::Log, 5).is_none());
    }
}
