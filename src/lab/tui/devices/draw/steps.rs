//! The step of each rank as a bar: what it computes, waits for data, and waits for other ranks; and which rank is the slowest.
//!
//! Ranks report their phases once an epoch, so the bar is a mean step of the last epoch that all have ended.

use std::collections::BTreeMap;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::cells;
use crate::columns;
use crate::tui::shared::phases::{MeanStep, straggler};
use crate::tui::shared::{Shared, has_steps, phases};
use crate::tui::widgets::Theme;

/// ` slowest`, or ` 16 ms`.
const FIGURE: usize = 8;
/// From this width on the slowest rank has both.
const BOTH: usize = 36;

#[derive(Clone, Debug, Default)]
pub struct Steps {
    epoch: usize,
    by_rank: BTreeMap<usize, MeanStep>,
    slowest: Option<usize>,
    longest_ms: f64,
    /// Why a rank has no bar.
    why: &'static str,
}

impl Steps {
    /// Of the run on the screen.
    pub fn of(shared: &Shared) -> Steps {
        let Some(watched) = &shared.watched else { return Steps::default() };
        let newest = watched.phases().newest();
        let all = newest.map(|epoch| watched.phases().mean_steps(epoch)).unwrap_or_default();
        // A program of the user's own may report epochs without phases.
        let steps: Vec<MeanStep> = all.iter().map(|(step, _)| *step).filter(|step| step.total_ms() > 0.0).collect();
        let why = match shared.summary(watched.id) {
            _ if !steps.is_empty() => "no epoch yet",
            Some(run) if !has_steps(run) => "no steps",
            _ if newest.is_some() => "no phases",
            _ if watched.is_going() => "after epoch 1",
            _ => "ended no epoch",
        };
        Steps {
            epoch: newest.unwrap_or(0),
            slowest: straggler(&steps).ok().map(|found| found.process),
            longest_ms: steps.iter().map(MeanStep::total_ms).fold(0.0, f64::max),
            by_rank: steps.into_iter().map(|step| (step.process, step)).collect(),
            why,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.by_rank.is_empty()
    }

    /// What the bars are, in the longest words that leave the head of the figures its room.
    pub fn title(&self, width: usize) -> String {
        if self.is_empty() {
            return "a step".to_owned();
        }
        let (epoch, total) = (self.epoch, in_ms(self.longest_ms));
        let long = [format!("a step, mean of epoch {epoch}: {total}"), format!("mean step: {total}")];
        let mut titles = long.into_iter().chain(["a mean step", "a step"].map(str::to_owned));
        let left = width.saturating_sub(FIGURE);
        let title = titles.find(|title| columns::width(title) <= left).unwrap_or_default();
        format!("{title:<left$}{:>FIGURE$}", "waits")
    }

    pub fn legend(&self, theme: Theme) -> Line<'static> {
        let entries = looks(theme).map(|(sign, style, words)| {
            [Span::styled(format!(" {sign}"), style), Span::styled(format!(" {words}"), theme.dim())]
        });
        let name = Span::styled(format!(" epoch {}:", self.epoch), theme.dim());
        Line::from_iter([name].into_iter().chain(entries.into_iter().flatten()).chain([Span::raw(" ")]))
    }

    /// A rank's bar, and for how long it waits for others; the slowest is named.
    pub fn bar(&self, theme: Theme, rank: usize, width: usize) -> Vec<Span<'static>> {
        let Some(step) = self.by_rank.get(&rank) else { return vec![cells::left(self.why, width, theme.dim())] };
        let is_slowest = self.slowest == Some(rank);
        let parts = step.parts_ms();
        let name = if width >= BOTH && self.slowest.is_some() { FIGURE } else { 0 };
        let room = width.saturating_sub(FIGURE + name);
        let drawn = phases::cells(&parts, self.longest_ms, room);
        let rest = room - drawn.iter().sum::<usize>();
        let drawn = looks(theme).into_iter().zip(drawn);
        let mut spans: Vec<Span> = drawn.map(|((sign, style, _), cells)| Span::styled(sign.repeat(cells), style)).collect();
        spans.push(Span::raw(" ".repeat(rest)));
        if name > 0 {
            spans.push(cells::right(if is_slowest { "slowest" } else { "" }, name, theme.warn()));
        }
        let waits = in_ms(parts[2]);
        let (figure, style) = if is_slowest && name == 0 { ("slowest", theme.warn()) } else { (waits.as_str(), theme.text()) };
        spans.push(cells::right(figure, FIGURE.min(width), style));
        spans
    }
}

/// The parts of a step in the order of [`MeanStep::parts_ms`]: sign, style and name. The sign tells them apart without colours.
fn looks(theme: Theme) -> [(&'static str, Style, &'static str); 3] {
    [("█", theme.accent(), "computes"), ("▄", theme.text(), "loads data"), ("░", theme.dim(), "waits")]
}

fn in_ms(ms: f64) -> String {
    match ms {
        ..9.95 => format!("{ms:.1} ms"),
        ..9_999.5 => format!("{ms:.0} ms"),
        _ => format!("{:.0} s", ms / 1000.0),
    }
}
