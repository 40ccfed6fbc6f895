//! Every key that a text names does something, where the text says it does: lessons, README, guides, tour, hints, notices, windows.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crossterm::event::KeyCode;

use crate::tui::actions::{On, Pane};
use crate::tui::app::{hint, keymap};
use crate::tui::collectives;
use crate::tui::help::state::TOUR;
use crate::tui::state::{State, Windows};
use crate::tui::testing::samples;
use crate::tui::tests::{press, text, type_text};

/// Pressing it asks for something, changes something, or says why it does not.
fn works(state: &State, key: char) -> bool {
    let mut before = state.clone();
    before.shared.notice = None;
    let mut after = before.clone();
    let effects = press(&mut after, KeyCode::Char(key));
    // What was tried is noted for the hint, whatever came of it.
    after.hints = before.hints;
    !effects.is_empty() || format!("{after:?}") != format!("{before:?}")
}

fn focused(mut state: State, pane: Pane) -> State {
    state.focus = pane;
    state
}

/// The panes that a sentence names; `in Steps` of a hint as `in the pane Steps`.
fn panes_in(sentence: &str) -> Vec<Pane> {
    let names = |pane: &Pane| ["pane ", "in "].iter().any(|before| sentence.contains(&format!("{before}{}", pane.title())));
    Pane::ALL.into_iter().filter(names).collect()
}

/// `r` and `/` of "Press `r`, or / in Log": what stands between backticks or behind "press".
fn keys_in(sentence: &str) -> Vec<char> {
    let one = |word: &str| word.chars().next().filter(|key| word.chars().count() == 1 && key.is_ascii() && *key != ' ');
    let quoted = sentence.split('`').skip(1).step_by(2).filter_map(one);
    let words: Vec<&str> = sentence.split_whitespace().collect();
    let pressed = words.windows(2).filter(|pair| pair[0].eq_ignore_ascii_case("press"));
    let pressed = pressed.filter_map(|pair| one(pair[1].trim_matches([',', '.', ':', ';', '`'])).or_else(|| one(pair[1])));
    quoted.chain(pressed).collect::<BTreeSet<char>>().into_iter().collect()
}

/// The sentences about the screen, without the code.
fn sentences(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap();
    let prose: Vec<&str> = text.split("```").step_by(2).collect();
    let prose = prose.join("\n\n").replace('\n', " ");
    let of_screen = |sentence: &&str| ["screen", "press ", "Press ", "the pane"].iter().any(|word| sentence.contains(word));
    prose.split(". ").filter(of_screen).map(str::to_owned).collect()
}

fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().find(|root| root.join("lessons").is_dir()).unwrap();
    let folder = |name: &str| std::fs::read_dir(root.join(name)).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let mut files = [vec![root.join("README.md")], folder("lessons"), folder("docs")].concat();
    files.retain(|file| file.extension().is_some_and(|end| end == "md"));
    files
}

/// Where a reader may be who reads of a key and of no pane: in any pane, with a run or without, in a lesson, in a window.
fn anywhere() -> Vec<State> {
    let mut states: Vec<State> = Pane::ALL.map(|pane| focused(samples::compared(), pane)).into();
    states.push(samples::running());
    for keys in ["w", "E"] {
        let mut state = samples::compared();
        state.shared.course.lessons = samples::lessons();
        state.shared.step = crate::domain::step::Step::Broadcast;
        type_text(&mut state, keys);
        states.push(state);
    }
    states.push(collectives::tests::samples::opened(2, (120, 36)));
    states
}

/// Between backticks, and no key.
const NO_KEYS: [(&str, char); 3] = [("measuring.md", '#'), ("teaching.md", '*'), ("troubleshooting.md", '*')];

#[test]
fn the_keys_that_lessons_and_guides_name_work() {
    let (mut named, mut dead) = (0, Vec::new());
    for file in documents() {
        for sentence in sentences(&file) {
            let places = match panes_in(&sentence).as_slice() {
                [] => anywhere(),
                panes => {
                    let here = |pane: &Pane| [focused(samples::compared(), *pane), focused(samples::running(), *pane)];
                    panes.iter().flat_map(here).collect()
                }
            };
            for key in keys_in(&sentence) {
                named += 1;
                let is_key = !NO_KEYS.iter().any(|(name, no)| file.ends_with(name) && *no == key);
                if is_key && !places.iter().any(|state| works(state, key)) {
                    dead.push(format!("{}: `{key}` in: {sentence}", file.display()));
                }
            }
        }
    }
    assert!(named > 40, "only {named} keys were found");
    assert!(dead.is_empty(), "{dead:#?}");
}

#[test]
fn a_key_that_nobody_has_is_found() {
    let sentence = "On the screen press `n` in the pane Steps, and then `r`";
    assert_eq!((keys_in(sentence), panes_in(sentence)), (vec!['n', 'r'], vec![Pane::Steps]));
    assert!(!works(&focused(samples::compared(), Pane::Steps), 'n') && works(&samples::never_used(), 'r'));
    assert_eq!(keys_in("Press /, or press : and type"), ['/', ':']);
}

#[test]
fn the_keys_of_the_tour_work_on_their_page() {
    for (number, page) in TOUR.iter().enumerate() {
        for key in page.keys.chars() {
            let mut state = samples::compared();
            state.help.tour = Some(number);
            let mut after = state.clone();
            let code = if key == '\t' { KeyCode::Tab } else { KeyCode::Char(key) };
            let effects = press(&mut after, code);
            // That the next page follows is not what the key is for.
            after.help = state.help.clone();
            assert!(!effects.is_empty() || format!("{after:?}") != format!("{state:?}"), "{key:?} of {}", page.title);
        }
    }
}

