//! The machine: GPUs, cores, memory, images, and a folder to write runs to.
//!
//! Never downloads, and leaves no file behind.

use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::statvfs;

use super::check::Check;
use crate::dataset::{self, DatasetError, Located};
use crate::domain::device::Reading;
use crate::domain::units;
use crate::host;
use crate::host::files;
use crate::host::load::Load;
use crate::launch::{Machine, SharedMachine};
use crate::runs::RunStore;
use crate::runs::busy_host::{NOTICEABLE, others_in_words};
use crate::telemetry::NvmlProbe;

/// What two ranks of the CPU preset take.
const MEMORY_WANTED_BYTES: u64 = 2 << 30;
/// A run writes some megabytes; with checkpoints of the original model some hundred.
const DISK_NEEDED_BYTES: u64 = 64 << 20;
const DISK_WANTED_BYTES: u64 = 2 << 30;

const SHARED_MEMORY: &str = "/dev/shm";
/// Open MPI 5.0.11 asks for room for the 16 MiB of a rank, though it fills little of it: two ranks start with 20 MiB free, and do
/// not with 16.
const SHARED_MEMORY_NEEDED_BYTES: u64 = 20 << 20;

/// Short, and long enough to tell a busy machine from a quiet one.
const LOOK_FOR: Duration = Duration::from_millis(500);

/// How many GPUs programs see, and the check of them.
pub(super) fn gpus() -> (usize, Check) {
    match NvmlProbe::open() {
        Ok(probe) => {
            let system = probe.system();
            let shown = |reading: &Reading<String>| reading.value().cloned().unwrap_or_else(|| "unknown".into());
            let choice = host::driver::visible_devices();
            let (all, count) = (system.gpus.len(), system.visible.len());
            let usual = if count == all { all.to_string() } else { format!("{count} of {all} usable at a time") };
            let counted = choice.as_ref().map_or(usual, |choice| {
                format!("{count} of {all} visible: CUDA_VISIBLE_DEVICES={}", if choice.is_empty() { "''" } else { choice })
            });
            let found = format!(
                "{counted} ({}), NVML with driver {}, up to CUDA {}",
                grouped(&system.gpus),
                shown(&system.driver),
                shown(&system.cuda)
            );
            let check = match choice {
                None if count < all => Check::warn(
                    "GPUs",
                    found,
                    "a program sees whole GPUs, or else one MIG device, which ranks share: CUDA_VISIBLE_DEVICES chooses among those \
                     that `nvidia-smi -L` lists",
                ),
                Some(choice) if count < choice.split(',').count() => Check::warn(
                    "GPUs",
                    found,
                    "CUDA stops at the first entry that names no GPU here, sees none with one named twice, and one MIG device at a \
                     time: correct or unset CUDA_VISIBLE_DEVICES; without a GPU ranks train on CPU cores",
                ),
                // By default CUDA numbers GPUs by speed, and NVML by their place on the bus.
                Some(choice)
                    if choice.starts_with(|first: char| first.is_ascii_digit())
                        && system.gpus.iter().any(|name| *name != system.gpus[0])
                        && std::env::var_os("CUDA_DEVICE_ORDER").is_none_or(|order| order != "PCI_BUS_ID") =>
                {
                    let remedy =
                        "the GPUs differ, and CUDA numbers the fastest first: set CUDA_DEVICE_ORDER=PCI_BUS_ID for these numbers";
                    Check::warn("GPUs", found, remedy)
                }
                _ => Check::ok("GPUs", found),
            };
            (count, check)
        }
        Err(reason) if host::driver::nvidia().is_ok() => {
            let remedy = "runs may still use the GPU, but it cannot be watched; compare with what `nvidia-smi` says";
            (Machine::detect().room.gpus, Check::warn("GPUs", reason, remedy))
        }
        Err(reason) => {
            let found = format!("none: {reason}{}; ranks train on CPU cores", host::driver::hiding());
            (0, Check::ok("GPUs", found))
        }
    }
}

/// `8 x NVIDIA H200`, or all names where they differ.
fn grouped(names: &[String]) -> String {
    match names {
        [first, rest @ ..] if !rest.is_empty() && rest.iter().all(|name| name == first) => format!("{} x {first}", names.len()),
        _ => names.join(", "),
    }
}

pub(super) fn cores() -> Check {
    let machine = Machine::detect();
    let found = format!("{} usable ({} physical in the machine)", machine.cores, machine.physical_cores);
    Check::ok_if(machine.cores != 1, "cores", found, "two ranks share one core: they run, but no speed-up can show")
}

/// Who uses the cores from now on until it is asked, while the doctor looks at everything else.
pub(super) fn load() -> impl FnOnce() -> Check {
    let (began, before) = (Instant::now(), Load::of_this_process());
    move || {
        std::thread::sleep(LOOK_FOR.saturating_sub(began.elapsed()));
        let others = before.zip(Load::of_this_process()).and_then(|(before, now)| now.others_since(&before));
        match others {
            None => Check::ok("load", "unknown: this system does not tell"),
            Some(part) if part < NOTICEABLE => Check::ok("load", others_in_words(part)),
            Some(part) => Check::warn(
                "load",
                format!("this machine is busy now: {}", others_in_words(part)),
                "runs work, but do not compare their times: end the other programs, or wait for them",
            ),
        }
    }
}

