//! The speed-up of the shown run in the words of the header, in several lengths.

use crate::tui::state::State;
use ratatui::text::{Line, Span};

use crate::domain::run::{RunState, RunStatus};
use crate::domain::units;
use crate::runs::busy_host;
use crate::tui::shared::gain::{Gain, shortened};
use crate::tui::shared::is_of_collectives;
use crate::tui::widgets::Theme;

/// Columns of the bar of what was gained against what is ideal.
const BAR: usize = 10;

/// One line in several lengths.
pub struct Wording {
    /// The longest first.
    pub texts: Vec<Line<'static>>,
    /// It says why something went wrong, or is not known, which should be read to its end.
    pub reason: bool,
}

impl Wording {
    fn one(line: Line<'static>, reason: bool) -> Wording {
        Wording { texts: vec![line], reason }
    }
}

pub fn wording(state: &State) -> Wording {
    let (shared, theme) = (&state.shared, state.shared.theme);
    if shared.is_starting() {
        return Wording::one(Line::styled(" a run is starting …", theme.accent()), false);
    }
    let Some(watched) = &shared.watched else {
        let text = if shared.listed { " no run yet: press " } else { " reading the runs … press " };
        let (key, dim) = (|key| Span::styled(key, theme.key()), |text| Span::styled(text, theme.dim()));
        return Wording::one(Line::from(vec![dim(text), key("r"), dim(" to run, "), key("?"), dim(" for help")]), false);
    };
    let id = watched.id;
    let name = |so_far: bool| Span::styled(format!(" run {id}{}: ", if so_far { " so far" } else { "" }), theme.strong());
    // Nothing can be gained yet, and this may take minutes: images are fetched, devices are waited for.
    if let Some(status) = shared.status(id).filter(|status| status.state == RunState::Preparing) {
        return Wording::one(Line::from(vec![name(false), Span::raw(status.message.clone())]), true);
    }
    let failed = shared.status(id).filter(|status| status.state == RunState::Failed);
    let Some(run) = shared.summary(id).filter(|_| failed.is_none()) else {
        // A run that has just started is not in the list yet.
        let why = failed.map_or("its record has not been read yet".to_owned(), cause);
        return Wording::one(Line::from(vec![name(false), Span::raw(why)]), true);
    };
    if is_of_collectives(run) {
        let key = Span::styled("C", theme.key());
        let words = |what: &'static str, shows: &'static str| {
            Line::from(vec![name(false), Span::raw(what), key.clone(), Span::raw(shows)])
        };
        let texts = vec![words("collectives; ", " shows their times and messages"), words("collectives; ", " shows them")];
        return Wording { texts, reason: false };
    }
    match (shared.gain(run), shared.baseline()) {
        (Ok(gain), _) => gained(theme, &name(gain.so_far), &gain),
        (Err(_), Some(baseline)) if baseline.id == id => {
            let rate = shared
                .figures(run)
                .images_per_sec
                .map_or("no images/s yet".into(), |rate| format!("{} images/s", units::rate(rate)));
            let ranks = units::counted(run.figures.np, "rank");
            // Before there are others, what it is for is still to come.
            let of = if shared.runs.len() > 1 { " of all other runs" } else { " of the runs to come" };
            let text = format!("{rate} on {ranks}, the baseline{of}");
            let texts = [text.clone(), text.replace(of, "")];
            Wording { texts: texts.map(|text| Line::from(vec![name(false), Span::raw(text)])).into(), reason: false }
        }
        (Err(reason), _) => Wording::one(
            Line::from(vec![
                name(false),
                Span::raw("speed-up "),
                Span::styled("–", theme.strong()),
                Span::raw(format!(" ({reason})")),
            ]),
            true,
        ),
    }
}

/// Which rank failed, and why, in the words of the launcher.
pub fn cause(status: &RunStatus) -> String {
    match (status.failed_process, status.message.strip_prefix("process ")) {
        (Some(_), Some(rest)) => format!("rank {rest}"),
        (Some(process), None) => format!("rank {process}: {}", status.message),
        (None, _) => status.message.clone(),
    }
}

fn gained(theme: Theme, name: &Span<'static>, gain: &Gain) -> Wording {
    let line = |spans: Vec<Span<'static>>| {
        let figure = Span::styled(gain.times(), theme.key());
        Line::from_iter([name.clone(), figure, Span::raw(format!(" run {}", gain.baseline))].into_iter().chain(spans))
    };
    let on = Span::raw(format!(" {}", gain.on()));
    match gain.efficiency {
        Ok(part) => {
            let efficiency = Span::raw(format!(", {} efficiency", units::percent(part)));
            let [full, rest] = theme.gauge(gain.speedup / gain.ideal, BAR, theme.accent());
            let bar = [Span::raw(" "), full, rest, Span::raw(format!(" of {}", gain.of()))];
            let with_bar = |spans: Vec<Span<'static>>| line(spans.into_iter().chain(bar.clone()).collect());
            let whole = with_bar(vec![on.clone(), efficiency.clone()]);
            let busy = gain.disturbed.map(|part| format!(" ({})", busy_host::others_in_words(part)));
            let busy = busy.map(|busy| Line::from_iter(whole.spans.iter().cloned().chain([Span::styled(busy, theme.warn())])));
            let shorter = vec![whole, with_bar(vec![efficiency.clone()]), line(vec![efficiency]), line(Vec::new())];
            Wording { texts: busy.into_iter().chain(shorter).collect(), reason: false }
        }
        Err(reason) => {
            let none = |reason: &str| Span::raw(format!(", efficiency – {reason}"));
            let texts = vec![
                line(vec![on.clone(), none(reason)]),
                line(vec![on, none(shortened(reason))]),
                line(vec![none(shortened(reason))]),
            ];
            Wording { texts, reason: true }
        }
    }
}
