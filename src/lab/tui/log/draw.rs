//! What the ranks print: root, each rank, or all; following, or staying where one scrolled to.
//!
//! Never draws a line that `runs::safe` has not seen.

use std::collections::BTreeSet;

use super::rows::Row;
use super::state::{Log, LogTab, digits, tabs};
use crate::tui::actions::Pane;
use crate::tui::shared::{Shared, Watched, ranks};
use crate::tui::widgets::frame::{self, Focus, behind_name, under};
use crate::tui::widgets::indented;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::columns::{self, cut};
use crate::domain::run::RunState;
use crate::runs::{LogFilter, LogLine, LogSource, Pattern, Place};

/// `names` are the columns of the lower border that are taken already.
pub fn draw(frame: &mut Frame, area: Rect, log: &Log, shared: &Shared, focus: Focus, names: usize) {
    let theme = shared.theme;
    let mut block = frame::pane(theme, Pane::Log.title(), focus, tab_titles(log, shared, area.width as usize));
    let hides_tabs = titles(log, shared, area.width as usize).iter().any(|title| title.is_gap);
    if let Some(hint) = hint(log, shared, hides_tabs, (area.width as usize).saturating_sub(2 + names)) {
        block = block.title_bottom(hint.right_aligned());
    }
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let Some(watched) = &shared.watched else {
        let what = Line::styled(" What the ranks print appears here.", theme.dim());
        let hint = vec![Line::raw(""), what, theme.keyed(" Press `r` to run.", theme.dim())];
        frame.render_widget(Paragraph::new(hint), inner);
        return;
    };
    let mut left = inner;
    if let Some(status) = status(log, shared) {
        left.height = left.height.saturating_sub(1);
        frame.render_widget(status, Rect::new(inner.x, left.bottom(), inner.width, inner.height.min(1)));
    }
    let (width, height) = ((left.width as usize).saturating_sub(log.gutter(shared)), left.height as usize);
    let rows = if log.is_current() { log.rows(width, height) } else { Vec::new() };
    let mut lines: Vec<Line> = rows.iter().map(|row| line(log, shared, watched, row)).collect();
    if lines.is_empty() {
        lines.extend(empty_reason(log, shared, watched, width));
    }
    frame.render_widget(Paragraph::new(lines), left);
}

/// On the lower border: how a rank is found that has no tab in sight, that the view stays or lies sideways, or how a failed run is
/// looked into.
fn hint(log: &Log, shared: &Shared, hides_tabs: bool, room: usize) -> Option<Line<'static>> {
    let theme = shared.theme;
    let has_failed = shared.watched.as_ref().and_then(Watched::state) == Some(RunState::Failed);
    let mut line = Line::default();
    if hides_tabs {
        line.extend([Span::styled(" #", theme.key()), Span::styled(" rank ", theme.dim())]);
    }
    if log.place != Place::End {
        line.push_span(Span::styled(" paused, End: follow ", theme.strong()));
    } else if has_failed {
        line.extend([Span::styled(" i", theme.key()), Span::styled(" how it failed ", theme.warn())]);
    }
    if log.cuts {
        let from = if log.left > 0 { format!("from column {} ", log.left + 1) } else { "sideways ".to_owned() };
        let sideways = Line::from(vec![Span::styled(" , . ", theme.key()), Span::styled(from, theme.dim())]);
        if sideways.width() + line.width() <= room {
            line.spans.splice(0..0, sideways.spans);
        }
    }
    (!line.spans.is_empty()).then_some(line)
}

fn empty_reason(log: &Log, shared: &Shared, watched: &Watched, width: usize) -> Vec<Line<'static>> {
    let is_over = watched.state().is_some_and(RunState::is_over);
    let silent = log.tab.process().filter(|process| *process > 0 && ranks::all_print(shared) == Some(false));
    let text = match (log.is_current() && log.page.done >= 1.0, &log.filter, silent) {
        (false, ..) => "reading …".to_owned(),
        (true, Some(filter), _) => format!("no line {} {}“{}”", how(filter), kind(&filter.pattern), filter.pattern.text()),
        (true, None, Some(rank)) => format!("rank {rank} prints nothing: step 2 is on, so only rank 0, the root, prints"),
        (true, None, None) if is_over => "nothing was printed here".to_owned(),
        (true, None, None) => "nothing printed yet".to_owned(),
    };
    indented(&text, width, shared.theme.dim())
}

/// What is marked, searched for or filtered by: the last row, where there is any of it.
fn status(log: &Log, shared: &Shared) -> Option<Line<'static>> {
    let theme = shared.theme;
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
        let words = format!(" only {} {}“{}”", how(filter), kind(&filter.pattern), cut(filter.pattern.text(), 16));
        spans.push(Span::styled(words, theme.strong()));
        spans.push(Span::styled(format!(" {} ", log.page.shown), theme.dim()));
    }
    (!spans.is_empty()).then(|| Line::from(spans))
}

fn how(filter: &LogFilter) -> &'static str {
    if filter.inverse { "without" } else { "with" }
}

fn kind(pattern: &Pattern) -> &'static str {
    if pattern.is_regex() { "regex " } else { "" }
}

/// A tab with its name, or the tabs of a gap: how many have no room, and the first of them.
struct Title {
    tab: LogTab,
    text: String,
    is_gap: bool,
}

