//! One lesson: what to predict, the text, hints, and where to read on.
//!
//! It does not show an answer before the prediction.

use crate::tui::shared::{Mark, Shared};
use crate::tui::state::State;
use crate::tui::widgets::Sheet;
use crate::tui::widgets::markdown::styled;
use ratatui::text::{Line, Span};

use crate::columns::wrap;
use crate::course::{Answer, Lesson, Level, Outcome, Prediction, Question, QuestionId, fold};

pub fn lines(state: &State, lesson: &Lesson, hints: usize, typed: &str, width: usize) -> Vec<Line<'static>> {
    let (own, shared, theme) = (&state.lesson, &state.shared, state.shared.theme);
    let mut page = Sheet::new(theme, width, 0);
    page.text(&lesson.summary, theme.strong());
    let is_answered = |id: QuestionId| shared.course.answers.contains_key(&id);
    // The questions come first, because the text gives away the answers.
    questions(&mut page, shared, lesson, typed);
    let body = lesson.text(is_answered);
    let body = if own.is_unfolded { body.into() } else { fold(body, shared.course.writes_rust, "Press f to see them.") };
    // The text stands apart from what is above it.
    page.lines.push(Line::raw(""));
    page.lines.extend(own.rows(&body, width).iter().map(|row| styled(theme, row)));
    if lesson.keeps_back(is_answered) {
        page.title("The rest of this lesson");
        page.text("The rest gives away the answers. Answer the questions above, and it shows here.", theme.dim());
    }
    if let Some(run) = lesson.run {
        page.title("Try it");
        if lesson.step.is_some() {
            let what = " runs both, one after the other, and puts them side by side";
            page.lines.push(Line::from(vec![Span::styled("  g", theme.key()), Span::raw(what)]));
        }
        for (key, steps) in [("b", run.before), ("a", run.after)] {
            let which = steps.in_words();
            let what = format!(" runs with {which} on {} ranks for {} epochs", run.np, run.epochs);
            page.lines.push(Line::from(vec![Span::styled(format!("  {key}"), theme.key()), Span::raw(what)]));
        }
    }
    if let Some(step) = lesson.step {
        page.title("How far you are");
        let progress = &shared.course.progress;
        for (level, cell) in Level::ALL.into_iter().zip(progress.cells(step)) {
            if progress.has(step, level) {
                page.text(&format!("{} {}: {cell}", Mark::Done.sign(), level.name()), theme.accent());
            } else {
                page.text(&format!("  not {} yet: {}", level.name(), level.how(step.number())), theme.dim());
            }
        }
    }
    if let (Some(step), Some(shown)) = (lesson.step, &shared.course.shown) {
        page.title(&format!("What run {} shows", shown.run));
        for verdict in shown.verdicts.iter().filter(|verdict| verdict.number == step.number()) {
            let (sign, style) = match verdict.outcome {
                Outcome::Passed => (Mark::Done.sign(), theme.accent()),
                Outcome::Failed => (Mark::Failed.sign(), theme.warn()),
                Outcome::CannotTell => ("·", theme.text()),
            };
            page.text(&format!("{sign} {}: {}", verdict.outcome.name(), verdict.evidence), style);
        }
    }
    if !lesson.hints.is_empty() {
        page.title(&format!("Hints ({} of {})", hints.min(lesson.hints.len()), lesson.hints.len()));
        for hint in lesson.hints.iter().take(hints) {
            page.text(hint, theme.text());
        }
        if hints < lesson.hints.len() {
            page.lines.push(Line::from(vec![Span::styled("  H", theme.key()), Span::styled(" shows the next one", theme.dim())]));
        }
    }
    if !lesson.links.is_empty() {
        page.title("Read on");
        for link in &lesson.links {
            page.text(&link.title, theme.text());
            page.text(&format!("  {}", link.url), theme.dim());
        }
    }
    page.lines
}

/// Up to the one that is asked.
fn questions(page: &mut Sheet, shared: &Shared, lesson: &Lesson, typed: &str) {
    let Some((asked, _)) = shared.course.asked(lesson) else { return };
    page.title("Predict before you run");
    for (place, question) in lesson.questions.iter().enumerate().take(asked.question + 1) {
        let id = QuestionId { question: place, ..asked };
        if lesson.questions.len() > 1 {
            page.text(&format!("Question {} of {}", place + 1, lesson.questions.len()), shared.theme.dim());
        }
        prediction(page, shared, id, question, if id == asked { typed } else { "" }, id == asked);
    }
}

/// `is_asked`: keys answer this one.
fn prediction(page: &mut Sheet, shared: &Shared, id: QuestionId, question: &Question, typed: &str, is_asked: bool) {
    let theme = shared.theme;
    page.text(&question.text, theme.text());
    let answered = shared.course.answers.get(&id);
    match &question.answer {
        Answer::Choice { options, .. } => {
            for (index, option) in options.iter().enumerate() {
                let chosen = answered == Some(&Prediction::Choice(index));
                let style = if chosen { theme.strong() } else { theme.text() };
                let key = Span::styled(format!("  {}", index + 1), theme.key());
                for (line, text) in wrap(option, page.width.saturating_sub(5)).into_iter().enumerate() {
                    let before = if line == 0 { key.clone() } else { Span::raw("   ") };
                    page.lines.push(Line::from(vec![before, Span::styled(format!("  {text}"), style)]));
                }
            }
        }
        Answer::Number { .. } => {
            let shown = match answered {
                Some(Prediction::Number(number)) if typed.is_empty() => number.to_string(),
                _ => typed.to_owned(),
            };
            let (cursor, prompt) = if is_asked { ("_", " type a number, then Enter") } else { ("", "") };
            let shown = Span::styled(format!("  {shown}{cursor}"), theme.strong());
            page.lines.push(Line::from(vec![shown, Span::styled(prompt, theme.dim())]));
        }
    }
    if let Some(judged) = answered.and_then(|prediction| question.judge(*prediction)) {
        page.text(&judged.in_words(), if judged.is_right { theme.accent() } else { theme.warn() });
    }
}
