//! Progress bars under torchrun. It turns each carriage return into a newline, so every state of a bar arrives as its own line.
//!
//! The last state of a bar is kept, and the others count as drawn over. Other lines stay as they are and in their order.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::piece::Line;
use crate::domain::printable;

/// A state of a bar: the words in front of it, and the number that grows. It is complete, with nothing else printed behind it.
#[expect(clippy::unwrap_used, reason = "a constant, and a test uses it")]
static BAR: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:(?P<head>.*?)(?P<percent>\d+)%\|.*\]|(?P<name>.*?)(?P<count>\d+)it \[.*\]|\s*(?P<step>\d+)/\d+ [\[━╸╺].*(?:\d|step))\s*$")
        .unwrap()
});

/// What waits for the next line of the same process, since that decides what becomes of it.
#[derive(Debug, Default)]
struct Waiting {
    /// A state of a bar, and its line.
    bar: Option<(State, String)>,
    /// An empty line behind it, perhaps the carriage return in front of a bar.
    has_blank: bool,
}

/// The words in front of a bar, and the number that grows.
type State = (String, u64);

/// The bars of one pipe, by process.
#[derive(Debug, Default)]
pub(super) struct Bars {
    waiting: BTreeMap<usize, Waiting>,
}

impl Bars {
    /// The lines that are certain after this one.
    pub fn take(&mut self, process: usize, text: String) -> Vec<Line> {
        let waiting = self.waiting.remove(&process).unwrap_or_default();
        let mut lines = Vec::new();
        // Bars below one another move the cursor.
        let shown = printable::line(&text);
        if let Some((head, number)) = state(&shown) {
            let is_drawn_over = |(before, reached): State| before == head && number >= reached;
            lines.extend(waiting.bar.map(|(before, text)| {
                if is_drawn_over(before) { Line::Drawn { process, text } } else { Line::Rank { process, text } }
            }));
            self.waiting.insert(process, Waiting { bar: Some(((head, number), text)), has_blank: false });
        } else if shown.trim().is_empty() {
            // A bar is wiped with blanks.
            let is_wiped = !text.is_empty() && waiting.bar.is_some();
            if is_wiped || !waiting.has_blank {
                self.waiting.insert(process, Waiting { has_blank: waiting.has_blank || !is_wiped, ..waiting });
            } else {
                lines.extend(waiting.into_lines(process));
                self.waiting.insert(process, Waiting { has_blank: true, ..Waiting::default() });
            }
        } else {
            lines.extend(waiting.into_lines(process));
            lines.push(Line::Rank { process, text });
        }
        lines
    }

    /// What still waits at the end.
    pub fn finish(&mut self) -> impl Iterator<Item = Line> + use<> {
        std::mem::take(&mut self.waiting).into_iter().flat_map(|(process, waiting)| waiting.into_lines(process))
    }
}

impl Waiting {
    fn into_lines(self, process: usize) -> impl Iterator<Item = Line> {
        let bar = self.bar.map(|(_, text)| text);
        bar.into_iter().chain(self.has_blank.then(String::new)).map(move |text| Line::Rank { process, text })
    }
}

fn state(text: &str) -> Option<State> {
    let found = BAR.captures(text)?;
    let group = |names: [&str; 3]| names.into_iter().find_map(|name| found.name(name)).map(|group| group.as_str());
    let number = group(["percent", "count", "step"])?.parse().ok()?;
    Some((group(["head", "name", "name"]).unwrap_or_default().trim().to_owned(), number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(texts: &[&str]) -> Vec<Line> {
        let mut bars = Bars::default();
        let mut lines: Vec<Line> = texts.iter().flat_map(|text| bars.take(1, (*text).to_owned())).collect();
        lines.extend(bars.finish());
        lines
    }

    fn kept(texts: &[&str]) -> Vec<String> {
        let kept = |line| if let Line::Rank { text, .. } = line { Some(text) } else { None };
        lines(texts).into_iter().filter_map(kept).collect()
    }

    #[test]
    fn of_the_states_of_a_bar_the_last_is_kept_and_the_others_are_read() {
        let states = [
            "",
            "Epoch 1:   0%|          | 0/300 [00:00<?, ?it/s]",
            "Epoch 1:  48%|████▊     | 145/300 [00:00<00:00, 468.60it/s]",
            "Epoch 1: 100%|██████████| 300/300 [00:00<00:00, 467.58it/s]",
            "",
            "Epoch 2:   0%|          | 0/300 [00:00<?, ?it/s]",
            "           ",
            "done",
        ];
        assert_eq!(kept(&states), [states[3], states[5], "done"]);
        assert_eq!(lines(&states)[..2], [1, 2].map(|at| Line::Drawn { process: 1, text: states[at].to_owned() }));
        let unknown = [
            "10it [00:01, 9.9it/s]",
            "20it [00:02, 9.9it/s]",
            " 1/5 ━━━━━━━━━━ 3s 20ms/step - loss: 0.9",
            " 2/5 ━━━━━━━━━━ 2s 20ms/step",
        ];
        assert_eq!(kept(&unknown), [unknown[1], unknown[3]]);
        let again = ["100%|█| 5/5 [00:01<00:00, 5.0it/s]", "  0%| | 0/5 [00:00<?, ?it/s]"];
        assert_eq!(kept(&again), again, "another bar without a name");
        let nested =
            ["in: 10%| | 1/9 [00:01<00:01, 5.0it/s]\x1b[A", "", "in: 20%| | 2/9 [00:01<00:01, 5.0it/s]\x1b[A", "", "end"];
        assert_eq!(kept(&nested), [nested[2], "", "end"]);
    }

    #[test]
    fn other_lines_stay_with_empty_ones_between_them() {
        let (warned, bar) = (" 50%|█ | 1/2 [00:01<00:01, 1.0it/s]a warning", " 99%|█ | 2/2 [00:01<00:01, 1.0it/s]");
        let text = ["", "", "loss 0.5", warned, bar, "", "", "end"];
        assert_eq!(kept(&text), text, "also what is printed behind a bar");
    }
}
