//! One run against the baseline: what it gained, what was asked for differently, and how the runs scale.
//!
//! Never compares what cannot be compared: the reason stands there instead.

use super::ask::export;
use super::state::{Runs, baseline_of, chosen, cost_name};
use crate::tui::actions::On::{Char, Code, Ctrl};
use crate::tui::actions::{Action, Binding, Command, row};
use crate::tui::shared::Shared;
use crate::tui::state::{About, Outcome, Page, State, View, Window};
use crate::tui::widgets::Sheet;
use crossterm::event::KeyCode as K;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::columns::{self, cut};
use crate::domain::units;
use crate::runs::scaling::{Point, Scaling};
use crate::runs::{Report, Row, RunId, RunSummary, Source, busy_host, references};
use crate::tui::shared::scaling_chart::{self, Mark, ScalingChart};
use crate::tui::widgets::axis::decimals;

/// Columns of a fact's name, and of each of the two values.
const NAME: usize = 16;
const VALUE: usize = 13;
/// Lines of the drawing, and those of the screen that are around the page or below the drawing.
const LEAST_DRAWING: usize = 14;
const MOST_DRAWING: usize = 32;
const AROUND: usize = 9;
/// A screen with fewer rows is low: so many of them are not for the drawing.
const LOW: u16 = 22;
const LEFT_LOW: usize = 7;

/// A run beside the baseline.
#[derive(Clone, Debug)]
pub struct Compare {
    pub run: RunId,
}

pub static KEYS: &[Binding] = &[
    row(&[Char('b')], Command::Baseline, "b", "baseline", "make it the baseline"),
    row(&[Char('o')], Command::Published, "o", "published", "what others published"),
    row(&[Char('X')], Command::Export, "X", "export", "write the comparison to a file"),
    row(&[Code(K::Esc), Char('v'), Char('q'), Code(K::Enter), Ctrl('c')], Command::Back, "Esc", "close", "").ranked(0),
];

impl Window for Compare {
    fn about(&self, _: &State) -> About {
        About { keys: KEYS, scrolls: true, run: Some(self.run), ..About::default() }
    }

    fn view(&self, state: &State, columns: u16) -> Option<View> {
        let (runs, shared) = (&state.runs, &state.shared);
        let run = self.run;
        let title = match shared.baseline() {
            Some(with) if with.id == run => format!("Run {run}, the baseline"),
            Some(with) => format!("Run {run} against run {}", with.id),
            None => format!("Run {run}"),
        };
        Some(Page::view(title, columns, 150, |width| lines(runs, shared, run, width)))
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        match command {
            Command::Baseline => return Outcome::Close(baseline_of(&mut state.shared, self.run)),
            Command::Export => export(state),
            Command::Published => {
                state.runs.published ^= true;
                return Outcome::STAY;
            }
            _ => {}
        }
        Outcome::CLOSE
    }
}

/// The chosen run beside the baseline.
pub fn open(state: &mut State) -> Vec<Action> {
    let State { shared, windows, .. } = state;
    let Some(run) = chosen(shared) else { return Vec::new() };
    let Some(baseline) = shared.baseline().map(|baseline| baseline.id) else {
        return shared.refuse("nothing to compare with yet: no run has measured images/s");
    };
    // Nothing is learned of a run beside itself: the one that gained most, or else the newest, stands in for it.
    let other = || {
        let newest = || shared.runs.iter().rev().map(|run| run.id).find(|run| *run != baseline);
        shared.best_gain().map(|gain| gain.run).or_else(newest)
    };
    match if run.id == baseline { other() } else { Some(run.id) } {
        Some(run) => windows.show(Compare { run }),
        None => shared.inform(format!("run {baseline} is the baseline, and the only run: r starts one to compare with it")),
    }
    Vec::new()
}

