//! Ranks and parts of the numbers as a grid: whose numbers are in each cell after the messages that have arrived so far.
//!
//! Never says anything by colour alone: a cell that is finished says `all`, one that has just changed has a sign before it.

use std::ops::Range;

use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::super::log::Log;
use super::super::state::Collectives;
use super::super::who::Who;
use super::chart::time;
use super::round::{self, RANK};
use crate::columns::{cut, left, right};
use crate::domain::collective::Operation;
use crate::domain::units;
use crate::tui::widgets::{Theme, bar, wrapped};

/// Columns of what a rank has sent.
const SENT: usize = 16;
/// A cell has its sign, a few ranks and a space.
const CELL: usize = 6;
const WIDEST_CELL: usize = 14;
/// With fewer rows each of them is for ranks and messages.
const LEAST_FOR_BAR: usize = 14;

pub fn lines(own: &Collectives, log: &Log, theme: Theme, width: usize, height: usize) -> Vec<Line<'static>> {
    let arrived = own.player.arrived;
    let mut lines = place(own, log, theme, width);
    if height < LEAST_FOR_BAR {
        lines.pop();
    }
    // The grid has its heading, the list has its own.
    let room = height.saturating_sub(lines.len() + 2);
    let listed = log.of_round(log.round(arrived)).len();
    // All ranks, where two messages still fit below them.
    let fits = log.ranks + 2 <= room;
    let ranks = if fits { log.ranks } else { log.ranks.min((room / 2).max(room.saturating_sub(listed))).max(1) };
    let first = own.scroll.min(log.ranks.saturating_sub(ranks));
    match log.contents(arrived) {
        Some(contents) => lines.extend(grid(log, &contents, arrived, first..first + ranks, theme, width)),
        None => {
            let text = "Too many ranks or parts to draw. The messages of the round are listed below.";
            lines.extend(wrapped(text, width, theme.dim()));
        }
    }
    let left = height.saturating_sub(lines.len());
    let whole_legend = legend(log, theme, width);
    // In sentences where there is room for them besides the whole round, else on one line, which takes that of a message.
    let has_room = left > listed + whole_legend.len() + 1;
    let legend = match log.messages.is_empty() {
        true => Vec::new(),
        false if has_room => whole_legend,
        false => vec![short_legend(log, theme, width)],
    };
    let below = left.saturating_sub(legend.len() + usize::from(has_room));
    lines.extend(round::lines(log, &own.player, theme, width, below));
    let spare = below.saturating_sub(listed + 1);
    if log.is_measured && log.end_s > 0.0 && spare > ranks + 1 {
        lines.push(Line::raw(""));
        let thick = ((spare - 2) / ranks).clamp(1, 3);
        lines.extend(round::whole(log, &own.player, first..first + ranks, thick, theme, width));
    }
    lines.resize(height.saturating_sub(legend.len()), Line::raw(""));
    lines.extend(legend);
    lines
}

/// Round, message and time, and how far that is.
fn place(own: &Collectives, log: &Log, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let player = &own.player;
    let (arrived, all) = (player.arrived, log.messages.len());
    let sign = if player.is_playing { "▶" } else { "‖" };
    let at = match log.is_measured {
        true => format!("{} of {}", time(player.moment_s), time(log.end_s)),
        false => "no times: no run has sent these messages".to_owned(),
    };
    let rate = match (player.is_playing, log.is_measured) {
        (_, true) => format!("1 s shows {}", time(player.rate(log))),
        (true, false) => format!("speed {}x", player.speed()),
        (false, false) => String::new(),
    };
    let place = format!("{sign} round {} of {}  message {arrived} of {all}  {at}  {rate}", log.round(arrived) + 1, log.rounds);
    let part = if log.end_s > 0.0 { player.moment_s / log.end_s } else { 1.0 };
    let (full, rest) = bar(part, width);
    let empty = "No messages: one rank alone has the sum already, or there are no numbers.";
    let text = if all == 0 { empty } else { place.trim_end() };
    let line = Line::from(vec![Span::styled(full, theme.accent()), Span::styled(rest, theme.dim())]);
    vec![Line::styled(cut(text, width), theme.strong()), line]
}

/// Parts of the numbers that share a column, and the columns.
struct Columns {
    together: usize,
    count: usize,
    width: usize,
}

impl Columns {
    fn of(parts: usize, width: usize) -> Columns {
        let room = width.saturating_sub(RANK + SENT).max(CELL);
        let together = parts.div_ceil(room / CELL).max(1);
        let count = parts.div_ceil(together).max(1);
        Columns { together, count, width: (room / count).clamp(CELL, WIDEST_CELL) }
    }

    fn parts(&self, column: usize, parts: usize) -> Range<usize> {
        column * self.together..((column + 1) * self.together).min(parts)
    }
}

