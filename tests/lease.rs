//! A machine that is shared: real runs of several users, killed ones among them, over the GPUs of a stand-in or its cores.
//!
//! Never leaves a process behind, and never waits without a limit.

mod room;

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use room::{Client, Room};

/// Which clients have their supervisor killed, and after how many milliseconds.
const KILLED: [(usize, u64); 6] = [(2, 900), (5, 50), (9, 1500), (13, 300), (17, 20), (21, 2500)];

#[test]
fn of_24_clients_of_three_users_no_two_get_the_same_gpu_and_the_order_is_kept() {
    let Some(room) = Room::with_gpus(3, "time_limit = \"0:10:00\"") else { return };
    let clients: Vec<Client> = (0..24)
        .map(|number| {
            let client = room.start(number % 3, [1, 1, 2, 1, 3][number % 5], 0.3 + 0.1 * (number % 4) as f64);
            if let Some((_, after_ms)) = KILLED.iter().find(|(killed, _)| *killed == number) {
                client.kill_after(Duration::from_millis(*after_ms));
            }
            client
        })
        .collect();
    let granted = room.watch_to_the_end(&clients);
    let mut held: BTreeMap<String, Vec<(u128, u128, usize)>> = BTreeMap::new();
    for (number, client) in clients.iter().enumerate() {
        let Some(told) = client.told() else {
            assert!(KILLED.iter().any(|(killed, _)| *killed == number), "client {number} never ran");
            continue;
        };
        assert_eq!(told.gpus.len(), client.count, "client {number} has {:?}", told.gpus);
        for gpu in told.gpus {
            held.entry(gpu).or_default().push((told.begin, told.end, number));
        }
    }
    for (gpu, mut turns) in held {
        turns.sort_unstable();
        for pair in turns.windows(2) {
            assert!(pair[0].1 <= pair[1].0, "{gpu} had two runs at once: {pair:?}");
        }
        assert!(turns.len() >= 3, "{gpu} was used: {turns:?}");
    }
    let of_pid: BTreeMap<u32, usize> = clients.iter().enumerate().map(|(number, client)| (client.pid, number)).collect();
    let mut order: Vec<(f64, usize)> = granted.iter().map(|(pid, granted_s)| (*granted_s, of_pid[pid])).collect();
    order.sort_by(|one, other| one.0.total_cmp(&other.0));
    let order: Vec<usize> = order.into_iter().map(|(_, number)| number).collect();
    assert!(order.is_sorted(), "they came by number, and were served {order:?}");
    assert!(order.len() >= 24 - KILLED.len(), "{order:?}");
    assert_eq!(room.tickets(), 0, "nobody's ticket is left, or the next look removes it");
}

#[test]
fn devices_on_which_something_still_runs_are_not_free_when_the_supervisor_is_killed() {
    let Some(room) = Room::with_gpus(1, "") else { return };
    let first = room.start(0, 1, 3.0);
    room.until(|| first.has_begun());
    first.kill_after(Duration::ZERO);
    let second = room.start(0, 1, 0.1);
    room.watch_to_the_end(&[first.clone(), second.clone()]);
    let (first, second) = (first.told().unwrap(), second.told().unwrap());
    assert!(first.end <= second.begin, "{first:?} {second:?}");
}

#[test]
fn who_has_as_many_as_allowed_is_passed_over() {
    let Some(room) = Room::with_gpus(2, "gpus_per_user = 1") else { return };
    if !room.has_users() {
        return;
    }
    let (first, second) = (room.start(0, 1, 2.5), room.start(0, 1, 0.1));
    let other = room.start(1, 1, 0.1);
    room.until(|| other.has_begun());
    assert!(!second.has_begun(), "the second of the same user waits, although it came before");
    assert!(room.queue().contains("has as many as one user may have"), "{}", room.queue());
    room.watch_to_the_end(&[first.clone(), second.clone(), other]);
    assert!(first.told().unwrap().end <= second.told().unwrap().begin);
    let refused = room.lab(0, &["run", "--detach", "--", room.launcher(2).as_str(), "--nproc_per_node=2", "x", "1"]);
    assert_eq!(refused.status.code(), Some(2));
    let line = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(line.contains("lets one user have 1 GPU at a time") && line.lines().count() == 1, "{line}");
}

#[test]
fn a_folder_that_is_cleaned_lets_nobody_in_twice() {
    let Some(room) = Room::with_gpus(1, "") else { return };
    let first = room.start(0, 1, 4.0);
    room.until(|| first.has_begun());
    for boot in fs::read_dir(room.folder()).unwrap() {
        let boot = boot.unwrap().path();
        // A supervisor may put its ticket back between the last file and the folder.
        room.until(|| fs::remove_dir_all(&boot).is_ok() || !boot.exists());
    }
    // Its supervisor finds that out at its next look, about once a second.
    room.until(|| room.tickets() == 1);
    let second = room.start(0, 1, 0.1);
    room.watch_to_the_end(&[first.clone(), second.clone()]);
    assert!(first.told().unwrap().end <= second.told().unwrap().begin);
}

