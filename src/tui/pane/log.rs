//! What the processes print: root, each process, or all; following, or staying where one scrolled to.
//!
//! Never draws a line that `runs::safe` has not seen.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::super::log_rows::Row;
use super::super::log_view::{LogTab, tabs};
use super::super::state::{Pane, State};
use super::super::view::place_of;
use super::super::watched::Watched;
use super::{behind_title, cut, frame_of};
use crate::domain::run::RunState;
use crate::runs::{LogLine, LogSource, Pattern, Place};

/// Columns of a time before its line.
const TIME: usize = 9;

/// Columns for text and rows for lines, as the pane is drawn now.
pub fn room(state: &State) -> (usize, usize) {
    let area = place_of(state, Pane::Log).unwrap_or(Rect::new(0, 0, 80, 24));
    let width = (area.width as usize).saturating_sub(2 + gutter(state));
    let rows = (area.height as usize).saturating_sub(2 + usize::from(status(state).is_some()));
    (width, rows)
}

pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let theme = state.theme;
    let mut block = frame_of(state, Pane::Log, tab_titles(state, area.width as usize));
    // Names of the panes that take turns here stand there too.
    let is_shared = !state.zoom && place_of(state, Pane::Devices).is_none();
    let names = Pane::ALL.iter().filter(|pane| is_shared && pane.shares_slot()).map(|pane| pane.title().len() + 2);
    if let Some(hint) = hint(state, (area.width as usize).saturating_sub(2 + names.sum::<usize>())) {
        block = block.title_bottom(hint.right_aligned());
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
    let mut left = inner;
    if let Some(status) = status(state) {
        left.height = left.height.saturating_sub(1);
        frame.render_widget(status, Rect::new(inner.x, left.bottom(), inner.width, inner.height.min(1)));
    }
    let (width, height) = ((left.width as usize).saturating_sub(gutter(state)), left.height as usize);
    let rows = if state.log.is_current() { state.log.rows(width, height) } else { Vec::new() };
    let lines: Vec<Line> = match rows.is_empty() {
        true => vec![Line::styled(empty_reason(state, watched), theme.dim())],
        false => rows.iter().map(|row| line(state, watched, row)).collect(),
    };
    frame.render_widget(Paragraph::new(lines), left);
}

/// On the lower border: that the view stays or lies sideways, or how a failed run is looked into.
fn hint(state: &State, room: usize) -> Option<Line<'static>> {
    let theme = state.theme;
    let has_failed = state.watched.as_ref().and_then(Watched::state) == Some(RunState::Failed);
    let mut line = Line::default();
    if state.log.place != Place::End {
        line.push_span(Span::styled(" staying, End follows ", theme.warn()));
    } else if has_failed {
        line.extend([Span::styled(" i", theme.key()), Span::styled(" how it failed ", theme.warn())]);
    }
    if !state.log.wraps {
        let from = if state.log.left > 0 { format!("from column {} ", state.log.left + 1) } else { "sideways ".to_owned() };
        let sideways = Line::from(vec![Span::styled(" , . ", theme.key()), Span::styled(from, theme.dim())]);
        if sideways.width() + line.width() <= room {
            line.spans.splice(0..0, sideways.spans);
        }
    }
    (!line.spans.is_empty()).then_some(line)
}

fn empty_reason(state: &State, watched: &Watched) -> String {
    let log = &state.log;
    let is_over = watched.state().is_some_and(RunState::is_over);
    match (log.is_current() && log.page.done >= 1.0, &log.filter) {
        (false, _) => " reading …".to_owned(),
        (true, Some(filter)) if filter.inverse => {
            format!(" no line without {}“{}”", kind(&filter.pattern), filter.pattern.text())
        }
        (true, Some(filter)) => format!(" no line with {}“{}”", kind(&filter.pattern), filter.pattern.text()),
        (true, None) if is_over => " this process printed nothing".to_owned(),
        (true, None) => " nothing printed yet".to_owned(),
    }
}

/// What is marked, searched for or filtered by: the last row, where there is any of it.
fn status(state: &State) -> Option<Line<'static>> {
    let theme = state.theme;
    let log = &state.log;
    let mut spans = Vec::new();
    if let Some(marked) = log.marked_lines() {
        let lines = marked.end - marked.start;
        spans.push(Span::styled(format!(" {lines} marked: "), theme.accent()));
        spans.extend([Span::styled("y", theme.key()), Span::raw(" copies ")]);
    }
    if let Some(pattern) = &log.search {
        let found = log.page.found;
        let count = match (log.found, log.page.done >= 1.0 && log.is_current()) {
            (_, false) => format!("searching {:.0} % ", log.page.done * 100.0),
            (Some(at), true) => format!("match {} of {found} ", at.nth),
            (None, true) if found == 0 => "no match ".to_owned(),
            (None, true) => format!("{found} matches "),
        };
        spans.push(Span::styled(format!(" {}/{} ", kind(pattern), cut(pattern.text(), 16)), theme.key()));
        spans.push(Span::styled(count, if found == 0 && log.page.done >= 1.0 { theme.warn() } else { theme.text() }));
    }
    if let Some(filter) = &log.filter {
        let how = if filter.inverse { "without" } else { "with" };
        spans.push(Span::styled(
            format!(" only {how} {}“{}”", kind(&filter.pattern), cut(filter.pattern.text(), 16)),
            theme.warn(),
        ));
        spans.push(Span::styled(format!(" {} ", log.page.shown), theme.dim()));
    }
    (!spans.is_empty()).then(|| Line::from(spans))
}

fn kind(pattern: &Pattern) -> &'static str {
    if pattern.is_regex() { "regex " } else { "" }
}

