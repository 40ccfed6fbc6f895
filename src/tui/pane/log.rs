//! What the processes print: root, each process, or all; following, or staying where one scrolled to.
//!
//! Never draws a line that was not made safe by `log_buffer`.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::super::log_buffer::{LogLine, Source};
use super::super::state::{LogTab, Pane, State};
use super::super::watched::Watched;
use super::{frame_of, wrap};
use crate::domain::run::RunState;

pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let theme = state.theme;
    let mut block = frame_of(state, Pane::Log, tabs(state, area.width as usize));
    if state.log_end.is_some() {
        block = block.title_bottom(Line::styled(" staying here, End follows ", theme.warn()).right_aligned());
    }
    let has_failed = state.watched.as_ref().and_then(Watched::state) == Some(RunState::Failed);
    if has_failed && state.log_end.is_none() {
        let hint = vec![Span::styled(" i", theme.key()), Span::styled(" how it failed ", theme.warn())];
        block = block.title_bottom(Line::from(hint).right_aligned());
    }
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let Some(watched) = &state.watched else {
        let hint = vec![
            Line::raw(""),
            Line::styled(" What the ranks print appears here.", theme.dim()),
            Line::from(vec![
                Span::styled(" Press ", theme.dim()),
                Span::styled("r", theme.key()),
                Span::styled(" to run.", theme.dim()),
            ]),
        ];
        frame.render_widget(Paragraph::new(hint), inner);
        return;
    };
    let mut lines = tail(state, watched, inner.width as usize, inner.height as usize);
    if lines.is_empty() {
        lines.push(Line::styled(empty_reason(watched), theme.dim()));
    }
    frame.render_widget(Paragraph::new(lines), inner);
}

fn empty_reason(watched: &Watched) -> &'static str {
    match watched.state() {
        None => " reading …",
        Some(state) if state.is_over() => " this process printed nothing",
        Some(_) => " nothing printed yet",
    }
}

/// As many tabs as fit, the chosen one always among them.
fn tabs(state: &State, width: usize) -> Vec<Span<'static>> {
    let theme = state.theme;
    let tabs = state.log_tabs();
    let name = |tab: &LogTab| match tab {
        LogTab::Root => "root".to_owned(),
        LogTab::Process(process) => process.to_string(),
        LogTab::Launcher => "mpirun".to_owned(),
        LogTab::All => "all".to_owned(),
    };
    let chosen = tabs.iter().position(|tab| *tab == state.log).unwrap_or(0);
    let room = width.saturating_sub(12);
    let mut first = 0;
    let columns = |range: &[LogTab]| range.iter().map(|tab| name(tab).len() + 3).sum::<usize>();
    while first < chosen && columns(&tabs[first..=chosen]) > room {
        first += 1;
    }
    let mut spans = Vec::new();
    let mut used = 0;
    for (index, tab) in tabs.iter().enumerate().skip(first) {
        let name = name(tab);
        used += name.len() + 3;
        if used > room {
            break;
        }
        if index > first {
            spans.push(Span::styled("│", theme.dim()));
        }
        let style = if index == chosen { theme.key().add_modifier(ratatui::style::Modifier::UNDERLINED) } else { theme.dim() };
        spans.extend([Span::raw(" "), Span::styled(name, style), Span::raw(" ")]);
    }
    spans
}

/// The last lines up to where the view is, wrapped, filled from the bottom.
fn tail(state: &State, watched: &Watched, width: usize, height: usize) -> Vec<Line<'static>> {
    let theme = state.theme;
    let Some(ring) = watched.logs.ring(state.log.source()) else { return Vec::new() };
    let mut rows: Vec<Line> = Vec::new();
    let mut place = state.log_end.unwrap_or(ring.end()).min(ring.end());
    while rows.len() < height && place > ring.start() {
        place -= 1;
        let Some(line) = ring.get(place) else { break };
        let style = if blames(watched, line) { theme.warn() } else { theme.text() };
        let tag = match line.source {
            _ if state.log != LogTab::All => " ".to_owned(),
            Source::Process(process) => format!("{process:>2} "),
            Source::Launcher => " m ".to_owned(),
        };
        let indent = tag.len();
        let wrapped = wrap(&line.text, width.saturating_sub(indent));
        for (index, text) in wrapped.into_iter().enumerate().rev() {
            let tag = if index == 0 { tag.clone() } else { " ".repeat(indent) };
            rows.push(Line::from(vec![Span::styled(tag, theme.accent()), Span::styled(text, style)]));
        }
    }
    rows.truncate(height);
    rows.reverse();
    rows
}

/// One of the last lines of the process that failed first.
fn blames(watched: &Watched, line: &LogLine) -> bool {
    watched.status.as_ref().is_some_and(|status| {
        status.state == RunState::Failed
            && status.failed_process.map(Source::Process) == Some(line.source)
            && status.last_lines.iter().any(|last| !last.is_empty() && last.as_str() == &*line.text)
    })
}
