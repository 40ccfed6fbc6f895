//! The second line on top: what the answer means, and the next key; what went wrong comes before either.
//!
//! Generated images are always named as such.

use super::gain::words;
use super::hint;
use crate::dataset::is_generated;
use crate::domain::units;
use crate::runs::{AccuracyChange, accuracy_change};
use crate::tui::shared::{Shared, Watched};
use crate::tui::state::State;
use crate::tui::widgets::Part;
use crate::tui::{inspection, replay};

/// What goes first where there is no room; the cause of a loss stays longer than what the next key is for.
mod rank {
    pub const FIGURE: u8 = 8;
    pub const CAUSES: [u8; 2] = [4, 7];
    pub const WHAT_FOR: u8 = 6;
    pub const MEANING: u8 = 3;
    pub const REPLAY: u8 = 2;
    pub const OTHER_RUN: u8 = 1;
    pub const STAYS: u8 = 0;
}

pub fn parts(state: &State) -> Vec<Part> {
    let shared = &state.shared;
    let (mut meaning, next) = (meaning(shared), next(state));
    if next.is_empty() {
        // Its last part keeps both apart.
        meaning.pop();
    }
    let mut parts = marks(shared);
    // Figures of a program that does something else than was meant can wait.
    if inspection::worst(shared).is_some() && !hint::is_trouble(shared) {
        parts.extend(next);
        return parts;
    }
    let [first, second] = if hint::is_trouble(shared) { [next, meaning] } else { [meaning, next] };
    parts.extend(first);
    parts.extend(second);
    parts
}

/// That it is a recording, that images are no photos, that another run is going.
fn marks(shared: &Shared) -> Vec<Part> {
    let theme = shared.theme;
    let mut parts = Vec::new();
    if let Some(playing) = &shared.replay {
        let [time, hardware] = replay::bar(playing);
        parts.extend([Part::new(rank::STAYS, time, theme.strong()), Part::new(rank::REPLAY, hardware, theme.dim())]);
        parts.push(Part::new(rank::STAYS, " ", theme.text()));
    }
    let run = shared.summary_on_screen().filter(|_| !shared.is_starting());
    // Before there is a run, of those that the next one would get.
    let of_next = || shared.data.as_ref().filter(|_| shared.watched.is_none());
    let images = run.and_then(|run| Some(&run.record.as_ref()?.data_label)).or_else(of_next);
    if let Some(images) = images.filter(|images| is_generated(images)) {
        parts.push(Part::new(rank::STAYS, format!(" on {images} "), theme.strong()));
    }
    let other = run.and_then(|run| shared.going().filter(|other| *other != run.id));
    parts.extend(other.map(|other| Part::new(rank::OTHER_RUN, format!(" (run {other} is running) "), theme.strong())));
    parts
}

/// What the next key is, and what for. Behind a window it is dim: that key waits until the window is closed.
fn next(state: &State) -> Vec<Part> {
    let theme = state.shared.theme;
    let Some(hint) = hint::hint(state) else { return Vec::new() };
    let (keys, what_for) = hint.split_once(':').map_or((&*hint, ""), |(keys, what_for)| (keys, what_for));
    let is_waiting = !state.windows.is_empty();
    let of_key = if is_waiting { theme.dim() } else { theme.key() };
    let of_word = if is_waiting { theme.dim() } else { theme.text() };
    let mut parts = vec![Part::new(rank::STAYS, " next: ", theme.dim())];
    parts.extend(Part::with_keys(rank::STAYS, keys, of_key, of_word));
    parts.extend(Part::with_keys(rank::WHAT_FOR, what_for, of_key, of_word));
    parts
}

/// Without the next key; its last part is what stands between both.
pub fn meaning(shared: &Shared) -> Vec<Part> {
    let Some(watched) = shared.watched.as_ref().filter(|_| !shared.is_starting()) else { return Vec::new() };
    if watched.is_going() {
        return so_far(shared, watched);
    }
    let change = shared.pair().and_then(|pair| Some((pair, accuracy_change(pair.after, pair.before)?)));
    let Some((pair, change)) = change else { return accuracy(shared, watched) };
    let mut parts = changed(shared, &change);
    // The first line says both accuracies of runs on as many ranks.
    if !pair.has_other_ranks() {
        parts.retain(|part| part.rank != rank::FIGURE);
    }
    parts
}

/// `accuracy 60.1 %, -9.9 points: 282 updates instead of 564, and the rate was still climbing: epoch 3 of 5 of the warm-up`
fn changed(shared: &Shared, change: &AccuracyChange) -> Vec<Part> {
    let theme = shared.theme;
    let mut parts = vec![words(rank::FIGURE, format!(" accuracy {},", units::accuracy(change.accuracy)))];
    let loud = if change.points() < 0.0 { theme.warn() } else { theme.accent() };
    let style = if change.is_small() { theme.text() } else { loud };
    parts.push(Part::new(rank::MEANING, format!(" {:+.1} points", change.points()), style));
    if change.is_small() {
        parts.push(words(rank::CAUSES[1], ": no more than another seed makes"));
    } else {
        let joins = [": ", ", and "].into_iter().zip(rank::CAUSES);
        parts.extend(change.causes.iter().zip(joins).map(|(cause, (join, rank))| words(rank, format!("{join}{cause}"))));
    }
    parts.push(Part::new(rank::MEANING, " |", theme.dim()));
    parts
}

/// Of a run that stands alone.
fn accuracy(shared: &Shared, watched: &Watched) -> Vec<Part> {
    let summary = shared.summary(watched.id);
    let root = watched.root();
    let test = root.and_then(|root| root.test).map(|test| test.accuracy).or(summary.and_then(|run| Some(run.test?.accuracy)));
    let Some(test) = test else { return Vec::new() };
    let early = root.and_then(|root| root.early_stop);
    let early = early.map_or(String::new(), |epoch| format!(", stopped early after epoch {epoch}"));
    vec![
        words(rank::MEANING, format!(" test accuracy {}", units::accuracy(test))),
        words(rank::CAUSES[0], early),
        Part::new(rank::MEANING, " |", shared.theme.dim()),
    ]
}

/// `0:12  loss 0.532  accuracy 60.0 % after epoch 1`
fn so_far(shared: &Shared, watched: &Watched) -> Vec<Part> {
    let Some(status) = shared.status(watched.id) else { return Vec::new() };
    let elapsed = units::clock(shared.now_s.max(status.started_s) - status.started_s);
    let mut parts = vec![words(rank::MEANING, format!(" {elapsed}"))];
    if let Some(report) = watched.last_epoch() {
        let accuracy = units::accuracy(report.validated().unwrap_or(report.train).accuracy);
        parts.push(words(rank::CAUSES[1], format!("  accuracy {accuracy} after epoch {}", report.epoch)));
    }
    parts.extend(watched.step().map(|step| words(rank::FIGURE, format!("  loss {:.3}", step.loss))));
    parts.push(Part::new(rank::MEANING, " |", shared.theme.dim()));
    parts
}
