//! Progress: what is noted once, survives damage, is forgotten on demand, and can be handed in.
//!
//! Never uses the home of the user.

use std::fs;

use super::asked;
use hvd_lab_terminal::course::{Level, Outcome, Prediction, Progress, ProgressFile, Verdict, check_all};
use hvd_lab_terminal::domain::step::{Step, StepSet};
use hvd_lab_terminal::runs::RunId;

use super::good::evidence;

fn noted(steps: StepSet) -> Progress {
    let mut progress = Progress::default();
    progress.note(&check_all(&evidence()), steps, RunId(7));
    progress
}

#[test]
fn only_what_passed_and_was_on_is_done_and_the_first_run_counts() {
    let mut progress = Progress::default();
    let mut verdicts = check_all(&evidence());
    verdicts[3] = Verdict { outcome: Outcome::Failed, ..verdicts[3].clone() };
    verdicts[4] = Verdict { outcome: Outcome::CannotTell, ..verdicts[4].clone() };
    progress.note(&verdicts, "1-6".parse().unwrap(), RunId(7));
    assert_eq!(progress.first_by(Level::Seen, RunId(7)), "1-3,6".parse().unwrap());
    progress.note(&check_all(&evidence()), "1-4".parse().unwrap(), RunId(8));
    assert_eq!(progress.first_by(Level::Seen, RunId(8)), StepSet::NONE.with(Step::Broadcast));
    assert_eq!(
        (progress.seen[&1].run, progress.in_words().as_str()),
        (RunId(7), "seen 5, predicted 0, proven 0, written 0 of 10 steps")
    );
}

/// What the learner's own program does is written; where it says that a step is still to do, not doing it is no failure.
#[test]
fn only_a_program_of_the_learners_own_is_written_and_only_what_it_tries_can_fail() {
    let mut verdicts = check_all(&evidence());
    for index in [3, 9] {
        verdicts[index] = Verdict { outcome: Outcome::Failed, ..verdicts[index].clone() };
    }
    let mut progress = Progress::default();
    progress.note_written(&verdicts, "1-4".parse().unwrap(), RunId(7));
    assert_eq!(progress.first_by(Level::Written, RunId(7)), "1-3,5-9".parse().unwrap());
    assert_eq!(progress.first_by(Level::Seen, RunId(7)), "1-3,5-9".parse().unwrap(), "and a run showed it");
    assert_eq!(progress.tried.keys().collect::<Vec<_>>(), [&4]);
    progress.note(&check_all(&evidence()), StepSet::ALL, RunId(8));
    assert!(progress.has(Step::Broadcast, Level::Seen) && !progress.has(Step::Broadcast, Level::Written));
    progress.note_pair(Step::Broadcast, RunId(5), RunId(8));
    progress.note_pair(Step::Broadcast, RunId(8), RunId(9));
    assert_eq!(progress.first_by(Level::Proven, RunId(5)), StepSet::NONE.with(Step::Broadcast));
    assert_eq!(progress.first_by(Level::Proven, RunId(9)), StepSet::NONE, "the first two runs count");
    assert!(progress.is_done(Step::Broadcast) && progress.is_done(Step::InitAndPin) && !progress.is_done(Step::NovoGrad));
}

/// A program that passes on two ranks and fails on three has not written the step.
#[test]
fn what_a_further_run_of_the_program_fails_is_not_written() {
    let (verdicts, step) = (check_all(&evidence()), Step::CheckpointOnRoot);
    let mut progress = Progress::default();
    progress.note_first(&verdicts, StepSet::ALL, RunId(7));
    assert!(Step::ALL.into_iter().all(|step| !progress.has(step, Level::Written)), "it is not yet over");
    let mut found = verdicts.clone();
    found[step.number() - 1].outcome = Outcome::Failed;
    progress.note_written(&found, StepSet::ALL, RunId(7));
    assert_eq!(progress.count(Level::Written), 9);
    assert!(!progress.has(step, Level::Written) && progress.has(step, Level::Seen), "a run showed it all the same");
    assert_eq!((progress.tried[&7].runs, progress.tried[&7].run), (1, RunId(7)));
    progress.note_written(&verdicts, StepSet::ALL, RunId(7));
    assert!(!progress.has(step, Level::Written), "to judge the first run again changes nothing");
    progress.note_written(&verdicts, StepSet::ALL, RunId(9));
    assert!(progress.has(step, Level::Written), "a better program has written it");
    progress.note_written(&found, StepSet::ALL, RunId(12));
    assert!(progress.has(step, Level::Written), "which takes nothing from that one");
}

#[test]
fn it_is_read_as_it_was_written_and_can_be_reset() {
    let home = tempfile::tempdir().unwrap();
    let file = ProgressFile::of(&home.path().join("not/there/yet"));
    assert_eq!(file.read().unwrap().progress, Progress::default());
    file.update(|progress| {
        *progress = noted(StepSet::ALL);
        progress.predict(asked(4), Prediction::Choice(0), false);
        progress.predict(asked(4), Prediction::Choice(1), true);
        progress.predict(asked(5), Prediction::Number(29.0), true);
    })
    .unwrap();
    let read = file.read().unwrap();
    assert_eq!((read.note, read.progress.seen.len()), (None, 10));
    assert_eq!(read.progress.predictions[&4].len(), 2);

    let markdown = read.progress.to_markdown();
    assert!(markdown.starts_with("# hvd-lab: seen 10, predicted 0, proven 0, written 0 of 10 steps"), "{markdown}");
    let row = markdown.lines().find(|line| line.starts_with("| 4 Broadcast")).unwrap();
    assert!(row.contains("| run 7 |") && row.contains("00aaaaaa") && row.contains("after the run"), "{row}");
    assert_eq!(serde_json::from_str::<Progress>(&read.progress.to_json()).unwrap(), read.progress);

    file.update(|progress| progress.reset(Step::Broadcast)).unwrap();
    let read = file.read().unwrap().progress;
    assert!(!read.has(Step::Broadcast, Level::Seen) && read.has(Step::FewerSteps, Level::Seen));
    assert!(!read.predictions.contains_key(&4) && read.predictions.contains_key(&5));
}

#[test]
fn a_damaged_file_is_set_aside_and_not_lost() {
    let home = tempfile::tempdir().unwrap();
    let file = ProgressFile::of(home.path());
    for (number, damage) in
        ["{\"version\": 1, \"done\": {\"4\"", "", "[]", "{\"version\": 1, \"done\": 3}"].into_iter().enumerate()
    {
        fs::write(file.path(), damage).unwrap();
        let reading = file.update(|progress| *progress = noted(StepSet::ALL)).unwrap().1;
        let kept = home.path().join(format!("progress.damaged-{}.json", number + 1));
        assert!(reading.note.as_ref().is_some_and(|note| note.contains(kept.to_str().unwrap())), "{reading:?}");
        assert_eq!(fs::read_to_string(kept).unwrap(), damage);
        assert_eq!(file.read().unwrap().progress.seen.len(), 10, "what is noted next is kept");
    }
    fs::write(file.path(), "{\"version\": 2, \"done\": []}").unwrap();
    let error = file.read().unwrap_err().to_string();
    assert!(error.contains("newer") && error.contains("progress.json"), "{error}");
    assert!(file.path().exists(), "a newer lab's file stays where it is");
    let none = ProgressFile::of(std::path::Path::new("/proc/nowhere"));
    assert!(none.update(|_| ()).unwrap_err().to_string().contains("/proc/nowhere"));
}