#[test]
fn the_keys_of_a_hint_work_one_after_the_other() {
    let mut states = vec![samples::never_used(), samples::compared(), samples::failed()];
    for runs in [vec![samples::finished(1, 2, 900.0)], vec![samples::finished(1, 1, 500.0)], two_runs()] {
        let mut state = samples::never_used();
        crate::tui::testing::samples::say(&mut state, crate::tui::message::Message::Runs(runs));
        for tried in 0..4 {
            (state.hints.compared, state.hints.read, state.hints.switched) = (tried > 0, tried > 1, tried > 2);
            states.push(state.clone());
        }
    }
    let mut named = 0;
    for mut state in states {
        let Some(hint) = hint::hint(&state) else { continue };
        if let [pane] = panes_in(&hint)[..] {
            state.focus = pane;
        }
        // Not in their order of the alphabet, but in that of the sentence.
        for key in hint.split('`').skip(1).step_by(2).flat_map(str::chars) {
            named += 1;
            assert!(works(&state, key), "`{key}` of: {hint}");
            press(&mut state, KeyCode::Char(key));
        }
    }
    assert!(named >= 8, "{named}");
}

fn two_runs() -> Vec<crate::runs::RunSummary> {
    vec![samples::finished(1, 1, 500.0), samples::finished(2, 2, 900.0)]
}

/// The single letters and signs of a notice that are keys: its words are longer, and `a` is an article.
fn keys_of_notice(text: &str) -> Vec<char> {
    // A command is typed in a shell.
    let prose: Vec<&str> = text.split('`').step_by(2).collect();
    let one = |word: &str| {
        let bare = word.trim_matches(|c: char| "(),.;".contains(c));
        let key = if bare.is_empty() { word } else { bare.trim_end_matches(':') };
        let key = if key.is_empty() { bare } else { key };
        key.chars().next().filter(|sign| key.chars().count() == 1 && sign.is_ascii() && !sign.is_ascii_digit() && *sign != 'a')
    };
    prose.iter().flat_map(|part| part.split_whitespace()).filter_map(one).collect()
}

/// Every key that is in force, as characters.
fn keys_in_force(state: &State) -> Vec<KeyCode> {
    let keys = keymap::in_force(state).into_iter().flat_map(|key| key.binding.on);
    let code = |on: &On| match on {
        On::Code(code) => Some(*code),
        On::Char(key) => Some(KeyCode::Char(*key)),
        On::Ctrl(_) | On::Digit | On::Text => None,
    };
    keys.filter_map(code).collect()
}

#[test]
fn the_keys_that_notices_and_windows_name_work() {
    let (mut texts, mut dead) = (BTreeSet::new(), Vec::new());
    let mut alone = samples::never_used();
    type_text(&mut alone, "-");
    let starts = [samples::never_used(), samples::running(), samples::compared(), samples::failed(), alone];
    for start in starts.into_iter().flat_map(|start| Pane::ALL.map(|pane| focused(start.clone(), pane))) {
        for first in keys_in_force(&start) {
            let mut opened = start.clone();
            press(&mut opened, first);
            check_notice(&opened, &mut texts, &mut dead);
            // Whichever pane has the focus, a window is the same.
            if opened.windows.is_empty() || start.focus != Pane::Runs {
                continue;
            }
            let shown = text(&opened, 120, 60);
            if shown.contains("ress ") && texts.insert(shown.clone()) {
                let is_dead = |key: &char| !works(&opened, *key) && !works(&closed(&opened), *key);
                dead.extend(keys_in(&shown).into_iter().filter(is_dead).map(|key| format!("{first:?} opens {key}:\n{shown}")));
            }
            for second in keys_in_force(&opened) {
                let mut state = opened.clone();
                press(&mut state, second);
                check_notice(&state, &mut texts, &mut dead);
            }
        }
    }
    assert!(texts.len() > 15, "{texts:#?}");
    assert!(dead.is_empty(), "{dead:#?}");
}

/// One word for one thing, and no flags: in every window but those that show code or a command line.
#[test]
fn windows_speak_of_settings_in_the_words_of_the_screen() {
    let start = focused(samples::compared(), Pane::Runs);
    let mut seen = 0;
    for key in "rx?BICUFQ#P:bDvs".chars() {
        let mut state = start.clone();
        press(&mut state, KeyCode::Char(key));
        for (width, height) in [(80, 24), (200, 60)] {
            let shown = text(&state, width, height);
            // A command is typed in a shell.
            let prose: String = shown.split('`').step_by(2).collect();
            let flag = prose.split("--").skip(1).find(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()));
            assert!(flag.is_none(), "{key}: --{}", flag.unwrap_or_default());
            for word in [" eff. ", " effic. ", "a node ", "this process", "All processes"] {
                assert!(!shown.contains(word), "{key}: `{word}` in\n{shown}");
            }
            seen += 1;
        }
    }
    assert_eq!(seen, 32);
}

/// The keys of a notice that was not there before.
fn check_notice(state: &State, texts: &mut BTreeSet<String>, dead: &mut Vec<String>) {
    let Some(notice) = state.shared.notice.as_ref().map(|notice| notice.text.clone()) else { return };
    if !texts.insert(notice.clone()) {
        return;
    }
    let mut state = if notice.to_lowercase().contains("close ") { closed(state) } else { state.clone() };
    if let [pane] = panes_in(&notice)[..] {
        state.focus = pane;
    }
    let keys = keys_of_notice(&notice).into_iter().filter(|key| !works(&state, *key));
    dead.extend(keys.map(|key| format!("{key} of: {notice}")));
}

fn closed(state: &State) -> State {
    State { windows: Windows::default(), ..state.clone() }
}
