//! Step 7: rank 0 alone writes and looks for checkpoints, and all go on from the same epoch. Never opens one.

use crate::course::check::group::{Group, because_strangers};
use crate::course::check::verdict::{Finding, Objection, failed, unclear};
use crate::course::check::watched;
use crate::course::contrast::{Contrast, Side, named};
use crate::domain::event::CheckpointAction;
use crate::domain::units;

/// Step 7: the root alone writes and looks for checkpoints, and all go on from the same epoch.
pub fn check(group: &Group) -> Finding {
    if !group.spec.workload.checkpointing {
        return unclear("the run keeps no checkpoints: run it with --checkpointing");
    }
    let configs = group.configs()?;
    let root = group.root();
    let files = |process: usize, action| {
        let of = group.process(process);
        of.into_iter().flat_map(move |process| process.checkpoints.iter().filter(move |file| file.action == action))
    };
    let writers: Vec<usize> =
        group.others().filter(|process| files(*process, CheckpointAction::Written).next().is_some()).collect();
    if let Some(file) = writers.first().and_then(|process| files(*process, CheckpointAction::Written).next()) {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        let root_too = files(root, CheckpointAction::Written).next().is_some();
        let too = if root_too { " too" } else { ", and rank 0 did not" };
        let (who, strangers) = (group.names(&writers), because_strangers(group));
        return failed(format!("{who} wrote {name}{too}: write on rank 0 only{strangers}"));
    }
    let watched = |process: usize| group.process(process).map(|process| process.observed.saved.as_slice());
    if let Some(process) = group.others().find(|process| watched(*process).is_some_and(|saved| !saved.is_empty())) {
        return failed(format!(
            "{who} wrote a checkpoint and did not report it: write on rank 0 only",
            who = group.name(process)
        ));
    }
    let has_board = |process: &usize| group.process(*process).is_some_and(|process| process.observed.has_board);
    let boards: Vec<usize> = group.others().filter(has_board).collect();
    if !boards.is_empty() {
        return failed(format!(
            "{who} wrote a file for TensorBoard too, and TensorBoard would mix it with that of rank 0: append \
             TensorBoard on rank 0 only",
            who = group.names(&boards)
        ));
    }
    let resumed: Vec<usize> = configs.iter().map(|config| config.resume_epoch).collect();
    if let Some(&apart) = group.differing(&resumed).first() {
        let (who, from) = (group.name(apart), resumed[apart]);
        return failed(format!(
            "{who} went on from epoch {from}, {root} from epoch {of_root}: broadcast the root's resume epoch",
            root = group.name(root),
            of_root = resumed[root]
        ));
    }
    let readers: Vec<usize> =
        group.others().filter(|process| files(*process, CheckpointAction::Loaded).next().is_some()).collect();
    if !readers.is_empty() {
        let (who, itself) = (group.names(&readers), if readers.len() == 1 { "itself" } else { "themselves" });
        return failed(format!("{who} looked for a checkpoint by {itself}: let rank 0 look, and broadcast what it found"));
    }
    let epochs = group.epochs()?;
    goes_on(group, resumed[root])?;
    watched::goes_by(group, &["--log-dir"])?;
    match files(root, CheckpointAction::Written).count() {
        // It is written after the epoch's end is reported.
        0 if epochs.len() == 1 && group.not_finished().is_some() => unclear("the first checkpoint is not written yet"),
        0 => failed(format!("nobody wrote a checkpoint in {epochs} epochs: rank 0 has to", epochs = epochs.len())),
        written if group.topologies()?[root].is_watched && watched(root).is_none_or(<[usize]>::is_empty) => failed(format!(
            "{root} reports {reported}, and the library wrote none: write with `resume::save`",
            root = group.name(root),
            reported = units::counted(written, "checkpoint")
        )),
        written => {
            let (written, from) = (units::counted(written, "checkpoint"), resumed_from(resumed[root]));
            Ok(format!("rank 0 alone wrote {written}, and all ranks {from}"))
        }
    }
}

