//! What this host knows of a process by its id.
//!
//! Never signals a process.

/// Longer command lines are cut: they are recorded twice a second.
const LONGEST: usize = 120;

/// Name of the program with its arguments, or why it cannot be told: a GPU's processes may belong to another container.
pub fn command(pid: u32) -> String {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line);
    let mut words = line.split('\0').filter(|word| !word.is_empty());
    // Its folders say little and take the room of its arguments.
    let program = words.next().map(|path| path.rsplit('/').next().unwrap_or(path).to_owned());
    match program {
        Some(program) => {
            let whole = std::iter::once(program.as_str()).chain(words).collect::<Vec<_>>().join(" ");
            whole.chars().map(|c| if c.is_control() { '?' } else { c }).take(LONGEST).collect()
        }
        // A process of the kernel, or one that has just ended, has a name only.
        None => match std::fs::read_to_string(format!("/proc/{pid}/comm")) {
            Ok(name) => name.trim_end().to_owned(),
            Err(_) => "(not visible here)".into(),
        },
    }
}
