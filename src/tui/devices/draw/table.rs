//! The table of devices: the columns that fit, on one line a device or, as nvidia-smi has it, on two.
//!
//! Never hides a device that is under the cursor.

use super::parts::{Placed, View, is_gpu};
use crate::tui::widgets::table::fitting;
use ratatui::text::{Line, Span};

use crate::columns::cut;
use crate::tui::devices::draw::cells::Cell;
use crate::tui::devices::draw::{cells, graph, totals};
use crate::tui::devices::state::Row;
use Shows::{Figure, History};

struct Column {
    title: &'static str,
    /// The name of the same figure in `DeviceSample::facts`.
    fact: &'static str,
    width: usize,
    /// Columns that it may grow to where there is room.
    most: usize,
    /// The lowest stay longest.
    rank: u8,
    right: bool,
    shows: Shows,
}

enum Shows {
    Figure(Cell),
    /// The use of the last minutes, and what it is now.
    History,
}

const fn column(
    title: &'static str,
    fact: &'static str,
    width: usize,
    most: usize,
    rank: u8,
    right: bool,
    shows: Shows,
) -> Column {
    Column { title, fact, width, most, rank, right, shows }
}

static NAME: Column = column("GPU", "", 12, 28, 5, false, Figure(cells::name));
static BUS: Column = column("bus", "bus", 16, 16, 10, true, Figure(cells::bus));
static FAN: Column = column("fan", "fan", 5, 5, 8, true, Figure(cells::fan));
static TEMPERATURE: Column = column("temp", "temperature", 5, 5, 4, true, Figure(cells::temperature));
static PERFORMANCE: Column = column("perf", "state", 4, 4, 7, true, Figure(cells::performance));
static POWER: Column = column("power", "power", 10, 11, 6, true, Figure(cells::power));
static MEMORY: Column = column("memory", "memory", 11, 12, 3, true, Figure(cells::memory));
static MEMORY_BAR: Column = column("memory used", "memory", 12, 24, 13, false, Figure(cells::memory_bar));
static USE: Column = column("use, 2 min", "use", 12, 26, 1, false, History);
static COMPUTE: Column = column("compute", "compute mode", 10, 10, 9, true, Figure(cells::compute));
static ECC: Column = column("ECC", "ECC errors", 4, 4, 11, true, Figure(cells::ecc));
static MIG: Column = column("MIG", "MIG", 4, 4, 12, true, Figure(cells::mig));
static RANKS: Column = column("ranks", "", 8, 20, 2, false, Figure(cells::ranks));

static ONE_LINE: [&Column; 13] =
    [&NAME, &BUS, &FAN, &TEMPERATURE, &PERFORMANCE, &POWER, &COMPUTE, &ECC, &MIG, &MEMORY, &MEMORY_BAR, &USE, &RANKS];
static UPPER: [&Column; 7] = [&NAME, &BUS, &FAN, &TEMPERATURE, &PERFORMANCE, &POWER, &COMPUTE];
static LOWER: [&Column; 6] = [&USE, &MEMORY_BAR, &MEMORY, &ECC, &MIG, &RANKS];

/// The cursor's mark and the index, before all columns.
const INDEX: usize = 5;

