//! For a lecture hall: the step and the speed-up in figures that the last row can read.
//!
//! Never puts anything vital on the lowest lines, where heads are in the way.

use super::features::State;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::columns::cut;
use crate::domain::step::Step;
use crate::domain::units;
use crate::tui::widgets::big_text::{Width, big_lines};

pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let theme = state.shared.theme;
    let (step, steps) = (state.shared.step, state.shared.spec.workload.steps);
    // The lowest quarter stays empty.
    let [_, figures, words, marks, _] = Layout::vertical([
        Constraint::Length(area.height.saturating_sub(18) / 4),
        Constraint::Length(9),
        Constraint::Length(2),
        Constraint::Length(4),
        Constraint::Min(area.height / 6),
    ])
    .areas(area);
    let halves = |area| Layout::horizontal([Constraint::Fill(2), Constraint::Fill(3)]).areas::<2>(area);
    let [left, right] = halves(figures);
    big(frame, left, state, step.number().to_string(), theme.accent());
    let run = state.shared.watched.as_ref().and_then(|watched| state.shared.summary(watched.id));
    let gained = run.and_then(|run| state.shared.comparison(run).ok()).and_then(|gained| Some((gained, gained.speedup?)));
    if let Some((_, speedup)) = gained {
        big(frame, right, state, format!("{speedup:.2}x"), theme.warn());
    }
    let [left, right] = halves(words);
    let switched = if steps.contains(step) { "on" } else { "off" };
    let title = vec![
        Line::styled(cut(&format!(" {}", step.title()), left.width as usize), theme.strong()),
        Line::raw(format!(" step {} of 10, {switched}", step.number())),
    ];
    frame.render_widget(Paragraph::new(title), left);
    let said = match (run, gained) {
        (None, _) => ["no run yet".into(), "r starts one".into()],
        (Some(run), None) => {
            let reason = state.shared.comparison(run).err().unwrap_or("it has nothing to compare with yet");
            [format!("run {} has no speed-up to show", run.id), reason.to_owned()]
        }
        (Some(run), Some((gained, _))) => {
            let baseline = state.shared.baseline().map_or(String::new(), |baseline| format!(" over run {}", baseline.id));
            let np = run.record.as_ref().map_or(run.figures.np, |record| record.np());
            let efficiency = gained.scaling_efficiency.map_or("N/A".into(), units::percent);
            [format!("speed-up of run {}{baseline}", run.id), format!("np {np}, scaling efficiency {efficiency}")]
        }
    };
    let said = said.map(|line| Line::raw(cut(&line, right.width as usize)));
    frame.render_widget(Paragraph::new(said.to_vec()), right);
    let mark = |other: Step| {
        let text = format!(" [{}]{} ", if steps.contains(other) { "x" } else { " " }, other.number());
        Span::styled(text, if other == step { theme.cursor(true) } else { theme.text() })
    };
    let marks_of_all = Line::from_iter(Step::ALL.map(mark));
    let way_back = Line::from(vec![Span::styled(" P", theme.key()), Span::styled(" shows the panes again", theme.dim())]);
    frame.render_widget(Paragraph::new(vec![Line::raw(""), marks_of_all, Line::raw(""), way_back]), marks);
}

fn big(frame: &mut Frame, area: Rect, state: &State, text: String, style: Style) {
    // Half blocks are not ASCII; whole cells are as large as they are readable.
    let is_wide = usize::from(area.width) > text.chars().count() * 8;
    let width = if state.shared.theme.ascii || is_wide { Width::Eight } else { Width::Four };
    let area = Rect { x: area.x + 1, width: area.width.saturating_sub(1), ..area };
    frame.render_widget(Paragraph::new(big_lines(&text, width).to_vec()).style(style), area);
}
