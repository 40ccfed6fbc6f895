//! The messages of one round: from whom to whom, what they carry, how long they took, and who waited; and all rounds on a line of
//! time a rank.

use std::ops::Range;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::super::log::{Log, bytes};
use super::super::player::Player;
use super::chart::time;
use crate::columns::{cut, left, right};
use crate::domain::collective::{MessageReport, Operation};
use crate::domain::units;
use crate::tui::widgets::Theme;

/// Columns before the line of time.
const BEFORE: usize = 50;
/// A line of time that is shorter says nothing.
const LEAST_LINE: usize = 8;

pub fn lines(log: &Log, player: &Player, theme: Theme, width: usize, height: usize) -> Vec<Line<'static>> {
    let round = log.round(player.arrived);
    let messages = log.of_round(round);
    if height == 0 || messages.is_empty() {
        return Vec::new();
    }
    let rows = height - 1;
    // The next one to arrive stays in sight.
    let next = messages.iter().position(|(place, _)| *place == player.arrived).unwrap_or(0);
    let first = (next + 1).saturating_sub(rows).min(messages.len().saturating_sub(rows));
    // From the first moment that anyone in the round waited to its end.
    let from_s = messages.iter().map(|(_, message)| message.began_s.min(log.ready_s(message))).fold(f64::INFINITY, f64::min);
    let to_s = messages.iter().map(|(_, message)| message.ended_s).fold(0.0, f64::max);
    let room = width.saturating_sub(BEFORE);
    let column = |moment_s: f64| {
        let part = (moment_s - from_s) / (to_s - from_s).max(1e-12);
        ((part * room as f64).round().max(0.0) as usize).min(room)
    };
    let mut lines = vec![Line::styled(cut(&heading(log, round, &messages), width), theme.strong())];
    lines.extend(
        messages.iter().skip(first).take(rows).map(|(place, message)| row(log, player, *place, message, &column, theme, width)),
    );
    let below = messages.len() - messages.len().min(first + rows);
    for (at, hidden, more) in [(1, first, "above"), (lines.len() - 1, below, "more")] {
        if hidden > 0 && at > 0 {
            lines[at] = with_more(std::mem::take(&mut lines[at]), &format!("+{hidden} {more}"), theme, width);
        }
    }
    lines
}

