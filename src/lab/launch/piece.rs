//! One line of the launcher's output, and a line of one process that is still growing: at most 1 MiB of it is kept, and of a bar that is drawn over itself the last state.

use crate::domain::units;
use crate::host::read::LONGEST_LINE;

/// Bytes of a line that are kept. With the note behind it, the line must not be too long for the readers of the logs.
pub(super) const KEPT: usize = LONGEST_LINE - 256;

/// Bytes of a text behind a cut line that are kept.
const LAST: usize = 4096;

/// One line of the launcher's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// Printed by this process.
    Rank { process: usize, text: String },
    /// A bar that this process has drawn over since: to be read, not to be kept.
    Drawn { process: usize, text: String },
    /// Sent by this process to the event socket. `lost` events are missing before it. Connections are numbered from 1.
    Event { process: usize, connection: u64, lost: u64, json: String },
    /// The number of events of this process that came in pieces or were too long.
    Lost { process: usize, events: u64 },
    /// Said by the launcher itself.
    Launcher(String),
}

impl Line {
    /// Whose it is; `None` of the launcher's.
    pub fn process(&self) -> Option<usize> {
        match self {
            Line::Rank { process, .. }
            | Line::Drawn { process, .. }
            | Line::Event { process, .. }
            | Line::Lost { process, .. } => Some(*process),
            Line::Launcher(_) => None,
        }
    }
}

/// What came of a line so far.
#[derive(Debug, Default)]
pub(super) struct Piece {
    text: String,
    left_out: u64,
    /// What came behind the last tag of a cut line. Where two ranks write long lines at once, the end of a line may be taken for the
    /// other rank's, and then this is the next line.
    last: Option<String>,
    /// A carriage return came last: what comes next is drawn over the text.
    is_returned: bool,
}

impl Piece {
    /// More text. Returns the last state that it draws over, and whether the line has just become longer than what is kept.
    pub fn push(&mut self, text: &str) -> (Option<String>, bool) {
        let (mut drawn, mut is_newly_cut) = (None, false);
        for (at, part) in text.split('\r').enumerate() {
            self.is_returned |= at > 0;
            // A bar is wiped with blanks: its last state is what people want to read later.
            let is_wiped = self.is_returned && !self.text.is_empty() && part.trim().is_empty();
            if part.is_empty() || is_wiped {
                continue;
            }
            if std::mem::take(&mut self.is_returned) && !self.text.is_empty() {
                drawn = std::mem::take(self).into_lines().next();
            }
            let was_whole = self.left_out == 0;
            self.append(part);
            is_newly_cut |= was_whole && self.left_out > 0;
        }
        (drawn, is_newly_cut)
    }

    /// What comes next is behind another tag.
    pub fn tag(&mut self) {
        if self.left_out > 0 {
            self.left_out += self.last.replace(String::new()).map_or(0, |last| last.len() as u64);
        }
    }

    fn append(&mut self, text: &str) {
        if let Some(last) = &mut self.last {
            last.push_str(text);
            if last.len() > LAST {
                self.left_out += last.len() as u64;
                self.last = None;
            }
            return;
        }
        let room = if self.left_out == 0 { KEPT.saturating_sub(self.text.len()) } else { 0 };
        let end = (0..=room.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        self.text.push_str(&text[..end]);
        self.left_out += (text.len() - end) as u64;
    }

    /// The line, with a note where a part of it is left out, and perhaps a next one.
    pub fn into_lines(mut self) -> impl Iterator<Item = String> {
        if self.left_out > 0 {
            let left_out = units::count(self.left_out as usize);
            self.text.push_str(&format!(" … [hvd-lab: {left_out} bytes of this line are left out]"));
        }
        [self.text].into_iter().chain(self.last.filter(|last| !last.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_bar_the_last_state_is_kept_and_the_one_before_is_drawn_over() {
        let mut piece = Piece::default();
        let drawn = |state: &str| (Some(state.into()), false);
        assert_eq!(piece.push("\r 10%"), (None, false));
        assert_eq!(piece.push("\r 20%\r 3"), drawn(" 20%"));
        assert_eq!(piece.push("0%\r"), (None, false), "nothing is drawn over it yet");
        assert_eq!(piece.push("     \r"), (None, false), "wiped");
        assert!(piece.into_lines().eq([" 30%"]));
    }

    #[test]
    fn a_long_line_says_how_much_of_it_is_left_out() {
        let mut piece = Piece::default();
        assert_eq!(piece.push(&"é".repeat(KEPT / 2 - 1)), (None, false));
        assert!(piece.push("xxé").1 && !piece.push("more").1);
        // The end of the line before it was taken for another rank's.
        piece.tag();
        piece.push(&"x".repeat(LAST + 1));
        piece.tag();
        piece.push("next");
        let [text, next] = &piece.into_lines().collect::<Vec<_>>()[..] else { panic!("two lines") };
        assert_eq!(next, "next");
        assert!(text.ends_with("éxx … [hvd-lab: 4,103 bytes of this line are left out]"), "{}", &text[text.len() - 90..]);
        assert!(text.len() <= LONGEST_LINE, "{}", text.len());
    }
}