#[test]
fn a_folder_that_is_removed_lets_nobody_in_before_its_holder_has_looked() {
    let Some(room) = Room::with_gpus(1, "") else { return };
    let first = room.start(0, 1, 6.0);
    room.until(|| first.has_begun());
    for boot in fs::read_dir(room.folder()).unwrap() {
        // At once: its holder may be making it anew meanwhile.
        let (boot, aside) = (boot.unwrap().path(), room.home(0).join("removed"));
        fs::rename(&boot, &aside).unwrap();
        fs::remove_dir_all(aside).unwrap();
    }
    let second = room.start(0, 1, 0.1);
    room.watch_to_the_end(&[first.clone(), second.clone()]);
    assert!(first.told().unwrap().end <= second.told().unwrap().begin);
}

#[test]
fn a_lock_without_a_ticket_is_told_to_all_with_its_process() {
    let Some(room) = Room::with_gpus(1, "") else { return };
    let first = room.start(0, 1, 0.1);
    room.watch_to_the_end(&[first]);
    let lock = room.lock();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let second = room.start(0, 1, 0.1);
    let by =
        if cfg!(target_os = "linux") { format!("is locked by process {} (`", std::process::id()) } else { "is locked by".into() };
    room.until(|| second.status().contains(&by));
    assert!(second.status().contains("which has no ticket"), "{}", second.status());
    let queue = room.queue();
    assert!(queue.contains(&by) && !queue.contains("free and kept"), "{queue}");
    drop(lock);
    room.watch_to_the_end(&[second]);
    assert!(!room.queue().contains("locked"));
}

#[test]
fn a_run_that_waits_says_so_and_can_be_stopped() {
    let Some(room) = Room::with_gpus(1, "time_limit = 600") else { return };
    let first = room.start(0, 1, 3.0);
    room.until(|| first.has_begun());
    let second = room.start(0, 1, 0.1);
    room.until(|| second.status().contains("waiting for 1 GPU: place 1 of 1 in the queue, expected to start in about 10 min"));
    let queue = room.queue();
    assert!(queue.contains("leased") && queue.contains("10:00 per run") && queue.contains("in about 10 min"), "{queue}");
    assert_eq!(room.lab(0, &["stop", "2"]).status.code(), Some(0));
    assert!(second.status().contains("stopped"), "{}", second.status());
    assert_eq!(room.tickets(), 1, "only the first is left");
    room.watch_to_the_end(&[first]);
    assert!(second.told().is_none());
}

#[test]
fn no_run_takes_longer_than_is_allowed() {
    let Some(room) = Room::with_gpus(1, "time_limit = 2") else { return };
    let long = room.start(0, 1, 60.0);
    room.until(|| long.status().contains("its time limit of 0:02 was over"));
    let refused = room.lab(0, &["run", "--detach", "--time-limit", "0:00:03", "--", "true"]);
    let line = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{line}");
    assert!(line.contains("0:03 is more than the 0:02") && line.contains("use --time-limit 0:02"), "{line}");
}

#[test]
fn runs_that_share_cores_get_cores_of_their_own() {
    let Some(room) = Room::with_cores() else { return };
    let (one, other) = (room.start(0, 1, 1.5), room.start(0, 1, 1.5));
    room.watch_to_the_end(&[one.clone(), other.clone()]);
    let (one, other) = (one.told().unwrap(), other.told().unwrap());
    assert!(one.begin < other.end && other.begin < one.end, "at the same time");
    assert_ne!(one.cores, other.cores);
    assert!(one.cores.parse::<usize>().is_ok() && other.cores.parse::<usize>().is_ok(), "one each: {one:?} {other:?}");
}

#[test]
fn a_file_that_cannot_be_used_is_named_before_anything_starts() {
    let Some(room) = Room::with_gpus(1, "gpu_per_user = 1") else { return };
    for args in [&["run", "--detach", "--", "true"][..], &["queue"]] {
        let refused = room.lab(0, args);
        let line = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{line}");
        assert!(line.contains("gpu_per_user") && line.contains("share.toml") && line.contains("line 3"), "{line}");
    }
    assert!(!room.home(0).join("runs").exists() || fs::read_dir(room.home(0).join("runs")).unwrap().count() == 0);
}

#[test]
fn without_such_a_file_nothing_is_shared() {
    let mut lab = assert_cmd::Command::cargo_bin("hvd-lab").unwrap();
    let home = tempfile::tempdir().unwrap();
    lab.args(["queue"]).env("HVD_LAB_HOME", home.path()).env_remove("HVD_LAB_SHARE_FILE");
    let output = lab.timeout(Duration::from_secs(60)).assert().success().get_output().stdout.clone();
    if !std::path::Path::new("/etc/hvd-lab.toml").exists() {
        assert!(String::from_utf8_lossy(&output).contains("not shared"));
    }
}
