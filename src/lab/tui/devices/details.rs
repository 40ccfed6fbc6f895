//! All about one device: every figure that there is, and for every one that there is not, why.
//!
//! Reasons are shown in full.

use ratatui::text::Line;

use super::lane::DeviceRow;
use crate::domain::device::{DeviceProcess, DeviceSample, Reading};
use crate::domain::units;
use crate::tui::state::{Page, State, View, Window};
use crate::tui::widgets::{Sheet, Theme};

/// All about the device under the cursor.
#[derive(Clone, Debug)]
pub struct Details;

impl Window for Details {
    fn view(&self, state: &State, columns: u16) -> Option<View> {
        let (devices, shared) = (&state.devices, &state.shared);
        let row = devices.chosen()?;
        let title = format!("{} on {}", row.title(), row.sample.host);
        Some(Page::view(title, columns, 90, |width| lines(&row, shared.theme, width)))
    }
}

/// Columns of the names.
const NAME: usize = 15;

fn lines(row: &DeviceRow, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let mut sheet = Sheet::new(theme, width, NAME);
    sheet.lines.push(Line::styled(row.device.name.clone(), theme.strong()));
    if !row.device.uuid.is_empty() {
        sheet.lines.push(Line::styled(row.device.uuid.clone(), theme.dim()));
    }
    sheet.lines.push(Line::raw(""));
    for (name, fact) in row.device.facts() {
        reading(&mut sheet, name, &fact);
    }
    for one in &row.device.processes {
        process(&mut sheet, &row.device, one);
    }
    if let Some(reason) = row.sample.gpu_missing.as_ref().filter(|reason| !reason.is_empty()) {
        sheet.lines.push(Line::raw(""));
        reading(&mut sheet, "GPU", &Reading::missing(reason.clone()));
    }
    sheet.lines
}

fn reading(sheet: &mut Sheet, name: &str, fact: &Reading<String>) {
    match fact {
        Reading::Value(text) => sheet.fact(name, text),
        Reading::Missing { missing } => sheet.styled_fact(name, &format!("N/A  {missing}"), sheet.theme.warn()),
    }
}

fn process(sheet: &mut Sheet, device: &DeviceSample, process: &DeviceProcess) {
    let who = process.rank.map_or("not a rank".to_owned(), |rank| format!("Rank {rank}"));
    sheet.title(&format!("{who}, pid {}", process.pid));
    reading(sheet, "command", &Reading::Value(process.command.clone()));
    reading(sheet, "owner", &process.owner);
    reading(sheet, "memory", &process.memory_bytes.map(|bytes| units::bytes(*bytes)));
    reading(sheet, device.load_name(), &process.utilization_percent.map(|percent| format!("{percent:.0} %")));
}
