//! Lines of other programs, and lines that mean harm.

use super::*;
use crate::domain::launcher::OwnLauncher;
use crate::domain::user_metrics::LoggedSoFar;
use crate::launch::user_program::RankTags;

/// A line of another program, what is in it, and who reads it. Where each comes from stands in tests/data/outputs.
#[derive(serde::Deserialize)]
struct Sample {
    source: String,
    line: String,
    by: Option<String>,
    logged: Logged,
}

fn adapter(patterns: &[&str]) -> Adapter {
    let patterns = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
    Adapter::new(&CommandSpec { patterns, ..CommandSpec::sample("python train.py") }).unwrap()
}

/// As the reader of a launcher's lines hands it on.
fn without_tag(line: &str) -> &str {
    let launchers = [OwnLauncher::Torchrun, OwnLauncher::Horovodrun, OwnLauncher::Srun];
    let mut tags = launchers.into_iter().filter_map(|launcher| RankTags::new(launcher, None, None, None));
    tags.find_map(|tags| tags.read(line)).map_or(line, |(_, text)| text)
}

fn close(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.is_nan() && b.is_nan() || a == b || (a - b).abs() <= 1e-9 * b.abs().max(1.0),
        (a, b) => a.is_none() && b.is_none(),
    }
}

#[test]
fn lines_of_other_programs_are_read_as_labelled() {
    let mut adapter = adapter(&[]);
    let samples = include_str!("../../../../tests/data/outputs/lines.jsonl").lines();
    let samples: Vec<Sample> = samples.map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(samples.len() > 50);
    let mut wrong = Vec::new();
    for Sample { source, line, by, logged } in samples {
        let text = without_tag(&line);
        // Each is of a program of its own.
        adapter.percents = Percents::default();
        let read = adapter.read(text).pop().unwrap_or_default();
        let figures = FIGURES.iter().all(|field| close((field.get)(&read), (field.get)(&logged)));
        if !figures || (read.is_total, &read.by) != (logged.is_total, &by.unwrap_or_default()) {
            wrong.push(format!("{source}: {line}\nread {read:?}\nlabelled {logged:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What programs really printed, from their first line to the last, as a log keeps it.
#[test]
fn whole_outputs_add_up_to_how_the_training_ended() {
    let adapter = adapter(&[]);
    let end = |epoch, loss, val_loss, val_accuracy| (epoch, loss, val_loss, val_accuracy);
    for (name, text, expected, place, reader) in [
        (
            "Keras",
            include_str!("../../../../tests/data/outputs/keras-3.15.txt"),
            end(Some(4.0), Some(0.6570), Some(0.6509), Some(0.64)),
            (Some(4.0), Some(200.0)),
            "epoch, number of epochs, step, number of steps, loss, accuracy, validation loss, validation accuracy (lines like those of Keras)",
        ),
        (
            "PyTorch's MNIST",
            include_str!("../../../../tests/data/outputs/pytorch-mnist.txt"),
            end(Some(2.0), Some(0.337699), Some(0.4516), Some(0.85)),
            (Some(1.9), Some(12_160.0)),
            "epoch, step, number of steps, loss, validation loss, validation accuracy (lines like those of PyTorch examples)",
        ),
        (
            "Lightning",
            include_str!("../../../../tests/data/outputs/lightning-2.6.txt"),
            end(Some(2.0), Some(0.093), None, Some(0.992968738079071)),
            (Some(3.0), Some(200.0)),
            "epoch, step, number of steps, loss, validation accuracy (lines like those of Lightning)",
        ),
        (
            "transformers",
            include_str!("../../../../tests/data/outputs/transformers-5.txt"),
            end(Some(2.0), Some(0.6932), Some(0.6938), Some(0.4062)),
            (Some(2.0), Some(80.0)),
            "epoch, loss, validation loss, validation accuracy, learning rate, images/s, images/s in validation (lines like those of \
             Hugging Face), \
             step, number of steps (words before numbers)",
        ),
    ] {
        let mut so_far = LoggedSoFar::default();
        text.lines().flat_map(|line| adapter.read(line)).for_each(|logged| so_far.take(&logged));
        let last = &so_far.last;
        assert_eq!(end(last.epoch, last.loss, last.val_loss, last.val_accuracy), expected, "{name}");
        assert_eq!((so_far.place().epochs, so_far.place().steps), place, "{name}");
        assert_eq!(so_far.read_by(), reader, "{name}");
    }
}

#[test]
fn every_family_reads_lines_of_its_own() {
    let adapter = adapter(&[]);
    let lines = include_str!("../../../../tests/data/outputs/lines.jsonl");
    let samples: Vec<Sample> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for family in &TABLE.family {
        assert!(samples.iter().any(|sample| sample.by.as_deref() == Some(&*family.name)), "no line of {}", family.name);
    }
    // What a group is called is a figure, or it would be lost without a word.
    let known =
        |name: &str| Figure::named(name.trim_end_matches("_percent")).is_some() || ["rate", "total_rate", "val"].contains(&name);
    let groups = || adapter.shapes.iter().flat_map(|(_, regex)| regex.capture_names().flatten());
    assert_eq!(groups().filter(|name| !known(name)).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn a_pattern_counts_before_what_else_is_there() {
    let adapter = adapter(&["loss=cost ([0-9.]+)", "accuracy=hits (NUM)"]);
    let [asked, other] = &adapter.read("epoch 2 cost 0.75 loss 9 accuracy 0.5")[..] else { panic!() };
    assert_eq!((asked.loss, asked.by.as_str()), (Some(0.75), "--pattern"));
    assert_eq!((other.loss, other.epoch, other.accuracy), (None, Some(2.0), Some(0.5)));
}

#[test]
fn accuracies_in_per_cent_without_a_sign_are_told_by_those_before_them() {
    let adapter = adapter(&["val_accuracy=hits (NUM)"]);
    let accuracy = |line: &str| adapter.read(line).pop().and_then(|logged| logged.accuracy.or(logged.val_accuracy));
    for (line, expected) in [
        ("acc: 0.9", Some(0.9)),
        // Of the first guess most print per cent, and some do not.
        ("top1: 0.9", None),
        ("Acc@1 0.9", Some(0.009)),
        ("acc: 101.5", None),
        ("acc: 45.5", Some(0.455)),
        ("acc: 0.9", Some(0.009)),
        ("top1: 0.9", Some(0.009)),
        ("hits 93", Some(0.93)),
    ] {
        assert!(close(accuracy(line), expected), "{line}: {:?}", accuracy(line));
    }
}

#[test]
fn a_pattern_that_is_no_expression_is_said_with_its_text() {
    let spec = CommandSpec { patterns: vec!["loss=cost (".into()], ..CommandSpec::sample("x") };
    let error = Adapter::new(&spec).unwrap_err();
    assert!(error.starts_with("--pattern loss=cost (: ") && error.contains("unclosed group"), "{error}");
}

#[test]
fn hostile_lines_are_read_at_once() {
    let adapter = adapter(&[]);
    let began = std::time::Instant::now();
    for part in
        ["loss ", "[[[1/", "epoch:epoch", "\x1b[", "\r", "1/1 [", "9", "{'loss': '", "│ ", "val ", "(val) ", "loss (", "1 img/s "]
    {
        adapter.read(&part.repeat(1_000_000 / part.len()));
        for _ in 0..20 {
            adapter.read(&part.repeat(4000 / part.len()));
        }
    }
    assert!(began.elapsed() < std::time::Duration::from_secs(60), "{:?}", began.elapsed());
}

#[test]
fn a_bar_that_was_drawn_many_times_is_what_was_drawn_last() {
    assert_eq!(as_seen("\r 10%\r 20%\r"), " 20%");
    assert_eq!(as_seen("\u{1b}[1m5/5\u{1b}[0m \u{1b}[32m━━\u{1b}[0m\x08\x08 x\n"), "5/5 ━━ x");
    assert_eq!(as_seen(""), "");
}

#[test]
fn an_accuracy_above_1_tells_of_those_behind_it() {
    let percents = Percents::default();
    assert_eq!([percents.fraction(0.98, false), percents.fraction(0.98, true)], [Some(0.98), None]);
    assert_eq!([percents.fraction(93.5, true), percents.fraction(0.5, true)], [Some(0.935), Some(0.005)]);
    assert_eq!([percents.fraction(101.0, false), percents.fraction(-1.0, false), percents.fraction(f64::NAN, false)], [None; 3]);
}
