//! The help: what it lists, and where the tour of the screen is.

use crate::tui::actions::{Binding, Command, Pane};

#[derive(Clone, Debug, Default)]
pub struct Help {
    /// All keys that the help names, place by place.
    pub sections: &'static [Section],
    /// All commands of the palette.
    pub commands: &'static [Entry],
    /// Places in it of those that were used from the palette, the newest first.
    pub recent: Vec<usize>,
    /// The page of the tour that is on the screen.
    pub tour: Option<usize>,
    /// The tour was shown before.
    pub toured: bool,
}

/// The keys of one place.
#[derive(Debug)]
pub struct Section {
    pub title: String,
    /// Keys that only a replay has.
    pub of_replay: bool,
    pub keys: Vec<Binding>,
}

/// A command of the palette.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub command: Command,
    /// The pane that it works in, which gets the focus.
    pub pane: Option<Pane>,
    pub key: String,
    pub label: &'static str,
    /// What it does.
    pub text: String,
}

impl Help {
    pub fn new(sections: &'static [Section], commands: &'static [Entry]) -> Help {
        Help { sections, commands, ..Help::default() }
    }

    pub fn used(&mut self, command: usize) {
        self.recent.retain(|other| *other != command);
        self.recent.insert(0, command);
    }

    pub fn start_tour(&mut self) {
        (self.tour, self.toured) = (Some(0), true);
    }
}

/// A page of the tour.
pub struct Page {
    pub title: &'static str,
    pub text: &'static str,
    /// Instead of it on a screen that shows two panes only.
    pub small: Option<&'static str>,
    /// Instead of it where a recording is played: nothing starts there.
    pub replay: Option<&'static str>,
    /// The pane it speaks of, which is shown as if it had the focus.
    pub pane: Option<Pane>,
    /// Keys that can be tried: they work as usual, and the next page follows.
    pub keys: &'static str,
}

const fn page(title: &'static str, text: &'static str, pane: Option<Pane>, keys: &'static str) -> Page {
    Page { title, text, small: None, replay: None, pane, keys }
}

/// The tour: six pages of a title and a few lines.
pub static TOUR: [Page; 6] = [
    Page {
        small: Some(
            "Ten steps turn a program for one device into one for many. 1 to 9 and 0 switch them on and off (try it); w reads \
             the lesson of the last one. Tab brings them here.",
        ),
        ..page(
            "Ten steps",
            "On the left are the ten steps that turn a program for one device into one for many. 1 to 9 and 0 switch them on \
             and off (try it); Enter on a step reads its lesson.",
            Some(Pane::Steps),
            "1234567890",
        )
    },
    Page {
        replay: Some(
            "This is a recording, and nothing starts here. In your own lab r trains with these steps and settings, in the \
             background.",
        ),
        ..page(
            "Run",
            "Press r: it trains with these steps and settings, on this machine. A run goes on in the background, also when you \
             leave the lab.",
            Some(Pane::Settings),
            "r",
        )
    },
    page(
        "Watch",
        "Devices, Chart and Log show the run while it trains. Tab goes from pane to pane, z zooms one.",
        Some(Pane::Chart),
        "z\t",
    ),
    Page {
        replay: Some(
            "Each run stays in the table, with its speed-up. v compares two of them side by side; b chooses the run that the others are compared with.",
        ),
        ..page(
            "Compare",
            "Each run stays in the table. Switch a step off, run again, and see what the step is for; b chooses the run that \
             the others are compared with.",
            Some(Pane::Runs),
            "b1234567890r",
        )
    },
    page(
        "Allreduce",
        "How do the ranks add up their gradients? C plays an allreduce message by message, and measures which algorithm is \
         fastest. Lessons 15 and 16 are about it.",
        None,
        "C",
    ),
    page(
        "Find your way",
        "? shows all keys, : finds a command by its words, T changes the theme, F2 shows this tour again.",
        None,
        "?:T",
    ),
];
