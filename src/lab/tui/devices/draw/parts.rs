//! What the parts of the pane have in common.

use ratatui::text::{Line, Span};

use super::steps::Steps;
use crate::columns;
use crate::domain::device::{DeviceKind, DeviceProcess, DeviceSample, Reading};
use crate::tui::devices::lane::DeviceRow;
use crate::tui::devices::state::Devices;
use crate::tui::widgets::{Focus, Theme};

/// What every part of the pane needs to draw.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub devices: &'a Devices,
    pub theme: Theme,
    pub focus: Focus,
    /// The place of the device under the cursor, looked up once a frame.
    pub cursor: usize,
    pub chosen: Option<&'a DeviceRow<'a>>,
    /// Ranks that failed, the first to do so first.
    pub failed: &'a [usize],
    pub steps: &'a Steps,
}

impl View<'_> {
    /// The place of a process's rank among those that failed.
    pub fn failed(&self, process: &DeviceProcess) -> Option<usize> {
        self.failed.iter().position(|failed| Some(*failed) == process.rank)
    }

    pub fn has_several_hosts(&self) -> bool {
        self.devices.hosts().nth(1).is_some()
    }
}

/// A part of a line as wide as it says, and the place of the device that it shows.
pub struct Segment {
    pub place: Option<usize>,
    width: usize,
    line: Line<'static>,
}

impl Segment {
    /// Filled up with spaces to its width.
    pub fn new(place: Option<usize>, mut line: Line<'static>, width: usize) -> Segment {
        let missing = width.saturating_sub(line.width());
        if missing > 0 {
            line.push_span(Span::raw(" ".repeat(missing)));
        }
        Segment { place, width, line }
    }

    /// The whole of a line.
    pub fn line(place: Option<usize>, line: Line<'static>) -> Vec<Segment> {
        vec![Segment { place, width: usize::from(u16::MAX), line }]
    }
}

/// The device at a column of a line.
pub fn place_at(line: &[Segment], column: usize) -> Option<usize> {
    let mut from = 0;
    let under = line.iter().find(|part| {
        let range = from..from + part.width;
        from = range.end;
        range.contains(&column)
    });
    under.and_then(|part| part.place)
}

/// One line of all of its parts, which keep their styles.
pub fn joined(parts: Vec<Segment>) -> Line<'static> {
    let spans = parts.into_iter().flat_map(|part| {
        let style = part.line.style;
        part.line.spans.into_iter().map(move |span| Span::styled(span.content, style.patch(span.style)))
    });
    Line::from_iter(spans)
}

/// The index of a device, with a mark where the cursor is.
pub fn marked(view: View, place: usize, index: &str, width: usize) -> Span<'static> {
    let under_cursor = place == view.cursor && view.focus.here;
    let mark = if under_cursor { "▸" } else { " " };
    let style = if under_cursor { view.theme.cursor(true) } else { view.theme.strong() };
    Span::styled(format!("{mark}{}", columns::right(index, width - 1)), style)
}

/// Title, two lines of braille and the time axis.
pub const LEAST_GRAPH: u16 = 4;

/// The devices that the lanes are on, each once, in the same order.
pub fn devices_of<'a>(rows: &[DeviceRow<'a>]) -> Vec<DeviceRow<'a>> {
    let mut known: Vec<DeviceRow> = Vec::new();
    for row in rows {
        if !known.iter().any(|other| std::ptr::eq(other.sample, row.sample) && other.is_on(&row.device)) {
            known.push(row.whole());
        }
    }
    known
}

/// The figure with this name among [`DeviceSample::facts`], where there is one.
pub fn known(facts: &[(&'static str, Reading<String>)], name: &str) -> Option<String> {
    facts.iter().find(|(fact, _)| *fact == name)?.1.value().cloned()
}

pub fn is_gpu(device: &DeviceSample) -> bool {
    device.kind == DeviceKind::Gpu
}
