//! The pictures of the README: what a terminal shows of the real program that plays its own recording, as SVG.
//!
//! Never drawn by hand. `make pictures` writes them; every test run makes them too, and holds what must be on them.

use std::path::Path;

use crate::support::pty::{Home, Options};

/// Name, size, keys one by one each with what shows that it was obeyed, and what must be on the picture.
type Picture = (&'static str, (u16, u16), &'static [(&'static str, &'static str)], &'static [&'static str]);
const PICTURES: [Picture; 3] = [
    ("screen", (140, 40), &[("}", "run 2 ✓")], &["Steps", "Devices", "training loss", "x of 2x, ", "compared with run 1"]),
    ("lesson", (100, 36), &[("}", "run 2 ✓"), ("4", "[ ]  4"), ("4", "[x]  4"), ("w", "The problem")], &["Step 4/10"]),
    (
        "timeline",
        (120, 30),
        &[("}", "run 2 ✓"), ("\t\t\t", "Chart"), ("z", "by training time"), ("h", "backward")],
        &["forward", "optimizer"],
    ),
];

#[test]
fn pictures_of_the_readme() {
    for (name, (columns, rows), keys, shown) in PICTURES {
        let home = Home::new();
        let mut lab = Options { columns, rows, arguments: &["demo"], ..Options::default() }.start(&home);
        lab.wait_for("▶ running");
        for (key, obeyed) in keys {
            lab.press(key);
            lab.wait_for(obeyed);
        }
        shown.iter().for_each(|text| lab.wait_for(text));
        // Between two frames, not in the middle of one.
        lab.wait("a whole frame", |seen| count(&seen.bytes, "\x1b[?2026h") == count(&seen.bytes, "\x1b[?2026l"));
        let picture = crate::support::svg::svg(lab.seen.0.lock().unwrap().terminal.screen(), None);
        assert!(picture.contains("REPLAY"), "a recording is labelled so on the picture as well");
        if std::env::var("HVD_LAB_PICTURES").is_ok_and(|value| value == "write") {
            std::fs::write(Path::new(env!("HVD_LAB_CHECKOUT")).join(format!("assets/{name}.svg")), picture).unwrap();
        }
    }
}

fn count(bytes: &[u8], sequence: &str) -> usize {
    bytes.windows(sequence.len()).filter(|window| *window == sequence.as_bytes()).count()
}
