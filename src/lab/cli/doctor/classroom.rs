//! Whether this machine can serve a class: a number of learners who train on it at once, each with two ranks.
//!
//! It changes nothing, and starts no run.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, getrlimit};

use super::check::Check;
use crate::dataset::{self, Located, Location};
use crate::domain::units;
use crate::host::{self, files};
use crate::launch::{Machine, find_trainer};
use crate::runs::RunStore;
use crate::tui;

/// What a learner starts: two ranks on a core each.
const CORES: usize = 2;
/// Two ranks (0.3 GB each with the real images, BENCHMARKS.md), the screen, an editor, and something in reserve.
const MEMORY_BYTES: u64 = 1 << 30;
/// A hundred short runs and more: one keeps 0.2 to 2 MB.
const DISK_BYTES: u64 = 512 << 20;
/// Processes and threads of a run (ten on two ranks), of the screen, a shell and an editor, several times over.
const TASKS: u64 = 100;
/// Files that a program has open at a time: mpirun has 28 of two ranks.
const OPEN_FILES: u64 = 256;

const GIVE_TURNS: &str = "let them take turns, or use --np 1; times compare only while no more than that train";

/// Adds checks for what a class of this size needs beyond what one run needs.
pub(super) fn examine(learners: usize, images_here: Option<&Located>, checks: &mut Vec<Check>) {
    checks.push(cores(learners, Machine::detect().cores));
    checks.push(memory(learners, host::cpu::host_memory().0));
    checks.push(limits(learners, &Limits::of_this_process()));
    let home = RunStore::default_home().ok();
    checks.extend(home.as_deref().and_then(|home| disk(learners, home)));
    // If there are no usable images, the doctor has already said so.
    checks.extend(images_here.map(|located| images(learners, located)));
    checks.push(terminal());
    // A single learner uses the account that was set up.
    if learners > 1 {
        checks.push(homes(std::env::var_os("HVD_LAB_HOME").map(PathBuf::from).as_deref()));
        checks.push(programs());
    }
}

fn each(learners: usize) -> String {
    units::counted(learners, "learner")
}

fn cores(learners: usize, cores: usize) -> Check {
    let (wanted, at_once) = (learners * CORES, cores / CORES);
    let found = format!("{}, 2 ranks each: {wanted} cores wanted, {cores} here", each(learners));
    let at_once = if wanted <= cores { String::new() } else { format!(": full speed for {at_once} at a time") };
    Check::ok_if(wanted <= cores, "class cores", found + &at_once, GIVE_TURNS)
}

fn memory(learners: usize, free_bytes: u64) -> Check {
    let wanted = MEMORY_BYTES * learners as u64;
    let found = format!("{}: up to {} wanted, {} free", each(learners), units::bytes(wanted), units::bytes(free_bytes));
    if free_bytes == 0 {
        return Check::warn("class memory", "unknown: this system does not tell", "a learner takes up to 1 GiB");
    }
    let remedy = "end other programs, let learners take turns, or use a second machine";
    Check::ok_if(wanted <= free_bytes, "class memory", found, remedy)
}

/// `None` where there is no limit.
struct Limits {
    /// Of a user: processes and threads.
    tasks: Option<u64>,
    /// Of all who share this container or slice.
    tasks_of_all: Option<u64>,
    open_files: Option<u64>,
}

impl Limits {
    fn of_this_process() -> Limits {
        let of_all = std::fs::read_to_string("/sys/fs/cgroup/pids.max").ok();
        Limits {
            tasks: getrlimit(Resource::Nproc).current,
            tasks_of_all: of_all.and_then(|text| text.trim().parse().ok()),
            open_files: getrlimit(Resource::Nofile).current,
        }
    }
}

fn limits(learners: usize, limits: &Limits) -> Check {
    let below = |limit: Option<u64>, wanted: u64| limit.filter(|limit| *limit < wanted);
    let tasks_of_all = TASKS * learners as u64;
    if let Some(limit) = below(limits.tasks, TASKS) {
        let found = format!("a user may have {limit} processes and threads; a learner needs about {TASKS}");
        return Check::warn("class limits", found, raise("nproc", "-u"));
    }
    if let Some(limit) = below(limits.tasks_of_all, tasks_of_all) {
        let found =
            format!("this container may have {limit} processes and threads; {} need about {tasks_of_all}", each(learners));
        return Check::warn("class limits", found, "start the container with a larger --pids-limit");
    }
    if let Some(limit) = below(limits.open_files, OPEN_FILES) {
        let found = format!("a program may have {limit} files open; the lab needs up to {OPEN_FILES}");
        return Check::warn("class limits", found, raise("nofile", "-n"));
    }
    Check::ok("class limits", "processes, threads and open files are enough")
}

fn raise(name: &str, flag: &str) -> String {
    if cfg!(target_os = "linux") {
        format!("raise {name} in /etc/security/limits.conf (`ulimit {flag}` shows it)")
    } else {
        format!("raise it in the shell that starts the lab: `ulimit {flag}`")
    }
}

/// Free space on the disk that holds the runs. `None` if it is unknown, which the doctor has already said.
fn disk(learners: usize, home: &Path) -> Option<Check> {
    let (free_bytes, wanted) = (files::room(home)?, DISK_BYTES * learners as u64);
    let found = format!("runs of {}: about {} wanted, {} free", each(learners), units::bytes(wanted), units::bytes(free_bytes));
    let remedy = "point HVD_LAB_HOME of the learners at another disk, or use --no-checkpointing";
    Some(Check::ok_if(wanted <= free_bytes, "class disk", found, remedy))
}

