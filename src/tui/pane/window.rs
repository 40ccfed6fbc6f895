//! The windows in front of the panes: help, details and questions.
//!
//! Never more than one, and never without the keys that answer it.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

use super::super::course_view::Mark;
use super::super::keymap::{self, Binding, Command};
use super::super::layout::places;
use super::super::mode::Mode;
use super::super::state::{Pane, State};
use super::{centred, compare, cut, details, devices, diff, exercise, help, lesson, palette, series, window_frame};
use crate::domain::units;

pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    if let Some(page) = page(state, area) {
        return page.draw(frame, state);
    }
    if let Mode::Palette { typed, chosen } = &state.mode {
        palette::draw(frame, area, state, typed, *chosen);
    }
    if let Some(question) = question(state) {
        question.draw(frame, area, state);
    }
}

/// What a click means while a window is in front.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WindowHit {
    Outside,
    Answer(Command),
    /// An entry of the palette, by its place.
    Entry(usize),
    /// On what answers to no click.
    Inside,
}

/// `None` where no window is in front.
pub fn hit(state: &State, area: Rect, at: Position) -> Option<WindowHit> {
    if let Mode::Palette { typed, chosen } = &state.mode {
        return Some(match palette::hit(area, at, typed, *chosen) {
            Some(entry) => WindowHit::Entry(entry),
            None if palette::place(area).contains(at) => WindowHit::Inside,
            None => WindowHit::Outside,
        });
    }
    let question = question(state);
    let place = match &question {
        Some(question) => Question::place(&question.lines(state), area),
        None => page(state, area)?.place,
    };
    if !place.contains(at) {
        return Some(WindowHit::Outside);
    }
    let answers = question.filter(|_| at.y + 2 == place.bottom()).and_then(|_| {
        // Behind the frame and its padding.
        let mut from = place.x + 2;
        answers_in_force(state).into_iter().find_map(|(binding, text)| {
            let answer = Rect::new(from, at.y, text.trim_end().chars().count() as u16, 1);
            from += text.chars().count() as u16;
            answer.contains(at).then_some(WindowHit::Answer(binding.command))
        })
    });
    Some(answers.unwrap_or(WindowHit::Inside))
}

struct Question {
    title: &'static str,
    text: Vec<String>,
}

fn question(state: &State) -> Option<Question> {
    let ask = |title, text: [String; 2]| Some(Question { title, text: text.into() });
    match &state.mode {
        Mode::ConfirmReset { step, .. } => Some(Question { title: "Reset", text: exercise::reset_question(state, *step) }),
        Mode::ConfirmAblation => Some(Question { title: "Ablation", text: series::ablation_question(state).to_vec() }),
        Mode::Continue { run, done, more } => {
            let epochs = units::counted(*more, "more epoch");
            ask(
                "Continue",
                [
                    format!("Train run {run} for {epochs}?"),
                    format!("From its last checkpoint, to {} epochs in total.", done + more),
                ],
            )
        }
        Mode::ConfirmStop { run } => {
            ask("Stop", [format!("Stop run {run}?"), "What it has measured stays; its checkpoints too.".into()])
        }
        Mode::ConfirmDelete { run } => {
            let name = state.summary(*run).and_then(|run| run.record.as_ref()?.name.as_deref());
            let name = name.map_or(String::new(), |name| format!(", {}", cut(&crate::runs::safe(name), 40)));
            ask("Delete", [format!("Delete run {run}{name}?"), "It goes to the trash: u brings it back.".into()])
        }
        Mode::ConfirmStart { going } => ask(
            "Start another run?",
            [format!("Run {going} is still going."), "Two runs share the devices, so neither measures its speed.".into()],
        ),
        Mode::Quit { going } => ask(
            "Quit",
            [format!("Run {going} is still going."), "It can go on without the screen: the next start shows it again.".into()],
        ),
        _ => None,
    }
}

impl Question {
    fn lines(&self, state: &State) -> Vec<Line<'static>> {
        let text = self.text.iter().map(|line| Line::raw(line.clone()));
        let mut lines: Vec<Line> = std::iter::once(Line::raw("")).chain(text).chain([Line::raw("")]).collect();
        lines.push(answers(state));
        lines
    }

    fn place(lines: &[Line], area: Rect) -> Rect {
        let width = lines.iter().map(Line::width).max().unwrap_or(0) as u16 + 6;
        centred(area, width, lines.len() as u16 + 2)
    }

    fn draw(&self, frame: &mut Frame, area: Rect, state: &State) {
        let lines = self.lines(state);
        let place = Question::place(&lines, area);
        frame.render_widget(Clear, place);
        frame.render_widget(Paragraph::new(lines).block(window_frame(state, self.title)), place);
    }
}

