//! Runs on other hosts, in other containers, from before the machine was started again, and of older versions of the lab.
//!
//! Each with real processes: who must live still does.

use std::fs::{File, FileTimes};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::SystemTime;

use super::super::tests::{Started, record, status, store};
use super::super::{RunFolder, RunId, RunStore, StoreError};
use super::*;
use crate::domain::run::RunState;
use crate::process::{self, RunLock};

/// A run that is going as run 1, by a process of this machine that has its mark.
fn going(store: &RunStore, change: impl FnOnce(&mut RunStatus)) -> Started {
    let supervisor = Started::by_mark(store.folder(RunId(1)).path());
    let mut status = supervisor.status();
    change(&mut status);
    store.create(record(1), &status).unwrap();
    supervisor
}

fn place(status: &mut RunStatus) -> &mut ProcessLocation {
    status.supervisor_place.as_mut().unwrap()
}

fn now(store: &RunStore) -> Supervision {
    store.supervision(RunId(1)).unwrap().1
}

/// As if nothing had been written to the run for two minutes.
fn be_silent(folder: &RunFolder) {
    let then = SystemTime::now() - Duration::from_secs(120);
    let file = File::options().append(true).open(folder.status_file()).unwrap();
    file.set_times(FileTimes::new().set_modified(then)).unwrap();
}

#[test]
fn a_host_that_was_given_another_name_still_has_its_runs() {
    let (_home, store) = store();
    let supervisor = going(&store, |status| place(status).host = "before".into());
    assert!(matches!(now(&store), Supervision::Here { pid, .. } if pid == supervisor.pid()));
    drop(supervisor);
    assert_eq!(store.status(RunId(1)).unwrap().state, RunState::Failed);
    store.delete(RunId(1)).unwrap();
}

#[test]
fn a_run_on_another_host_is_left_as_it_is_and_every_verb_says_where_it_is() {
    let (_home, store) = store();
    let mut there = going(&store, |status| {
        status.supervisor_place =
            Some(ProcessLocation { boot: Some("another".into()), machine: None, ..ProcessLocation::named("node3") });
    });
    assert_eq!(now(&store), Supervision::Elsewhere("on host `node3`".into()));
    let row = store.summary(RunId(1)).unwrap();
    assert_eq!((row.status.state, row.elsewhere.as_deref()), (RunState::Running, Some("on host `node3`")));
    for error in [store.delete(RunId(1)).unwrap_err(), store.claim(RunId(1)).unwrap_err()] {
        let said = error.to_string();
        assert!(said.contains("on host `node3`: run `hvd-lab stop 1` there") && said.contains("stop 1 --gone"), "{said}");
    }
    // Not while it is heard of.
    let error = store.give_up(RunId(1)).unwrap_err();
    assert!(matches!(error, StoreError::AliveElsewhere { .. }), "{error}");
    be_silent(&store.folder(RunId(1)));
    let given_up = store.give_up(RunId(1)).unwrap();
    assert!(given_up.state == RunState::Failed && given_up.message.contains("`node3`"), "{given_up:?}");
    assert!(there.lives(), "its number means another process there");
    assert!(matches!(store.give_up(RunId(1)), Err(StoreError::Over { .. })));
    store.delete(RunId(1)).unwrap();
}

#[test]
fn given_up_a_run_is_no_longer_its_supervisors_though_that_has_the_lock() {
    let (_home, store) = store();
    let _there = going(&store, |status| status.supervisor_place = Some(ProcessLocation::named("node3")));
    let lock = RunLock::take(store.folder(RunId(1)).path()).unwrap().unwrap();
    be_silent(&store.folder(RunId(1)));
    assert!(lock.identity().unwrap().is_in_place());
    store.give_up(RunId(1)).unwrap();
    assert!(!lock.identity().unwrap().is_in_place(), "so it ends its ranks, should it live after all");
    drop(store.claim(RunId(1)).unwrap());
}

#[test]
fn after_the_machine_was_started_again_no_run_of_before_is_going() {
    let (_home, store) = store();
    let mut namesake = going(&store, |status| place(status).boot = Some("the one before".into()));
    assert_eq!(store.status(RunId(1)).unwrap().state, RunState::Failed);
    // It has the mark of the run, and was ended as what was left of it.
    assert!(!namesake.lives());
}

#[test]
fn a_machine_started_again_under_another_name_has_no_run_of_before_once_it_is_silent() {
    let (_home, store) = store();
    if host::place().machine.is_none() {
        return eprintln!("skipped: this machine has no id");
    }
    let mut there = going(&store, |status| {
        (place(status).boot, place(status).host) = (Some("the one before".into()), "before".into());
    });
    assert_eq!(now(&store), Supervision::Elsewhere("on host `before`".into()), "a clone of this machine has its id");
    assert!(there.lives());
    be_silent(&store.folder(RunId(1)));
    assert_eq!(now(&store), Supervision::Over);
}

