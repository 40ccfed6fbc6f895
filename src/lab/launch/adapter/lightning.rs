//! PyTorch Lightning: its bars by tqdm and by rich, and the table behind a test.

use super::family::Family;

pub(super) const LIGHTNING: Family = Family {
    name: "Lightning",
    lines: &[
        r"^Epoch (?P<epoch>\d+):\s+\d+%\|.*\| (?P<step>\d+)/(?P<steps>\d+) \[",
        r"^Epoch (?P<epoch>\d+)(?:/\d+)?\s+[━╸╺ ]+(?P<step>\d+)/(?P<steps>\d+) ",
        r"^(?P<val>Validation|Validating|Testing|Sanity Checking)\b.*(?:\||━)",
        r"^\s*[│|]?\s*(?:test|val)_acc(?:uracy)?\s+[│|]?\s*(?P<val_accuracy>NUM)\s*[│|]?\s*$",
        r"^\s*[│|]?\s*(?:test|val)_loss\s+[│|]?\s*(?P<val_loss>NUM)\s*[│|]?\s*$",
    ],
    has_words: true,
};
