//! The first line on top: what the ranks gained, about the two runs that answer it.
//!
//! No figure stands there of a run that shared its machine: the reason does.

use ratatui::style::Style;

use crate::domain::run::{RunState, RunStatus};
use crate::domain::units;
use crate::runs::{RunSummary, accuracy_change};
use crate::tui::replay;
use crate::tui::shared::gain::{Gain, Pair, shortened};
use crate::tui::shared::{Shared, Watched, has_steps, is_of_collectives};
use crate::tui::state::State;
use crate::tui::widgets::{Part, bar, fitted, sign};

/// Columns of each of the two bars, the widest first; without any where none has room.
const BARS: [usize; 4] = [24, 16, 10, 6];

/// What goes first where there is no room, from the name of the program to what belongs to the answer.
pub mod rank {
    pub const BAR: u8 = 10;
    pub const LAB: u8 = 9;
    pub const SHARED_WITH: u8 = 8;
    pub const STATE: u8 = 7;
    pub const EPOCH: u8 = 6;
    pub const LETTER: u8 = 5;
    pub const PART_DONE: u8 = 4;
    pub const MORE: u8 = 3;
    pub const RUN: u8 = 2;
    pub const IDEAL: u8 = 1;
    pub const ANSWER: u8 = 0;
}

pub fn parts(state: &State, width: usize) -> Vec<Part> {
    let shared = &state.shared;
    let lab = match shared.replay {
        Some(_) => Part::new(rank::ANSWER, replay::REPLAY, shared.theme.strong()),
        None => Part::new(rank::LAB, " hvd-lab ", shared.theme.key()),
    };
    let (Some(watched), false) = (&shared.watched, shared.is_starting()) else {
        return std::iter::once(lab).chain(without_run(shared)).collect();
    };
    let mut parts = vec![lab];
    parts.extend(how_it_stands(shared, watched));
    let pair = shared.pair();
    let with_bars = |cells: usize| {
        let answer = answer(shared, watched, pair, cells);
        parts.iter().cloned().chain(answer).collect::<Vec<Part>>()
    };
    let mut wider = BARS.into_iter().map(with_bars);
    wider.find(|parts| fitted::width(parts) <= width).unwrap_or_else(|| with_bars(0))
}

pub fn words(rank: u8, text: impl AsRef<str>) -> Part {
    Part::new(rank, text, Style::new())
}

fn without_run(shared: &Shared) -> Vec<Part> {
    let theme = shared.theme;
    if shared.is_starting() {
        return vec![Part::new(rank::ANSWER, " a run is starting …", theme.accent())];
    }
    let found = if shared.listed { "no run yet:" } else { "reading the runs …" };
    Part::with_keys(rank::ANSWER, &format!(" {found} press `r` to run, `?` for help"), theme.key(), theme.dim())
}

/// ` run 2 ▶ running  epoch 2/3 55 %`
fn how_it_stands(shared: &Shared, watched: &Watched) -> Vec<Part> {
    let theme = shared.theme;
    let mut parts = vec![Part::new(rank::RUN, format!(" run {} ", watched.id), theme.strong())];
    let Some(status) = shared.status(watched.id) else { return parts };
    parts.push(Part::new(rank::RUN, sign(status.state), theme.state(status.state)));
    // Why a run failed begins with that word, and is long: rather than which run it was, its end goes.
    if status.state == RunState::Failed {
        parts.iter_mut().for_each(|part| part.rank = rank::ANSWER);
    } else {
        parts.push(Part::new(rank::STATE, format!(" {}", status.state.name()), theme.state(status.state)));
    }
    if let Some(place) = watched.place().filter(|_| status.state == RunState::Running) {
        parts.push(words(rank::EPOCH, format!("  {place}")));
        parts.push(words(rank::PART_DONE, format!(" {:.0} %", watched.progress() * 100.0)));
    }
    parts
}