/// A column with the width that it got.
type Sized = (&'static Column, usize);

pub struct Table {
    /// One or two lines a device.
    lines: Vec<Vec<Sized>>,
}

impl Table {
    /// Two lines only where they are allowed, fit, and show what one does not.
    pub fn fitting(width: usize, two_lines: bool) -> Table {
        let room = width.saturating_sub(INDEX);
        let least = |columns: &[&Column]| columns.iter().map(|column| column.width + 1).sum::<usize>();
        if least(&ONE_LINE) > room && two_lines && least(&UPPER) <= room && least(&LOWER) <= room {
            return Table { lines: vec![grown(UPPER.to_vec(), room), grown(LOWER.to_vec(), room)] };
        }
        let shown = fitting(room, ONE_LINE.iter().map(|column| (column.width, column.rank)));
        Table { lines: vec![grown(shown.into_iter().map(|place| ONE_LINE[place]).collect(), room)] }
    }

    /// Lines of all rows, with a heading a host where there are several.
    pub fn height_of(&self, view: View, rows: &[Row]) -> usize {
        (rows.len() + 1) * self.lines.len() + headings(view)
    }

    /// Head and rows, with the place of the device that each is of, in `height` lines, around the cursor where not all fit.
    pub fn lines(&self, view: View, rows: &[Row], height: usize) -> Vec<Placed<Line<'static>>> {
        let mut head: Vec<Placed<Line>> = (0..self.lines.len()).map(|line| (None, self.head(view, line))).collect();
        let room = height.saturating_sub(head.len());
        let cursor = view.devices.cursor();
        let (mut body, mut last) = (Vec::new(), 0);
        for (place, row) in rows.iter().enumerate() {
            let is_first = place == 0 || rows[place - 1].sample.host != row.sample.host;
            if is_first && headings(view) > 0 {
                body.push((None, totals::line(view.theme, row.sample, self.width())));
            }
            body.extend((0..self.lines.len()).map(|line| (Some(place), self.row(view, *row, line, place == cursor))));
            if place <= cursor {
                last = body.len();
            }
        }
        let all = body.len();
        if all <= room {
            head.extend(body);
            return head;
        }
        // One line says what is not shown.
        let shown = room.saturating_sub(1);
        let first = last.saturating_sub(shown).min(all - shown);
        head.extend(body.into_iter().skip(first).take(shown));
        let above = if first > 0 { format!("{first} above, ") } else { String::new() };
        let hidden = format!("     … {above}{} more below", all - shown - first);
        head.push((None, Line::styled(hidden, view.theme.dim())));
        head
    }

    fn width(&self) -> usize {
        let width = |line: &Vec<Sized>| line.iter().map(|(_, width)| width + 1).sum::<usize>();
        INDEX + self.lines.iter().map(width).max().unwrap_or(0)
    }

    fn head(&self, view: View, line: usize) -> Line<'static> {
        let theme = view.theme;
        let facts = view.devices.chosen().map(|row| row.device.facts()).unwrap_or_default();
        let chosen = facts.get(view.devices.field).map_or("", |(name, _)| name);
        let mut spans = vec![Span::raw(" ".repeat(INDEX))];
        for (column, width) in &self.lines[line] {
            let under_cursor = view.focus.here && !column.fact.is_empty() && column.fact == chosen;
            let style = if under_cursor { theme.key() } else { theme.dim() };
            let title =
                if column.right { cells::right(column.title, *width, style) } else { cells::left(column.title, *width, style) };
            spans.extend([title, Span::raw(" ")]);
        }
        Line::from(spans)
    }

    fn row(&self, view: View, row: Row, line: usize, under_cursor: bool) -> Line<'static> {
        let (theme, device) = (view.theme, row.device);
        let focused = view.focus.here;
        let index = match (line, row.slice(), is_gpu(device)) {
            (0, Some(slice), _) => format!("{}:{slice}", device.index),
            (0, None, true) => device.index.to_string(),
            (0, None, false) => "CPU".to_owned(),
            _ => String::new(),
        };
        let mark = if under_cursor && focused && line == 0 { "▸" } else { " " };
        let index = format!("{mark}{index:>3} ");
        let style = if under_cursor && focused && line == 0 { theme.cursor(true) } else { theme.strong() };
        let mut spans = vec![Span::styled(cut(&index, INDEX), style)];
        match device.lost() {
            Some(why) if line == 0 => spans.push(cells::left(&format!("✗ {why}"), self.width() - INDEX, theme.warn())),
            Some(_) => {}
            None => {
                for (column, width) in &self.lines[line] {
                    spans.extend(match column.shows {
                        Figure(cell) => cell(theme, device, *width),
                        History => graph::small(view, row, *width),
                    });
                    spans.push(Span::raw(" "));
                }
            }
        }
        Line::from(spans)
    }
}

fn headings(view: View) -> usize {
    match view.devices.hosts().count() {
        1 => 0,
        several => several,
    }
}

/// Columns take the room that is left over, name and bars first.
fn grown(columns: Vec<&'static Column>, room: usize) -> Vec<Sized> {
    let mut placed: Vec<Sized> = columns.into_iter().map(|column| (column, column.width)).collect();
    let mut left = room.saturating_sub(placed.iter().map(|(_, width)| width + 1).sum());
    while left > 0 {
        let mut grew = false;
        for (column, width) in &mut placed {
            if left > 0 && *width < column.most {
                *width += 1;
                left -= 1;
                grew = true;
            }
        }
        if !grew {
            break;
        }
    }
    placed
}