fn lines(runs: &Runs, shared: &Shared, id: RunId, width: usize) -> Vec<Line<'static>> {
    let (Some(run), Some(baseline)) = (shared.summary(id), shared.baseline()) else {
        return vec![Line::styled("nothing to compare with yet", shared.theme.dim())];
    };
    let mut page = Sheet::new(shared.theme, width, NAME);
    let row = Row::new(run, baseline);
    if row.is_baseline {
        page.text("This is the baseline: choose another run, or make another one the baseline with b.", Style::new());
    } else {
        headline(&mut page, shared, run, baseline);
        figures(&mut page, &row, run, baseline);
        differences(&mut page, &row, baseline);
    }
    let published = if runs.published { references() } else { &[] };
    let shown = runs.shown(&shared.runs);
    let report = Report::new(shown, baseline, published);
    drawing(&mut page, &Scaling::new(&report), shared.size.1);
    match published {
        [] => page.text("o shows published results.", shared.theme.dim()),
        sources => sources.iter().for_each(|source| publication(&mut page, source)),
    }
    page.lines
}

/// The answer in one sentence.
fn headline(page: &mut Sheet, shared: &Shared, run: &RunSummary, baseline: &RunSummary) {
    let (id, with) = (run.id, baseline.id);
    match shared.gain(run) {
        Ok(gain) => {
            let trains = if gain.so_far { "trains so far" } else { "trained" };
            let ranks = match (gain.np, baseline.figures.np) {
                (np, before) if np == before => format!("on as many ranks ({np})"),
                (np, before) => format!("on {} instead of {before}", units::counted(np, "rank")),
            };
            let (times, efficiency) = (gain.times(), gain.efficiency_in_words());
            let text = format!("Run {id} {trains} {times} as many images per second as run {with}, {ranks}: {efficiency}.");
            page.text(&text, page.theme.key());
        }
        Err(reason) => page.text(&format!("! Run {id} cannot be compared with run {with}: {reason}."), page.theme.warn()),
    }
}

fn figures(page: &mut Sheet, row: &Row, run: &RunSummary, baseline: &RunSummary) {
    page.title("What it gained");
    figure(page, "", [baseline, run].map(|run| format!("run {}", run.id)), "");
    let pair = |value: &dyn Fn(&RunSummary) -> Option<String>| [baseline, run].map(|run| value(run).unwrap_or("–".into()));
    let times = |ratio: Option<f64>, what: &str| ratio.map(|ratio| format!("{ratio:.2}x {what}")).unwrap_or_default();
    let gained = &row.comparison;
    figure(page, "images/s", pair(&RunSummary::shown_rate), &times(gained.speedup, "speed-up"));
    let efficiency = gained.scaling_efficiency.map(|part| format!("{} efficiency", units::percent(part)));
    figure(page, "ranks", pair(&RunSummary::np_in_words), &efficiency.unwrap_or_default());
    let sooner = times(gained.speedup_to_target, "to the target accuracy");
    figure(page, "to target", pair(&|run| run.figures.seconds_to_target.map(units::seconds)), &sooner);
    figure(page, "training", pair(&|run| run.training_seconds.map(units::seconds)), "");
    figure(page, cost_name(run), pair(&|run| run.device_seconds().map(units::rate)), "devices times seconds");
    let accuracy = |run: &RunSummary| run.test.map(|test| units::accuracy(test.accuracy));
    figure(page, "test accuracy", pair(&accuracy), "");
    if let Some(note) = busy_host::notes([baseline, run]) {
        page.text(&note, page.theme.warn());
    }
}

fn differences(page: &mut Sheet, row: &Row, baseline: &RunSummary) {
    page.title(&format!("What differs from run {}", baseline.id));
    if row.differences.is_empty() {
        page.text("Nothing: the steps, settings, images and versions are the same.", Style::new());
    }
    for one in &row.differences {
        page.fact(&one.label(), &format!("{}, not {}", one.run, one.baseline));
        one.steps().iter().for_each(|step| page.fact("", step));
    }
}

