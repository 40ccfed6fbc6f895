//! A learner's program in Python: checked by the interpreter, and started on every rank with the package `hvd_lab`.
//!
//! Never compiles anything: the native module was built with the trainer. The package's own files are part of the lab, which
//! puts them beside the program.

use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;

use super::built::{Built, CompileError};
use super::folder::{ExerciseError, Folder, write_changed};
use super::interpreter::{MODULE_VARIABLE, find_module, interpreter, on_path};
use super::program::Program;
use crate::launch;
use crate::process::probe_command::ask;

/// Time for Python to read one file.
const PATIENCE: Duration = Duration::from_secs(20);

/// Name and text of every file of the package `hvd_lab`, written by build.rs.
const PACKAGE: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/python.rs"));

/// Python runs it before the program: it takes the secret of the run from where the program could read it.
const FIRST: (&str, &str) = ("sitecustomize.py", include_str!("../../../python/sitecustomize.py"));

/// Reads a program without running it. Tells which Python this is, and the error if there is one, each as a line of JSON.
const READER: &str = r#"
import json, sys, warnings
path = sys.argv[1]
def tell(message, line=0, column=0):
    print(json.dumps({"message": message, "line": line or 0, "column": column or 0}))
print(json.dumps({"python": sys.executable or ""}))
if sys.version_info < (3, 8):
    tell("this is Python %d.%d, and the exercise needs 3.8 or newer: set HVD_LAB_PYTHON to one" % sys.version_info[:2])
else:
    warnings.simplefilter("ignore")
    try:
        with open(path, "rb") as file:
            compile(file.read(), path, "exec")
    except SyntaxError as error:
        tell(type(error).__name__ + ": " + str(error.msg), error.lineno, error.offset)
    except (ValueError, RecursionError, MemoryError) as error:
        tell(type(error).__name__ + ": " + str(error))
"#;

#[derive(Deserialize)]
#[serde(untagged)]
enum ReaderLine {
    Python { python: PathBuf },
    Error { message: String, line: usize, column: usize },
}

/// Read the program, and write what starts it.
///
/// # Errors
/// No Python, no native module, files that cannot be written.
pub(super) fn prepare(folder: &Folder, of: &Program, text: &str) -> Result<Built, ExerciseError> {
    if let Some(built) = nothing_to_run(of, text, "hvd_lab") {
        return Ok(built);
    }
    let missing =
        |path| if launch::is_being_built() { ExerciseError::ModuleBeingBuilt } else { ExerciseError::NoModule { path } };
    let module = find_module().map_err(missing)?;
    let real = match read_by_python(folder, of, text)? {
        Ok(python) => python,
        Err(built) => return Ok(built),
    };
    let beside = folder.path().join("python");
    write_changed(&beside.join(FIRST.0), FIRST.1.as_bytes())?;
    for (name, text) in PACKAGE {
        write_changed(&beside.join("hvd_lab").join(name), text.as_bytes())?;
    }
    let starter = beside.join(format!("run_{}", of.file.trim_end_matches(".py")));
    write_changed(&starter, &script(&real, &module, &beside, &folder.program()))?;
    make_executable(&starter).map_err(ExerciseError::io("make executable", &starter))?;
    Ok(Built::Program(starter))
}

/// What is said of a program that is empty, or never imports the package that its exercise is about.
pub(super) fn nothing_to_run(of: &Program, text: &str, package: &str) -> Option<Built> {
    let what = match text {
        text if text.trim().is_empty() => "the file is empty".to_owned(),
        text if !text.contains(package) => format!("the program never imports {package}, so it would train nothing"),
        _ => return None,
    };
    let message = format!("{what}. `{}` puts the exercise back", format_args!("hvd-lab exercise reset{}", of.flag()));
    Some(Built::Errors { errors: vec![CompileError::at(of, text, message, 0, 0)], said: String::new() })
}