fn answer(shared: &Shared, watched: &Watched, pair: Option<Pair>, cells: usize) -> Vec<Part> {
    let theme = shared.theme;
    let status = shared.status(watched.id);
    let said = |text: String, style: Style| vec![Part::new(rank::ANSWER, text, style)];
    if let Some(status) = status.filter(|status| status.state == RunState::Failed) {
        return said(format!(" failed: {}", cause(status)), theme.warn());
    }
    // Nothing can be gained yet, and this may take minutes: images are fetched, devices are waited for.
    if let Some(status) = status.filter(|status| status.state == RunState::Preparing) {
        return said(format!("  {}", status.message), theme.text());
    }
    if let Some(loss) = status.filter(|status| status.state == RunState::Running).and_then(RunStatus::loss) {
        return said(format!("  {loss}"), theme.warn());
    }
    let Some(run) = shared.summary(watched.id) else {
        // A run that has just started is not in the list yet.
        return said("  its record has not been read yet".into(), theme.dim());
    };
    if is_of_collectives(run) {
        return collectives(shared, run);
    }
    match pair {
        Some(pair) if pair.has_other_ranks() => of_other_ranks(shared, pair, cells),
        Some(pair) => of_as_many_ranks(shared, pair),
        None => alone(shared, run),
    }
}

/// Which rank failed, and why, in the words of the launcher.
pub fn cause(status: &RunStatus) -> String {
    match status.failed_process {
        Some(process) if !status.message.starts_with("rank ") => format!("rank {process}: {}", status.message),
        _ => status.message.clone(),
    }
}

fn collectives(shared: &Shared, run: &RunSummary) -> Vec<Part> {
    let status = shared.status(run.id).map_or(String::new(), |status| status.message.clone());
    let mut parts = Part::with_keys(rank::ANSWER, "  collectives; `C` shows them", shared.theme.key(), Style::new());
    parts.push(words(rank::MORE, format!("  {status}")));
    parts
}

/// `1 rank 2959/s ████····  2 ranks 5581/s ███████·  1.89x of 2x, 94 %`
fn of_other_ranks(shared: &Shared, pair: Pair, cells: usize) -> Vec<Part> {
    let ideal = pair.after.figures.np as f64 / pair.before.figures.np.max(1) as f64;
    if let Some(reason) = shared_machine(shared, &pair.runs()) {
        return reason;
    }
    // As long as the faster run would be if more ranks cost nothing.
    let most = shared.figures(pair.before).images_per_sec.map(|rate| rate * ideal);
    let mut parts: Vec<Part> =
        pair.runs().into_iter().flat_map(|run| measured(shared, run, most.map(|most| (most, cells)))).collect();
    match shared.gain_over(pair.after, pair.before) {
        Ok(gain) => {
            let is_fair = pair.runs().into_iter().all(|run| shared.is_fair(run));
            parts.extend(gained(shared, &gain, is_fair));
        }
        Err(reason) => parts.push(Part::new(rank::MORE, format!("  {reason}"), shared.theme.dim())),
    }
    parts
}

/// The figures of a run that another one, or another program, slowed down would be no answer.
fn shared_machine(shared: &Shared, runs: &[&RunSummary]) -> Option<Vec<Part>> {
    let [what, more] = runs.iter().find_map(|run| shared.shared_machine(run))?;
    let warn = |rank: u8, text: String| Part::new(rank, text, shared.theme.warn());
    Some(vec![warn(rank::ANSWER, format!("  not measured: {what}")), warn(rank::SHARED_WITH, more)])
}

/// The ranks of a run and its images per second, in the chart's letter and colour; dim until they are fair.
fn measured(shared: &Shared, run: &RunSummary, bar_of: Option<(f64, usize)>) -> Vec<Part> {
    let theme = shared.theme;
    let (letter, colour) = (shared.pins.letter(run.id), shared.pins.slot(run.id).map_or(theme.accent(), |slot| theme.run(slot)));
    let letter = letter.map_or(String::new(), |letter| format!("{letter} "));
    let ranks = units::counted(run.figures.np, "rank");
    let rate = shared.figures(run).images_per_sec;
    let style = if shared.is_fair(run) { theme.text() } else { theme.dim() };
    let mut parts =
        vec![words(rank::ANSWER, "  "), Part::new(rank::LETTER, letter, colour), Part::new(rank::ANSWER, ranks, style)];
    if let Some(rate) = rate {
        parts.push(Part::new(rank::ANSWER, format!(" {}/s", units::rate(rate)), style));
    }
    if let Some(((most, cells), rate)) = bar_of.filter(|(_, cells)| *cells > 0).zip(rate) {
        let (full, rest) = bar(rate / most, cells);
        parts.push(Part::new(rank::BAR, format!(" {full}"), colour));
        parts.push(Part::new(rank::BAR, rest, theme.dim()));
    }
    parts
}

