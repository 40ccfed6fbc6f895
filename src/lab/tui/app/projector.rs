//! The lecture view: the run that goes on now, in figures and curves that the last row of a lecture hall can read.
//!
//! The lowest lines hold nothing: heads are in the way.

use crate::tui::state::State;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::lecture::Lecture;
use crate::tui::chart;
use crate::tui::widgets::Theme;
use crate::tui::widgets::big_text::{Pixel, big_lines};

/// The curves are no narrower than this, and take this part of the screen, in tenths.
const CURVES: (u16, u16) = (34, 3);
/// From this width on all words stand below the figure, beside curves as high as the screen.
const WORDS: u16 = 78;
/// From this height on the words have lines of their own below figure and curves.
const TALL: u16 = 15;
/// Columns of the words beside the figure where the screen is lower, and the fewest that can be read.
const BESIDE: (u16, u16) = (36, 24);
/// Rows of the smallest figure, and its columns for each letter: of whole cells, and of half ones.
const FIGURE_ROWS: u16 = 8;
const LETTER: [u16; 2] = [8, 4];
/// More facts than this have no room below the figure.
const FACTS: usize = 2;
/// Between two columns.
const GAP: u16 = 2;

pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let (shared, lecture) = (&state.shared, Lecture::new(&state.shared));
    // The lowest eighth of the screen stays empty.
    let height = area.height.saturating_sub(area.height / 8 + 1);
    let [_, area, _] = Layout::horizontal([Constraint::Length(1), Constraint::Fill(1), Constraint::Length(1)]).areas(area);
    let [top, area] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(Rect { height, ..area });
    frame.render_widget(lecture.title(top.width.into()), top);
    let Rooms { figure, curves, words } = rooms(area, &lecture, shared.theme);
    let (width, height) = (usize::from(figure.width), usize::from(figure.height));
    let facts = lecture.facts(width);
    let has_facts = words.is_none() || facts.len() <= FACTS;
    let below = if has_facts { facts.len() } else { 0 } + if words.is_none() { lecture.least_words(width) } else { 0 };
    let rows = height.saturating_sub(below).max(FIGURE_ROWS.into()).min(height);
    let mut lines = lecture.figure().map_or(Vec::new(), |(text, style)| large(&text, style, (width, rows), shared.theme));
    lines.extend(facts.into_iter().filter(|_| has_facts));
    match words {
        None => {
            let left = height.saturating_sub(lines.len());
            let gap = left > lecture.least_words(width);
            lines.extend(gap.then(Line::default));
            lines.extend(lecture.words(width, left - usize::from(gap)));
        }
        Some(words) => {
            let (width, height) = (words.width.into(), words.height.into());
            let mut all = if has_facts { Vec::new() } else { lecture.facts(width) };
            all.extend(lecture.words(width, usize::saturating_sub(height, all.len())));
            frame.render_widget(Paragraph::new(all), words);
        }
    }
    frame.render_widget(Paragraph::new(lines), figure);
    if let Some(curves) = curves {
        chart::draw::large(frame, curves, &state.chart, shared);
    }
}

/// The text as large as it gets; one line of it where even the smallest figures have no room.
fn large(text: &str, style: Style, (columns, rows): (usize, usize), theme: Theme) -> Vec<Line<'static>> {
    let lines = big_lines(text, Pixel::largest(text.chars().count(), columns, rows, theme.ascii));
    let fits = lines.len() <= rows && lines.iter().all(|line| line.width() <= columns);
    let lines = if fits { lines } else { vec![Line::raw(text.to_owned())] };
    lines.into_iter().map(|line| line.style(style)).collect()
}

struct Rooms {
    figure: Rect,
    curves: Option<Rect>,
    /// `None` where the words stand below the figure.
    words: Option<Rect>,
}

/// Two columns, of which the second is so wide.
fn beside(area: Rect, width: u16) -> [Rect; 2] {
    Layout::horizontal([Constraint::Fill(1), Constraint::Length(width)]).spacing(GAP).areas(area)
}

fn rooms(area: Rect, lecture: &Lecture, theme: Theme) -> Rooms {
    let curves = CURVES.0.max(area.width * CURVES.1 / 10);
    let alone = Rooms { figure: area, curves: None, words: None };
    if area.height < TALL {
        return low(area, curves, lecture, theme).unwrap_or(alone);
    }
    if lecture.run.is_none() {
        return alone;
    }
    if area.width >= WORDS + GAP + curves {
        let [left, right] = beside(area, curves);
        return Rooms { figure: left, curves: Some(right), words: None };
    }
    let facts = lecture.facts(area.width.saturating_sub(curves + GAP).into()).len();
    // Many facts stand among the words.
    let [above, among] = if facts <= FACTS { [facts, 0] } else { [0, lecture.facts(area.width.into()).len()] };
    let least = FIGURE_ROWS + above as u16;
    let needed = (among + lecture.words(area.width.into(), usize::MAX).len()) as u16;
    let above = Constraint::Length(least.max(area.height.saturating_sub(needed)));
    let [above, words] = Layout::vertical([above, Constraint::Fill(1)]).areas(area);
    let [left, right] = beside(above, curves);
    Rooms { figure: left, curves: Some(right), words: Some(words) }
}

/// On a low screen the words stand beside the figure, and the curves between both where there is room. `None` where the figure
/// leaves the words no room.
fn low(area: Rect, curves: u16, lecture: &Lecture, theme: Theme) -> Option<Rooms> {
    let letters = lecture.figure().map_or(0, |(text, _)| text.chars().count()) as u16;
    let [whole, half] = LETTER.map(|columns| letters.saturating_mul(columns));
    let is_wide = theme.ascii || area.width >= whole.saturating_add(GAP + BESIDE.0);
    let figure = if is_wide { whole } else { half };
    let left = area.width.checked_sub(figure.saturating_add(GAP)).filter(|left| letters > 0 && *left >= BESIDE.1)?;
    let [figure, right] = beside(area, left);
    if lecture.run.is_none() || left < curves + GAP + BESIDE.0 {
        return Some(Rooms { figure, curves: None, words: Some(right) });
    }
    let [middle, words] = beside(right, BESIDE.0);
    Some(Rooms { figure, curves: Some(middle), words: Some(words) })
}
