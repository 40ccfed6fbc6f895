//! The further runs of the checker are made smaller once they are judged: their checkpoints are removed.
//!
//! Never touches what a run is judged by: its record, its status, its events and the lines of its ranks stay. Files are only removed,
//! one by one, so a run that is left half thinned can be read like any other.

use std::fs;

use super::{RunStore, Trial};
use crate::domain::checkpoint::Progress;
use crate::host::files;

/// What an attempt holds as long as it goes on: makes them smaller when it is dropped, however the attempt ended.
#[must_use]
pub struct Thinning<'a>(pub &'a RunStore);

impl Drop for Thinning<'_> {
    fn drop(&mut self) {
        // All of them: the attempt before may have been killed.
        for folder in self.0.ids().into_iter().map(|id| self.0.folder(id)).filter(|folder| folder.last_checkpoint().is_some()) {
            let is_further = folder.read_record().is_ok_and(|record| record.request.trial == Some(Trial::Further));
            if is_further && folder.read_status().is_ok_and(|status| status.state.is_over()) {
                let logs = folder.log_dir();
                let checkpoints = files::names_in(&logs).filter(|name| Progress::from_file_name(name).is_some());
                // What cannot be removed now is tried again after the next attempt.
                checkpoints.for_each(|name| drop(fs::remove_file(logs.join(name))));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{record, store};
    use super::super::{RunFolder, RunRecord, RunRequest};
    use super::*;
    use crate::domain::run::{RunState, RunStatus};

    #[test]
    fn only_further_runs_that_are_over_lose_their_checkpoints_and_nothing_else() {
        let (_home, store) = store();
        let make = |trial: Option<Trial>, state: RunState| {
            let request = RunRequest { trial, ..record(2).request };
            let record = store.create(RunRecord { request, ..record(2) }, &RunStatus::new(state, "", 1.0)).unwrap();
            let folder = store.folder(record.id);
            fs::create_dir_all(folder.log_dir()).unwrap();
            for name in
                ["checkpoint-1.safetensors", "commit-1-64.safetensors", "events.out.tfevents.1", "checkpoint-mine.safetensors"]
            {
                fs::write(folder.log_dir().join(name), name).unwrap();
            }
            folder
        };
        let further = make(Some(Trial::Further), RunState::Finished);
        let failed = make(Some(Trial::Further), RunState::Failed);
        let others = [
            make(Some(Trial::Further), RunState::Running),
            make(Some(Trial::First), RunState::Finished),
            make(None, RunState::Finished),
        ];
        // As if the thinning before had been killed in its middle.
        fs::remove_file(failed.log_dir().join("checkpoint-1.safetensors")).unwrap();
        drop(Thinning(&store));
        let left = |folder: &RunFolder| {
            let mut names: Vec<_> = fs::read_dir(folder.log_dir()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        for folder in [&further, &failed] {
            assert_eq!(left(folder), ["checkpoint-mine.safetensors", "events.out.tfevents.1"]);
            assert!(folder.read_record().is_ok() && folder.read_status().is_ok());
        }
        others.iter().for_each(|folder| assert_eq!(left(folder).len(), 4, "{folder:?}"));
    }

    #[test]
    fn a_name_with_an_absurd_number_or_a_folder_is_no_checkpoint_to_go_on_from() {
        let (_home, store) = store();
        let made = store.create(record(2), &RunStatus::new(RunState::Finished, "", 1.0)).unwrap();
        let folder = store.folder(made.id);
        fs::create_dir_all(folder.log_dir().join("checkpoint-9.safetensors")).unwrap();
        assert_eq!(folder.last_checkpoint(), None);
        for name in [
            "checkpoint-1.safetensors",
            "checkpoint-18446744073709551615.safetensors",
            "commit-0-99999999999999999999.safetensors",
        ] {
            fs::write(folder.log_dir().join(name), name).unwrap();
        }
        assert_eq!(folder.last_checkpoint(), Some(Progress { epoch: 1, images: 0 }));
    }
}
