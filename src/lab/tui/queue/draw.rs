//! Each device with who has it, and each run that waits, in a line.

use ratatui::text::Line;

use crate::columns::{left, width as width_of, wrap};
use crate::launch::{DeviceState, SharedMachine};
use crate::tui::widgets::theme::Theme;

/// Columns that the name of a device may take.
const NAME: usize = 28;

const NOT_SHARED: &str = "This machine is not shared: runs start at once, beside each other. Whoever looks after it can change that with \
                          a file: `hvd-lab queue --help` shows one.";

pub fn lines(machine: Option<&Option<Box<SharedMachine>>>, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let plain = |text: &str| wrap(text, width).into_iter().map(Line::raw).collect::<Vec<_>>();
    let machine = match machine {
        None => return plain("looking ..."),
        Some(None) => return plain(NOT_SHARED),
        Some(Some(machine)) => machine,
    };
    let limits = machine.limits();
    let limits = if limits.is_empty() { "no limits".to_owned() } else { limits };
    let mut lines = plain(&format!("{} of this machine are lent to one run at a time: {limits}.", machine.devices));
    lines.push(Line::raw(""));
    let name = machine.rows.iter().map(|row| width_of(&row.name)).max().unwrap_or(0).min(NAME);
    for row in &machine.rows {
        let (words, style) = match &row.state {
            DeviceState::Free => ("free".to_owned(), theme.dim()),
            DeviceState::Busy(by) => (format!("busy, not leased ({by})"), theme.warn()),
            DeviceState::Leased(run) => {
                let free = run.ends_s.map(|ends_s| format!(", free {}", machine.in_about(ends_s))).unwrap_or_default();
                (format!("{} of {}{free}", run.run, run.user), theme.text())
            }
        };
        lines.push(Line::styled(left(&format!("{}  {words}", left(&row.name, name)), width), style));
    }
    lines.push(Line::raw(""));
    if machine.waiting.is_empty() {
        lines.push(Line::styled("Nobody waits.", theme.dim()));
        return lines;
    }
    lines.push(Line::styled("Waiting, first come, first served", theme.strong()));
    for row in &machine.waiting {
        let count = machine.devices.counted(row.count);
        let text =
            format!("{:>3}  {} of {} needs {count}: {}", row.outlook.place, row.run.run, row.run.user, machine.start_of(row));
        lines.extend(plain(&text));
    }
    if let Some(kept) = machine.kept() {
        lines.push(Line::raw(""));
        lines.extend(plain(&format!("{kept}.")));
    }
    lines
}
