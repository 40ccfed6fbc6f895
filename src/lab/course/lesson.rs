//! One lesson: TOML front matter between two `+++` lines, then Markdown.
//!
//! A lesson that parses is complete; `proofread` lists what else an author should fix.

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use super::{Answer, Prediction, Question, QuestionId};
use crate::domain::step::{Step, StepSet};

/// The line that opens and closes the front matter.
const FENCE: &str = "+++";
/// The text below this line gives away the answers.
const ANSWERS: &str = "<!-- answers -->";

#[derive(Clone, Debug, PartialEq)]
pub struct Lesson {
    /// 0 is the introduction, 1 to 10 are the steps, what follows is free.
    pub number: usize,
    /// The file's name without number and ending: `broadcast_weights` of `04_broadcast_weights.md`.
    pub slug: String,
    /// Path of the file, as error messages name it.
    pub file: String,
    /// Lessons 1 to 10 have the step of their number, others none.
    pub step: Option<Step>,
    pub title: String,
    /// One line for lists.
    pub summary: String,
    /// Three, growing, or none.
    pub hints: Vec<String>,
    /// Questions to answer before the run, one after the other.
    pub questions: Vec<Question>,
    pub run: Option<GuidedRun>,
    pub links: Vec<Link>,
    /// Markdown.
    pub body: String,
    /// Line of the file, from 1, on which the body begins.
    pub body_line: usize,
    /// Where in the body begins what gives answers away, if anything does.
    pub answers_at: Option<usize>,
}

/// The two runs that show what a step is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuidedRun {
    /// Steps of the run that shows the failure.
    pub before: StepSet,
    pub after: StepSet,
    pub np: usize,
    pub epochs: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    pub title: String,
    pub url: String,
}