/// As high as the screen has room for.
fn drawing(page: &mut Sheet, drawn: &Scaling, screen: u16) {
    let theme = page.theme;
    page.title(&format!("Speed-up over run {} by ranks", drawn.baseline));
    // On a low screen drawing and legend fill the window that they are scrolled into.
    let least = if (1..LOW).contains(&screen) { usize::from(screen).saturating_sub(LEFT_LOW) } else { LEAST_DRAWING };
    let height = usize::from(screen).saturating_sub(AROUND + page.lines.len()).clamp(least, MOST_DRAWING);
    let mark = |point: &Point, is_measured: bool| Mark {
        np: point.np,
        value: point.speedup,
        label: if is_measured { format!("{} {:.2}x", point.label, point.speedup) } else { String::new() },
        is_measured,
    };
    let published = drawn.published.iter().map(|point| mark(point, false));
    let marks: Vec<Mark> = published.chain(drawn.measured.iter().map(|point| mark(point, true))).collect();
    let baseline = drawn.baseline_np as f64;
    let chart = ScalingChart {
        np_end: marks.iter().map(|mark| mark.np).max().unwrap_or(1).max(2),
        marks,
        log_ranks: false,
        log_values: false,
        is_joined: false,
        ideal: Box::new(move |np| np / baseline),
        figure: |value, step| format!("{}x", decimals(value, step)),
        most: f64::INFINITY,
    };
    page.lines.extend(scaling_chart::lines(&chart, theme, page.width, height));
    let mut legend = vec![
        Span::styled("· ", theme.dim()),
        Span::raw("ideal: twice the ranks, twice the speed   "),
        Span::styled(if theme.ascii { "■ " } else { "⠿ " }, theme.accent()),
        Span::raw("measured"),
    ];
    if !drawn.published.is_empty() {
        legend.push(Span::raw("   ○ published elsewhere"));
    }
    page.lines.push(Line::from(legend));
    if drawn.left_out > 0 {
        let runs = units::counted(drawn.left_out, "run");
        page.text(&format!("{runs} not drawn: not comparable, or no throughput."), theme.dim());
    }
}

fn publication(page: &mut Sheet, source: &Source) {
    let theme = page.theme;
    page.title(&format!("published: {}", source.name));
    page.text(&format!("{}. {}.", source.title, source.setting), theme.dim());
    let line = |label: &str, figures: [Option<String>; 6]| {
        let cells = figures.into_iter().zip([5, 14, 8, 10, 11, 11]);
        let cells: String = cells.map(|(text, width)| format!(" {:>width$}", text.unwrap_or_else(|| "–".into()))).collect();
        format!("{}{cells}", columns::left(label, 24))
    };
    let head = ["np", "images/s", "speed-up", "efficiency", "total", "accuracy"].map(|title| Some(title.to_owned()));
    page.lines.push(Line::styled(line("", head), theme.dim()));
    page.lines.extend(source.rows.iter().map(|row| {
        let speedup = row.speedup.map(|ratio| format!("{ratio:.2}x"));
        let efficiency = row.scaling_efficiency().map(units::percent);
        let figures = [Some(row.np.to_string()), row.rate(), speedup, efficiency, row.duration(), row.test_accuracy()];
        Line::from(line(&row.label, figures))
    }));
}

/// A figure of the baseline and of the run, and what that means.
fn figure(page: &mut Sheet, name: &str, [baseline, run]: [String; 2], meaning: &str) {
    let room = page.width.saturating_sub(NAME + 2 * VALUE + 2);
    page.lines.push(Line::from(vec![
        Span::styled(format!("{name:<NAME$}"), page.theme.dim()),
        Span::raw(format!("{baseline:>VALUE$}{run:>VALUE$}  ")),
        Span::styled(cut(meaning, room), page.theme.accent()),
    ]));
}