/// Training goes on from the checkpoint that the root found, and the root looks for one.
fn goes_on(group: &Group, resumed: usize) -> Result<(), Objection> {
    let root = group.root();
    let found = group.process(root).into_iter().flat_map(|process| &process.checkpoints);
    // What is loaded later may be for the test.
    let found: Vec<_> = found.take_while(|file| file.action != CheckpointAction::Written).collect();
    let of = |action| found.iter().rfind(|file| file.action == action);
    let loaded = of(CheckpointAction::Loaded);
    if let Some(loaded) = loaded.filter(|loaded| loaded.epoch != resumed) {
        return failed(format!(
            "{root} loaded the checkpoint of epoch {}, and training {}: load it before training, let {root} broadcast its epoch to \
             all (from root 0), and begin with that (initial_epoch in Python)",
            loaded.epoch,
            resumed_from(resumed),
            root = group.name(root)
        ));
    }
    let written = group.before.iter().flat_map(|attempt| attempt.processes.values()).flat_map(|process| &process.checkpoints);
    let written = written.filter(|file| file.action == CheckpointAction::Written).map(|file| file.epoch).max();
    match written {
        Some(written) if resumed == 0 && loaded.is_none() && of(CheckpointAction::Refused).is_none() => failed(format!(
            "there was a checkpoint of epoch {written}, and nobody loaded it before training: let rank 0 look \
                 for the newest one (model.load_latest in Python, resume::load_latest in Rust), and go on after \
                 its epoch"
        )),
        _ => Ok(()),
    }
}

pub fn contrast(pair: [&Side; 2], found: &mut Contrast) {
    let count = |side: &Side, action| -> Vec<(usize, usize)> {
        let files = side
            .processes()
            .map(|(index, process)| (index, process.checkpoints.iter().filter(|file| file.action == action).count()));
        files.filter(|(_, files)| *files > 0).collect()
    };
    let written = pair.map(|side| count(side, CheckpointAction::Written));
    let total = |files: &[(usize, usize)]| files.iter().map(|(_, files)| files).sum::<usize>();
    let who =
        |side: &Side, files: &[(usize, usize)]| named(side.noun(), &files.iter().map(|(index, _)| *index).collect::<Vec<_>>());
    let names = |side: &Side| {
        let paths = side.processes().flat_map(|(_, process)| &process.checkpoints);
        let written = paths.filter(|file| file.action == CheckpointAction::Written).map(|file| file.path.as_str());
        written.collect::<std::collections::BTreeSet<_>>().len()
    };
    found.fact("checkpoints written", [total(&written[0]), total(&written[1])].map(|files| files.to_string()));
    found.fact("written by", [who(pair[0], &written[0]), who(pair[1], &written[1])]);
    found.fact("files there are", pair.map(|side| names(side).to_string()));
    let loaded = pair.map(|side| count(side, CheckpointAction::Loaded));
    if total(&loaded[0]) + total(&loaded[1]) > 0 {
        found.fact("looked for by", [who(pair[0], &loaded[0]), who(pair[1], &loaded[1])]);
    }
    if total(&written[0]) == 0 && total(&written[1]) == 0 {
        found.say("Neither run wrote a checkpoint: switch checkpoints on and run them again.".into());
        return;
    }
    if written[0].len() > 1 {
        found.say(format!(
            "Before, {} each wrote every file: {} writes for {} files. The last writer won, and on several hosts each host \
             would have its own files.",
            who(pair[0], &written[0]),
            total(&written[0]),
            names(pair[0])
        ));
    }
    if let [(_, files)] = written[1].as_slice() {
        found.say(format!("After, {} alone wrote {files}.", who(pair[1], &written[1])));
    }
}

/// Where training began, by the epoch that it resumed after; 0 is the start.
fn resumed_from(epoch: usize) -> String {
    if epoch == 0 { "began from the start".to_owned() } else { format!("went on after epoch {epoch}") }
}
