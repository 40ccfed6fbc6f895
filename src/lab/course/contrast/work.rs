//! Steps 5, 7 and 10: how much is trained, who writes, and with which optimizer.
//!
//! Never opens a checkpoint.

use super::fact::Contrast;
use super::side::{Pair, Side, list, named, small};
use crate::domain::event::{CheckpointAction, DigestMoment};
use crate::domain::phase::Phase;
use crate::domain::units;

pub fn fewer_steps(pair: &[Side; 2], found: &mut Contrast) {
    let batches = pair.each(|side| side.reports(1).first().map_or(0, |report| report.batches));
    let each = pair.each(|side| side.reports(1).first().map_or(0, |report| report.images));
    let together = pair.each(|side| side.reports(1).iter().map(|report| report.images).sum::<usize>());
    found.fact("batches an epoch", batches.map(|batches| batches.to_string()));
    found.fact("images, each rank", each.map(units::count));
    found.fact("images, together", together.map(units::count));
    if let [Some(before), Some(after)] = pair.each(|side| side.config().map(|config| config.validation_steps)) {
        found.fact("validation batches", [before, after].map(|steps| steps.to_string()));
    }
    let rates = pair.each(|side| {
        side.reports(1)
            .iter()
            .map(|report| report.images as f64 / report.phases[Phase::Training])
            .filter(|rate| rate.is_finite())
            .sum::<f64>()
    });
    found.fact("img/s, together", rates.map(units::rate));
    if together[0] > 0 && together[1] > 0 {
        let images = pair[1].config().map_or(0, |config| config.train_images);
        found.say(format!(
            "{} images per epoch against {}, of {} that there are: {}.",
            units::count(together[0]),
            units::count(together[1]),
            units::count(images),
            part(together[1] as f64 / together[0] as f64)
        ));
    }
    if let [Some(before), Some(after)] = pair.each(Side::training_seconds)
        && batches[0] > batches[1]
    {
        found.say(format!(
            "So training took {} instead of {}, at about the same images/s ({} and {}): no rank got faster, each has less to do. \
             There were also fewer updates, {} an epoch instead of {}, which costs accuracy until the learning rate is scaled.",
            units::seconds(after),
            units::seconds(before),
            units::rate(rates[0]),
            units::rate(rates[1]),
            batches[1],
            batches[0]
        ));
    }
}

/// `half the work`, `0.40 times the work`.
fn part(ratio: f64) -> String {
    let near = |whole: f64| (ratio * whole - 1.0).abs() < 0.05;
    match () {
        () if near(1.0) => "the same work".into(),
        () if near(2.0) => "half the work".into(),
        () if near(3.0) => "a third of the work".into(),
        () if near(4.0) => "a quarter of the work".into(),
        () => format!("{ratio:.2} times the work"),
    }
}

pub fn checkpoints(pair: &[Side; 2], found: &mut Contrast) {
    let count = |side: &Side, action| -> Vec<(usize, usize)> {
        let files = side
            .processes()
            .map(|(index, process)| (index, process.checkpoints.iter().filter(|file| file.action == action).count()));
        files.filter(|(_, files)| *files > 0).collect()
    };
    let written = pair.each(|side| count(side, CheckpointAction::Written));
    let total = |files: &[(usize, usize)]| files.iter().map(|(_, files)| files).sum::<usize>();
    let who =
        |side: &Side, files: &[(usize, usize)]| named(side.noun(), &files.iter().map(|(index, _)| *index).collect::<Vec<_>>());
    let names = |side: &Side| {
        let paths = side.processes().flat_map(|(_, process)| &process.checkpoints);
        let written = paths.filter(|file| file.action == CheckpointAction::Written).map(|file| file.path.as_str());
        written.collect::<std::collections::BTreeSet<_>>().len()
    };
    found.fact("checkpoints written", [total(&written[0]), total(&written[1])].map(|files| files.to_string()));
    found.fact("written by", [who(&pair[0], &written[0]), who(&pair[1], &written[1])]);
    found.fact("files there are", pair.each(|side| names(side).to_string()));
    let loaded = pair.each(|side| count(side, CheckpointAction::Loaded));
    if total(&loaded[0]) + total(&loaded[1]) > 0 {
        found.fact("looked for by", [who(&pair[0], &loaded[0]), who(&pair[1], &loaded[1])]);
    }
    if total(&written[0]) == 0 && total(&written[1]) == 0 {
        found.say("Neither run wrote a checkpoint: switch checkpoints on and run them again.".into());
        return;
    }
    if written[0].len() > 1 {
        found.say(format!(
            "Before, {} each wrote every file: {} writes for {} files. The last writer won, and on several hosts each host \
             would have its own files.",
            who(&pair[0], &written[0]),
            total(&written[0]),
            names(&pair[0])
        ));
    }
    if let [(_, files)] = written[1].as_slice() {
        found.say(format!("After, {} alone wrote {files}.", who(&pair[1], &written[1])));
    }
}

pub fn optimizer(pair: &[Side; 2], found: &mut Contrast) {
    let names = pair.each(|side| side.config().map_or(String::new(), |config| config.optimizer.clone()));
    found.fact("optimizer", names.clone());
    let first = pair.each(|side| side.first_digests(DigestMoment::FirstGradients).first().map(|digest| (*digest).to_owned()));
    found.fact(
        "first gradients",
        first.clone().map(|digest| digest.map_or(String::new(), |digest| digest.chars().take(8).collect())),
    );
    found.fact("loss, first batches", losses(pair));
    let same = first[0].is_some() && first[0] == first[1];
    if same {
        found.say(format!(
            "Both runs computed the same first gradients; {} and {} made different updates of them.",
            names[0], names[1]
        ));
    }
    let second = pair.each(|side| side.root().and_then(|root| root.steps.get(1)).map(|step| step.loss));
    if let ([Some(before), Some(after)], true) = (second, same) {
        found.say(format!(
            "After that one update rank 0's loss was {} with {}, {} with {}.",
            small(before),
            names[0],
            small(after),
            names[1]
        ));
    }
}

/// The first three losses of the root.
pub fn losses(pair: &[Side; 2]) -> [String; 2] {
    pair.each(|side| {
        let steps = side.root().map(|root| root.steps.as_slice()).unwrap_or_default();
        list(&steps.iter().take(3).map(|step| format!("{:.2}", step.loss)).collect::<Vec<_>>())
    })
}