/// The Python that can read the program, or the program's errors.
///
/// # Errors
/// No Python.
pub(super) fn read_by_python(folder: &Folder, of: &Program, text: &str) -> Result<Result<PathBuf, Built>, ExerciseError> {
    let named = interpreter();
    let no_python = |cause: String| ExerciseError::NoPython { python: named.display().to_string(), cause };
    let python = on_path(&named).ok_or_else(|| no_python("there is no such program".into()))?;
    let mut reader = Command::new(&python);
    reader.args(["-B", "-c", READER]).arg(folder.program()).env("PYTHONIOENCODING", "utf-8");
    let answer = ask(&mut reader, PATIENCE).map_err(|error| no_python(error.to_string()))?;
    if !answer.status.success() {
        // A program that takes the reader for the name of a file repeats all of it.
        let is_short = |line: &&str| line.len() < READER.len() / 4;
        let said = answer.stderr.lines().last().map(str::trim).filter(is_short);
        return Err(no_python(said.unwrap_or("it is not Python").to_owned()));
    }
    let (mut real, mut errors, mut is_python) = (python, Vec::new(), false);
    for said in answer.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()) {
        is_python = true;
        match said {
            // Past wrappers that only look for it, such as pyenv's.
            ReaderLine::Python { python } if python.is_file() => real = python,
            ReaderLine::Python { .. } => {}
            ReaderLine::Error { message, line, column } => errors.push(CompileError::at(of, text, message, line, column)),
        }
    }
    if !is_python {
        return Err(no_python("it is not Python".into()));
    }
    if !errors.is_empty() {
        return Ok(Err(Built::Errors { errors, said: String::new() }));
    }
    Ok(Ok(real))
}

/// The script that every rank runs: the learner's program, with the package on its path.
fn script(python: &Path, module: &Path, package: &Path, program: &Path) -> Vec<u8> {
    let mut script = b"#!/bin/sh\n# Written by `hvd-lab exercise`: starts your program as one rank.\nexport ".to_vec();
    script.extend([MODULE_VARIABLE.as_bytes(), b"=", &quoted(module)].concat());
    script.extend([b" PYTHONPATH=".as_slice(), &quoted(package), b"\"${PYTHONPATH:+:$PYTHONPATH}\""].concat());
    // -B leaves nothing beside the program, -u lets each line out at once.
    script.extend([b"\nexec ".as_slice(), &quoted(python), b" -B -u ", &quoted(program), b" \"$@\"\n"].concat());
    script
}

/// A path as a shell reads it back, whatever signs are in it: no path has the NUL that could not be quoted.
fn quoted(path: &Path) -> Vec<u8> {
    shlex::bytes::try_quote(path.as_os_str().as_bytes()).unwrap_or_default().into_owned()
}

/// Everyone who may read it may also run it.
fn make_executable(path: &Path) -> std::io::Result<()> {
    let mode = fs::metadata(path)?.permissions().mode();
    let wanted = mode | (mode & 0o444) >> 2;
    if mode == wanted { Ok(()) } else { fs::set_permissions(path, Permissions::from_mode(wanted)) }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;
    use crate::exercise::{TEN_STEPS_IN_PYTHON, Track};

    #[test]
    fn the_whole_package_is_carried_along() {
        let root = Path::new(env!("HVD_LAB_CHECKOUT")).join("python/hvd_lab");
        let mut there = Vec::new();
        for folder in ["", "keras/"] {
            for entry in fs::read_dir(root.join(folder)).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                if name.ends_with(".py") {
                    there.push(format!("{folder}{name}"));
                }
            }
        }
        there.sort();
        let mut carried = PACKAGE.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>();
        carried.sort();
        assert_eq!(carried, there);
    }

    #[test]
    fn a_shell_reads_every_path_back() {
        for path in ["/plain", "/two words", "/o'clock", "/$HOME/`x`/\"\\n"] {
            let script = [b"printf %s ".as_slice(), &quoted(Path::new(path))].concat();
            let output = Command::new("sh").arg("-c").arg(OsStr::from_bytes(&script)).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), path);
        }
    }

    #[test]
    fn an_error_of_the_reader_gets_its_line_and_its_step() {
        let text = TEN_STEPS_IN_PYTHON.solution(10);
        let line = 1 + text.lines().position(|line| line.starts_with("lr = ")).unwrap();
        let error = CompileError::at(&TEN_STEPS_IN_PYTHON, &text, "SyntaxError: invalid syntax".into(), line, 5);
        assert_eq!((error.line, error.place), (line, Some(8)));
        assert_eq!(error.source, "lr = args.base_lr * hvd.size()");
    }

    #[test]
    fn the_reader_finds_what_python_would_refuse() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::of_track(home.path(), Track::Program(&TEN_STEPS_IN_PYTHON));
        folder.start().unwrap();
        let said = |text: &str| {
            fs::write(folder.program(), text).unwrap();
            let mut command = Command::new(interpreter());
            let output = command.args(["-B", "-c", READER]).arg(folder.program()).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        assert_eq!(said(TEN_STEPS_IN_PYTHON.exercise).lines().count(), 1, "Python itself, and no error");
        let wrong = said("x = 1\nif x:\nprint(x)\n");
        assert!(wrong.contains("IndentationError") && wrong.contains("\"line\": 3"), "{wrong}");
        assert!(said("x = '\0'\n").contains("null byte"), "a file of anything");
    }
}