/// A row that says at its end how many messages are hidden above or below it: the player scrolls to them as they arrive.
fn with_more(row: Line<'static>, more: &str, theme: Theme, width: usize) -> Line<'static> {
    let room = width.saturating_sub(more.chars().count());
    let mut spans = Vec::new();
    let mut left = room;
    for span in row.spans {
        let text = span.content.chars().take(left).collect::<String>();
        left -= text.chars().count();
        spans.push(Span::styled(text, span.style));
    }
    spans.push(Span::raw(" ".repeat(left)));
    spans.push(Span::styled(more.to_owned(), theme.strong()));
    Line::from(spans)
}

fn heading(log: &Log, round: usize, messages: &[(usize, &MessageReport)]) -> String {
    let number = format!("Round {}", round + 1);
    if !log.is_measured {
        return number;
    }
    // How long each receiver had nothing to do before its message was sent.
    let waits = messages.iter().map(|(_, message)| (message.to, (message.began_s - log.ready_s(message)).max(0.0)));
    let longest = waits.max_by(|a, b| a.1.total_cmp(&b.1));
    let from = messages.iter().map(|(_, message)| message.began_s).fold(f64::INFINITY, f64::min);
    let to = messages.iter().map(|(_, message)| message.ended_s).fold(0.0, f64::max);
    match longest.filter(|(_, waited)| *waited > 0.0) {
        Some((rank, waited)) => {
            format!("{number}: {}, rank {rank} waited longest for its message to be sent ({})", time(to - from), time(waited))
        }
        None => format!("{number}: {}, no rank waited for a message to be sent", time(to - from)),
    }
}

fn row(
    log: &Log,
    player: &Player,
    place: usize,
    message: &MessageReport,
    column: &dyn Fn(f64) -> usize,
    theme: Theme,
    width: usize,
) -> Line<'static> {
    let has_arrived = place < player.arrived;
    // Nothing is on its way before the first message of a log has arrived, or in a schedule that is not playing.
    let has_begun = player.is_playing || log.is_measured && player.arrived > 0;
    let on_its_way = !has_arrived && has_begun && message.began_s <= player.moment_s;
    let (sign, style) = match (has_arrived, on_its_way) {
        (true, _) => ("✓", theme.text()),
        (false, true) => ("▶", theme.strong()),
        (false, false) => ("·", theme.dim()),
    };
    let part = match log.parts_of(message) {
        Some(parts) if parts.len() == 1 => format!("part {}", parts.start),
        Some(parts) if !parts.is_empty() => format!("parts {}-{}", parts.start, parts.end - 1),
        _ => format!("{}..{}", message.start, message.end),
    };
    let operation = match message.operation {
        Operation::Reduce => "adds",
        Operation::Copy => "copies",
    };
    let took = if log.is_measured { time(message.ended_s - message.began_s) } else { String::new() };
    let text = format!(
        "{sign} {} {} {} {} {}",
        left(&format!("{} → {}", message.from, message.to), 8),
        left(&part, 11),
        right(&units::bytes(bytes(message)), 9),
        left(operation, 6),
        right(&took, 9)
    );
    let mut spans = vec![Span::styled(cut(&text, width), style)];
    let room = width.saturating_sub(BEFORE);
    if log.is_measured && room >= LEAST_LINE {
        let (ready, began, ended) = (column(log.ready_s(message)), column(message.began_s), column(message.ended_s));
        // Whatever it took and however late it was, it shows.
        let began = began.min(room - 1);
        let ended = ended.max(began + 1);
        spans.push(Span::raw(" ".repeat(BEFORE - text.chars().count().min(BEFORE) + ready.min(began))));
        spans.push(Span::styled("·".repeat(began.saturating_sub(ready)), theme.dim()));
        spans.push(Span::styled("█".repeat(ended - began), theme.run(message.from)));
    }
    Line::from(spans)
}

/// Columns of `rank 12 `.
pub const RANK: usize = 8;

/// The whole allreduce: when each rank received what, and when it waited. A heading and `thick` lines a rank, of the ranks that
/// the grid shows.
pub fn whole(log: &Log, player: &Player, ranks: Range<usize>, thick: usize, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let heading =
        format!("All rounds, 0 to {}: + receives and adds, = receives and copies, · waits for a sender", time(log.end_s));
    let columns = width.saturating_sub(RANK);
    let column = |moment_s: f64| ((moment_s / log.end_s.max(1e-12) * columns as f64).floor().max(0.0) as usize).min(columns);
    let now = column(player.moment_s);
    let mut lines = vec![Line::styled(cut(&heading, width), theme.strong())];
    for rank in ranks {
        let mut cells = vec![' '; columns];
        let mut fill = |from_s: f64, to_s: f64, sign: char| {
            let from = column(from_s);
            // Whatever it took, it shows.
            let to = column(to_s).max(from + 1).min(columns);
            cells.get_mut(from..to).into_iter().flatten().for_each(|cell| *cell = sign);
        };
        for message in log.messages.iter().filter(|message| message.to == rank) {
            let ready_s = log.ready_s(message);
            if ready_s < message.began_s {
                fill(ready_s, message.began_s, '·');
            }
            fill(message.began_s, message.ended_s, if message.operation == Operation::Reduce { '+' } else { '=' });
        }
        let piece = |cells: &[char], style: Style| Span::styled(cells.iter().collect::<String>(), style);
        for row in 0..thick {
            let name = if row == 0 { format!("rank {rank}") } else { String::new() };
            lines.push(Line::from(vec![
                Span::styled(format!("{name:<RANK$}"), theme.run(rank)),
                piece(&cells[..now], theme.strong()),
                piece(&cells[now..], theme.dim()),
            ]));
        }
    }
    lines
}
