//! The C++ kernels with vectors of 16, 8 and 4 numbers, on this processor and on an emulated ARM: all give the same bits.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::support::mpi::{run_limited, text};
use crate::support::needs::skip;
use crate::support::wait::LIMIT;

/// Compiles `kernels.cpp` as build.rs compiles the trainer's; `None` if this compiler does not start.
fn build(compiler: &str, flags: &[&str], folder: &TempDir) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = folder.path().join("kernels");
    if Command::new(compiler).arg("--version").output().is_err() {
        return None;
    }
    let mut command = Command::new(compiler);
    command
        .args(["-O3", "-std=c++17", "-ffp-contract=off", "-Wno-psabi"])
        .args(flags)
        .arg("-I")
        .arg(root.join("src/ranks/trainer"))
        .arg(root.join("tests/numerics/kernels.cpp"))
        .arg("-o")
        .arg(&program);
    // Some twenty seconds of a core.
    let built = run_limited(command, 3 * LIMIT);
    assert!(built.status.success(), "{compiler} does not compile the kernels: {}", text(&built));
    Some(program)
}

/// How many numbers its vectors had, and the digests that it printed.
fn results(program: &[&OsStr], limit: Option<&str>) -> (usize, String) {
    let mut command = Command::new(program[0]);
    command.args(&program[1..]).env_remove("HVD_LAB_VECTORS");
    command.envs(limit.map(|limit| ("HVD_LAB_VECTORS", limit)));
    let output = run_limited(command, LIMIT);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "not as the plain loop:\n{text}{}", String::from_utf8_lossy(&output.stderr));
    let (numbers, digests) = text.split_once(" numbers\n").unwrap();
    (numbers.parse().unwrap(), digests.to_owned())
}

#[test]
fn vectors_of_every_width_give_the_bits_of_the_plain_loop() {
    let folder = TempDir::new().unwrap();
    let Some(program) = build("c++", &[], &folder) else { return skip("cc", "c++ does not start") };
    let here = |limit: Option<&str>| results(&[program.as_os_str()], limit);
    let widest = here(None);
    for limit in [16, 8, 4].into_iter().filter(|&limit| limit <= widest.0) {
        let limited = here(Some(limit.to_string().as_str()));
        assert_eq!(limited, (limit, widest.1.clone()));
    }
    // Anything else is no limit.
    assert_eq!(here(Some("12")), widest);

    let arm = TempDir::new().unwrap();
    let emulator = Command::new("qemu-aarch64").arg("--version").output().is_ok();
    let Some(program) = build("aarch64-linux-gnu-g++", &["-static"], &arm).filter(|_| emulator) else {
        return skip("neon", "no qemu-aarch64, or no aarch64-linux-gnu-g++");
    };
    assert_eq!(results(&["qemu-aarch64".as_ref(), program.as_os_str()], None), (4, widest.1));
}
