//! Naming, deleting and bringing back, on real folders: two labs at once, damaged files, a disk that takes nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::super::tests::{Started, append_line, record, status, store};
use super::super::{Follower, RunId, RunStore, RunUpdate, StoreError};
use crate::domain::run::{RunState, RunStatus};

fn finished(store: &RunStore, runs: usize) {
    for _ in 0..runs {
        store.create(record(1), &status(RunState::Finished)).unwrap();
    }
}

fn ids(store: &RunStore) -> Vec<u32> {
    store.ids().into_iter().map(|id| id.0).collect()
}

#[test]
fn a_deleted_run_comes_back_as_it_was() {
    let (_home, store) = store();
    finished(&store, 3);
    append_line(&store.folder(RunId(2)).rank_log(0), "a line");
    let before = store.summary(RunId(2)).unwrap();
    store.delete(RunId(2)).unwrap();
    assert_eq!(ids(&store), [1, 3]);
    assert!(matches!(store.record(RunId(2)), Err(StoreError::NoRun { .. })));
    assert_eq!(store.restore(None).unwrap(), RunId(2));
    assert_eq!(ids(&store), [1, 2, 3]);
    assert_eq!(store.summary(RunId(2)).unwrap(), before);
    assert_eq!(fs::read_to_string(store.folder(RunId(2)).rank_log(0)).unwrap(), "a line\n");
}

