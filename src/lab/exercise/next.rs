//! The next thing to do after an exercise: another one that is not passed yet, or a lesson to read.

use std::collections::BTreeSet;
use std::path::Path;

use super::track::Track;
use crate::course::{Progress, ProgressFile};
use crate::domain::step::Step;

/// The lesson that compares one rank with all of them, for those who have written all ten steps.
const CHECK_YOUR_WORK: usize = 11;
/// The lesson for learners who have passed every exercise: how far training scales.
const HOW_FAR: usize = 14;

impl Track {
    /// What to do after this exercise, as one line, by the learner's progress under `home`.
    pub fn after(self, home: &Path) -> String {
        // Where it cannot be read, nothing is known to be done.
        let progress = ProgressFile::of(home).read().map(|reading| reading.progress).unwrap_or_default();
        let mut known = BTreeSet::new();
        let all: Vec<Track> = Track::all().filter(|track| known.insert(track.name())).collect();
        let own = all.iter().position(|track| track.name() == self.name()).unwrap_or(0);
        // Those after it first, then those that were passed over.
        let mut others: Vec<&Track> = all.iter().cycle().skip(own + 1).take(all.len() - 1).collect();
        // What needs a PyTorch of the learner's comes last.
        others.sort_by_key(|track| matches!(track, Track::Program(program) if program.is_in_pytorch()));
        let lesson = |number: usize| format!("lesson {number} (`hvd-lab lessons show {number}`)");
        match others.into_iter().find(|track| !track.is_passed(&progress)) {
            Some(other) => {
                let first = match self {
                    Track::Program(program) if program.has_steps() => format!("{}, then ", lesson(CHECK_YOUR_WORK)),
                    _ => String::new(),
                };
                format!("next: {first}{} (`{}`)\n", other.what(), other.command("start"))
            }
            None => format!("next: you have passed every exercise, so read {}\n", lesson(HOW_FAR)),
        }
    }

    fn is_passed(self, progress: &Progress) -> bool {
        let practised = match self {
            Track::Program(program) if program.has_steps() => {
                return Step::ALL.iter().all(|step| progress.written.contains_key(&step.number()));
            }
            Track::Program(program) => progress.exercises.get(program.track),
            Track::Collectives => progress.ring.as_ref(),
        };
        practised.is_some_and(|one| one.passed_s.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::course::Catalog;
    use crate::exercise::{FOUR_CHANGES, NVCNN_IN_PYTHON, TEN_STEPS_IN_PYTHON};

    #[test]
    fn after_an_exercise_comes_the_next_that_is_not_passed() {
        let home = tempfile::tempdir().unwrap();
        let after = |track: Track| track.after(home.path());
        let [ten, four, photos] = [&TEN_STEPS_IN_PYTHON, &FOUR_CHANGES, &NVCNN_IN_PYTHON].map(Track::Program);
        assert_eq!(
            after(ten),
            "next: lesson 11 (`hvd-lab lessons show 11`), then Horovod's MNIST program, four changes (`hvd-lab exercise start --track \
             four-changes`)\n"
        );
        assert!(after(four).contains("nvcnn's training on photos, five changes (`hvd-lab exercise start --track nvcnn`)"));
        assert!(after(photos).contains("a ring allreduce, two places (`hvd-lab exercise start --track collectives`)"));
        assert!(after(Track::Collectives).contains("(`hvd-lab exercise start`)"), "the ten steps are not written yet");
        let pass = |change: &dyn Fn(&mut Progress)| drop(ProgressFile::of(home.path()).update(change).unwrap());
        pass(&|progress| progress.practise("nvcnn").attempt(Ok(())));
        pass(&|progress| progress.practise("collectives").attempt(Err("not yet".into())));
        assert!(after(four).contains("--track collectives"), "photos are done");
        pass(&|progress| progress.practise("collectives").attempt(Ok(())));
        pass(&|progress| progress.practise("four-changes").attempt(Ok(())));
        assert!(after(ten).contains("plain PyTorch, ten steps (`hvd-lab exercise start --track ddp`)"));
        pass(&|progress| progress.practise("ddp").attempt(Ok(())));
        assert_eq!(after(ten), "next: you have passed every exercise, so read lesson 14 (`hvd-lab lessons show 14`)\n");
        let lessons = Catalog::embedded().unwrap();
        let titles = [CHECK_YOUR_WORK, HOW_FAR].map(|number| lessons.lesson(number).unwrap().title.clone());
        assert_eq!(titles, ["Check your work", "How far does it scale?"]);
    }
}