fn images(learners: usize, located: &Located) -> Check {
    let share =
        "`hvd-lab data fetch`, copy the folder that `hvd-lab data` shows to one that all can read, and set HVD_LAB_DATA to that";
    let (label, named) = (&located.label, std::env::var_os("HVD_LAB_DATA").is_some_and(|value| !value.is_empty()));
    match &located.location {
        _ if dataset::is_generated(label) && named => Check::ok("class images", format!("{label} for all: HVD_LAB_DATA says so")),
        _ if dataset::is_generated(label) => {
            let found = "the real images are not here: each learner would fetch 31 MB, or train on drawn ones without a network";
            Check::warn("class images", found, if learners > 1 { share } else { "`hvd-lab data fetch` before the class" })
        }
        Location::Folder(_) if learners > 1 && !named => {
            let found =
                "they are in your own folder: each other learner would fetch 31 MB, or train on drawn ones without a network";
            Check::warn("class images", found, share)
        }
        Location::Folder(folder) if learners > 1 => match closed(folder) {
            Some(closed) => Check::warn("class images", closed, "open it: chmod o+rx"),
            None => Check::ok("class images", format!("{label} in {}, for all", folder.display())),
        },
        _ => Check::ok("class images", format!("{label} are here: no network is needed")),
    }
}

/// Checks this terminal; the learners' own terminals may differ.
fn terminal() -> Check {
    if !tui::needs_ascii() {
        return Check::ok("terminal", "this one shows lines and charts as they should be");
    }
    let found = "this one, or its locale, has no UTF-8: lines and charts are drawn in ASCII";
    Check::warn("terminal", found, "export LANG=C.UTF-8 and a TERM such as xterm-256color, for the learners as well")
}

fn homes(shared: Option<&Path>) -> Check {
    let Some(home) = shared.filter(|home| !home.as_os_str().is_empty()) else {
        return Check::ok("class homes", "each account has its own: HVD_LAB_HOME is not set");
    };
    let home = home.display();
    let found = format!("HVD_LAB_HOME is {home}: all who get this setting share one list of runs, or may not write there");
    Check::warn("class homes", found, "unset it for the learners, or give each a folder: HVD_LAB_HOME=/scratch/$USER/hvd-lab")
}

/// Whether other accounts may start what this one has built.
fn programs() -> Check {
    let programs = [std::env::current_exe().ok(), find_trainer().ok()];
    match programs.iter().flatten().find_map(|path| closed(path)) {
        Some(closed) => {
            Check::warn("class files", closed, "build it in a folder such as /opt/hvd-lab, or open that one: chmod o+rx")
        }
        None => Check::ok("class files", "other accounts may start hvd-lab and hvd-train"),
    }
}

/// What on the way to a file or folder other accounts may not enter or read.
fn closed(path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    let ways: Vec<&Path> = path.ancestors().collect();
    ways.into_iter().rev().find_map(|way| {
        let mode = way.metadata().ok()?.permissions().mode();
        // Folders on the way only have to let others pass.
        let wanted = if way == path { 0o5 } else { 0o1 };
        (mode & wanted != wanted).then(|| format!("{} is closed to other accounts", way.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::super::check::Weight;
    use super::*;

    #[test]
    fn cores_memory_and_limits_are_those_of_all_learners() {
        assert_eq!(cores(4, 8).weight, Weight::Good);
        let crowded = cores(5, 8);
        assert!(
            crowded.weight == Weight::Doubt && crowded.found.contains("10 cores wanted, 8 here: full speed for 4"),
            "{crowded:?}"
        );
        assert_eq!(memory(4, 4 << 30).weight, Weight::Good);
        assert_eq!(memory(5, 4 << 30).weight, Weight::Doubt);
        let none = Limits { tasks: None, tasks_of_all: None, open_files: None };
        assert_eq!(limits(30, &none).weight, Weight::Good);
        for (limit, word) in [
            (Limits { tasks: Some(99), ..none }, "a user may have 99"),
            (Limits { tasks_of_all: Some(2999), ..none }, "this container may have 2999"),
            (Limits { open_files: Some(64), ..none }, "64 files open"),
        ] {
            let check = limits(30, &limit);
            assert!(check.weight == Weight::Doubt && check.found.contains(word), "{check:?}");
        }
        assert_eq!(
            limits(30, &Limits { tasks: Some(100), tasks_of_all: Some(3000), open_files: Some(256) }).weight,
            Weight::Good
        );
    }

    #[test]
    fn the_folder_that_is_closed_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let (inner, file) = (folder.path().join("built"), folder.path().join("built/program"));
        std::fs::create_dir(&inner).unwrap();
        std::fs::write(&file, "").unwrap();
        let set = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        set(folder.path(), 0o711);
        set(&inner, 0o755);
        set(&file, 0o755);
        assert_eq!(closed(&file), None);
        set(&file, 0o750);
        assert_eq!(closed(&file), Some(format!("{} is closed to other accounts", file.display())));
        set(&file, 0o755);
        set(&inner, 0o700);
        assert_eq!(closed(&file), Some(format!("{} is closed to other accounts", inner.display())));
    }
}
