//! All about one device: every figure that there is, and for every one that there is not, why.
//!
//! Never shortens a reason.

use ratatui::text::{Line, Span};

use super::super::super::devices_view::Row;
use super::super::super::state::State;
use super::super::wrap;
use crate::domain::device::{DeviceProcess, Reading};
use crate::domain::units;
use crate::runs::safe;

/// Columns of the names.
const NAME: usize = 15;

pub fn lines(state: &State, row: Row, width: usize) -> Vec<Line<'static>> {
    let mut page = Page { lines: Vec::new(), width, state };
    let theme = state.theme;
    page.lines.push(Line::styled(row.device.name.clone(), theme.strong()));
    if !row.device.uuid.is_empty() {
        page.lines.push(Line::styled(row.device.uuid.clone(), theme.dim()));
    }
    page.lines.push(Line::raw(""));
    for (name, fact) in row.device.facts() {
        page.fact(name, &fact);
    }
    for process in &row.device.processes {
        page.process(process);
    }
    if let Some(reason) = row.sample.gpu_missing.as_ref().filter(|reason| !reason.is_empty()) {
        page.lines.push(Line::raw(""));
        page.fact("GPU", &Reading::missing(reason.clone()));
    }
    page.lines
}

struct Page<'a> {
    lines: Vec<Line<'static>>,
    width: usize,
    state: &'a State,
}

impl Page<'_> {
    fn fact(&mut self, name: &str, fact: &Reading<String>) {
        let theme = self.state.theme;
        let (text, style) = match fact {
            Reading::Value(text) => (text.clone(), theme.text()),
            Reading::Missing { missing } => (format!("N/A  {missing}"), theme.warn()),
        };
        for (index, line) in wrap(&text, self.width.saturating_sub(NAME)).into_iter().enumerate() {
            let name = if index == 0 { name } else { "" };
            self.lines.push(Line::from(vec![Span::styled(format!("{name:<NAME$}"), theme.dim()), Span::styled(line, style)]));
        }
    }

    fn process(&mut self, process: &DeviceProcess) {
        let who = process.rank.map_or("another's process".to_owned(), |rank| format!("Rank {rank}"));
        self.lines.push(Line::raw(""));
        self.lines.push(Line::styled(format!("{who}, pid {}", process.pid), self.state.theme.key()));
        self.fact("command", &Reading::Value(safe(&process.command)));
        self.fact("owner", &process.owner.map(|name| safe(name)));
        self.fact("memory", &process.memory_bytes.map(|bytes| units::bytes(*bytes)));
        self.fact("use", &process.utilization_percent.map(|percent| format!("{percent:.0} %")));
    }
}
