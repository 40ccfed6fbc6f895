//! All keys, from the key tables, and how a first session goes.
//!
//! Everything comes from the key tables. A search keeps the rows that contain its words.

use ratatui::text::{Line, Span};

use super::state::{Help, Section};
use crate::columns::wrap;
use crate::tui::shared::Shared;

const INTRO: &str = "Train one model on several ranks, and see what each of the ten steps is for: press r to run, change a step \
                     or a setting, press r again, and compare. All runs stay in the table; b chooses which one the others are \
                     compared with. A run goes on when the screen is closed.";
const INTRO_OF_REPLAY: &str = "This is a recording of runs that were made before: Space, < > and + - move through it, Tab and the arrow \
                               keys look at its panes, v compares its runs. Nothing starts here; in your own lab r does.";
/// Columns of a key, and of what stands around it.
const KEY: usize = 10;

pub fn lines(help: &Help, shared: &Shared, words: &str, typing: bool, width: usize) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let is_replay = shared.replay.is_some();
    let searched = typing || !words.is_empty();
    let mut lines: Vec<Line> = match searched {
        true => {
            let cursor = if typing { "_" } else { "" };
            vec![Line::from(vec![Span::styled("/ ", theme.key()), Span::styled(format!("{words}{cursor}"), theme.strong())])]
        }
        false => wrap(if is_replay { INTRO_OF_REPLAY } else { INTRO }, width).into_iter().map(Line::raw).collect(),
    };
    let words = words.to_lowercase();
    let mut sections: Vec<&Section> = help.sections.iter().collect();
    if is_replay {
        // What is played comes first.
        sections.sort_by_key(|section| !section.of_replay);
    }
    for section in sections {
        let title = &section.title;
        let rows = section.keys.iter().filter(|row| {
            let all = format!("{} {} {} {title}", row.key, row.label, row.help).to_lowercase();
            // A recording is neither started nor stopped: keys that would are not named.
            !(is_replay && row.command.starts_or_stops()) && words.split_whitespace().all(|word| all.contains(word))
        });
        let rows: Vec<Line> = rows
            .flat_map(|row| {
                let help = wrap(row.help, width.saturating_sub(KEY).max(KEY)).into_iter().enumerate();
                help.map(|(line, text)| {
                    let key = if line == 0 { row.key } else { "" };
                    Line::from(vec![Span::styled(format!("  {key:<7} "), theme.key()), Span::raw(text)])
                })
            })
            .collect();
        if !rows.is_empty() {
            lines.push(Line::raw(""));
            lines.push(Line::styled(title.clone(), theme.strong()));
            lines.extend(rows);
        }
    }
    if searched && lines.len() == 1 {
        lines.push(Line::styled("no matching key: Esc shows all", theme.warn()));
    }
    lines
}