/// As many tabs as fit, the chosen one always among them, and a count in the place of those between that do not. What shows all
/// ranks and what the launcher says stay in sight as long as there is room.
fn titles(log: &Log, shared: &Shared, width: usize) -> Vec<Title> {
    let tabs = tabs(shared);
    let names: Vec<String> = names(log, shared, &tabs, width);
    let chosen = tabs.iter().position(|tab| *tab == log.tab).unwrap_or(0);
    let last = tabs.len() - 1;
    let mut left = width.saturating_sub(12);
    let all: usize = names.iter().map(|name| columns::width(name) + 3).sum();
    if all > left {
        // Before and behind the chosen one there may be a gap, which shows its count.
        left = left.saturating_sub(2 * (digits(shared) + 4));
    }
    let mut fits = |place: &usize| {
        let rest = left.checked_sub(columns::width(&names[*place]) + 3);
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    let ends = [chosen, last, last - 1, 0];
    let mut shown: BTreeSet<usize> = BTreeSet::new();
    for place in ends {
        if !shown.contains(&place) && fits(&place) {
            shown.insert(place);
        }
    }
    // Those before it that have room, then those behind it.
    let inner = |place: &usize| !ends.contains(place);
    shown.extend((0..chosen).rev().filter(inner).take_while(&mut fits));
    shown.extend((chosen + 1..=last).filter(inner).take_while(fits));
    shown.insert(chosen);
    let mut titles = Vec::new();
    let mut next = 0;
    for place in shown.into_iter().chain([tabs.len()]) {
        if place > next {
            titles.push(Title { tab: tabs[next], text: format!("+{}", place - next), is_gap: true });
        }
        titles.extend(tabs.get(place).map(|tab| Title { tab: *tab, text: names[place].clone(), is_gap: false }));
        next = place + 1;
    }
    titles
}

/// The tabs as they are called: one whose rank failed has a mark, the chosen one of several hosts its host.
fn names(log: &Log, shared: &Shared, tabs: &[LogTab], width: usize) -> Vec<String> {
    let failed = ranks::failed(shared);
    let host = shared.watched.as_ref().filter(|watched| watched.has_several_hosts());
    let host = host.zip(log.tab.process()).and_then(|(watched, process)| watched.host(process));
    let launcher = shared.summary_on_screen().and_then(|run| run.record.as_ref());
    let named = |tab: &LogTab| {
        let mark = if tab.process().is_some_and(|process| failed.contains(&process)) { "✗" } else { "" };
        let host = host.filter(|_| *tab == log.tab).map(|host| format!(" {}", cut(host, width.saturating_sub(12) / 2)));
        let launcher = launcher.filter(|_| *tab == LogTab::LAUNCHER).map(|record| record.request.spec.launcher_name().to_owned());
        format!("{mark}{}{}", launcher.unwrap_or_else(|| tab.name()), host.unwrap_or_default())
    };
    tabs.iter().map(named).collect()
}

fn tab_titles(log: &Log, shared: &Shared, width: usize) -> Vec<Span<'static>> {
    let theme = shared.theme;
    let mut spans = Vec::new();
    for Title { tab, text, .. } in titles(log, shared, width) {
        if !spans.is_empty() {
            spans.push(Span::styled("│", theme.dim()));
        }
        let style = if tab == log.tab {
            theme.key().add_modifier(Modifier::UNDERLINED)
        } else if text.starts_with('✗') {
            theme.warn()
        } else {
            theme.dim()
        };
        spans.extend([Span::raw(" "), Span::styled(text, style), Span::raw(" ")]);
    }
    spans
}

/// The tab under the pointer; on a count, the first of those that it counts.
pub fn tab_hit(log: &Log, shared: &Shared, area: Rect, at: Position) -> Option<LogTab> {
    let titles = titles(log, shared, area.width as usize).into_iter();
    let pieces = titles.flat_map(|title| [(Some(title.tab), columns::width(&title.text) + 2), (None, 1)]);
    under(Position::new(behind_name(Pane::Log.title(), area), area.y), pieces, at).flatten()
}

fn line(log: &Log, shared: &Shared, watched: &Watched, row: &Row) -> Line<'static> {
    let theme = shared.theme;
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
        let time = if is_first { time(shared, line) } else { String::new() };
        spans.push(Span::styled(format!("{time:>8} "), theme.dim()));
    }
    if log.tab == LogTab::ALL {
        let digits = digits(shared);
        spans.push(match (is_first, line.source) {
            (false, _) => Span::raw(" ".repeat(digits + 2)),
            (true, LogSource::Process(process)) => {
                Span::styled(format!("{}{process:<digits$} ", mark(process)), theme.run(process))
            }
            (true, LogSource::Launcher) => Span::styled(format!("{:<1$} ", "m", digits + 1), theme.dim()),
        });
    }
    let style = if blames(watched, line) { theme.warn() } else { theme.text() };
    let more = Span::styled("…", theme.dim());
    spans.extend(row.before.then(|| more.clone()));
    spans.push(Span::raw(" ".repeat(row.pad)));
    spans.extend(highlighted(log, line, row, style));
    spans.extend(row.after.then_some(more));
    Line::from(spans)
}

/// A sign for a rank, beside its colour and number.
pub fn mark(process: usize) -> char {
    ['●', '▲', '■', '◆'][process % 4]
}

/// The text of a row, with what is searched for reversed, so that it shows without colour.
fn highlighted(log: &Log, line: &LogLine, row: &Row, style: Style) -> Vec<Span<'static>> {
    let piece = row.piece.clone();
    let places = log.search.as_ref().map(|pattern| pattern.places(&line.text)).unwrap_or_default();
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
fn time(shared: &Shared, line: &LogLine) -> String {
    let Some(time_s) = line.time_s else { return "--".to_owned() };
    let record = shared.summary_on_screen().and_then(|run| run.record.as_ref());
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
