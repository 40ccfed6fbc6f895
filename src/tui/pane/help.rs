//! All keys, from the key table, and how a first session goes.
//!
//! Never written by hand: a key that is not in the table is not here. A search shows only what has its words.

use ratatui::text::{Line, Span};

use super::super::keymap::{self, Binding, Scope};
use super::super::mode::ModeKind;
use super::super::replay;
use super::super::state::{Pane, State};

const INTRO: [&str; 4] = [
    "Train one model on several processes, and see what each of the ten",
    "steps is for: press r to run, change a step or a setting, press r again,",
    "and compare. All runs stay in the table; b chooses which one the others",
    "are compared with. A run goes on when the screen is closed.",
];

pub fn lines(state: &State, words: &str, typing: bool) -> Vec<Line<'static>> {
    let theme = state.theme;
    let searched = typing || !words.is_empty();
    let mut lines: Vec<Line> = match searched {
        true => {
            let cursor = if typing { "_" } else { "" };
            vec![Line::from(vec![Span::styled("/ ", theme.key()), Span::styled(format!("{words}{cursor}"), theme.strong())])]
        }
        false => INTRO.into_iter().map(Line::raw).collect(),
    };
    let words = words.to_lowercase();
    let mut section = |title: String, scope: Scope| {
        // A recording is neither started nor stopped: keys that would are not named.
        let is_refused = |binding: &Binding| state.replay.is_some() && replay::refuses(binding.command);
        let rows = keymap::table().filter(|binding| binding.scope == scope && !binding.help.is_empty() && !is_refused(binding));
        let has_words = |binding: &&Binding| {
            let all = format!("{} {} {} {title}", binding.key, binding.label, binding.help).to_lowercase();
            words.split_whitespace().all(|word| all.contains(word))
        };
        let rows = rows.filter(has_words);
        let rows: Vec<&Binding> = rows.collect();
        if rows.is_empty() {
            return;
        }
        lines.push(Line::raw(""));
        lines.push(Line::styled(title, theme.strong()));
        lines.extend(rows.into_iter().map(|binding| {
            Line::from(vec![Span::styled(format!("  {:<7} ", binding.key), theme.key()), Span::raw(binding.help)])
        }));
    };
    let replay = ("In a replay", Scope::Window(ModeKind::Replay));
    let everywhere = ("Everywhere", Scope::Panes);
    for (title, scope) in if state.replay.is_some() { [replay, everywhere] } else { [everywhere, replay] } {
        section(title.into(), scope);
    }
    section("In windows too".into(), Scope::Everywhere);
    section("In windows that scroll".into(), Scope::Pages);
    for pane in Pane::ALL {
        section(format!("In {}", pane.title()), Scope::Pane(pane));
    }
    if searched && lines.len() == 1 {
        lines.push(Line::styled("no key has these words: Esc shows all", theme.warn()));
    }
    lines
}
