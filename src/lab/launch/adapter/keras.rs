//! Keras 2 and 3: `model.fit` with any `verbose`, and what its callbacks print. hvd-train prints the same.

use super::family::Family;

pub(super) const KERAS: Family = Family {
    name: "Keras",
    lines: &[
        r"^Epoch (?P<epoch>\d+)/(?P<epochs>\d+)\s*$",
        // 468/468 [====] - 5s 10ms/step - loss: 0.3; 5/5 ━━━━ 0s 2ms/step - loss: 0.3; 5/5 - 0s - loss: 0.3
        r"^\s*(?P<step>\d+)/(?P<steps>\d+) (?:\[[=>.]+\]|[━╸╺][━╸╺ ]*|-)(?:.*\d(?:m?s|us)(?:/step|/epoch)?\b|.*ETA:).*",
        r"^Epoch 0*(?P<epoch>\d+): \w+ (?:improved from|did not improve|reached)\b",
    ],
    has_words: true,
};