/// Something in a lesson that cannot be, with its place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("{file}:{line}: {what}")]
pub struct LessonError {
    pub file: String,
    /// From 1.
    pub line: usize,
    pub what: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FrontMatter {
    title: Spanned<String>,
    step: Option<Spanned<usize>>,
    summary: Spanned<String>,
    hints: Option<Spanned<Vec<String>>>,
    question: Option<FrontQuestion>,
    #[serde(default)]
    questions: Vec<FrontQuestion>,
    run: Option<FrontRun>,
    #[serde(default)]
    links: Vec<Link>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FrontQuestion {
    text: Spanned<String>,
    kind: Kind,
    options: Option<Spanned<Vec<String>>>,
    answer: Spanned<f64>,
    tolerance: Option<Spanned<f64>>,
    feedback: Spanned<Vec<String>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Choice,
    Number,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FrontRun {
    before: StepSet,
    after: StepSet,
    np: Spanned<usize>,
    epochs: Spanned<usize>,
}

/// The position in the front matter, in bytes, and the message of an error.
type Wrong = (Range<usize>, String);

impl Lesson {
    /// `file` is the name as errors show it; its last part must be `NN_slug.md`.
    ///
    /// # Errors
    /// The first thing that is not as it must be, with its line.
    pub fn parse(file: &str, text: &str) -> Result<Lesson, LessonError> {
        let error = |line, what: String| LessonError { file: file.to_owned(), line, what };
        let Some((number, slug)) = number_and_slug(file) else {
            return Err(error(1, "its name is not a lesson's: use NN_slug.md, such as 04_broadcast.md".into()));
        };
        // Editors elsewhere end lines with CR LF and may begin with a mark of their own.
        let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        let Some(rest) = text.strip_prefix("+++\n") else {
            return Err(error(1, format!("does not begin with a line {FENCE} for the front matter")));
        };
        let Some(end) = start_of_line(rest, FENCE) else {
            return Err(error(1, format!("the front matter is not closed by a second line {FENCE}")));
        };
        let front = &rest[..end];
        let line_of = |at: usize| 2 + rest[..at.min(end)].matches('\n').count();
        let front: FrontMatter = toml::from_str(front)
            .map_err(|wrong| error(line_of(wrong.span().map_or(0, |span| span.start)), wrong.message().replace('\n', ", ")))?;
        let body_at = (end + FENCE.len() + 1).min(rest.len());
        let body_line = 2 + rest[..body_at].matches('\n').count();
        let lesson = front.lesson(number).map_err(|(span, what)| error(line_of(span.start), what))?;
        let mut body = rest[body_at..].to_owned();
        let mark = start_of_line(&body, ANSWERS);
        if let Some(at) = mark {
            if lesson.questions.is_empty() {
                let line = body_line + body[..at].matches('\n').count();
                return Err(error(
                    line,
                    format!("{ANSWERS} hides what follows it until the questions are answered: there are none"),
                ));
            }
            // Lines keep their numbers.
            body.replace_range(at..at + ANSWERS.len(), "");
        }
        Ok(Lesson { slug, file: file.to_owned(), body, body_line, answers_at: mark, ..lesson })
    }

    /// The text that may be read: what gives answers away comes when every question has been answered once.
    pub fn text(&self, is_answered: impl Fn(QuestionId) -> bool) -> &str {
        match self.answers_at {
            Some(at) if !self.is_answered(is_answered) => &self.body[..at],
            _ => &self.body,
        }
    }

    /// Some of the text is kept back.
    pub fn keeps_back(&self, is_answered: impl Fn(QuestionId) -> bool) -> bool {
        self.answers_at.is_some() && !self.is_answered(is_answered)
    }

    fn is_answered(&self, is_answered: impl Fn(QuestionId) -> bool) -> bool {
        (0..self.questions.len()).all(|question| is_answered(QuestionId { lesson: self.number, question }))
    }

    /// The question that is to be answered: the first one that is not answered right yet, else the last one. `last` is what
    /// was answered last to a question.
    pub fn asked(&self, last: impl Fn(QuestionId) -> Option<Prediction>) -> Option<(QuestionId, &Question)> {
        let all = || (0..).map(|question| QuestionId { lesson: self.number, question }).zip(&self.questions);
        let is_open = |(id, question): &(QuestionId, &Question)| {
            last(*id).and_then(|prediction| question.judge(prediction)).is_none_or(|judged| !judged.is_right)
        };
        all().find(is_open).or_else(|| all().last())
    }
}

/// Where the first line begins that is `wanted`, apart from blanks at its end.
fn start_of_line(text: &str, wanted: &str) -> Option<usize> {
    let starts = text.split_inclusive('\n').scan(0, |at, line| Some((std::mem::replace(at, *at + line.len()), line)));
    starts.filter(|(_, line)| line.trim_end() == wanted).map(|(start, _)| start).next()
}

/// `lessons/04_broadcast.md` is number 4, slug `broadcast`.
pub(super) fn number_and_slug(file: &str) -> Option<(usize, String)> {
    let (number, slug) = file.rsplit('/').next()?.strip_suffix(".md")?.split_once('_')?;
    let is_number = number.len() == 2 && number.bytes().all(|byte| byte.is_ascii_digit());
    let is_slug = !slug.is_empty() && slug.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    (is_number && is_slug).then(|| Some((number.parse().ok()?, slug.to_owned())))?
}

impl FrontMatter {
    /// Without slug, file and body.
    fn lesson(self, number: usize) -> Result<Lesson, Wrong> {
        for (name, text) in [("title", &self.title), ("summary", &self.summary)] {
            if text.get_ref().trim().is_empty() || text.get_ref().contains('\n') {
                return Err((text.span(), format!("the {name} must be one line of text")));
            }
        }
        let step = match &self.step {
            None if (1..=10).contains(&number) => {
                return Err((self.title.span(), format!("lesson {number} is a step's: it needs `step = {number}`")));
            }
            Some(step) if *step.get_ref() != number || Step::from_number(number).is_none() => {
                let what = format!("step {} in the file of lesson {number}: lessons 01 to 10 are steps 1 to 10", step.get_ref());
                return Err((step.span(), what));
            }
            _ => self.step.and_then(|step| Step::from_number(step.into_inner())),
        };
        let hints = match self.hints {
            None => Vec::new(),
            Some(hints) if hints.get_ref().len() == 3 && hints.get_ref().iter().all(|hint| !hint.trim().is_empty()) => {
                hints.into_inner()
            }
            Some(hints) => {
                return Err((hints.span(), format!("{} hints: a lesson has exactly three, none empty", hints.get_ref().len())));
            }
        };
        Ok(Lesson {
            number,
            slug: String::new(),
            file: String::new(),
            step,
            title: self.title.into_inner(),
            summary: self.summary.into_inner(),
            hints,
            questions: self.question.into_iter().chain(self.questions).map(FrontQuestion::question).collect::<Result<_, _>>()?,
            run: self.run.map(FrontRun::run).transpose()?,
            links: self.links,
            body: String::new(),
            body_line: 0,
            answers_at: None,
        })
    }
}

impl FrontQuestion {
    fn question(self) -> Result<Question, Wrong> {
        if self.text.get_ref().trim().is_empty() {
            return Err((self.text.span(), "the question has no text".into()));
        }
        let (answer_at, answer) = (self.answer.span(), self.answer.into_inner());
        let (feedback_at, feedback) = (self.feedback.span(), self.feedback.into_inner());
        let answer = match self.kind {
            Kind::Choice => {
                if let Some(tolerance) = self.tolerance {
                    return Err((tolerance.span(), "a choice has no tolerance".into()));
                }
                let options = match self.options {
                    Some(options) if options.get_ref().len() >= 2 => options.into_inner(),
                    Some(options) => return Err((options.span(), "a choice needs at least two options".into())),
                    None => return Err((self.text.span(), "a choice needs options".into())),
                };
                if feedback.len() != options.len() {
                    let what = format!("{} options and {} feedbacks: one for each option", options.len(), feedback.len());
                    return Err((feedback_at, what));
                }
                if answer.fract() != 0.0 || !(0.0..options.len() as f64).contains(&answer) {
                    let what = format!("answer {answer} is not an option: they count from 0 to {}", options.len() - 1);
                    return Err((answer_at, what));
                }
                Answer::Choice { options, right: answer as usize, feedback }
            }
            Kind::Number => {
                if let Some(options) = self.options {
                    return Err((options.span(), "a question for a number has no options".into()));
                }
                let tolerance = match self.tolerance {
                    Some(tolerance) if tolerance.get_ref().is_finite() && *tolerance.get_ref() >= 0.0 => tolerance.into_inner(),
                    Some(tolerance) => return Err((tolerance.span(), "the tolerance is negative or no number".into())),
                    None => return Err((answer_at, "a number needs a tolerance, 0 for exactly".into())),
                };
                if !answer.is_finite() {
                    return Err((answer_at, "the answer is not a finite number".into()));
                }
                let feedback = <[String; 3]>::try_from(feedback).map_err(|given| {
                    (feedback_at, format!("{} feedbacks: a number has three, for right, too low and too high", given.len()))
                })?;
                Answer::Number { right: answer, tolerance, feedback }
            }
        };
        Ok(Question { text: self.text.into_inner(), answer })
    }
}

impl FrontRun {
    fn run(self) -> Result<GuidedRun, Wrong> {
        for (name, number) in [("np", &self.np), ("epochs", &self.epochs)] {
            if !(1..=1000).contains(number.get_ref()) {
                return Err((number.span(), format!("{name} {} is not in 1 to 1000", number.get_ref())));
            }
        }
        Ok(GuidedRun { before: self.before, after: self.after, np: self.np.into_inner(), epochs: self.epochs.into_inner() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_gives_answers_away_is_kept_back_until_every_question_is_answered() {
        let question =
            "[[questions]]\ntext = \"?\"\nkind = \"number\"\nanswer = 1\ntolerance = 0\nfeedback = [\"a\", \"b\", \"c\"]\n";
        let text = |questions: &str| format!("+++\ntitle = \"t\"\nsummary = \"s\"\n{questions}+++\nfirst\n{ANSWERS}\nlast\n");
        let lesson = Lesson::parse("17_x.md", &text(&question.repeat(2))).unwrap();
        assert_eq!(lesson.body, "first\n\nlast\n", "nobody reads the mark");
        let answered = |count: usize| move |id: QuestionId| id.question < count;
        assert_eq!([0, 1, 2].map(|count| lesson.text(answered(count))), ["first\n", "first\n", "first\n\nlast\n"]);
        assert_eq!([0, 1, 2].map(|count| lesson.keeps_back(answered(count))), [true, true, false]);
        let error = Lesson::parse("17_x.md", &text("")).unwrap_err();
        assert!(error.line == 6 && error.what.contains("there are none"), "{error}");
    }
}
