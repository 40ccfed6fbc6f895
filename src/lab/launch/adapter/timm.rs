//! timm's train.py and validate.py: accuracies in per cent, the rate of all ranks behind the seconds of a batch.

use super::family::Family;

pub(super) const TIMM: Family = Family {
    name: "timm",
    lines: &[
        r"^Train: (?P<epoch>\d+) \[\s*(?P<step>\d+)/\s*(?P<steps>\d+)\s*\(\s*\d+%\)\]\s+Loss:\s*(?P<loss>NUM).*?(?:,\s*(?P<total_rate>NUM)/s)",
        r"^(?P<val>Test(?: \(EMA\))?): \[\s*(?P<step>\d+)/\s*(?P<steps>\d+)\]\s+Time: .*Loss:",
        r"^\s*\* Acc@1 (?P<val_accuracy_percent>NUM) \(NUM\) Acc@5 ",
    ],
    has_words: true,
};
