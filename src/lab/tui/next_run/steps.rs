//! The ten steps, on or off, and what the one under the cursor is for.
//!
//! Never hides that a step has no effect: it says which other step it needs.

use crate::tui::actions::Pane;
use crate::tui::shared::{Mark, Shared};
use crate::tui::widgets::{Focus, frame, indented};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::columns::{cut, fitting as fitting_bytes};
use crate::domain::step::Step;

pub fn draw(frame: &mut Frame, area: Rect, shared: &Shared, focus: Focus) {
    let theme = shared.theme;
    let steps = shared.spec.workload.steps;
    let summary = if steps.is_empty() { "none: serial ".to_owned() } else { format!("{steps} ") };
    let mut block = frame::pane(shared.theme, Pane::Steps.title(), focus, vec![Span::styled(summary, theme.dim())]);
    if let Some(legend) = legend(shared) {
        block = block.title_bottom(Line::styled(legend, theme.dim()));
    }
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let [list, about] = Layout::vertical([Constraint::Length(10), Constraint::Fill(1)]).areas(inner);
    let rows = Step::ALL.into_iter().map(|step| row(shared, focus, step, list.width as usize));
    frame.render_widget(Paragraph::new(rows.collect::<Vec<_>>()), list);
    if about.height > 1 {
        frame.render_widget(Paragraph::new(explanation(shared, about.width as usize, about.height as usize)), about);
    }
}

/// The step under the pointer, and whether that is on its mark, which toggles. The list is on top, one step a row; the mark is in the
/// columns after the first.
pub fn hit(inner: Rect, at: Position) -> Option<(Step, bool)> {
    let step = *Step::ALL.get(usize::from(at.y - inner.y))?;
    Some((step, (1..=3).contains(&(at.x - inner.x))))
}

/// The marks before the steps in words, as far as there are any.
fn legend(shared: &Shared) -> Option<String> {
    let words = [(Mark::Seen, "seen in a run"), (Mark::Done, "done"), (Mark::Failed, "failed")];
    let is_shown = |mark: Mark| Step::ALL.into_iter().any(|step| shared.course.mark(step) == mark);
    let shown = words.into_iter().filter(|(mark, _)| is_shown(*mark)).map(|(mark, word)| format!(" {} {word} ", mark.sign()));
    Some(shown.collect::<String>()).filter(|legend| !legend.is_empty())
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

/// What happens without the step, and its code. Where there is no room for all, the code stays whole longest.
fn explanation(shared: &Shared, width: usize, height: usize) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let (step, steps) = (shared.step, shared.spec.workload.steps);
    let width = width.saturating_sub(1);
    let paragraph = |text: &str, style| indented(text, width, style);
    let needed = step.needs().filter(|_| steps.contains(step) && !steps.is_effective(step)).map(|needed| {
        let number = needed.number();
        format!("! No effect while step {number} is off: a rank that does not know about the others cannot share with them.")
    });
    let mut lines = vec![Line::raw("")];
    lines.extend(needed.iter().flat_map(|needed| paragraph(needed, theme.warn())));
    lines.extend(paragraph("Without it:", theme.strong()));
    lines.extend(paragraph(step.without(), theme.text()));
    let mut code = [paragraph("In Horovod:", theme.strong()), paragraph(step.horovod(), theme.dim())].concat();
    if lines.len() + code.len() > height {
        lines.remove(0);
    }
    shorten(&mut code, width, height);
    shorten(&mut lines, width, height - code.len());
    lines.extend(code);
    lines
}

/// The lines that there is room for; the last one says that others are missing.
fn shorten(lines: &mut Vec<Line<'static>>, width: usize, room: usize) {
    if lines.len() <= room {
        return;
    }
    lines.truncate(room);
    if let Some(last) = lines.last_mut() {
        let text = last.to_string();
        *last = Line::styled(format!("{} …", &text[..fitting_bytes(&text, width.saturating_sub(1))]), last.style);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::testing::samples;
    use crate::tui::tests::{pane, press};
    use crossterm::event::KeyCode;

    #[test]
    fn the_code_of_a_step_is_whole_or_says_that_it_is_cut() {
        let squeezed = |text: &str| text.chars().filter(|sign| !" │\"\n".contains(*sign)).collect::<String>();
        for (width, height) in [(60, 16), (80, 24), (100, 30), (110, 32), (120, 36), (120, 40), (150, 45), (200, 60)] {
            let mut state = samples::never_used();
            state.slot = Pane::Steps;
            for step in Step::ALL {
                assert_eq!(state.shared.step, step);
                let shown = pane(&state, Pane::Steps, width, height);
                let code = shown.split("In Horovod:").nth(1);
                let is_whole = code.is_some_and(|code| squeezed(code).contains(&squeezed(step.horovod())));
                let has_room = shown.lines().count() > 16;
                assert!(is_whole || !has_room && (code.is_none() || shown.contains('…')), "{step} at {width}x{height}:\n{shown}");
                press(&mut state, KeyCode::Down);
            }
        }
    }
}
