//! The keys of the log.

use crossterm::event::KeyCode as K;

use crate::tui::actions::On::{Char, Code};
use crate::tui::actions::{Binding, Command as C, LEFT_RIGHT, Move, PAGES, Prompt, UP_DOWN, row};

pub static KEYS: &[Binding] = &[
    row(UP_DOWN, C::Move(Move::Up), "↑↓", "scroll", "scroll; the view stays while new lines come"),
    row(LEFT_RIGHT, C::Move(Move::Left), "←→", "rank", "root, each rank, mpirun, all").ranked(2),
    row(PAGES, C::Move(Move::PageUp), "PgUp", "", "a page back; PgDn: a page forward"),
    row(&[Code(K::Home)], C::Move(Move::First), "Home", "", "the first line"),
    row(&[Code(K::End), Code(K::Enter)], C::Move(Move::Last), "End", "follow", "follow new lines again").ranked(2),
    row(&[Char('/')], C::Prompt(Prompt::Search), "/", "search", "search a text or, with Ctrl-R, a regular expression").ranked(2),
    row(&[Char('n')], C::NextMatch, "n N", "next match", "next match of the search; N the one before"),
    row(&[Char('N')], C::PreviousMatch, "", "", ""),
    row(&[Char('f')], C::Prompt(Prompt::Filter), "f", "filter", "only lines with a text; empty shows all").ranked(2),
    row(&[Char('!')], C::Prompt(Prompt::InverseFilter), "!", "", "only lines without a text"),
    row(&[Char('W')], C::Wrap, "W", "", "wrap long lines, or cut them"),
    row(&[Char(',')], C::Leftwards, ", .", "", "scroll cut lines to the left and right"),
    row(&[Char('.')], C::Rightwards, "", "", ""),
    row(&[Char('@')], C::Times, "@", "", "show when each line came, since the launch"),
    row(&[Char('V')], C::Mark, "V", "", "mark lines with ↑↓, for y to copy"),
    row(&[Char('y')], C::Copy, "y", "copy", "copy the marked lines, or those on the screen"),
    row(&[Char('o')], C::Save, "o", "", "write all lines that the log shows into a file"),
];
