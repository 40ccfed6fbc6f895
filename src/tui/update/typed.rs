//! A line that is being typed, wherever on the screen.
//!
//! Never decides when it is done.

use super::super::keymap::Command;

/// One key into a line of at most `longest` characters.
pub fn edit(text: &mut String, command: Command, longest: usize) {
    match command {
        Command::Insert(c) if text.chars().count() < longest && !c.is_control() => text.push(c),
        Command::Erase => {
            text.pop();
        }
        Command::Clear => text.clear(),
        _ => {}
    }
}
