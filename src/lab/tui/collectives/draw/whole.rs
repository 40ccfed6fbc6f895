//! The whole allreduce on one line of time a rank: when it received what, and when it waited.

use std::ops::Range;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::super::log::Log;
use super::super::player::Player;
use super::figures::time;
use crate::columns::cut;
use crate::domain::collective::Operation;
use crate::tui::widgets::Theme;

/// Columns of `rank 12 `.
const RANK: usize = 8;

/// A heading and `thick` lines a rank, of the ranks that the grid shows.
pub fn lines(log: &Log, player: &Player, ranks: Range<usize>, thick: usize, theme: Theme, width: usize) -> Vec<Line<'static>> {
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
