//! One plot: axes, the curves of all shown runs, their letters, the cursor.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::canvas::{Line as CanvasLine, Points};
use ratatui::widgets::{Paragraph, Widget};

use crate::columns;
use crate::domain::units;
use crate::runs::RunId;
use crate::tui::chart::draw::fit::fitted;
use crate::tui::chart::draw::trace::{Trace, View};
use crate::tui::chart::graph::Graph;
use crate::tui::chart::range::Range;
use crate::tui::shared::{Along, Curve, Curves};
use crate::tui::widgets::axis::{decimals, round_step};
use crate::tui::widgets::{Theme, flow, plot};

/// A run as the chart shows it.
pub struct ShownRun<'a> {
    pub run: RunId,
    pub letter: char,
    pub style: Style,
    pub slot: usize,
    pub curves: &'a Curves,
    /// The mark of how it ended, if not well.
    pub ending: Option<&'static str>,
}

/// What all plots of the pane have in common.
pub struct Common<'a> {
    pub theme: Theme,
    pub range: Range,
    /// First and last x that are shown.
    pub window: (f64, f64),
    /// Curves take one dot more than at a desk.
    pub thick: bool,
    /// No run goes on: what is not there does not come.
    pub is_over: bool,
    /// The first is drawn in front.
    pub runs: Vec<ShownRun<'a>>,
}

/// A narrower plot has the names of its runs in the title only.
const NAMED_WIDTH: u16 = 30;
/// Without colours a letter marks each curve once in this many columns.
const LETTER_COLUMNS: usize = 14;

/// The parts of a plot, with what stands at its axes.
struct Parts {
    heading: Vec<Line<'static>>,
    ticks: Vec<(u16, String)>,
    title: Rect,
    axis: Rect,
    below: Rect,
    view: View,
}

fn parts(area: Rect, graph: Graph, log: bool, chosen: bool, common: &Common) -> Parts {
    let values = values_in_sight(graph, common);
    let fit = |cells: u16| fitted(graph, log, common.range.magnification() > 1, values.clone(), cells);
    let heading = |cut: Option<String>| heading(graph, log, cut, chosen, common, area.width);
    // Values of many runs take a second line where there is room.
    let lines = (heading(fit(area.height.saturating_sub(3)).1).len() as u16).min(1 + area.height / 8);
    let [title, body, axis, below] =
        Layout::vertical([Constraint::Length(lines), Constraint::Fill(1), Constraint::Length(1), Constraint::Length(1)])
            .areas(area);
    let (up, cut) = fit(body.height);
    let ticks = up.ticks().filter(|tick| graph.row().most.is_none_or(|most| tick.value < most + tick.step * 1e-6));
    let ticks: Vec<(u16, String)> = ticks.map(|tick| (tick.cell, graph.tick(tick.value, tick.step))).collect();
    let gutter = ticks.iter().map(|(_, label)| columns::width(label)).max().unwrap_or(1).max(4) as u16;
    let [_, plot] = Layout::horizontal([Constraint::Length(gutter + 1), Constraint::Fill(1)]).areas(body);
    let (from, to) = common.window;
    let view = View { along: common.range.along, from, to, axis: up, plot };
    Parts { heading: heading(cut), ticks, title, axis, below, view }
}

/// What lies along the curves under the pointer.
pub fn x_at(area: Rect, graph: Graph, log: bool, common: &Common, at: Position) -> Option<f64> {
    let Parts { below, view, .. } = parts(area, graph, log, true, common);
    // The axis with its numbers belongs to it.
    let columns = Rect { height: below.bottom().saturating_sub(view.plot.y), ..view.plot };
    columns.contains(at).then(|| view.x(at.x - view.plot.x))
}

