//! What the inspector has found in the ranks of the user's own program: a list of it, and the chosen one in sentences.
//!
//! It is of the run on the screen, and follows it while it goes.

pub mod source;
#[cfg(test)]
mod tests;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::columns::{cut, left, width as width_of, wrap};
use crate::domain::printable;
use crate::inspect::{Finding, Inspected, Outcome as Judgement, inspected};
use crate::runs::RunId;
use crate::tui::actions::{Action, Binding, Char, Code, Command, Ctrl, ENTER, Effect, K, LIST, Move, TerminalOrder, row};
use crate::tui::shared::Shared;
use crate::tui::state::{About, Outcome, Page, State, View, Window};
use crate::tui::widgets::{Theme, wrapped};

/// Which finding, of which run.
#[derive(Clone, Debug)]
pub struct Findings {
    run: RunId,
    /// The row under the cursor.
    chosen: usize,
}

/// Of the run on the screen.
pub fn open(state: &mut State) -> Vec<Action> {
    let State { shared, windows, .. } = state;
    let run = shared.summary_on_screen();
    match run.map(|run| (run.id, run.record.as_ref().is_some_and(|record| inspected(record).is_some()))) {
        Some((run, true)) => windows.show(Findings { run, chosen: 0 }),
        Some((run, false)) => {
            shared.inform(format!("run {run} was started without the inspector: O starts a program with it"));
        }
        None => shared.inform("no run yet: O starts your own program with the inspector"),
    }
    Vec::new()
}

pub static KEYS: &[Binding] = &[
    row(ENTER, Command::Accept, "Enter", "open the line", "").ranked(0),
    row(LIST, Command::Move(Move::Up), "↑↓", "choose", "").ranked(1),
    row(&[Code(K::Esc), Char('J'), Char('q'), Ctrl('c')], Command::Back, "Esc", "close", "").ranked(0),
];

impl Window for Findings {
    fn about(&self, _: &State) -> About {
        About { keys: KEYS, run: Some(self.run), ..About::default() }
    }

    fn view(&self, state: &State, columns: u16) -> Option<View> {
        let title = format!("What the inspector found in run {}", self.run);
        Some(Page::view(title, columns, 100, |width| lines(self, &state.shared, width)))
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        let count = judged(self.run, &state.shared).map_or(0, |judged| judged.findings.len());
        match command {
            Command::Back => return Outcome::CLOSE,
            Command::Move(by) => self.chosen = by.within(self.chosen, count),
            Command::Accept => return Outcome::Stay(self.open_line(&mut state.shared)),
            _ => {}
        }
        Outcome::STAY
    }

    fn is_idle(&self, state: &State, command: Command) -> Option<bool> {
        (command == Command::Accept).then(|| self.finding(&state.shared).is_none_or(|finding| finding.place.is_none()))
    }
}

impl Findings {
    fn finding<'a>(&self, shared: &'a Shared) -> Option<&'a Finding> {
        judged(self.run, shared)?.findings.get(self.chosen)
    }

    /// The program at the line of the chosen finding, in the user's editor.
    fn open_line(&self, shared: &mut Shared) -> Vec<Action> {
        match self.finding(shared).and_then(|finding| finding.place.clone()) {
            Some(place) => vec![Effect::Terminal(TerminalOrder::OpenProgram { file: place.file, line: place.line }).into()],
            None => shared.refuse("no line of the program is named here: choose one that is wrong"),
        }
    }
}

/// What the run on the screen has shown so far, if it is this one.
fn judged(run: RunId, shared: &Shared) -> Option<&Inspected> {
    shared.watched.as_ref().filter(|watched| watched.id == run)?.inspected.as_ref()
}

/// The worst finding in short, for the line that says what to do next.
pub fn worst(shared: &Shared) -> Option<String> {
    let judged = shared.watched.as_ref()?.inspected.as_ref()?;
    let wrong = judged.wrong().next()?;
    let line = judged.line(wrong).map(|line| format!(" at {line}")).unwrap_or_default();
    Some(cut(&format!("wrong{line}: {}", wrong.seen.replace('`', "'")), IN_SHORT))
}

/// Columns of the worst finding where the screen has 80.
const IN_SHORT: usize = 56;
/// Rows of the screen that are neither findings nor what is said of one: header, footer, the frame, and the line between.
const AROUND: usize = 7;
/// Findings that show on the smallest screen.
const LEAST: usize = 4;

fn lines(window: &Findings, shared: &Shared, width: usize) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let Some(judged) = judged(window.run, shared).filter(|judged| !judged.findings.is_empty()) else {
        return wrap(nothing(shared), width).into_iter().map(Line::raw).collect();
    };
    let count = judged.findings.len();
    let chosen = window.chosen.min(count - 1);
    let sentences = sentences(judged, &judged.findings[chosen], theme, width);
    let room = usize::from(shared.size.1).saturating_sub(AROUND + sentences.len()).clamp(LEAST, count.max(LEAST));
    let first = chosen.saturating_sub(room / 2).min(count.saturating_sub(room));
    let topic = judged.findings.iter().map(|finding| width_of(finding.topic.name())).max().unwrap_or(0);
    let shown = judged.findings.iter().enumerate().skip(first).take(room);
    let mut lines: Vec<Line> =
        shown.map(|(place, finding)| entry(judged, finding, topic, (place == chosen, width), theme)).collect();
    lines.push(Line::raw(""));
    lines.extend(sentences);
    lines
}

fn nothing(shared: &Shared) -> &'static str {
    if shared.watched.as_ref().is_some_and(|watched| watched.is_going()) {
        "No rank has reported anything that can be judged yet. The first findings come with the first updates."
    } else {
        "No rank has reported anything that can be judged. Log has what the launcher and the program printed."
    }
}

/// `▶ ✗ wrong         data   train.py:31`
fn entry(judged: &Inspected, finding: &Finding, topic: usize, (is_chosen, width): (bool, usize), theme: Theme) -> Line<'static> {
    let cursor = if is_chosen { "▶" } else { " " };
    let (sign, style) = look(finding.outcome, theme);
    let outcome = left(finding.outcome.name(), Judgement::Look.name().len());
    let line = judged.line(finding).unwrap_or_default();
    let rest = format!("  {}  {}", left(finding.topic.name(), topic), printable::line(&line));
    if is_chosen {
        return Line::styled(left(&cut(&format!("{cursor} {sign} {outcome}{rest}"), width), width), theme.cursor(true));
    }
    let head = format!("{cursor} {sign} {outcome}");
    let room = width.saturating_sub(width_of(&head));
    Line::from(vec![Span::styled(head, style), Span::styled(cut(&rest, room), theme.text())])
}

/// The sign of an outcome, and how it is drawn.
fn look(outcome: Judgement, theme: Theme) -> (&'static str, Style) {
    match outcome {
        Judgement::Wrong => ("✗", theme.warn()),
        Judgement::Look => ("!", theme.strong()),
        Judgement::NotJudged => ("·", theme.dim()),
        Judgement::Ok => ("✓", theme.accent()),
    }
}

/// What was seen, at which line, what it costs, and what to write.
fn sentences(judged: &Inspected, finding: &Finding, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let styled = |text: String| {
        let style = if text.starts_with("remedy: ") { theme.strong() } else { theme.text() };
        wrapped(&text, width, style)
    };
    judged.sentences(finding).into_iter().flat_map(styled).collect()
}
