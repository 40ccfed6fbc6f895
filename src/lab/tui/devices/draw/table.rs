//! The table of devices: the columns that fit, on one line a device or, as nvidia-smi has it, on two.
//!
//! The device under the cursor is always in view.

use super::parts::{Segment, View, is_gpu, marked};
use crate::tui::widgets::fitting;
use ratatui::text::{Line, Span};

use crate::tui::devices::draw::cells::Cell;
use crate::tui::devices::draw::{cells, graph, totals};
use crate::tui::devices::lane::DeviceRow;

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
    /// How the figure is drawn, where it is not its fact alone.
    cell: Option<Cell>,
}

/// A column of figures, as wide as they need.
const fn column(title: &'static str, fact: &'static str, width: usize, rank: u8) -> Column {
    Column { title, fact, width, most: width, rank, right: true, cell: None }
}

static NAME: Column = Column { most: 28, right: false, cell: Some(cells::name), ..column("GPU", "", 10, 9) };
static BUS: Column = column("bus", "bus", 16, 10);
static FAN: Column = column("fan", "fan", 5, 8);
static TEMPERATURE: Column = Column { cell: Some(cells::temperature), ..column("temp", "temperature", 5, 5) };
static PERFORMANCE: Column = column("perf", "state", 4, 7);
static POWER: Column = Column { most: 10, cell: Some(cells::power), ..column("power", "power", 9, 6) };
static UTIL: Column = Column { most: 24, right: false, cell: Some(cells::utilisation), ..column("GPU-Util", "GPU-Util", 10, 1) };
static MEMORY: Column = Column { most: 25, right: false, cell: Some(cells::memory), ..column("memory", "memory", 13, 2) };
static HISTORY: Column = Column { most: 24, right: false, ..column("2 min", "", 6, 4) };
static COMPUTE: Column = Column { cell: Some(cells::compute), ..column("compute", "compute mode", 10, 11) };
static ECC: Column = Column { cell: Some(cells::ecc), ..column("ECC", "ECC errors", 4, 12) };
static MIG: Column = column("MIG", "MIG", 4, 13);
static BANDWIDTH: Column = column("mem bw", "mem bandwidth", 6, 14);
static THROTTLED: Column =
    Column { most: 20, right: false, cell: Some(cells::throttled), ..column("throttled", "throttled", 9, 15) };
static RANKS: Column = Column { most: 20, right: false, cell: Some(cells::ranks), ..column("ranks", "", 7, 3) };

static UPPER: [&Column; 7] = [&NAME, &BUS, &TEMPERATURE, &FAN, &PERFORMANCE, &POWER, &THROTTLED];
static LOWER: [&Column; 7] = [&UTIL, &MEMORY, &BANDWIDTH, &COMPUTE, &ECC, &MIG, &RANKS];
/// Behind the upper line's, where a device has one line.
static BEHIND: [&Column; 8] = [&COMPUTE, &ECC, &MIG, &UTIL, &MEMORY, &BANDWIDTH, &HISTORY, &RANKS];
const LAST: u8 = 16;

/// The cursor's mark and the index, before all columns.
const INDEX: usize = 5;

/// A column with the width that it got.
type Sized = (&'static Column, usize);

pub struct Table {
    /// One or two lines a device.
    lines: Vec<Vec<Sized>>,
}

impl Table {
    /// On one line a device, or on two, if they fit and show what one does not. `has_graphs`: the load of the last minutes is
    /// drawn below, so it is no column.
    pub fn fitting(width: usize, lines: usize, has_graphs: bool, rows: &[DeviceRow]) -> Option<Table> {
        let room = width.saturating_sub(INDEX);
        let least = |columns: &[&Column]| columns.iter().map(|column| column.width + 1).sum::<usize>();
        let mut columns = [&UPPER[..], &BEHIND].concat();
        columns.retain(|column| !(has_graphs && column.title == HISTORY.title));
        if lines == 2 {
            let fits = least(&columns) > room && least(&UPPER).max(least(&LOWER)) <= room;
            return fits.then(|| Table { lines: vec![grown(UPPER.to_vec(), room), grown(LOWER.to_vec(), room)] });
        }
        // A column without any figure comes last.
        let is_blank =
            |column: &Column| column.fact == FAN.fact && rows.iter().all(|row| row.device.fan_percent.value().is_none());
        let rank = |column: &Column| if is_blank(column) { LAST } else { column.rank };
        let shown = fitting(room, columns.iter().map(|column| (column.width, rank(column))));
        Some(Table { lines: vec![grown(shown.into_iter().map(|place| columns[place]).collect(), room)] })
    }

    /// Lines of all rows, with a heading a host where there are several.
    pub fn height_of(&self, view: View, rows: &[DeviceRow]) -> usize {
        (rows.len() + 1) * self.lines.len() + headings(view)
    }

    /// Head and rows, with the place of the device that each is of, in `height` lines, around the cursor where not all fit.
    pub fn lines(&self, view: View, rows: &[DeviceRow], height: usize) -> Vec<Vec<Segment>> {
        let mut head: Vec<Vec<Segment>> = (0..self.lines.len()).map(|line| Segment::line(None, self.head(view, line))).collect();
        let room = height.saturating_sub(head.len());
        let (mut body, mut last) = (Vec::new(), 0);
        for (place, row) in rows.iter().enumerate() {
            let is_first = place == 0 || rows[place - 1].sample.host != row.sample.host;
            if is_first && headings(view) > 0 {
                body.push(Segment::line(None, totals::line(view.theme, &[row.sample], None, self.width())));
            }
            let lines = 0..self.lines.len();
            body.extend(lines.map(|line| Segment::line(Some(place), self.row(view, row, line, place))));
            if place <= view.cursor {
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
        head.push(Segment::line(None, Line::styled(hidden, view.theme.dim())));
        head
    }

    fn width(&self) -> usize {
        let width = |line: &Vec<Sized>| line.iter().map(|(_, width)| width + 1).sum::<usize>();
        INDEX + self.lines.iter().map(width).max().unwrap_or(0)
    }

    fn head(&self, view: View, line: usize) -> Line<'static> {
        let theme = view.theme;
        let facts = view.chosen.map(|row| row.device.facts()).unwrap_or_default();
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

    fn row(&self, view: View, row: &DeviceRow, line: usize, place: usize) -> Line<'static> {
        let (theme, device) = (view.theme, &*row.device);
        let index = if is_gpu(device) { row.number() } else { "CPU".to_owned() };
        let index = if line == 0 { marked(view, place, &format!("{index} "), INDEX) } else { Span::raw(" ".repeat(INDEX)) };
        let mut spans = vec![index];
        match device.lost() {
            Some(why) if line == 0 => spans.push(cells::left(&format!("✗ {why}"), self.width() - INDEX, theme.warn())),
            Some(_) => {}
            None => {
                let facts = device.facts();
                for (column, width) in &self.lines[line] {
                    spans.extend(match column.cell {
                        Some(cell) => cell(theme, device, *width),
                        None if column.fact.is_empty() => vec![graph::small(view, row, *width)],
                        None => cells::fact(theme, &facts, column.fact, *width),
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
    let can_grow = |(column, width): &Sized| *width < column.most;
    while left > 0 && placed.iter().any(can_grow) {
        for (_, width) in placed.iter_mut().filter(|column| can_grow(column)).take(left) {
            *width += 1;
            left -= 1;
        }
    }
    placed
}