pub fn draw(frame: &mut Frame, area: Rect, graph: Graph, log: bool, chosen: bool, common: &Common) {
    let Parts { heading, ticks, title, axis, below, view } = parts(area, graph, log, chosen, common);
    let (theme, plot) = (common.theme, view.plot);
    frame.render_widget(Paragraph::new(heading), title);
    if plot.width < 4 || plot.height < 2 {
        return;
    }
    let buffer = frame.buffer_mut();
    plot::axes(buffer, plot, axis.x, ticks.into_iter(), theme.dim());
    x_axis(buffer, Rect { x: plot.x, width: plot.width, ..axis }, below.y, &view, common);
    let trace = |run: &ShownRun| {
        let curve = graph.curve(run.curves);
        // The loss of single batches jumps up and down.
        let smooth = if graph == Graph::Loss { curve.smoothed() } else { None };
        (Trace::new(curve, &view), smooth.map(|smooth| Trace::new(&smooth, &view)))
    };
    let traces: Vec<(Trace, Option<Trace>)> = common.runs.iter().map(trace).collect();
    if traces.iter().all(|(measured, _)| *measured == Trace::default()) {
        let text = match common.range.magnification() {
            1 if common.is_over => "none was reported",
            1 => graph.row().nothing_yet,
            _ => "nothing was measured here",
        };
        let middle = Rect { y: plot.y + plot.height / 2, height: 1, ..plot };
        Paragraph::new(Line::styled(text, theme.dim()).centered()).render(middle, buffer);
    }
    let mut pen = Pen { buffer, plot: plot::with_axis(plot), view: &view, theme, more: usize::from(common.thick) };
    // What is drawn later lies in front.
    common.runs.iter().take(1).for_each(|run| pen.handovers(run.curves));
    for (run, (measured, smooth)) in common.runs.iter().zip(&traces).rev() {
        pen.measured(run, measured, smooth.is_some());
    }
    for (run, (_, smooth)) in common.runs.iter().zip(&traces).rev() {
        if let Some(smooth) = smooth {
            pen.lines(run, smooth, pen.marker(run), Style::new(), 2);
        }
    }
    let mut taken = Vec::new();
    for (run, (measured, smooth)) in common.runs.iter().zip(&traces) {
        let is_in_sight = |x: f64| x >= view.from && x <= view.to;
        let last = graph.curve(run.curves).last().filter(|last| is_in_sight(last.x(view.along)));
        if let (Some(ending), Some(_), Some(spot)) = (run.ending, last, measured.points.last()) {
            // At the edge where its last value is cut off.
            let cell = view.cell((spot.0, spot.1.clamp(0.0, f64::from(plot.height))));
            pen.put(cell, ending, theme.warn().add_modifier(Modifier::BOLD));
            taken.extend(cell);
        }
        // Along what the eye follows.
        pen.letters(run, smooth.as_ref().unwrap_or(measured), &mut taken);
    }
    if let Some(x) = common.range.cursor {
        pen.cursor(x, graph, common);
    }
}

/// Draws into the cells of a plot and of its axis line, which are counted from the upper left corner.
struct Pen<'a> {
    buffer: &'a mut Buffer,
    plot: Rect,
    view: &'a View,
    theme: Theme,
    /// Dots that curves are thicker than usual.
    more: usize,
}

type Cell = (u16, u16);

