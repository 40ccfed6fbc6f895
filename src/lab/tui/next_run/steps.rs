//! The ten steps, on or off, and what the one under the cursor is for.
//!
//! Never hides that a step has no effect: it says which other step it needs.

use crate::tui::actions::Pane;
use crate::tui::shared::{Mark, Shared};
use crate::tui::widgets::frame::{self, Focus};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::columns::{cut, wrap};
use crate::domain::step::{Step, StepSet};

pub fn draw(frame: &mut Frame, area: Rect, shared: &Shared, focus: Focus) {
    let theme = shared.theme;
    let steps = shared.spec.workload.steps;
    let block =
        frame::pane(shared.theme, Pane::Steps.title(), focus, vec![Span::styled(format!("{} ", summary(steps)), theme.dim())]);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let [list, about] = Layout::vertical([Constraint::Length(10), Constraint::Fill(1)]).areas(inner);
    let rows = Step::ALL.into_iter().map(|step| row(shared, focus, step, list.width as usize));
    frame.render_widget(Paragraph::new(rows.collect::<Vec<_>>()), list);
    if about.height > 1 {
        frame.render_widget(Paragraph::new(explanation(shared, about.width as usize)), about);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    pub step: Step,
    /// On its mark, which toggles.
    pub mark: bool,
}

/// The list is on top, one step a row; the mark is in the columns after the first.
pub fn hit(inner: Rect, at: Position) -> Option<Hit> {
    let step = *Step::ALL.get(usize::from(at.y - inner.y))?;
    Some(Hit { step, mark: (1..=3).contains(&(at.x - inner.x)) })
}

fn summary(steps: StepSet) -> String {
    if steps.is_empty() { "none: serial".into() } else { steps.to_string() }
}

fn row(shared: &Shared, focus: Focus, step: Step, width: usize) -> Line<'static> {
    let theme = shared.theme;
    let steps = shared.spec.workload.steps;
    let (on, effective) = (steps.contains(step), steps.is_effective(step));
    // A step that is on without step 1 is marked by a sign, not by colour alone.
    let (mark, style) = match (on, effective) {
        (true, true) => ("[x]", theme.accent()),
        (true, false) => ("[!]", theme.warn()),
        (false, _) => ("[ ]", theme.dim()),
    };
    // With a column between it and the border.
    let title = fitting(step.title(), width.saturating_sub(9));
    let done = shared.course.mark(step);
    let text = format!("{:>2} {title}", step.number());
    let at_cursor = step == shared.step;
    if at_cursor {
        let line = format!("{}{mark} {text:<rest$}", done.sign(), rest = width.saturating_sub(5));
        return Line::styled(line, theme.cursor(focus.here));
    }
    let text_style = if on { theme.text() } else { theme.dim() };
    let done_style = if done == Mark::Failed { theme.warn() } else { theme.accent() };
    Line::from(vec![
        Span::styled(done.sign(), done_style),
        Span::styled(mark, style),
        Span::raw(" "),
        Span::styled(text, text_style),
    ])
}

/// Where there is no room for a title it goes without its article.
fn fitting(title: &str, room: usize) -> String {
    if title.len() <= room { title.to_owned() } else { cut(&title.replace(" the ", " "), room) }
}

fn explanation(shared: &Shared, width: usize) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let (step, steps) = (shared.step, shared.spec.workload.steps);
    let width = width.saturating_sub(1);
    let mut lines = vec![Line::raw("")];
    let mut paragraph = |text: &str, style| {
        lines.extend(wrap(text, width).into_iter().map(|line| Line::styled(format!(" {line}"), style)));
    };
    if let Some(needed) = step.needs().filter(|_| steps.contains(step) && !steps.is_effective(step)) {
        let number = needed.number();
        paragraph(
            &format!(
                "! No effect while step {number} is off: a process that does not know about the others cannot share with them."
            ),
            theme.warn(),
        );
    }
    paragraph("Without it:", theme.strong());
    paragraph(step.without(), theme.text());
    paragraph("In Horovod:", theme.strong());
    paragraph(step.horovod(), theme.dim());
    lines
}
