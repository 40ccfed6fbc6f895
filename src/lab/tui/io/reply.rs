//! Picks the terminal's reply to a question out of the keys it arrives among.
//!
//! No key is lost: whatever is not a reply is handed on as it was typed.
//!
//! The reply to "which background?" (OSC 11) comes through the same door as keys, whenever the terminal gets to it. The
//! reader knows no such reply: it arrives as Alt-], characters, and Ctrl-G or Alt-\.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::tui::message::Message;
use crate::tui::widgets::Background;

/// The question.
pub const ASK_BACKGROUND: &str = "\x1b]11;?\x1b\\";
const PREFIX: &str = "11;rgb:";
/// Longer than any reply.
const MOST: usize = 32;

#[derive(Debug, Default)]
pub struct Replies {
    /// Keys that may be the beginning of a reply.
    held: Vec<KeyEvent>,
    text: String,
}

impl Replies {
    /// The messages of a key: the key itself, the reply that it completes, or none yet.
    pub fn sort(&mut self, key: KeyEvent) -> Vec<Message> {
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        let ends = key.code == KeyCode::Esc
            || (alt && key.code == KeyCode::Char('\\'))
            || (key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('g'));
        match key.code {
            KeyCode::Char(']') if alt && self.held.is_empty() => self.held.push(key),
            _ if self.held.is_empty() => return vec![Message::Key(key)],
            _ if ends && self.text.starts_with(PREFIX) => {
                let background = Background::from_reply(&self.text["11;".len()..]);
                *self = Replies::default();
                return vec![Message::Background(background)];
            }
            KeyCode::Char(c) if !alt && self.continues(c) => {
                self.text.push(c);
                self.held.push(key);
            }
            _ => {
                let held = std::mem::take(self).held;
                return held.into_iter().chain([key]).map(Message::Key).collect();
            }
        }
        Vec::new()
    }

    fn continues(&self, c: char) -> bool {
        match PREFIX.chars().nth(self.text.chars().count()) {
            Some(expected) => c == expected,
            None => (c.is_ascii_hexdigit() || c == '/') && self.text.len() < MOST,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<KeyEvent> {
        let mut keys = Vec::new();
        let mut alt = false;
        for c in text.chars() {
            match c {
                '\x1b' => alt = true,
                '\x07' => keys.push(KeyEvent::new(KeyCode::Char('g'), KeyModifiers::CONTROL)),
                c => {
                    keys.push(KeyEvent::new(KeyCode::Char(c), if alt { KeyModifiers::ALT } else { KeyModifiers::NONE }));
                    alt = false;
                }
            }
        }
        keys
    }

    fn sorted(text: &str) -> Vec<Message> {
        let mut replies = Replies::default();
        keys(text).into_iter().flat_map(|key| replies.sort(key)).collect()
    }

    #[test]
    fn a_reply_among_keys_is_found_and_no_key_is_lost() {
        for end in ["\x07", "\x1b\\"] {
            let messages = sorted(&format!("r\x1b]11;rgb:1e1e/1e1e/1e1e{end}q"));
            assert!(matches!(
                messages[..],
                [Message::Key(_), Message::Background(Background::Dark), Message::Key(KeyEvent { code: KeyCode::Char('q'), .. })]
            ));
        }
    }

    #[test]
    fn what_is_no_reply_is_typed() {
        for text in ["\x1b]1q", "\x1b]x", "\x1b]11;rgb:zz", "\x1b]\x1b]"] {
            assert!(sorted(text).len() >= keys(text).len() - 1, "{text:?}");
        }
        let long = format!("\x1b]11;rgb:{}", "f".repeat(100));
        assert_eq!(sorted(&long).len(), keys(&long).len());
    }
}