#[test]
fn in_another_container_a_run_goes_on_for_as_long_as_its_lock_is_held() {
    let (_home, store) = store();
    let _there = going(&store, |status| place(status).pid_namespace = Some("pid:[1]".into()));
    let lock = RunLock::take(store.folder(RunId(1)).path()).unwrap();
    assert!(matches!(now(&store), Supervision::Elsewhere(place) if place.contains("container")));
    drop(lock);
    assert_eq!(now(&store), Supervision::Over, "the kernel is the same, and so are its locks");
}

#[test]
fn another_process_with_the_number_of_the_supervisor_is_none() {
    let (home, store) = store();
    let mut stranger = Started::by_mark(home.path());
    store.create(record(1), &stranger.status()).unwrap();
    assert!(!process::signal_proven(stranger.pid(), stranger.status().supervisor_start_ticks, store.folder(RunId(1)).path(), {
        nix::sys::signal::Signal::SIGKILL
    }));
    assert_eq!(store.status(RunId(1)).unwrap().state, RunState::Failed);
    assert!(stranger.lives());
}

#[test]
fn the_same_path_may_be_another_folder_in_a_container() {
    let (home, store) = store();
    let folder = store.folder(RunId(1));
    std::fs::create_dir(folder.path()).unwrap();
    let script = format!("mount -t tmpfs none '{0}' && mkdir -p '{1}' && echo && read line", home.path().display(), {
        folder.path().display()
    });
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]).env(process::RUN_DIR_VARIABLE, folder.path());
    let Some(mut there) = Started::try_new(&mut command) else { return eprintln!("skipped: no namespaces here") };
    assert_eq!(process::of_run(folder.path()), [0; 0]);
    assert!(there.lives());
}

#[test]
fn supervisors_of_older_versions_are_known_by_their_command_line() {
    let (_home, store) = store();
    let folder = store.folder(RunId(1));
    let mut command = Command::new("sh");
    // As `hvd-lab supervise FOLDER`, with a shell that reads its script from a file.
    let script = tempfile::tempdir().unwrap();
    std::fs::write(script.path().join("supervise"), "echo; read line").unwrap();
    let older = Started::new(command.arg0("hvd-lab").arg("supervise").arg(folder.path()).current_dir(script.path()));
    let status = RunStatus { supervisor_place: None, ..older.status() };
    store.create(record(1), &status).unwrap();
    assert!(matches!(now(&store), Supervision::Here { pid, .. } if pid == older.pid()));
    assert_eq!(process::of_run(folder.path()), [0; 0], "it is not what is left of a run");
    let elsewhere = RunRecord { host: "another-host".into(), ..record(1) };
    let seen = supervision(&folder, Some(&elsewhere), &status, &host::place());
    assert_eq!(seen, Supervision::Elsewhere("on host `another-host`".into()));
}

#[test]
fn a_supervisor_of_an_older_version_has_a_moment_to_come_up() {
    let (_home, store) = store();
    let starting = |started_s| RunStatus { supervisor_pid: 0, started_s, ..status(RunState::Preparing) };
    let now_s = host::now_s();
    for started_s in [now_s - 60.0, now_s + 3600.0, 2e11] {
        let id = store.create(record(1), &starting(started_s)).unwrap().id;
        // Between fork and exec, the child of another test holds a copy of the lock, so the first look may come too early.
        let looks = std::iter::repeat_with(|| store.status(id).unwrap()).take(1000);
        let marked = looks.inspect(|_| std::thread::yield_now()).find(|status| status.message.contains("did not start"));
        let status = marked.unwrap_or_else(|| panic!("{started_s}: {:?}", store.status(id).unwrap()));
        assert!(status.ended_s >= Some(status.started_s), "no negative time: {status:?}");
    }
    let young = store.create(record(1), &starting(now_s)).unwrap().id;
    assert_eq!(store.status(young).unwrap().state, RunState::Preparing);
}

#[test]
fn a_run_is_not_marked_while_somebody_has_its_lock() {
    let (_home, store) = store();
    let (record, lock) = store.create_claimed(record(1), &status(RunState::Running)).unwrap();
    assert_eq!(store.supervision(record.id).unwrap(), (status(RunState::Running), Supervision::Beginning));
    assert!(matches!(store.claim(record.id), Err(StoreError::StillGoing { .. })));
    assert!(matches!(store.delete(record.id), Err(StoreError::StillGoing { .. })));
    // The last word of a supervisor counts, though it is gone when the lock is taken.
    store.folder(record.id).write_status(&status(RunState::Finished)).unwrap();
    drop(lock);
    assert_eq!(store.status(record.id).unwrap().state, RunState::Finished);
}
