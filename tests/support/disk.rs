//! A small disk of its own for a test: a tmpfs in a namespace of its own, which goes with the process that holds it.
//!
//! Nothing of it is seen outside: programs are started inside, and files are looked at through `/proc/PID/root`.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::needs::skip;

pub const PAGE: u64 = 4096;

pub struct SmallDisk {
    holder: Child,
    /// As programs inside name it.
    folder: PathBuf,
}

impl SmallDisk {
    /// A disk of so many bytes at a folder; `None` where that is not allowed, unless HVD_LAB_REQUIRE asks for it.
    pub fn mount(folder: &Path, bytes: u64) -> Option<SmallDisk> {
        let script = "mount -t tmpfs -o size=$1 none \"$2\" && echo ready && exec cat";
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", &bytes.to_string()]).arg(folder);
        let holder = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mounted = holder.ok().and_then(|mut holder| {
            let mut line = String::new();
            BufReader::new(holder.stdout.take()?).read_line(&mut line).ok()?;
            let disk = SmallDisk { holder, folder: folder.to_owned() };
            (line == "ready\n").then_some(disk)
        });
        if mounted.is_none() {
            skip("disk", "no namespace with a disk of its own here");
        }
        mounted
    }

    /// The disk as seen from outside.
    pub fn path(&self) -> PathBuf {
        let root = format!("/proc/{}/root", self.holder.id());
        Path::new(&root).join(self.folder.strip_prefix("/").unwrap())
    }

    /// The same program with the disk in its place, started in the disk's folder.
    pub fn inside(&self, command: &Command) -> Command {
        let mut inside = Command::new("nsenter");
        inside.args(["--preserve-credentials", "--user", "--mount", "--target", &self.holder.id().to_string()]);
        inside.args(["sh", "-c", "cd \"$0\" && exec \"$@\""]).arg(&self.folder);
        inside.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => inside.env(name, value),
                None => inside.env_remove(name),
            };
        }
        inside
    }

    pub fn resize(&self, bytes: u64) {
        let mut command = Command::new("mount");
        command.args(["-o", &format!("remount,size={bytes}")]).arg(&self.folder);
        assert!(self.inside(&command).status().unwrap().success(), "the disk keeps its size");
    }

    /// Fill it up, all but so many bytes; the file that fills it.
    pub fn fill(&self, free: u64) -> PathBuf {
        let path = self.path().join("ballast");
        let mut file = File::create(&path).unwrap();
        let block = vec![b'b'; PAGE as usize];
        while file.write_all(&block).is_ok() {}
        let bytes = file.metadata().unwrap().len();
        file.set_len(bytes.saturating_sub(free) / PAGE * PAGE).unwrap();
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

#[test]
fn a_small_disk_is_small_and_seen_by_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(folder.path(), 64 * PAGE) else { return };
    let write = |name: &str, pages: u64| {
        let mut command = Command::new("dd");
        command.args(["if=/dev/zero", "bs=4096", &format!("of={name}"), &format!("count={pages}"), "status=none"]);
        disk.inside(&command).stderr(Stdio::null()).status().unwrap().success()
    };
    assert!(write("fits", 8) && !write("too-much", 64));
    assert_eq!(fs::metadata(disk.path().join("fits")).unwrap().len(), 8 * PAGE);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    fs::remove_file(disk.path().join("too-much")).unwrap();
    let ballast = disk.fill(3 * PAGE);
    assert!(!write("four", 5) && fs::metadata(disk.path().join("four")).unwrap().len() == 3 * PAGE);
    fs::remove_file(ballast).unwrap();
    disk.resize(256 * PAGE);
    assert!(write("more", 100));
}
