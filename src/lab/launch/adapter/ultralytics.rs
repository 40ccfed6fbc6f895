//! Ultralytics' YOLO and YOLOv5: a row of a table with a bar for each epoch, with one loss or several.

use super::family::Family;

pub(super) const ULTRALYTICS: Family = Family {
    name: "Ultralytics",
    lines: &[
        r"^\s+(?P<epoch>\d+)/(?P<epochs>\d+)\s+[\d.]+G\s+(?P<loss>NUM)\s+\d+\s+\d+:\s+\d+%.*\s(?P<step>\d+)/(?P<steps>\d+)\b",
        r"^\s+(?P<epoch>\d+)/(?P<epochs>\d+)\s+[\d.]+G\s+(?:NUM\s+)+\d+:\s+\d+%.*\s(?P<step>\d+)/(?P<steps>\d+)\b",
        // Of a classification: the accuracy by the first guess, and by five.
        r"^\s+all\s+(?P<val_accuracy>[01](?:\.\d+)?)\s+[01](?:\.\d+)?\s*$",
        r"^\s+(?:all|[a-z ]+)\s+\d+\s+\d+(?:\s+NUM){4,}\s*$",
    ],
    has_words: false,
};