#[test]
fn the_last_deleted_comes_back_first_and_any_by_its_number() {
    let (_home, store) = store();
    finished(&store, 3);
    for id in [3, 1, 2] {
        store.delete(RunId(id)).unwrap();
        // Deleted in the same millisecond they would come back by their numbers.
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    assert_eq!(store.restore(None).unwrap(), RunId(2));
    assert_eq!(store.restore(Some(RunId(3))).unwrap(), RunId(3));
    assert!(matches!(store.restore(Some(RunId(3))), Err(StoreError::NotDeleted { .. })));
    assert_eq!(store.restore(None).unwrap(), RunId(1));
    assert!(matches!(store.restore(None), Err(StoreError::NothingDeleted)));
}

#[test]
fn numbers_are_not_used_again() {
    let (_home, store) = store();
    finished(&store, 3);
    store.delete(RunId(3)).unwrap();
    assert_eq!(store.create(record(1), &status(RunState::Finished)).unwrap().id, RunId(4));
    store.delete(RunId(4)).unwrap();
    store.empty_trash(&store.deleted()).unwrap();
    assert_eq!((store.deleted(), store.next_id()), (vec![], RunId(5)));
}

#[test]
fn a_run_that_is_going_stays() {
    let (_home, store) = store();
    let supervisor = Started::by_mark(store.folder(RunId(1)).path());
    let id = store.create(record(2), &supervisor.status()).unwrap().id;
    let error = store.delete(id).unwrap_err();
    assert!(matches!(error, StoreError::StillGoing { .. }), "{error}");
    assert!(error.to_string().contains("hvd-lab stop 1"), "{error}");
    assert_eq!((ids(&store), store.deleted()), (vec![1], vec![]));
}

#[test]
fn a_damaged_run_can_be_deleted_unless_something_still_writes_to_it() {
    let (_home, store) = store();
    finished(&store, 1);
    let folder = store.folder(RunId(1));
    fs::write(folder.record_file(), "{ half of").unwrap();
    fs::write(folder.status_file(), "").unwrap();
    let rank = Started::by_mark(folder.path());
    assert!(matches!(store.delete(RunId(1)), Err(StoreError::StillGoing { .. })));
    drop(rank);
    store.delete(RunId(1)).unwrap();
    store.restore(Some(RunId(1))).unwrap();
    assert_eq!(fs::read_to_string(folder.record_file()).unwrap(), "{ half of");
    let error = store.set_name(RunId(1), "a name").unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert_eq!(fs::read_to_string(folder.record_file()).unwrap(), "{ half of", "nothing is written over it");
}

#[test]
fn a_lab_that_has_it_open_sees_it_go_and_come_back() {
    let (home, store) = store();
    finished(&store, 2);
    let other = RunStore::open(home.path()).unwrap();
    let mut follower = Follower::new(other.folder(RunId(1)));
    assert!(matches!(follower.poll().last(), Some(RunUpdate::Status(_))));
    store.delete(RunId(1)).unwrap();
    assert_eq!(follower.poll(), []);
    assert_eq!(other.list().len(), 1);
    assert!(matches!(other.set_name(RunId(1), "late"), Err(StoreError::NoRun { .. })));
    assert!(!other.folder(RunId(1)).path().exists(), "a late change makes no new folder");
    other.restore(Some(RunId(1))).unwrap();
    append_line(&store.folder(RunId(1)).rank_log(0), "after");
    assert!(follower.poll().iter().any(|update| matches!(update, RunUpdate::Log { .. })));
}

#[test]
fn a_place_that_is_taken_is_not_overwritten() {
    let (_home, store) = store();
    finished(&store, 1);
    store.delete(RunId(1)).unwrap();
    fs::create_dir(store.folder(RunId(1)).path()).unwrap();
    assert!(matches!(store.restore(None), Err(StoreError::Taken { .. })));
    assert_eq!(store.deleted().len(), 1);
}

#[test]
fn where_nothing_can_be_written_nothing_is_lost() {
    let (home, store) = store();
    finished(&store, 1);
    // In the place of the trash: as on a disk that takes no folder more, for root too.
    fs::write(home.path().join("trash"), "").unwrap();
    let error = store.delete(RunId(1)).unwrap_err();
    assert!(error.to_string().contains("trash"), "{error}");
    assert_eq!(ids(&store), [1]);
    fs::remove_file(home.path().join("trash")).unwrap();
    store.delete(RunId(1)).unwrap();
    // Nothing is removed while it cannot be noted which number was used.
    fs::create_dir(home.path().join("trash/highest-number")).unwrap();
    assert!(store.empty_trash(&store.deleted()).is_err());
    assert_eq!(store.deleted().len(), 1);
}

#[test]
fn names_and_notes_fit_a_line_and_go_with_an_empty_text() {
    let (_home, store) = store();
    finished(&store, 1);
    store.set_name(RunId(1), "  two\tranks\x1b[31m\nred ").unwrap();
    store.set_note(RunId(1), "why: \u{8868}").unwrap();
    let row = store.summary(RunId(1)).unwrap().record.unwrap();
    assert_eq!((row.request.name.as_deref(), row.request.note.as_deref()), (Some("two ranks red"), Some("why: \u{8868}")));
    store.set_name(RunId(1), " ").unwrap();
    let row = store.summary(RunId(1)).unwrap().record.unwrap();
    assert_eq!((row.request.name, row.request.note.is_some()), (None, true));
    let mode = fs::metadata(store.folder(RunId(1)).record_file()).unwrap().permissions().mode();
    assert_ne!(mode & 0o400, 0);
}

#[test]
fn changes_made_at_once_are_all_kept() {
    let (home, store) = store();
    finished(&store, 1);
    std::thread::scope(|scope| {
        for process in 0..8 {
            let store = RunStore::open(home.path()).unwrap();
            scope.spawn(move || {
                let folder = store.folder(RunId(1));
                for turn in 0..10 {
                    folder.change_record(|record| record.versions.push(format!("{process}.{turn}"))).unwrap();
                }
            });
        }
    });
    assert_eq!(store.record(RunId(1)).unwrap().versions.len(), 80);
}

#[test]
fn an_orphan_is_marked_and_can_then_be_deleted() {
    let (_home, store) = store();
    let gone = RunStatus { supervisor_pid: u32::MAX / 2, ..status(RunState::Running) };
    store.create(record(1), &gone).unwrap();
    store.delete(RunId(1)).unwrap();
    store.restore(None).unwrap();
    assert_eq!(store.status(RunId(1)).unwrap().state, RunState::Failed);
}

#[test]
fn a_run_that_somebody_removes_at_this_moment_is_gone_and_not_an_error_of_the_system() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let (home, store) = store();
    finished(&store, 1);
    let (id, away, is_done) = (RunId(1), home.path().join("away"), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                for (from, to) in [(store.folder(id).path(), away.as_path()), (away.as_path(), store.folder(id).path())] {
                    fs::rename(from, to).unwrap();
                }
            }
        });
        let mut said = std::collections::BTreeSet::new();
        for _ in 0..3000 {
            let errors = [store.claim(id).err(), store.status(id).err(), store.record(id).err()];
            said.extend(errors.into_iter().flatten().map(|error| error.to_string()));
            let shown = store.list().into_iter().filter(|row| row.record.is_none()).map(|row| row.status.message);
            said.extend(shown);
        }
        is_done.store(true, Ordering::Relaxed);
        let is_clear = |text: &String| {
            text.contains("there is no run 1") || text.contains("run 1 is gone") || text.contains("still running")
        };
        assert!(said.iter().all(is_clear), "{said:?}");
    });
}
