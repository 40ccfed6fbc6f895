//! What the window of the collectives shows, as lines.

mod chart;
mod picture;
mod round;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::crossing::is_reference;
use super::state::{Collectives, Show};
use crate::columns::{capital, cut};
use crate::domain::collective::CollectivesSpec;
use crate::domain::run::RunState;
use crate::domain::units;
use crate::tui::shared::Shared;
use crate::tui::widgets::{Theme, wrapped};

/// With fewer rows a problem has one.
const LEAST_FOR_ALL: usize = 14;

/// `Run 3: ring on 4 ranks, messages`, or that no run has made what is shown.
pub fn title(own: &Collectives) -> String {
    let run = own.run.map_or("Collectives".to_owned(), |run| format!("Run {run}"));
    match (own.show, &own.log) {
        (Show::Messages, Some(log)) => {
            let source = match own.run {
                _ if log.is_measured => "messages of one allreduce",
                Some(_) => "schedule, not a log",
                None => "schedule, no run",
            };
            format!("{run}: {} on {}, {source}", log.method, units::counted(log.ranks, "rank"))
        }
        (Show::Messages, None) => format!("{run}: {}", own.method()),
        (show, _) => {
            let link = own.spec.as_ref().and_then(CollectivesSpec::link).map_or(String::new(), |link| format!(", {link}"));
            format!("{run}: {} on {}{link}", show.name(), units::counted(own.ranks, "rank"))
        }
    }
}

pub fn lines(own: &Collectives, shared: &Shared, width: usize, height: usize) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let mut lines = vec![tabs(own, theme, width)];
    // Where the window is low, the first line of it says enough.
    let problem = match own.show {
        Show::Messages => own.log_problem.clone(),
        _ if own.ranks == 1 && !own.measured.rows.is_empty() => {
            Some("One rank exchanges nothing: these times are what the call alone takes.".to_owned())
        }
        _ => own.measured.problem().map(|problem| format!("{}.", capital(&problem))),
    };
    let problem = problem.map(|text| wrapped(&text, width, theme.warn())).unwrap_or_default();
    let most = if height < LEAST_FOR_ALL { 1 } else { problem.len() };
    lines.extend(problem.into_iter().take(most));
    let room = height.saturating_sub(lines.len());
    let rest = match (own.show, &own.log) {
        (Show::Messages, Some(log)) => picture::lines(own, log, theme, width, room),
        (Show::Messages, None) => said(&no_messages(own), theme.dim(), width),
        _ if own.measured.rows.is_empty() => said(&nothing_yet(own, shared), theme.dim(), width),
        _ => chart::lines(own, theme, width, room),
    };
    lines.extend(rest);
    lines.truncate(height.max(1));
    // The window keeps its place, whatever it shows.
    lines.resize(height.max(1), Line::raw(""));
    lines
}

fn said(text: &str, style: Style, width: usize) -> Vec<Line<'static>> {
    std::iter::once(Line::raw("")).chain(wrapped(text, width, style)).collect()
}

fn no_messages(own: &Collectives) -> String {
    match own.method() {
        "" => "No method was measured yet.".to_owned(),
        method if is_reference(method) => {
            format!(
                "{method}: the library does not tell which messages it sends, so there is nothing to play. Its times are in the charts."
            )
        }
        method => format!("{method}: this run logged no messages of it."),
    }
}

fn nothing_yet(own: &Collectives, shared: &Shared) -> String {
    let ended = own.run.and_then(|run| Some((run, shared.status(run).filter(|status| status.state.is_over())?)));
    match (own.run, ended) {
        _ if own.is_starting => "The run is starting. Its rows appear here as they are measured.".to_owned(),
        _ if own.is_reading => "Its rows are being read.".to_owned(),
        (_, Some((run, status))) if status.state == RunState::Finished => {
            format!("Run {run} finished, and its events hold no row: they were changed or damaged since. Enter measures again.")
        }
        (_, Some((run, status))) => format!("Run {run} measured nothing: it {}.", status.end_in_words()),
        (Some(_), None) => "The rows of the table appear here as they are measured.".to_owned(),
        (None, _) => {
            "No run has measured collectives yet, so there is no chart: Enter starts one. ← shows the schedules.".to_owned()
        }
    }
}

/// The methods with the chosen one, or above a chart what else can be shown.
fn tabs(own: &Collectives, theme: Theme, width: usize) -> Line<'static> {
    let (names, chosen) = match own.show {
        Show::Messages => (own.methods(), own.method),
        show => (Show::ALL.map(Show::name).to_vec(), show as usize),
    };
    // As many before the chosen one as leave room for it.
    let wide = |first: usize| names.iter().take(chosen + 1).skip(first).map(|name| name.chars().count() + 3).sum::<usize>();
    let first = (0..=chosen).find(|first| wide(*first) <= width).unwrap_or(chosen);
    let mut spans = Vec::new();
    let mut left = width;
    for (place, name) in names.iter().enumerate().skip(first) {
        let text = cut(&format!(" {name} "), left);
        left = left.saturating_sub(text.chars().count() + 1);
        let style = if place == chosen { theme.cursor(true) } else { theme.dim() };
        spans.extend([Span::styled(text, style), Span::raw(" ")]);
        if left < 4 {
            break;
        }
    }
    Line::from(spans)
}
