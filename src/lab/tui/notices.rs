//! A window with what the notices have said: they leave by themselves, and one covers the other.

use ratatui::text::Line;

use super::actions::{Binding, Char, Code, Command, Ctrl, K, row};
use super::state::{About, Page, State, View, Window};
use super::widgets::Sheet;
use crate::domain::units;

#[derive(Clone, Debug, Default)]
pub struct Notices;

pub static KEYS: &[Binding] =
    &[row(&[Code(K::Esc), Char('K'), Char('q'), Ctrl('c')], Command::Back, "Esc", "close", "").ranked(0)];

impl Window for Notices {
    fn about(&self, _: &State) -> About {
        About { keys: KEYS, scrolls: true, ..About::default() }
    }

    fn view(&self, state: &State, columns: u16) -> Option<View> {
        Some(Page::view("What was said", columns, 92, |width| lines(state, width)))
    }
}

/// Columns of how long ago it was.
const AGO: usize = 13;

/// The newest first, each with how long ago it came.
fn lines(state: &State, width: usize) -> Vec<Line<'static>> {
    let (shared, theme) = (&state.shared, state.shared.theme);
    if shared.said.is_empty() {
        return vec![Line::styled("Nothing has been said yet.", theme.dim())];
    }
    let mut sheet = Sheet::new(theme, width, AGO);
    for (at_s, notice) in shared.said.iter().rev() {
        let ago = format!("{:>11}", units::ago(shared.now_s - at_s));
        let (problem, style) = if notice.is_error { ("Problem: ", theme.warn()) } else { ("", theme.text()) };
        sheet.styled_fact(&ago, &format!("{problem}{}", notice.text), style);
    }
    sheet.lines
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyCode;

    use crate::tui::app::update::update;
    use crate::tui::message::Message;
    use crate::tui::testing::samples;
    use crate::tui::tests::{press, text, type_text};

    #[test]
    fn what_a_notice_said_can_be_read_after_it_has_left() {
        let mut state = samples::running();
        update(&mut state, Message::Resize(80, 24));
        state.shared.said.clear();
        type_text(&mut state, "K");
        assert!(text(&state, 80, 24).contains("Nothing has been said yet."));
        press(&mut state, KeyCode::Esc);
        let began_s = state.shared.now_s;
        state.shared.inform("run 7 has been kept");
        state.shared.error("the disk is full");
        state.shared.notice = None;
        update(&mut state, Message::Tick(began_s + 65.0));
        assert!(!text(&state, 80, 24).contains("run 7 has been kept"));
        type_text(&mut state, "K");
        let seen = text(&state, 80, 24);
        let places = ["1 min ago  Problem: the disk is full", "1 min ago  run 7 has been kept"].map(|words| seen.find(words));
        assert!(places[0].is_some() && places[0] < places[1], "{seen}");
    }

    #[test]
    fn no_more_is_kept_than_anybody_reads() {
        let mut state = samples::running();
        (0..500).for_each(|number| state.shared.inform(format!("number {number}")));
        let said = &state.shared.said;
        assert!(said.len() <= 100 && said.back().is_some_and(|(_, notice)| notice.text == "number 499"));
    }
}
