//! The key tables of the application, its panes and its windows: no key means two things, and what the footer names works.

use std::path::Path;

use crate::tui::actions::{Binding, Command, On};
use crate::tui::app::keymap::{Scope, table};
use crate::tui::{
    collectives, exercise, faults, forms, help, inspection, lesson, next_run, notices, queue, runs, series, simulate, state,
};

/// The key tables of all windows.
fn tables() -> Vec<&'static [Binding]> {
    vec![
        collectives::keys::PLAYER,
        collectives::keys::CHART,
        collectives::keys::FORM,
        exercise::windows::OWN,
        exercise::windows::DIFF,
        exercise::windows::TRACKS,
        exercise::windows::RESET,
        faults::KEYS,
        forms::form::KEYS,
        help::windows::HELP,
        help::windows::SEARCH,
        help::windows::PALETTE,
        inspection::KEYS,
        lesson::reading::KEYS,
        next_run::confirm_start::ANYWAY,
        next_run::confirm_start::KEYS,
        next_run::edit::KEYS,
        notices::KEYS,
        queue::KEYS,
        runs::compare::KEYS,
        runs::confirm::STOP,
        runs::confirm::DELETE,
        runs::confirm::CONTINUE,
        runs::confirm::QUIT,
        runs::confirm::QUIT_SEVERAL,
        runs::details::OF_TRAINING,
        runs::details::OF_OTHERS,
        series::confirm::KEYS,
        series::turns::KEYS,
        simulate::KEYS,
        state::CLOSE,
        state::typed_line::KEYS,
    ]
}

#[test]
fn each_window_stands_in_the_list() {
    let roots = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let here = roots.map(|root| root.join(file!())).find(|path| path.exists()).unwrap();
    // Five windows have two tables each, and one has four; two share one.
    assert_eq!(tables().len(), windows_in(here.ancestors().nth(2).unwrap()) + 7, "add the keys of the new window to `tables`");
}

/// How many kinds of windows the files of a folder have.
fn windows_in(folder: &Path) -> usize {
    let is_one = |line: &&str| line.starts_with("impl") && line.contains(" Window for ");
    let of_file = |file: &Path| std::fs::read_to_string(file).map_or(0, |text| text.lines().filter(is_one).count());
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.map(|path| if path.is_dir() { windows_in(&path) } else { of_file(&path) }).sum()
}

#[test]
fn no_key_has_two_meanings_in_one_place() {
    let mut places: Vec<Vec<Binding>> = tables().iter().map(|table| table.to_vec()).collect();
    let mut scopes: Vec<Scope> = table().map(|key| key.scope).collect();
    scopes.dedup();
    for scope in scopes {
        places.push(table().filter(|key| key.scope == scope).map(|key| key.binding).collect());
    }
    assert!(places.len() > 20);
    for place in places {
        for (index, binding) in place.iter().enumerate() {
            for other in &place[index + 1..] {
                let shared = binding.on.iter().find(|on| other.on.contains(on) && **on != On::Text);
                assert_eq!(shared, None, "{binding:?} and {other:?}");
            }
        }
    }
}

/// Nobody gets what they did not mean because another pane has the focus. What opened a window closes it, and `n` is no.
#[test]
fn these_letters_mean_the_same_wherever_they_stand() {
    let all: Vec<Binding> = table().map(|key| key.binding).chain(tables().into_iter().flatten().copied()).collect();
    let name = |binding: &Binding| {
        let text = format!("{:?}", binding.command);
        if let Command::App(_) = binding.command { text } else { text.split('(').next().unwrap_or_default().to_owned() }
    };
    let mut conflicts = Vec::new();
    for letter in ('A'..='Z').chain('a'..='z').chain(['?']).filter(|letter| !OF_THEIR_PLACE.contains(*letter)) {
        let meanings = all.iter().filter(|binding| binding.on.contains(&On::Char(letter))).map(name);
        let meanings: std::collections::BTreeSet<String> = meanings.filter(|name| name != "Back").collect();
        let is_one = match letter {
            // Of a name, and of what was changed in one's own program.
            'u' => meanings.iter().all(|name| name == "Undo" || name == "Reset"),
            // The question that it asked is answered by it too.
            'c' => meanings.iter().all(|name| name == "Continue" || name == "Accept"),
            'x' => meanings.iter().all(|name| ["Stop", "StopAndLeave", "Accept"].contains(&name.as_str())),
            _ => meanings.len() <= 1,
        };
        if !is_one {
            conflicts.push(format!("{letter}: {meanings:?}"));
        }
    }
    assert!(conflicts.is_empty(), "{conflicts:#?}");
}

/// Moving about, yes and no, and what is about the one list or graph that has the focus: it is named there.
const OF_THEIR_PLACE: &str = "hjklyNabfmos";

#[test]
fn whatever_the_footer_names_works() {
    let of_windows = tables().into_iter().flatten().copied();
    for binding in table().map(|key| key.binding).chain(of_windows) {
        assert!(!binding.on.is_empty());
        if !binding.label.is_empty() {
            assert!(!binding.key.is_empty(), "{binding:?}");
        }
    }
}
