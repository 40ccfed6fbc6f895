//! Builds the learner's program: in Rust a small package of its own, on top of the checkout that this lab was built from.
//!
//! Never changes the checkout but for its target folder, which it shares so that the first build takes seconds.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::built::{Built, CompileError};
use super::folder::{ExerciseError, Folder, write_changed};
use super::language::Language;
use super::program::Program;
use super::programs::{PROGRAMS, TEN_STEPS};
use super::{python, pytorch};
use crate::host::{access, files};

/// Names a checkout where this lab was built elsewhere.
const SOURCE_VARIABLE: &str = "HVD_LAB_SOURCE";

/// Build the program as it is now: in Rust minutes where the checkout's trainer was never built, else seconds; in Python at
/// once.
///
/// # Errors
/// No checkout, no cargo, files that cannot be written.
pub fn build(folder: &Folder, of: &'static Program) -> Result<Built, ExerciseError> {
    let text = folder.read()?;
    match of.language {
        Language::Rust => compile(folder, of, &text),
        Language::Python if of.is_in_pytorch() => pytorch::prepare(folder, of, &text),
        Language::Python => python::prepare(folder, of, &text),
    }
}

fn compile(folder: &Folder, of: &'static Program, text: &str) -> Result<Built, ExerciseError> {
    let source = source()?;
    write_package(folder, &source)?;
    // In a target folder that others share, cargo writes files with the user's usual permissions.
    let mut cargo = Command::new("sh");
    cargo.args(["-c", &format!("umask {:03o} && exec \"$0\" \"$@\"", access::users_umask())]);
    cargo.arg(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--message-format", "json", "--manifest-path"]).arg(folder.path().join("Cargo.toml"));
    cargo.args(["--bin", &program_name(folder, of)]).arg("--target-dir").arg(target(folder, &source));
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    // Where the checkout says where libtorch and MPI are.
    let output = cargo.current_dir(&source).stdin(Stdio::null()).output().map_err(ExerciseError::NoCargo)?;
    let words = String::from_utf8_lossy(&output.stderr);
    let said = output.stdout.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
    // The shell's way to say that it could not start cargo.
    if let Some(126 | 127) = output.status.code() {
        return Err(ExerciseError::NoCargo(io::Error::other(words.trim().to_owned())));
    }
    let (made, errors) = read(of, text, said);
    Ok(match (made, output.status.success()) {
        (Some(program), true) => Built::Program(program),
        _ => Built::Errors { errors, said: words.into_owned() },
    })
}

/// The checkout that the program is built from.
fn source() -> Result<PathBuf, ExerciseError> {
    let named = std::env::var_os(SOURCE_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    let path = named.unwrap_or_else(|| env!("HVD_LAB_CHECKOUT").into());
    let is_ours = path.join("src/ranks/bin/hvd-train.rs").is_file() && path.join("Cargo.lock").is_file();
    // An absolute path, because cargo runs in another folder.
    let absolute = std::path::absolute(&path).unwrap_or_else(|_| path.clone());
    if is_ours { Ok(absolute) } else { Err(ExerciseError::NoSource { path }) }
}

/// The checkout's target folder, where all that the program needs is built already; the learner's own where that belongs
/// to somebody else.
fn target(folder: &Folder, source: &Path) -> PathBuf {
    let shared = source.join("target");
    let is_ours = tempfile::tempfile_in(&shared).is_ok();
    if is_ours { shared } else { folder.path().join("target") }
}

/// Cargo.toml, Cargo.lock and build.rs beside the program, rewritten only when they change.
fn write_package(folder: &Folder, source: &Path) -> Result<(), ExerciseError> {
    let read = |name: &str| {
        let path = source.join(name);
        fs::read_to_string(&path).map_err(ExerciseError::io("read", &path))
    };
    let root = if is_linked(folder, source) { Path::new("") } else { source };
    let files = [("Cargo.toml", manifest(&read("Cargo.toml")?, folder, root)), ("build.rs", BUILD_SCRIPT.to_owned())];
    let mut has_changed = false;
    for (name, text) in files {
        has_changed |= write_changed(&folder.path().join(name), text.as_bytes())?;
    }
    // The same versions of all dependencies; cargo removes those that the exercise does not need.
    let lock = folder.path().join("Cargo.lock");
    let newer = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    if has_changed || newer(&lock) < newer(&source.join("Cargo.lock")) {
        files::write(&lock, read("Cargo.lock")?.as_bytes()).map_err(ExerciseError::io("write", &lock))?;
    }
    Ok(())
}

/// Links beside the program to the folders of the checkout that its manifest names, and says whether all are there.
///
/// Cargo names what it builds of a package after its path in the workspace. By the links these paths are those of the checkout, so
/// what is built there is used: a first build takes a second, and minutes without. A file or folder of the learner's own is left alone.
fn is_linked(folder: &Folder, source: &Path) -> bool {
    ["src", "assets"].into_iter().all(|name| {
        let (link, target) = (folder.path().join(name), source.join(name));
        // To where the checkout was before. Whether this and the next line worked is seen at the end: another lab may do the same now.
        if link.read_link().is_ok_and(|old| old != target) {
            let _ = fs::remove_file(&link);
        }
        let _ = std::os::unix::fs::symlink(&target, &link);
        link.read_link().is_ok_and(|there| there == target)
    })
}

/// A program finds libtorch and MPI where the trainer does: the build script of src/ranks hands the folders on.
const BUILD_SCRIPT: &str = r#"//! Written by `hvd-lab exercise`. Tells the linker where libtorch and MPI are at run time.

fn main() {
    let folders = std::env::var("DEP_HVD_LAB_LIBRARIES").unwrap_or_default();
    for folder in folders.split(':').filter(|folder| !folder.is_empty()) {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
    }
}
"#;

/// With the checkout's own profiles, patches and common tables, because otherwise everything would be built again. Packages of the
/// checkout lie below `root`: the checkout itself, or nothing where links lead there.
fn manifest(checkout: &str, folder: &Folder, root: &Path) -> String {
    let below = |path: &str| root.join(path).display().to_string();
    let mut taken = String::new();
    let mut is_taken = false;
    for line in checkout.lines() {
        if line.starts_with('[') {
            is_taken = ["[profile.", "[patch.", "[workspace."].iter().any(|table| line.starts_with(table));
        }
        if is_taken {
            taken.push_str(&line.replace("path = \"", &format!("path = \"{}", below(""))));
            taken.push('\n');
        }
    }
    // Those that the learner has begun: one that is not there would be an error.
    let is_begun = |program: &&Program| program.language == Language::Rust && folder.path().join(program.file).exists();
    let begun = PROGRAMS.into_iter().filter(is_begun);
    let programs: String = begun
        .map(|program| format!("[[bin]]\nname = \"{}\"\npath = \"{}\"\n\n", program_name(folder, program), program.file))
        .collect();
    format!(
        "# Written by `hvd-lab exercise`.\n[package]\nname = \"{}\"\nversion = \"0.0.0\"\nedition = \"2024\"\npublish = \
         false\n\n{programs}[dependencies]\nanyhow = \"1\"\nhvd-lab-ranks = {{ path = {:?} }}\n\n[workspace]\n\n{taken}",
        program_name(folder, &TEN_STEPS),
        below("src/ranks")
    )
}

/// Learners that share a checkout share its target folder: each program has a name of its own there.
fn program_name(folder: &Folder, program: &Program) -> String {
    let digest = Sha256::digest(folder.path().as_os_str().as_encoded_bytes());
    let folder: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("exercise-{folder}-{}", program.track)
}

#[derive(Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
enum CargoLine {
    CompilerMessage {
        message: Message,
    },
    CompilerArtifact {
        executable: Option<PathBuf>,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Message {
    message: String,
    level: String,
    #[serde(default)]
    spans: Vec<Span>,
    #[serde(default)]
    children: Vec<Message>,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    line_start: usize,
    column_start: usize,
    is_primary: bool,
    label: Option<String>,
}

/// The program that cargo made and the errors of the compiler, by what cargo said line by line of a program with this text.
fn read(program: &Program, text: &str, said: impl Iterator<Item = CargoLine>) -> (Option<PathBuf>, Vec<CompileError>) {
    let (mut made, mut errors) = (None, Vec::new());
    for line in said {
        match line {
            CargoLine::CompilerArtifact { executable: Some(program) } => made = Some(program),
            // "aborting due to 2 previous errors" has no place and says nothing.
            CargoLine::CompilerMessage { message }
                if message.level == "error" && !message.message.starts_with("aborting due") =>
            {
                errors.push(error(program, text, &message));
            }
            _ => {}
        }
    }
    (made, errors)
}

fn error(program: &Program, text: &str, message: &Message) -> CompileError {
    let own = |span: &&Span| span.is_primary && span.file_name.ends_with(program.file);
    let span = message.spans.iter().find(own);
    let (line, column) = span.map_or((0, 0), |span| (span.line_start, span.column_start));
    CompileError {
        label: span.and_then(|span| span.label.clone()),
        help: message.children.iter().find(|child| child.level == "help").map(|child| child.message.clone()),
        ..CompileError::at(program, text, message.message.clone(), line, column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exercise::Track;

    const EXERCISE: &str = TEN_STEPS.exercise;

    #[test]
    fn errors_are_read_with_their_line_and_the_step_they_lie_in() {
        let line = 1 + EXERCISE.lines().position(|line| line.contains("let distributed = false;")).unwrap();
        let said = format!(
            r#"{{"reason":"compiler-artifact","executable":null}}
{{"reason":"compiler-message","message":{{"message":"unused","level":"warning","spans":[]}}}}
{{"reason":"compiler-message","message":{{"message":"mismatched types","level":"error","spans":[{{"file_name":"fashion_mnist.rs","line_start":{line},"column_start":23,"is_primary":true,"label":"expected bool"}}],"children":[{{"message":"try true","level":"help"}}]}}}}
{{"reason":"compiler-message","message":{{"message":"aborting due to 1 previous error","level":"error","spans":[]}}}}
{{"reason":"build-finished","success":false}}"#
        );
        let built = read(&TEN_STEPS, EXERCISE, said.lines().map(|line| serde_json::from_str(line).unwrap()));
        let expected = CompileError {
            message: "mismatched types".into(),
            line,
            column: 23,
            source: "let distributed = false;".into(),
            label: Some("expected bool".into()),
            help: Some("try true".into()),
            place: Some(1),
        };
        assert_eq!(built, (None, vec![expected]));
    }

    #[test]
    fn the_package_takes_the_common_tables_of_the_checkout_and_a_name_of_its_own() {
        let checkout = "[package]\nname = \"hvd-lab\"\n[workspace.package]\nedition = \"2024\"\n[profile.dev]\nopt-level = 1\n[[test]]\nname = \"x\"\n\
                        [patch.crates-io]\nzip = { path = \"assets/zip\" }\n";
        let homes = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let [one, other] = homes.each_ref().map(|home| {
            let folder = Folder::of_track(home.path(), Track::default());
            folder.start().unwrap();
            manifest(checkout, &folder, Path::new("/source"))
        });
        assert!(
            one.contains("path = \"fashion_mnist.rs\"") && !one.contains("mnist.rs\"\n\n[[bin]]"),
            "only what was begun: {one}"
        );
        assert!(one.contains("[profile.dev]\nopt-level = 1\n") && !one.contains("[[test]]"), "{one}");
        assert!(one.contains("[patch.crates-io]\nzip = { path = \"/source/assets/zip\" }\n"), "{one}");
        assert!(one.contains("path = \"/source/src/ranks\"") && toml::from_str::<toml::Table>(&one).is_ok(), "{one}");
        assert!(one.contains("[workspace]\n\n[workspace.package]\nedition = \"2024\"\n"), "{one}");
        assert_ne!(one, other);
    }

    #[test]
    fn the_folders_of_the_checkout_are_linked_unless_the_learner_has_some_of_that_name() {
        let [home, one, other] = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let folder = Folder::of_track(home.path(), Track::default());
        folder.start().unwrap();
        // The checkout has moved.
        for source in [&one, &other] {
            assert!(is_linked(&folder, source.path()) && is_linked(&folder, source.path()));
            assert_eq!(folder.path().join("src").read_link().unwrap(), source.path().join("src"));
        }
        let written = manifest("[patch.crates-io]\nzip = { path = \"assets/zip\" }\n", &folder, Path::new(""));
        assert!(written.contains("zip = { path = \"assets/zip\" }") && written.contains("path = \"src/ranks\""), "{written}");

        fs::remove_file(folder.path().join("src")).unwrap();
        fs::create_dir(folder.path().join("src")).unwrap();
        assert!(!is_linked(&folder, other.path()) && folder.path().join("src").is_dir());
    }
}