impl Pen<'_> {
    fn put(&mut self, cell: impl Into<Option<Cell>>, symbol: &str, style: Style) {
        let plot = self.plot;
        if let Some((column, row)) = cell.into().filter(|(column, row)| *column < plot.width && *row < plot.height) {
            self.buffer[(plot.x + column, plot.y + row)].set_symbol(symbol).set_style(style);
        }
    }

    fn is_empty(&self, (column, row): Cell) -> bool {
        plot::is_blank(&self.buffer[(self.plot.x + column, self.plot.y + row)])
    }

    fn marker(&self, run: &ShownRun) -> Marker {
        if self.theme.ascii { Marker::Custom(run.letter.to_ascii_lowercase()) } else { self.theme.marker() }
    }

    /// Lines across the plot with the new number of ranks, where the run went on with another one.
    fn handovers(&mut self, curves: &Curves) {
        let (sign, dim) = (if self.theme.ascii { ":" } else { "┊" }, self.theme.dim());
        // Where two are close, the first label leaves no room for the second: its line is there all the same.
        let mut free = 0;
        for point in &curves.handovers {
            let Some(column) = self.view.column(point.x(self.view.along)) else { continue };
            (0..self.view.plot.height).for_each(|row| self.put((column, row), sign, dim));
            let label = format!("np {}", point.value);
            let end = column + 1 + label.len() as u16;
            if column >= free && end <= self.plot.width {
                free = end;
                self.buffer.set_string(self.plot.x + column + 1, self.plot.y, label, dim);
            }
        }
    }

    /// Lines, dim where a smooth one says where they go, lone points, and a cross at the bottom where values were no numbers.
    fn measured(&mut self, run: &ShownRun, trace: &Trace, is_smoothed: bool) {
        let (marker, style) =
            if is_smoothed { (self.theme.marker(), self.theme.dim()) } else { (self.marker(run), Style::new()) };
        self.lines(run, trace, marker, style, 1);
        // Few points are measurements that one wants to see, with lines between them only to lead the eye.
        let few = trace.points.len() <= usize::from(self.plot.width / 6);
        for spot in if few { &trace.points } else { &trace.lone } {
            self.put(self.view.cell(*spot), "•", run.style);
        }
        for column in trace.gaps.iter().filter_map(|x| self.view.column(*x)) {
            self.put((column, self.view.plot.height - 1), "×", run.style.add_modifier(Modifier::BOLD));
        }
    }

    /// The lines of a trace in the colour of its run and this style, so many dots thick.
    fn lines(&mut self, run: &ShownRun, trace: &Trace, marker: Marker, style: Style, dots: usize) {
        let colour = run.style.fg.unwrap_or(Color::Reset);
        let plot = Rect { height: self.view.plot.height, ..self.plot };
        plot::curves(self.buffer, plot, marker, (self.view.from, self.view.to), style, |context| {
            for ((x1, y1), (x2, y2)) in &trace.lines {
                // A cell is four dots high.
                for up in (0..dots + self.more).map(|dot| dot as f64 / 4.0) {
                    context.draw(&CanvasLine::new(*x1, *y1 + up, *x2, *y2 + up, colour));
                }
            }
            context.draw(&Points { coords: &trace.lone, color: colour });
        });
    }

    /// The run's letter at the end of its curve, and along it where there are no colours.
    fn letters(&mut self, run: &ShownRun, trace: &Trace, taken: &mut Vec<Cell>) {
        let rows = trace.rows(self.view);
        let cells = || rows.iter().enumerate().filter_map(|(column, row)| Some((column as u16, (*row)?)));
        let style = run.style.add_modifier(Modifier::BOLD);
        let colourless = run.style.fg.is_none_or(|colour| colour == Color::Reset);
        // A curve of one point that has its mark has no other cell.
        let beside = |(column, row): Cell| (if column + 1 < self.plot.width { column + 1 } else { column - 1 }, row);
        let mut last = cells().rev().take(12).chain(cells().next_back().map(beside));
        let end = last.find(|cell| !taken.contains(cell));
        let has_letter = |column: u16| (usize::from(column) + run.slot * 5) % LETTER_COLUMNS == LETTER_COLUMNS / 2;
        let along = cells().filter(|(column, _)| colourless && has_letter(*column));
        for cell in along.chain(end) {
            if !taken.contains(&cell) {
                self.put(cell, run.letter.encode_utf8(&mut [0; 4]), style);
                taken.push(cell);
            }
        }
        if let Some(end) = end.filter(|_| self.plot.width >= NAMED_WIDTH) {
            taken.extend(self.name(run, end));
        }
    }

    /// The run's name beside its letter, or above or below it, where nothing else is. Returns the cells that it takes.
    fn name(&mut self, run: &ShownRun, (column, row): Cell) -> Vec<Cell> {
        let (text, plot) = (format!("run {}", run.run), self.plot);
        let wide = text.len() as u16;
        let left = (column + 1).checked_sub(wide);
        let places = [Some((column + 2, row)), left.zip(row.checked_sub(1)), left.zip(Some(row + 1))];
        let is_free = |(from, at): &Cell| {
            // Apart from the letters of other runs, whose name it would be taken for.
            let (first, last) = (from.saturating_sub(2), (from + wide + 1).min(plot.width - 1));
            let has_room = from + wide <= plot.width && *at < plot.height;
            has_room && (first..=last).all(|x| x == column || self.is_empty((x, *at)))
        };
        let Some((from, row)) = places.into_iter().flatten().find(is_free) else { return Vec::new() };
        self.buffer.set_string(plot.x + from, plot.y + row, text, run.style);
        (from..from + wide).map(|at| (at, row)).collect()
    }

    /// A line through the plot, and a point on each curve where it was measured.
    fn cursor(&mut self, x: f64, graph: Graph, common: &Common) {
        let Some(column) = self.view.column(x) else { return };
        for row in (0..self.plot.height).filter(|row| self.is_empty((column, *row))).collect::<Vec<u16>>() {
            self.put((column, row), "│", self.theme.strong());
        }
        for run in common.runs.iter().rev() {
            let read = read(graph.curve(run.curves), common);
            let spot = read.and_then(|(x, value)| Some((x, self.view.axis.place(value)?)));
            self.put(spot.and_then(|spot| self.view.cell(spot)), "•", run.style.add_modifier(Modifier::BOLD));
        }
    }
}