/// The keys in force, from the table, as the question names them.
fn answers_in_force(state: &State) -> Vec<(&'static Binding, String)> {
    let shown = keymap::active(state.mode.kind(), Pane::Steps).filter(|binding| !binding.label.is_empty());
    shown.map(|binding| (binding, format!("{} {}   ", binding.key, binding.label))).collect()
}

fn answers(state: &State) -> Line<'static> {
    Line::from_iter(answers_in_force(state).into_iter().flat_map(|(binding, text)| {
        [Span::styled(binding.key, state.theme.key()), Span::raw(text[binding.key.len()..].to_owned())]
    }))
}

/// A window of more lines than may fit.
struct Page {
    title: String,
    place: Rect,
    lines: Vec<Line<'static>>,
    scroll: usize,
}

/// How far the window in front can be scrolled on a screen of some size.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reach {
    pub last: usize,
    /// What Page down moves by: all but one line of what is shown, so that the eye finds its place.
    pub page: usize,
}

pub fn reach(state: &State, area: Rect) -> Reach {
    page(state, area).map_or_else(Reach::default, |page| Reach {
        last: page.hidden(),
        page: usize::from(page.place.height).saturating_sub(3).max(1),
    })
}

fn page(state: &State, area: Rect) -> Option<Page> {
    let body = places(area, None, state.slot, 0, &state.habits.shares)?.body;
    let width = body.width.saturating_sub(4);
    let (title, width, lines, scroll) = match &state.mode {
        Mode::Help { scroll, words, typing } => ("Help".to_owned(), width.min(78), help::lines(state, words, *typing), *scroll),
        Mode::Details { run, scroll } => {
            let width = width.min(110);
            (format!("Run {run}"), width, details::lines(state, *run, width.saturating_sub(4) as usize), *scroll)
        }
        Mode::Device { scroll } => {
            let row = state.devices.chosen()?;
            let width = width.min(90);
            let lines = devices::details(state, row, width.saturating_sub(4) as usize);
            (format!("{} on {}", row.title(), row.sample.host), width, lines, *scroll)
        }
        Mode::Compare { run, scroll } => {
            let width = width.min(110);
            let title = state.baseline().map_or(format!("Run {run}"), |with| format!("Run {run} against run {}", with.id));
            (title, width, compare::lines(state, *run, width.saturating_sub(4) as usize), *scroll)
        }
        Mode::Lesson { number, scroll, hints, typed } => {
            let lesson = state.course.lessons.lesson(*number)?;
            let width = width.min(96);
            let lines = lesson::lines(state, lesson, *hints, typed, width.saturating_sub(4) as usize);
            let title = match lesson.step {
                None => "Lesson".to_owned(),
                Some(step) => match state.course.mark(step) {
                    Mark::Done => format!("Step {}/10 ✓ done", step.number()),
                    Mark::Failed => format!("Step {}/10 ✗ failed", step.number()),
                    Mark::NotYet => format!("Step {}/10 not done yet", step.number()),
                },
            };
            (format!("{title}  {}", lesson.title), width, lines, *scroll)
        }
        Mode::Exercise { scroll } => {
            let width = width.min(110);
            (exercise::TITLE.to_owned(), width, exercise::lines(state, width.saturating_sub(4) as usize), *scroll)
        }
        Mode::Diff { step, mine, scroll } => {
            // Programs need all the room there is.
            let width = body.width;
            (
                diff::title(*step, *mine),
                width,
                diff::lines(state, *step, *mine, (width as usize).saturating_sub(diff::FRAME)),
                *scroll,
            )
        }
        Mode::Series { scroll } => {
            let width = width.min(110);
            let title = state.course.series.as_ref().map_or(String::new(), |series| sentence(&series.name()));
            (title, width, series::lines(state, width.saturating_sub(4) as usize), *scroll)
        }
        _ => return None,
    };
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
    Some(Page { title, place: centred(body, width, height), lines, scroll })
}

/// With a capital.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

impl Page {
    fn hidden(&self) -> usize {
        self.lines.len().saturating_sub(self.place.height.saturating_sub(2) as usize)
    }

    fn draw(self, frame: &mut Frame, state: &State) {
        let (hidden, all) = (self.hidden(), self.lines.len());
        let scroll = self.scroll.min(hidden);
        let mut block = window_frame(state, &self.title);
        if hidden > 0 {
            let position = format!(" {} to {} of {all} lines, ↑↓ ", scroll + 1, all - hidden + scroll);
            block = block.title_bottom(Line::styled(position, state.theme.dim()).right_aligned());
        }
        let shown: Vec<Line> = self.lines.into_iter().skip(scroll).collect();
        frame.render_widget(Clear, self.place);
        frame.render_widget(Paragraph::new(shown).block(block), self.place);
    }
}
