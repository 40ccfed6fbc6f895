//! What the second run gained over the first, from the keys that start both to the lecture view.

use crate::support::pty::{Home, Options, Seen};

#[test]
fn two_runs_from_their_keys_to_what_the_second_gained() {
    let home = Home::new();
    let env = &[("STAND_IN_EPOCH_SECONDS", "0.7")];
    let mut lab = Options { columns: 140, rows: 40, env, ..Options::default() }.start(&home);
    lab.wait_for("press r to run");
    // One rank, on a machine of any size; the stand-in counts 640 images/s a rank.
    lab.press("-------r");
    lab.wait_for("run 1 ✓ finished");
    // Other tests may use the cores: then there is no figure, and the reason.
    let first = |seen: &Seen| seen.terminal.screen().rows(0, 140).next().unwrap_or_default();
    let says = |line: &str, figures: &[&str]| {
        line.contains("shared the machine (other")
            || line.contains("shares the machine (other")
            || figures.iter().all(|part| line.contains(part))
    };
    lab.wait("what is still to do", |seen| says(&first(seen), &["1 rank 640/s. Its gain needs a run on 2 ranks"]));
    lab.press("+r");
    // While it still trains, and afterwards.
    lab.wait("what it gained so far", |seen| says(&first(seen), &["run 2 ▶ running", "2.00x of 2x, 100 % so far"]));
    lab.wait_for("by training time");
    lab.wait_for("run 2 ✓ finished");
    let whole = ["1 rank 640/s", "2 ranks 1280/s", "2.00x of 2x, 100 %"];
    lab.wait("both runs and the gain", |seen| says(&first(seen), &whole) && !first(seen).contains("so far"));
    lab.press("v");
    lab.wait_for("Run 2 trained 2.00x as many images per second as run 1, on 2 ranks instead of 1");
    lab.press("\x1b");
    lab.wait("the comparison closed", |seen| !seen.terminal.screen().contents().contains("What it gained"));
    lab.press("P");
    lab.wait_for("run 2 against run 1");
    lab.wait_for("2 ranks against 1: 100 % efficiency");
    lab.press("q");
    assert!(lab.exit().success());
}
