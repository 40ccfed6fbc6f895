//! What the lecture view says: the gain or why there is none, the step that is off, what each rank holds, and the question.

use std::collections::BTreeSet;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::gain::{cause, of_as_many_ranks, rank};
use super::meaning::meaning;
use crate::columns::{cut, left, wrap};
use crate::course::{Answer as Answers, Prediction};
use crate::domain::run::RunState;
use crate::domain::step::{Step, StepSet};
use crate::domain::{printable, units};
use crate::runs::{RunId, RunSummary, accuracy_change, busy_host};
use crate::tui::shared::gain::{Gain, Pair};
use crate::tui::shared::{Shared, is_of_own, ranks};
use crate::tui::widgets::{Part, wrapped};

/// The signs of a digest that are shown: enough to see whether two are equal.
const DIGEST: usize = 6;
/// Ranks whose weights are named one by one.
const FEW_RANKS: usize = 4;
/// Rows from which on more is said than has to be.
const ROOMY: usize = 17;
const NEXT_RUN: &str = "`-` and `+` change the ranks of the next run, `r` starts it.";

/// What there is to say first.
enum Answer<'a> {
    Gain(Gain),
    /// Two runs on as many ranks differ in their accuracy.
    Accuracy(Pair<'a>),
    /// The run failed.
    Trouble,
    /// No two runs can be compared.
    Alone,
}

/// One run, and what is said of it.
pub struct Lecture<'a> {
    shared: &'a Shared,
    /// The run that goes on, else the chosen one.
    shown: Option<RunId>,
    /// The run that is spoken of: another one where the shown run has finished and cannot be compared.
    pub run: Option<RunId>,
    answer: Answer<'a>,
}

/// The step to speak of: the one under the cursor if the run left it out or the next run changes it, else the first one that the
/// run left out.
fn step(shared: &Shared, run: Option<RunId>) -> Step {
    let (step, next) = (shared.step, shared.spec.workload.steps);
    let Some(steps) = steps_of(shared, run) else { return step };
    let is_meant = !steps.contains(step) || !next.contains(step);
    let is_off = |step: &Step| !steps.contains(*step);
    if is_meant { step } else { Step::ALL.into_iter().find(is_off).unwrap_or(step) }
}

/// The step that the view speaks of now.
pub fn step_of_the_view(shared: &Shared) -> Step {
    step(shared, Lecture::new(shared).run)
}

fn steps_of(shared: &Shared, run: Option<RunId>) -> Option<StepSet> {
    Some(shared.summary(run?)?.record.as_ref()?.training()?.steps)
}

impl<'a> Lecture<'a> {
    pub fn new(shared: &'a Shared) -> Lecture<'a> {
        let going = shared.going();
        let shown = going.or(shared.watched.as_ref().map(|watched| watched.id));
        let has_failed = |run| shared.status(run).is_some_and(|status| status.state == RunState::Failed);
        // The pair of the first line on top, so that both say the same.
        let pair = shared.pair().filter(|pair| pair.runs().iter().any(|run| Some(run.id) == shown));
        let own = pair.filter(|pair| pair.has_other_ranks()).and_then(|pair| shared.gain_over(pair.after, pair.before).ok());
        let as_many = pair.filter(|pair| !pair.has_other_ranks() && accuracy_change(pair.after, pair.before).is_some());
        let gain = own.or_else(|| shared.best_gain().filter(|_| going.is_none() && as_many.is_none()));
        let (run, answer) = match gain {
            _ if shown.is_some_and(has_failed) => (shown, Answer::Trouble),
            Some(gain) => {
                let is_in_pair = |run: &RunId| [gain.run, gain.baseline].contains(run);
                (shown.filter(is_in_pair).or(Some(gain.run)), Answer::Gain(gain))
            }
            None => (shown, as_many.map_or(Answer::Alone, Answer::Accuracy)),
        };
        Lecture { shared, shown, run, answer }
    }

    fn row(&self) -> Option<&'a RunSummary> {
        self.shared.summary(self.run?)
    }

    fn is_going(&self) -> bool {
        self.run.and_then(|run| self.shared.status(run)).is_some_and(|status| !status.state.is_over())
    }