/// Where the curve was measured nearest to the cursor, and the value; the newest one without a cursor.
fn read(curve: &Curve, common: &Common) -> Option<(f64, f64)> {
    let reach = (common.window.1 - common.window.0) / 80.0;
    let point = match common.range.cursor {
        Some(x) => curve.at(common.range.along, x, reach)?,
        None => curve.last()?,
    };
    Some((point.x(common.range.along), point.value))
}

/// The name of the graph, and the value of each run: the newest, or the one under the cursor.
fn heading(graph: Graph, log: bool, cut: Option<String>, chosen: bool, common: &Common, width: u16) -> Vec<Line<'static>> {
    let theme = common.theme;
    let name = if chosen { theme.strong() } else { theme.dim() };
    let value = |run: &ShownRun| match read(graph.curve(run.curves), common) {
        Some((_, value)) if value.is_finite() => graph.value(value),
        Some(_) => "no number".to_owned(),
        None => "–".to_owned(),
    };
    let entries = |named: bool| {
        let entry = |run: &ShownRun| {
            let name = if named { format!("run {} ", run.run) } else { String::new() };
            [Span::styled(format!("  {} ", run.letter), run.style), Span::raw(name), Span::styled(value(run), theme.strong())]
        };
        common.runs.iter().map(entry).collect::<Vec<_>>()
    };
    let title = |text: &str| {
        let title = Span::styled(format!(" {text}{}", if log { ", log" } else { "" }), name);
        Line::from_iter([title].into_iter().chain(cut.clone().map(|cut| Span::styled(format!(", {cut}"), theme.dim()))))
    };
    // The names where all fit in one line; the letters stand beside them in the title of the pane.
    let fits = |(text, named): &(&str, bool)| {
        let wide: usize = entries(*named).iter().flatten().map(Span::width).sum();
        title(text).width() + wide <= usize::from(width)
    };
    let row = graph.row();
    let is_unnamed = graph == Graph::Accuracy && common.runs.iter().any(|run| run.curves.says_accuracy_only);
    let name = if is_unnamed { row.short_name } else { row.name };
    let looks = [(name, true), (name, false), (row.short_name, false)];
    let (text, named) = looks.into_iter().find(fits).unwrap_or(looks[1]);
    flow(title(text), entries(named), width.into())
}

