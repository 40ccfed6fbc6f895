//! Whether an NVIDIA driver is there: the set-up, the trainer and the doctor ask this one question.
//!
//! Device files cannot answer it: WSL 2 has a driver without them, and a container sees its host's in /proc without the libraries.

use std::sync::OnceLock;

use libloading::os::unix::{Library, RTLD_LAZY, RTLD_LOCAL};

/// What every driver brings, and no toolkit. `assets/setup/setup.py` opens the same two.
const LIBRARIES: [&str; 2] = ["libcuda.so.1", "libnvidia-ml.so.1"];

/// Opens the driver's libraries, and starts nothing in them; once for the whole process.
///
/// # Errors
/// Which of them does not open, as a sentence.
pub fn nvidia() -> Result<(), String> {
    static ANSWER: OnceLock<Result<(), String>> = OnceLock::new();
    ANSWER.get_or_init(open).clone()
}

/// The GPUs that the user wants programs to see, as CUDA reads it; `None` where they may see all.
pub fn visible_devices() -> Option<String> {
    std::env::var_os("CUDA_VISIBLE_DEVICES").map(|choice| choice.to_string_lossy().into_owned())
}

/// The variables that keep GPUs from programs, with their values, behind a comma; empty where none is set.
pub fn hiding() -> String {
    let cuda = visible_devices().map(|choice| ("CUDA_VISIBLE_DEVICES", choice));
    // A container that was started without GPUs says so.
    let container = std::env::var("NVIDIA_VISIBLE_DEVICES").ok().filter(|choice| ["", "void", "none"].contains(&choice.trim()));
    let set = cuda.into_iter().chain(container.map(|choice| ("NVIDIA_VISIBLE_DEVICES", choice)));
    set.map(|(name, value)| format!(", {name}={}", if value.trim().is_empty() { "''" } else { value.trim() })).collect()
}

fn open() -> Result<(), String> {
    for name in LIBRARIES {
        // SAFETY: the loader runs what a library does when it is opened; the driver's own are made to be opened by anyone.
        let opened = unsafe { Library::open(Some(name), RTLD_LAZY | RTLD_LOCAL) };
        // The library is never closed: whoever uses the GPU opens it again, and loading the driver twice takes time.
        std::mem::forget(opened.map_err(|_| format!("no NVIDIA driver on this machine ({name} does not open)"))?);
    }
    Ok(())
}
