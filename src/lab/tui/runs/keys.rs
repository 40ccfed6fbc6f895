//! The keys of the table of runs.

use crossterm::event::KeyCode as K;

use crate::tui::actions::On::{Char, Code};
use crate::tui::actions::{Binding, Command as C, ENTER, LIST, Move, PAGES, row};

pub static KEYS: &[Binding] = &[
    row(LIST, C::Move(Move::Up), "↑↓", "choose", "choose a run: log, chart and header show it"),
    row(PAGES, C::Move(Move::PageUp), "", "", ""),
    row(&[Char('p')], C::Pin, "p", "pin", "pin the chosen run in the chart, or unpin it").ranked(2),
    row(&[Char('/')], C::Filter, "/", "filter", "show only runs that match: np:2, failed, !name:old").ranked(2),
    row(&[Char('s')], C::Sort, "s", "sort", "sort by the next figure, best first").ranked(2),
    row(&[Char('S')], C::Reverse, "S", "", "sort the other way round"),
    row(&[Char('v')], C::Compare, "v", "compare", "the chosen run against the baseline: what it gained and what differs")
        .ranked(2),
    row(&[Char('o')], C::Published, "o", "", "published results, below the runs"),
    row(&[Char('R')], C::Name, "R", "name", "name the chosen run"),
    row(&[Char('N')], C::Note, "N", "", "write a note to the chosen run"),
    row(&[Char('D'), Code(K::Delete)], C::Delete, "D", "delete", "move the chosen run to the trash (asks first)").ranked(2),
    row(&[Char('u')], C::Undo, "u", "undo", "undo the last name, note or delete"),
    row(&[Char('X')], C::Export, "X", "export", "write the shown runs to a file: Markdown, CSV, JSON, SVG, HTML or LaTeX"),
    row(&[Char('a')], C::Again, "a", "", "the settings of the chosen run, to start it again"),
    row(ENTER, C::Accept, "Enter", "details", "details of the chosen run; of a run of collectives its messages and times"),
];