    /// `run 2 (two ranks) so far against run 1`, and the way back.
    pub fn title(&self, width: usize) -> Line<'static> {
        let theme = self.shared.theme;
        let text = match (&self.answer, self.run) {
            (Answer::Gain(gain), _) => {
                let so_far = if gain.so_far { " so far" } else { "" };
                format!("{}{so_far} against {}", self.named(gain.run), self.named(gain.baseline))
            }
            (Answer::Accuracy(pair), _) => format!("{} against {}", self.named(pair.after.id), self.named(pair.before.id)),
            (_, Some(run)) => {
                let state = self.shared.status(run).map_or("", |status| status.state.name());
                let ranks = self.row().map_or(String::new(), RunSummary::on_ranks);
                format!("{}{ranks}: {state}", self.named(run))
            }
            (_, None) => "no run yet".to_owned(),
        };
        let back = theme.keyed("`P` or `Esc`: back", theme.dim());
        let text = format!("{} ", left(&text, width.saturating_sub(back.width() + 1)));
        std::iter::once(Span::styled(text, theme.strong())).chain(back).collect()
    }

    /// `run 2 (two ranks)`
    fn named(&self, run: RunId) -> String {
        let name = self.shared.summary(run).and_then(|run| run.record.as_ref()?.request.name.as_deref());
        name.map_or(format!("run {run}"), |name| format!("run {run} ({})", printable::line(name)))
    }

    /// What is written as large as it gets: the gain in the colour of its run, dim while it may still change much.
    pub fn figure(&self) -> Option<(String, Style)> {
        let theme = self.shared.theme;
        let colour = self.colour(if let Answer::Gain(gain) = &self.answer { gain.run } else { self.run? });
        let rate = |row: &'a RunSummary| Some(format!("{}/s", self.shared.shown_rate(row)?));
        let is_early = self.is_going() && self.row().is_none_or(|row| row.figures.images_per_sec.is_none());
        let style = if is_early { colour.patch(theme.dim()) } else { colour };
        match &self.answer {
            // A figure of a busy machine steps back.
            Answer::Gain(gain) if gain.disturbed.is_some() => Some((gain.times(), style.patch(theme.dim()))),
            Answer::Gain(gain) => Some((gain.times(), style)),
            // Without its space it is larger.
            Answer::Accuracy(pair) => Some((units::accuracy(pair.after.test?.accuracy).replace(' ', ""), style)),
            Answer::Trouble => {
                let rank = self.failed_ranks().first().map_or("failed".to_owned(), |rank| format!("rank {rank}"));
                Some((rank, theme.warn()))
            }
            Answer::Alone => Some((self.row().and_then(rate)?, style)),
        }
    }

    /// The colour that the run has in the chart.
    fn colour(&self, run: RunId) -> Style {
        let theme = self.shared.theme;
        self.shared.pins.slot(run).map_or(theme.strong(), |slot| theme.run(slot))
    }

    fn failed_ranks(&self) -> Vec<usize> {
        let blamed = self.run.and_then(|run| self.shared.status(run)?.failed_process);
        let is_watched = self.shared.watched.as_ref().is_some_and(|watched| Some(watched.id) == self.run);
        Some(ranks::failed(self.shared)).filter(|failed| is_watched && !failed.is_empty()).unwrap_or(blamed.into_iter().collect())
    }

    /// What the figure means, or what is missing.
    pub fn facts(&self, width: usize) -> Vec<Line<'static>> {
        match &self.answer {
            Answer::Gain(gain) => self.gained(gain, width),
            Answer::Accuracy(pair) => self.changed(*pair, width),
            Answer::Trouble => self.trouble(width),
            Answer::Alone => self.missing(width),
        }
    }

    fn gained(&self, gain: &Gain, width: usize) -> Vec<Line<'static>> {
        let (shared, theme) = (self.shared, self.shared.theme);
        let ranks = shared.summary(gain.baseline).map_or(1, |run| run.figures.np);
        let efficiency = format!("{} against {ranks}: {}", units::counted(gain.np, "rank"), gain.efficiency_in_words());
        let of = format!(" {} of {}", gain.times(), gain.of());
        let [full, rest] =
            theme.gauge(gain.speedup / gain.ideal, width.saturating_sub(of.chars().count()), self.colour(gain.run));
        let mut lines = wrapped(&efficiency, width, theme.strong());
        lines.push(Line::from(vec![full, rest, Span::raw(of)]));
        let busy = gain.disturbed.map(busy_host::others_in_words);
        lines.extend(busy.into_iter().flat_map(|busy| wrapped(&busy, width, theme.warn())));
        // The run on the screen, where this is the gain of another one.
        let other = self.shown.filter(|shown| Some(*shown) != self.run);
        let why = other.and_then(|run| Some(format!("run {run}: {}", shared.gain(shared.summary(run)?).err()?)));
        lines.extend(why.into_iter().flat_map(|why| wrapped(&why, width, theme.dim())));
        lines
    }

    /// What the two lines on top say, with all of the causes.
    fn changed(&self, pair: Pair, width: usize) -> Vec<Line<'static>> {
        let text = |parts: Vec<Part>| parts.into_iter().map(|part| part.span.content).collect::<String>();
        let theme = self.shared.theme;
        let mut answer = of_as_many_ranks(self.shared, pair);
        answer.retain(|part| part.rank <= rank::IDEAL);
        let mut lines = wrapped(text(answer).trim(), width, theme.strong());
        let why = text(meaning(self.shared));
        lines.extend(wrapped(why.trim_end_matches([' ', '|']).trim(), width, theme.text()));
        lines
    }

    /// Which rank failed, and why: in the words of the launcher, then in its own.
    fn trouble(&self, width: usize) -> Vec<Line<'static>> {
        let (shared, theme) = (self.shared, self.shared.theme);
        let Some(status) = self.run.and_then(|run| shared.status(run)) else { return Vec::new() };
        let failed = self.failed_ranks();
        // Where the rank printed nothing, the launcher's notice stands there, which says the cause once more.
        let is_notice = status.last_lines.iter().any(|line| line.contains("noticed that process"));
        let last_line = || status.last_lines.last().filter(|_| !is_notice).cloned();
        let own = failed.first().and_then(|rank| shared.watched.as_ref()?.fatal(*rank)).or_else(last_line);
        let mut lines = wrapped(&cause(status), width, theme.strong());
        lines.extend(own.into_iter().flat_map(|own| wrapped(&own, width, theme.text())));
        if let [_, others @ ..] = &failed[..]
            && !others.is_empty()
        {
            lines.extend(wrapped(&format!("after it {} failed too", units::counted(others.len(), "rank")), width, theme.text()));
        }
        lines
    }

    /// No two runs can be compared: why, and what to do.
    fn missing(&self, width: usize) -> Vec<Line<'static>> {
        let (shared, theme) = (self.shared, self.shared.theme);
        // While a run goes on, nothing is to be started.
        let keys = if shared.replay.is_some() || self.is_going() { "" } else { NEXT_RUN };
        let run = self.row();
        // It has only just begun: wait.
        let waits = self.run.filter(|_| self.is_going() && run.is_none_or(|run| shared.shown_rate(run).is_none()));
        if let Some(status) = waits.and_then(|run| shared.status(run)) {
            let text =
                if status.state == RunState::Preparing { &status.message } else { "images/s appear after the first seconds" };
            return wrapped(text, width, theme.dim());
        }
        let (what, how) = match (shared.baseline(), run) {
            (None, None) => {
                ("No runs yet".to_owned(), "Run once on 1 rank and once on 2 ranks, with the same settings.".to_owned())
            }
            (None, Some(run)) if is_of_own(run) => {
                let what = format!("Run {} of your own program has told no images/s", run.id);
                return wrapped(&format!("{what}: `i` says what was read of it"), width, theme.strong());
            }
            (None, Some(run)) => {
                let what = format!("Run {}{} has measured no speed yet", run.id, run.on_ranks());
                (what, "Let it end an epoch, then run on more ranks.".to_owned())
            }
            (Some(baseline), run) => {
                let why = run.filter(|run| run.id != baseline.id).and_then(|run| Some((run.id, shared.gain(run).err()?)));
                let why = why.map(|(run, why)| format!("No speed-up of run {run}: {why}"));
                if let Some(why) = why.as_ref().filter(|_| self.is_going()) {
                    return wrapped(why, width, theme.strong());
                }
                let what = why.unwrap_or("Only one run can be compared so far".to_owned());
                let np = baseline.figures.np;
                let (np, other) = (units::counted(np, "rank"), units::counted(if np == 1 { 2 } else { 1 }, "rank"));
                (what, format!("Run {} is measured on {np}. Run the same settings on {other}.", baseline.id))
            }
        };
        let mut lines = wrapped(&what, width, theme.strong());
        lines.extend(theme.with_keys(&format!("{how} {keys}"), width));
        lines
    }

    /// Rows that the words take when they are as few as possible.
    pub fn least_words(&self, width: usize) -> usize {
        let step = step(self.shared, self.run);
        self.step(step, width, false).len() + self.question(step, width, false).len()
    }

    /// The step, what each rank holds, and the question: as much of it as the rows have room for.
    pub fn words(&self, width: usize, rows: usize) -> Vec<Line<'static>> {
        let step = step(self.shared, self.run);
        let mut lines = self.step(step, width, rows >= ROOMY);
        let left = rows.saturating_sub(lines.len());
        let whole = self.question(step, width, true);
        lines.extend((!whole.is_empty() && whole.len() < left).then(Line::default));
        // A question without its last answer would be another question.
        let fits = |question: &Vec<Line>| question.len() <= left;
        lines.extend([whole, self.question(step, width, false)].into_iter().find(fits).unwrap_or_default());
        lines.truncate(rows);
        lines
    }

    fn step(&self, step: Step, width: usize, roomy: bool) -> Vec<Line<'static>> {
        let (shared, theme) = (self.shared, self.shared.theme);
        let switched = |steps: StepSet| if steps.contains(step) { "on" } else { "off" };
        let (own, next) = (steps_of(shared, self.run), switched(shared.spec.workload.steps));
        let state = match (own.map(switched), self.run) {
            (Some(own), Some(run)) if own == next => format!("{own} in run {run}"),
            (Some(own), Some(run)) => format!("{own} in run {run}, {next} in the next run"),
            _ => format!("{next} in the next run"),
        };
        let mut lines = wrapped(&format!("step {} {state}: {}", step.number(), step.title()), width, theme.strong());
        lines.extend(wrapped(step.horovod(), width, theme.text()));
        if roomy {
            lines.extend(wrapped(&format!("Without it: {}", step.without()), width, theme.text()));
        }
        lines.extend(self.weights(width));
        if roomy {
            let off: StepSet = Step::ALL.into_iter().filter(|step| own.is_some_and(|own| !own.contains(*step))).collect();
            let several =
                (off.iter().count() > 1).then(|| format!("run {} leaves out steps {off}", self.run.unwrap_or(RunId(0))));
            lines.extend(several.into_iter().flat_map(|text| wrapped(&text, width, theme.dim())));
        }
        lines
    }

    /// Whether the ranks hold the same weights. Nothing where there is one rank, or none has said so.
    fn weights(&self, width: usize) -> Vec<Line<'static>> {
        let theme = self.shared.theme;
        let watched = self.shared.watched.as_ref().filter(|watched| Some(watched.id) == self.run);
        let np = self.row().and_then(|row| row.record.as_ref()).map_or(0, |record| record.np());
        let Some((epoch, held)) = watched.filter(|_| np > 1).and_then(|watched| watched.weights(np)) else { return Vec::new() };
        let when = if epoch == 0 { "at the start".to_owned() } else { format!("after epoch {epoch}") };
        let short = |digest: &str| digest.chars().take(DIGEST).collect::<String>();
        let different = held.iter().collect::<BTreeSet<_>>().len();
        if different == 1 {
            let text = format!("{np} ranks hold the same weights {when}: {}", short(held[0]));
            return wrapped(&text, width, theme.text());
        }
        let each: Vec<String> = held.iter().enumerate().map(|(rank, held)| format!("rank {rank} {}", short(held))).collect();
        let named = format!("different weights {when}: {}", each.join(", "));
        let counted = format!("{np} ranks hold {different} different weights {when}");
        wrapped(if np <= FEW_RANKS { &named } else { &counted }, width, theme.warn())
    }

    /// The question of the step's lesson with the answers to choose from; not `whole`: its last sentence, and
    /// at most a line for each answer.
    fn question(&self, step: Step, width: usize, whole: bool) -> Vec<Line<'static>> {
        let (shared, theme) = (self.shared, self.shared.theme);
        let lesson = shared.course.lessons.of_step(step);
        let Some((id, question)) = lesson.and_then(|lesson| shared.course.asked(lesson)) else { return Vec::new() };
        let (answered, mut has_options) = (shared.course.answers.get(&id).copied(), false);
        let mut lines = wrapped(if whole { &question.text } else { last_sentence(&question.text) }, width, theme.strong());
        if let Answers::Choice { options, .. } = &question.answer {
            let options = options.iter().enumerate().flat_map(|(index, option)| {
                let style = if answered == Some(Prediction::Choice(index)) { theme.key() } else { theme.text() };
                let text = format!("{}) {option}", char::from(b'a' + (index % 26) as u8));
                let wrapped = if whole { wrap(&text, width) } else { vec![cut(&text, width)] };
                wrapped.into_iter().map(move |line| Span::styled(line, style))
            });
            for option in options {
                match lines.last_mut() {
                    // Short ones share a line where lines are few.
                    Some(line) if !whole && has_options && line.width() + 2 + option.width() <= width => {
                        line.extend([Span::raw("  "), option])
                    }
                    _ => lines.push(Line::from(option)),
                }
                has_options = true;
            }
        }
        if whole {
            let judged = answered.and_then(|answer| question.judge(answer));
            lines.extend(match judged {
                Some(judged) => wrapped(&judged.in_words(), width, if judged.is_right { theme.accent() } else { theme.warn() }),
                None => theme.with_keys("`w`: the lesson, where you answer", width),
            });
        }
        lines
    }
}

/// The question itself, without what comes before it.
fn last_sentence(text: &str) -> &str {
    let end = text.rfind('?').map_or(text.len(), |at| at + 1);
    let start = text[..end].rfind(". ").map_or(0, |at| at + 2);
    &text[start..end]
}