fn x_axis(buffer: &mut Buffer, axis: Rect, below: u16, view: &View, common: &Common) {
    let theme = common.theme;
    // A label may begin below the axis on the left.
    let area = Rect { x: axis.x - 1, y: below, width: axis.width + 1, height: 1 };
    let here = common.range.cursor.and_then(|x| {
        let label = match view.along {
            Along::Epoch => format!("{x:.2}"),
            Along::Step => format!("{x:.0}"),
            Along::Time => units::seconds(x),
        };
        let label = (axis.x + view.column(x)?, label);
        let (from, _) = *plot::labels_below(area, std::slice::from_ref(&label)).first()?;
        Some((from, from + columns::width(&label.1) as u16, label))
    });
    let ticks = x_ticks(view, area);
    for (from, place) in plot::labels_below(area, &ticks) {
        let (column, label) = &ticks[place];
        buffer.set_string(*column, axis.y, "┬", theme.dim());
        // The cursor's own label comes first.
        let to = from + columns::width(label) as u16;
        if here.as_ref().is_none_or(|(first, last, _)| to < *first || from > *last) {
            buffer.set_string(from, below, label, theme.dim());
        }
    }
    if let Some((from, _, (column, label))) = here {
        buffer.set_string(column, axis.y, "┴", theme.strong());
        buffer.set_string(from, below, label, theme.strong());
    }
}

/// The columns of round numbers and what stands below them: as many as have room side by side.
fn x_ticks(view: &View, area: Rect) -> Vec<(u16, String)> {
    const CLOCK: [f64; 12] = [15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 14400.0, 43200.0, 86400.0];
    let span = view.to - view.from;
    let of = |count: usize| -> Vec<(u16, String)> {
        let is_clock = view.along == Along::Time && span >= 60.0;
        let step = match view.along {
            Along::Time if is_clock => {
                let days = || round_step(span / 86400.0, count) * 86400.0;
                CLOCK.into_iter().find(|step| span / step <= count as f64).unwrap_or_else(days)
            }
            // There is no half a step.
            Along::Step => round_step(span, count).max(1.0),
            _ => round_step(span, count),
        };
        let label = |tick: f64| match view.along {
            Along::Time if is_clock => units::clock(tick),
            Along::Time => format!("{} s", decimals(tick, step)),
            _ => decimals(tick, step),
        };
        let first = (view.from / step - 1e-9).ceil();
        let ticks = (0..=count + 1).map(|index| (first + index as f64) * step);
        let inside = ticks.take_while(|tick| *tick <= view.to + step * 1e-9);
        inside.filter_map(|tick| Some((area.x + 1 + view.column(tick)?, label(tick)))).collect()
    };
    let fits = |ticks: &Vec<(u16, String)>| plot::labels_below(area, ticks).len() == ticks.len();
    (1..=usize::from(view.plot.width / 9).clamp(3, 10)).rev().map(of).find(fits).unwrap_or_default()
}

/// The values of all runs between the ends of the plot.
fn values_in_sight(graph: Graph, common: &Common) -> Vec<f64> {
    let (from, to) = common.window;
    let points = |all: bool| {
        let buckets = common.runs.iter().flat_map(|run| graph.curve(run.curves).buckets());
        let points = buckets.flat_map(|bucket| bucket.points());
        let in_sight = points.filter(move |point| all || (from..=to).contains(&point.x(common.range.along)));
        in_sight.map(|point| point.value).collect::<Vec<f64>>()
    };
    // Between two measured points: as the whole has it.
    Some(points(false)).filter(|values| !values.is_empty()).unwrap_or_else(|| points(true))
}