fn grid(log: &Log, contents: &[Vec<Who>], arrived: usize, ranks: Range<usize>, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let parts = contents.first().map_or(0, Vec::len);
    let columns = Columns::of(parts, width);
    let head = |column: usize| {
        let of = columns.parts(column, parts);
        let text = match (parts, of.len()) {
            (1, _) => "whole".to_owned(),
            (_, 1) => of.start.to_string(),
            _ => format!("{}-{}", of.start, of.end - 1),
        };
        format!(" {}", left(&text, columns.width - 1))
    };
    let heads: String = (0..columns.count).map(head).collect();
    let of = match parts {
        _ if ranks.len() < log.ranks => format!("of {}", log.ranks),
        1 => String::new(),
        _ => "part".to_owned(),
    };
    let mut lines = vec![Line::styled(cut(&format!("{of:<RANK$}{heads}{:>SENT$}", "sent"), width), theme.dim())];
    let changed = just_arrived(log, arrived);
    for rank in ranks {
        let mut spans = vec![Span::styled(format!("{:<RANK$}", format!("rank {rank}")), theme.run(rank))];
        for column in 0..columns.count {
            let of = columns.parts(column, parts);
            let sign =
                changed.iter().rev().find(|(to, part, _)| *to == rank && of.contains(part)).map(|(.., operation)| *operation);
            spans.extend(cell(&contents[rank][of], sign, log.ranks, columns.width, theme));
        }
        let (messages, bytes) = log.sent(rank, arrived);
        spans.push(Span::styled(right(&format!("{messages}, {}", units::bytes(bytes)), SENT), theme.text()));
        lines.push(Line::from(spans));
    }
    lines
}

/// Rank, part and operation of the messages that have arrived in the round of the last one to arrive.
fn just_arrived(log: &Log, arrived: usize) -> Vec<(usize, usize, Operation)> {
    let Some(last) = arrived.checked_sub(1).and_then(|last| log.messages.get(last)) else { return Vec::new() };
    let of_round = log.messages[..arrived].iter().filter(|message| message.round == last.round);
    let parts = |message| log.parts_of(message).unwrap_or(0..0);
    of_round.flat_map(|message| parts(message).map(|part| (message.to, part, message.operation))).collect()
}

/// Several parts in one column say what all of them have at least.
fn cell(parts: &[Who], sign: Option<Operation>, ranks: usize, width: usize, theme: Theme) -> [Span<'static>; 3] {
    let least = parts.iter().copied().min_by_key(|who| who.count()).unwrap_or_default();
    let room = width - 2;
    let text = match parts.iter().all(|who| *who == least) {
        true => least.text(ranks, room),
        // Half a number would be wrong, and the heading says how many ranks there are.
        false => Some(format!("~{}/{ranks}", least.count()))
            .filter(|text| text.len() <= room)
            .unwrap_or_else(|| cut(&format!("~{}", least.count()), room)),
    };
    let complete = parts.iter().all(|who| who.is_complete(ranks));
    let style = match (complete, least.count()) {
        (true, _) => theme.accent().add_modifier(Modifier::REVERSED),
        (false, 0 | 1) => theme.dim(),
        (false, _) => theme.accent(),
    };
    let sign = match sign {
        Some(Operation::Reduce) => "+",
        Some(Operation::Copy) => "=",
        None => " ",
    };
    let fill = room.saturating_sub(text.chars().count());
    [Span::styled(sign, theme.strong()), Span::styled(text, style), Span::raw(" ".repeat(fill + 1))]
}

/// As many of the signs as fit, the first of them first.
fn short_legend(log: &Log, theme: Theme, width: usize) -> Line<'static> {
    let grouped = grouped(log, width).map(|_| format!("~2: 2 or more of {}", log.ranks));
    let signs = ["Cell 0..2: ranks 0 to 2 added up".to_owned()].into_iter().chain(grouped);
    let signs = signs.chain(["all: finished", "+ adds", "= copies"].map(str::to_owned));
    let mut text = String::new();
    for sign in signs {
        let longer = if text.is_empty() { sign } else { format!("{text}  {sign}") };
        if longer.len() > width && !text.is_empty() {
            break;
        }
        text = longer;
    }
    Line::styled(cut(&text, width), theme.dim())
}

/// How many parts share a column, where any do.
fn grouped(log: &Log, width: usize) -> Option<usize> {
    log.cells.as_ref().map(|cells| Columns::of(cells.parts.len(), width).together).filter(|together| *together > 1)
}

fn legend(log: &Log, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let numbers = if log.elements == 1 { "1 number".to_owned() } else { format!("{} numbers", units::count(log.elements)) };
    let text = format!(
        "Each rank has {numbers} ({}). A cell says whose are added up in it: 0+1 is the sum of ranks 0 and 1, 0..2 of ranks 0 to 2, \
         all is finished. + has just been added, = has just been copied.",
        units::bytes(4 * log.elements as u64)
    );
    let grouped = grouped(log, width).map_or(String::new(), |together| {
        format!(" {together} parts share a column: ~2/{0} means that each has 2 of {0} or more.", log.ranks)
    });
    wrapped(&format!("{text}{grouped}"), width, theme.dim())
}