fn gained(shared: &Shared, gain: &Gain, is_fair: bool) -> Vec<Part> {
    let theme = shared.theme;
    let style = if is_fair { theme.key() } else { theme.dim() };
    let mut parts =
        vec![Part::new(rank::ANSWER, format!("  {}", gain.times()), style), words(rank::IDEAL, format!(" of {}", gain.of()))];
    match gain.efficiency {
        Ok(part) => parts.push(Part::new(rank::ANSWER, format!(", {}", units::percent(part)), style)),
        Err(reason) => {
            let short = shortened(reason);
            parts.push(Part::new(rank::ANSWER, format!(", {short}"), theme.warn()));
            parts.push(Part::new(rank::MORE, &reason[short.len()..], theme.warn()));
        }
    }
    if gain.so_far {
        parts.push(Part::new(rank::STATE, " so far", theme.dim()));
    }
    parts
}

/// `2 ranks without step 4: accuracy 61.2 % instead of 74.8 %, 5581/s instead of 5600/s`
pub fn of_as_many_ranks(shared: &Shared, pair: Pair) -> Vec<Part> {
    let mut parts =
        vec![words(rank::ANSWER, format!("  {} {}", units::counted(pair.after.figures.np, "rank"), pair.difference()))];
    let accuracy = accuracy_change(pair.after, pair.before);
    if let Some(change) = &accuracy {
        let text = format!(": accuracy {} instead of {}", units::accuracy(change.accuracy), units::accuracy(change.before));
        parts.push(Part::new(rank::ANSWER, text, shared.theme.key()));
    }
    // A colon goes with what follows it: a line never ends in one.
    let (join, apart, rank) = if accuracy.is_some() { (", ", "; ", rank::IDEAL) } else { (": ", ": ", rank::ANSWER) };
    // Ranks that share no work have no speed to speak of.
    parts.push(if let Some([what, more]) = pair.runs().iter().find_map(|run| shared.shared_machine(run)) {
        Part::new(rank::MORE, format!("{join}{what}{more}"), shared.theme.warn())
    } else if let Err(reason) = shared.gain_over(pair.after, pair.before) {
        words(rank::MORE, format!("{apart}no speed-up: {}", shortened(reason)))
    } else {
        let [before, after] = pair.runs().map(|run| shared.figures(run).images_per_sec.map_or("–".into(), units::rate));
        words(rank, format!("{join}{after}/s instead of {before}/s"))
    });
    parts
}

/// A run that cannot be compared with any other: its own figure, and what an answer takes.
fn alone(shared: &Shared, run: &RunSummary) -> Vec<Part> {
    let theme = shared.theme;
    let rate = shared.figures(run).images_per_sec;
    let own = shared.watched.as_ref().filter(|watched| watched.id == run.id && (watched.is_going() || rate.is_none()));
    if let Some(logged) = own.and_then(Watched::logged) {
        return vec![words(rank::ANSWER, format!("  {}", logged.in_short()))];
    }
    // A run that ended before it measured anything has a better reason.
    let may_measure = rate.is_some() || !shared.run_state(run).is_over();
    if let Some(reason) = shared_machine(shared, &[run]).filter(|_| may_measure) {
        return reason;
    }
    let mut parts = if run.figures.np > 0 { measured(shared, run, None) } else { Vec::new() };
    let status = shared.status(run.id).map_or(String::new(), |status| status.message.clone());
    // Else the reason says it.
    if !has_steps(run) && may_measure {
        parts.push(words(rank::MORE, format!("  {status}")));
    }
    let is_first = shared.baseline().is_none_or(|baseline| baseline.id == run.id);
    let other = shared.going().filter(|going| *going != run.id);
    let need = match (rate, shared.gain(run)) {
        (None, _) if !shared.run_state(run).is_over() => "  images/s appear after the first seconds".to_owned(),
        (None, _) if has_steps(run) => format!("  no images/s: {status}"),
        (None, _) => format!("  {status}"),
        (Some(_), _) if is_first => match other {
            Some(other) => format!(". Its gain may come with run {other}"),
            None => format!(". Its gain needs a run on {}", if run.figures.np > 1 { "1 rank" } else { "2 ranks" }),
        },
        (Some(_), Err(reason)) => format!("  no speed-up: {reason}"),
        (Some(_), Ok(_)) => String::new(),
    };
    parts.push(Part::new(rank::ANSWER, need, theme.text()));
    if !may_measure && !has_steps(run) {
        parts.push(words(rank::MORE, ", and reported no images/s"));
    }
    parts
}