pub(super) fn memory() -> Check {
    let (available, total) = host::cpu::host_memory();
    let found = format!("{} free of {}", units::bytes(available), units::bytes(total));
    if total == 0 {
        return Check::warn("memory", "unknown: this system does not tell", "a rank takes about 1 GiB");
    }
    let remedy = "a rank takes about 1 GiB: end other programs, or use --np 1";
    Check::ok_if(available >= MEMORY_WANTED_BYTES, "memory", found, remedy)
}

/// Of the ranks on a host, which exchange messages there. Containers often have 64 MB of it.
pub(super) fn shared_memory() -> Option<Check> {
    Some(shared_memory_of(files::room(Path::new(SHARED_MEMORY))?))
}

fn shared_memory_of(free_bytes: u64) -> Check {
    let found = format!("{} free in {SHARED_MEMORY}, where ranks of a host exchange messages", units::bytes(free_bytes));
    let remedy = "remove old files sm_segment.* there, or start the container with --shm-size=256m";
    if free_bytes >= SHARED_MEMORY_NEEDED_BYTES {
        return Check::ok("shm", found);
    }
    Check::fail("shm", format!("{found}: Open MPI starts no rank there"), remedy)
}

/// How its devices are shared among users, if they are.
pub(super) fn sharing() -> Option<Check> {
    let machine = match SharedMachine::look() {
        Ok(machine) => machine?,
        Err(error) => return Some(Check::fail("sharing", error.to_string(), "see `hvd-lab queue --help`")),
    };
    let limits =
        Some(machine.limits()).filter(|limits| !limits.is_empty()).map(|limits| format!(", {limits}")).unwrap_or_default();
    let waiting = units::counted(machine.waiting.len(), "run");
    let are = format!("{} are lent to one run at a time ({}{limits})", machine.devices, machine.rules.file.display());
    Some(Check::ok("sharing", format!("{are}; waiting: {waiting}")))
}

/// What a run would train on.
pub(super) fn data(located: &Result<Located, DatasetError>) -> Check {
    match located {
        Err(error) => {
            let text = error.to_string();
            let (found, remedy) = text.split_once("; ").unwrap_or((&text, "see `hvd-lab data`"));
            Check::fail("data", found, remedy)
        }
        Ok(located) => {
            let note = located.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
            let found = format!("{}{note}", located.label);
            let is_asked_for = std::env::var_os("HVD_LAB_DATA").is_some();
            let remedy = "`hvd-lab data fetch` gets the real images, `hvd-lab data import DIR` without a network";
            Check::ok_if(is_asked_for || !dataset::is_generated(&located.label), "data", found, remedy)
        }
    }
}

/// Write access, and free space.
pub(super) fn home() -> Vec<Check> {
    let remedy = "point HVD_LAB_HOME at a folder that you can write, on a disk with some space";
    let home = match RunStore::default_home() {
        Ok(home) => home,
        Err(error) => return vec![Check::fail("home", error.to_string(), remedy)],
    };
    let written = RunStore::open(&home)
        .map_err(|error| error.to_string())
        .and_then(|_| files::try_writing(&home).map_err(|error| format!("{} cannot be written: {error}", home.display())));
    if let Err(cause) = written {
        return vec![Check::fail("home", cause, remedy)];
    }
    vec![Check::ok("home", format!("{} can be written", home.display())), disk(&home, remedy)]
}

/// Where the launcher of each run keeps its files.
pub(super) fn temporary() -> Check {
    let folder = std::env::temp_dir();
    let named = if std::env::var_os("TMPDIR").is_some() { "TMPDIR is" } else { "temporary files go to" };
    // A launch finds a relative one elsewhere.
    let usable = |folder: &Path| if folder.is_absolute() { files::try_writing(folder) } else { Err(ErrorKind::NotFound.into()) };
    let Err(error) = usable(&folder) else { return Check::ok("temporary", format!("{} can be written", folder.display())) };
    let found = format!("{named} `{}`, and no file can be made there: {error}", folder.display());
    let remedy =
        "make that folder, or set TMPDIR to one that you can write, such as /tmp: each run keeps its launcher's files there";
    match usable(Path::new("/tmp")) {
        Ok(()) => Check::warn("temporary", format!("{found}; runs use /tmp"), remedy),
        Err(_) => Check::fail("temporary", found, remedy),
    }
}

fn disk(home: &Path, remedy: &str) -> Check {
    let free_bytes = match statvfs(home) {
        Ok(disk) => disk.f_bavail.saturating_mul(disk.f_frsize),
        Err(error) => return Check::warn("disk", format!("free space unknown: {error}"), "a run needs about 100 MB"),
    };
    let found = format!("{} free", units::bytes(free_bytes));
    if free_bytes < DISK_NEEDED_BYTES {
        return Check::fail("disk", found, remedy);
    }
    let remedy = "long runs with checkpoints may fill it: remove old runs, or set HVD_LAB_HOME";
    Check::ok_if(free_bytes >= DISK_WANTED_BYTES, "disk", found, remedy)
}

#[cfg(test)]
mod tests {
    use super::super::check::Weight;
    use super::*;

    #[test]
    fn too_little_shared_memory_is_a_failure() {
        assert_eq!(shared_memory_of(64 << 20).weight, Weight::Good);
        let small = shared_memory_of(16 << 20);
        assert!(small.weight == Weight::Bad && small.remedy.contains("--shm-size"), "{small:?}");
    }
}
