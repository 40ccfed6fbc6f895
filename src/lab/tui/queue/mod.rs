//! A window that shows the users of a shared machine, their devices and the queue. It is refreshed once a second while it is open.

#[cfg(test)]
mod tests;

use ratatui::text::Line;

use crate::columns::{left, width as width_of, wrap};
use crate::launch::{DeviceState, SharedMachine};
use crate::tui::actions::{Action, Binding, Char, Code, Command, Ctrl, Effect, K, row};
use crate::tui::state::{About, Page, State, View, Window};
use crate::tui::widgets::Theme;

/// The state of the machine: outer `None` until it has been read, inner `None` if the machine is not shared.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    pub machine: Option<Option<Box<SharedMachine>>>,
}

pub fn open(state: &mut State) -> Vec<Action> {
    state.windows.show(Queue::default());
    vec![Effect::ReadQueue.into()]
}

pub static KEYS: &[Binding] =
    &[row(&[Code(K::Esc), Char('Q'), Char('q'), Ctrl('c')], Command::Back, "Esc", "close", "").ranked(0)];

impl Window for Queue {
    fn about(&self, _: &State) -> About {
        About { keys: KEYS, scrolls: true, each_second: Some(Effect::ReadQueue), ..About::default() }
    }

    fn view(&self, state: &State, columns: u16) -> Option<View> {
        Some(Page::view("Shared machine", columns, 92, |width| lines(self.machine.as_ref(), state.shared.theme, width)))
    }
}

/// Columns that the name of a device may take.
const NAME: usize = 28;

const NOT_SHARED: &str = "This machine is not shared: runs start at once, beside each other. Whoever looks after it can change that with \
                          a file: `hvd-lab queue --help` shows one.";

/// A line for each device with its user, and for each run in the queue.
fn lines(machine: Option<&Option<Box<SharedMachine>>>, theme: Theme, width: usize) -> Vec<Line<'static>> {
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
            format!("{:>3}  {} of {} needs {count}: {}", row.estimate.place, row.run.run, row.run.user, machine.start_of(row));
        lines.extend(plain(&text));
    }
    if let Some(kept) = machine.kept() {
        lines.push(Line::raw(""));
        lines.extend(plain(&format!("{kept}.")));
    }
    lines
}
