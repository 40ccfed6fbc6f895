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
    pub fn start_tour(&mut self) {
        (self.tour, self.toured) = (Some(0), true);
    }
}

/// A page of the tour. Keys stand between backticks.
pub struct Page {
    pub title: &'static str,
    text: &'static str,
    /// How the text goes on: in a lab, and where a recording is played, in which nothing starts.
    endings: [&'static str; 2],
    /// The pane it speaks of, which is shown as if it had the focus.
    pub pane: Option<Pane>,
    /// Keys that can be tried: they work as usual, and the page stays.
    pub keys: &'static str,
}

impl Page {
    pub fn words(&self, is_replay: bool) -> String {
        format!("{}{}", self.text, self.endings[usize::from(is_replay)])
    }
}

/// The page that offers the first run; the next one follows when the run has started.
pub const OFFER: usize = 2;
/// The page beside a run that trains; the next one follows when the run is over.
pub const WATCH: usize = 3;

/// The tour: what the lab is about, the first run, and what its answer says.
pub static TOUR: [Page; 5] = [
    Page {
        title: "Ranks",
        text: "A program that trains on one device is started several times at once. Each process has the same model and images of \
               its own. It is called a rank, and has a number: 0, 1, 2 and so on. np is the number of ranks",
        endings: [": `+` and `-` change it.", "."],
        pane: Some(Pane::Settings),
        keys: "+=-_",
    },
    Page {
        title: "Root and allreduce",
        text: "Rank 0 is the root: it prints, and it saves the model. After each batch an allreduce gives every rank the mean of all \
               gradients, so that all models stay the same. `C` plays an allreduce message by message.",
        endings: [""; 2],
        pane: None,
        keys: "C",
    },
    Page {
        title: "Ten steps, and a run",
        text: "Ten steps turn a program for one device into one for many. ",
        endings: [
            "`1` to `9` and `0` switch them off and on. `r` trains with the steps that are on, in the background, also when you leave \
             the lab.",
            "This is a recording, and nothing starts here. In your own lab you switch steps off, and see what each is for.",
        ],
        pane: Some(Pane::Steps),
        keys: "1234567890r",
    },
    Page {
        title: "Watch",
        text: "Devices shows what each rank does now, Chart how well the model learns, and Log what the ranks print. `Tab` goes from \
               pane to pane, `z` zooms one.",
        endings: [""; 2],
        pane: Some(Pane::Devices),
        keys: "z\t",
    },
    Page {
        title: "The answer",
        text: "The top line says what more ranks gained, once there is a run on 1 rank and one on 2. 1.89x of 2x, 94 % means: 2 ranks \
               train 1.89 times as fast as 1, where 2 times is ideal. The line below it says the next key. `?` shows all keys, `:` \
               finds a command, `F2` is this tour.",
        endings: [""; 2],
        pane: None,
        keys: "?:",
    },
];