/// As many tabs as fit, the chosen one always among them.
fn tabs_that_fit(state: &State, width: usize) -> Vec<LogTab> {
    let tabs = tabs(state);
    let chosen = tabs.iter().position(|tab| *tab == state.log.tab).unwrap_or(0);
    let room = width.saturating_sub(12);
    let wide = |tab: &LogTab| tab.name().len() + 3;
    let mut first = 0;
    while first < chosen && tabs[first..=chosen].iter().map(wide).sum::<usize>() > room {
        first += 1;
    }
    let mut used = 0;
    let fits = |tab: &LogTab| {
        used += wide(tab);
        used <= room
    };
    tabs.into_iter().skip(first).take_while(fits).collect()
}

fn tab_titles(state: &State, width: usize) -> Vec<Span<'static>> {
    let theme = state.theme;
    let mut spans = Vec::new();
    for tab in tabs_that_fit(state, width) {
        if !spans.is_empty() {
            spans.push(Span::styled("│", theme.dim()));
        }
        let style = if tab == state.log.tab { theme.key().add_modifier(Modifier::UNDERLINED) } else { theme.dim() };
        spans.extend([Span::raw(" "), Span::styled(tab.name(), style), Span::raw(" ")]);
    }
    spans
}

/// The tab under the pointer.
pub fn tab_hit(state: &State, area: Rect, at: Position) -> Option<LogTab> {
    let mut from = behind_title(Pane::Log, area);
    tabs_that_fit(state, area.width as usize).into_iter().find(|tab| {
        let place = Rect::new(from, area.y, tab.name().len() as u16 + 2, 1);
        from = place.right() + 1;
        place.contains(at)
    })
}

/// Columns before the text: a sign, the time, the writer.
fn gutter(state: &State) -> usize {
    let writer = if state.log.tab.source().is_none() { digits(state) + 2 } else { 0 };
    1 + writer + if state.log.shows_times { TIME } else { 0 }
}

/// Digits of the highest process.
fn digits(state: &State) -> usize {
    (tabs(state).len().saturating_sub(3)).to_string().len()
}

fn line(state: &State, watched: &Watched, row: &Row) -> Line<'static> {
    let (theme, log) = (state.theme, &state.log);
    let line = &log.page.lines[row.index];
    let shown = log.page.first + row.index;
    let is_first = row.is_first;
    let sign = match () {
        () if log.marked_lines().is_some_and(|marked| marked.contains(&shown)) => Span::styled("┃", theme.accent()),
        () if log.found.is_some_and(|found| found.line == shown) && is_first => Span::styled("▸", theme.key()),
        () => Span::raw(" "),
    };
    let mut spans = vec![sign];
    if log.shows_times {
        let time = if is_first { time(state, line) } else { String::new() };
        spans.push(Span::styled(format!("{time:>8} "), theme.dim()));
    }
    if log.tab.source().is_none() {
        let digits = digits(state);
        spans.push(match (is_first, line.source) {
            (false, _) => Span::raw(" ".repeat(digits + 2)),
            (true, LogSource::Process(process)) => {
                Span::styled(format!("{}{process:<digits$} ", mark(process)), theme.rank(process))
            }
            (true, LogSource::Launcher) => Span::styled(format!("{:<1$} ", "m", digits + 1), theme.dim()),
        });
    }
    let style = if blames(watched, line) { theme.warn() } else { theme.text() };
    let more = Span::styled("…", theme.dim());
    spans.extend(row.before.then(|| more.clone()));
    spans.push(Span::raw(" ".repeat(row.pad)));
    spans.extend(highlighted(state, line, row, style));
    spans.extend(row.after.then_some(more));
    Line::from(spans)
}

/// A sign for a rank, beside its colour and number.
pub fn mark(process: usize) -> char {
    ['●', '▲', '■', '◆'][process % 4]
}

/// The text of a row, with what is searched for reversed, so that it shows without colour.
fn highlighted(state: &State, line: &LogLine, row: &Row, style: Style) -> Vec<Span<'static>> {
    let piece = row.piece.clone();
    let places = state.log.search.as_ref().map(|pattern| pattern.places(&line.text)).unwrap_or_default();
    let found = style.add_modifier(Modifier::REVERSED);
    let mut spans = Vec::new();
    let mut at = piece.start;
    for place in places {
        let (from, to) = (place.start.clamp(at, piece.end), place.end.clamp(at, piece.end));
        if from < to {
            spans.push(Span::styled(line.text[at..from].to_owned(), style));
            spans.push(Span::styled(line.text[from..to].to_owned(), found));
            at = to;
        }
    }
    spans.push(Span::styled(line.text[at..piece.end].to_owned(), style));
    spans
}

/// Since the launch that it belongs to: `0:12.3`, `1:02:03`.
fn time(state: &State, line: &LogLine) -> String {
    let Some(time_s) = line.time_s else { return "--".to_owned() };
    let record = state.watched.as_ref().and_then(|watched| state.summary(watched.id)).and_then(|run| run.record.as_ref());
    let attempts = record.iter().flat_map(|record| &record.attempts).map(|attempt| attempt.started_s);
    let start = attempts.filter(|start| *start <= time_s).fold(record.map_or(time_s, |record| record.created_s), f64::max);
    let seconds = (time_s - start).max(0.0);
    match seconds as u64 {
        whole @ 0..3600 => format!("{}:{:04.1}", whole / 60, seconds % 60.0),
        whole => format!("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60),
    }
}

/// One of the last lines of the process that failed first.
fn blames(watched: &Watched, line: &LogLine) -> bool {
    watched.status.as_ref().is_some_and(|status| {
        status.state == RunState::Failed
            && status.failed_process.map(LogSource::Process) == Some(line.source)
            && status.last_lines.iter().any(|last| !last.is_empty() && *last == line.text)
    })
}
