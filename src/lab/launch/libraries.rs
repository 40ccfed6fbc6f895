//! Libraries of others in LD_LIBRARY_PATH and LD_PRELOAD: the lab's own come before them, and one that still breaks a program is named.
//!
//! The environment of the lab itself stays as it is.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::parameters;
use crate::domain::printable;
use crate::host::files;
use crate::host::installation::Installation;

pub(super) const PATH: &str = "LD_LIBRARY_PATH";
const PRELOAD: &str = "LD_PRELOAD";
/// The launcher that belongs to the MPI library which hvd-train was linked with, and its libtorch; empty where the build did not know.
pub(super) const BUILD_MPIRUN: &str = env!("HVD_LAB_BUILD_MPIRUN");
const BUILD_LIBTORCH: &str = env!("HVD_LAB_BUILD_LIBTORCH");
/// Libraries of the system that ranks and launchers need.
const SYSTEM: [&str; 5] = ["libstdc++.so.6", "libgcc_s.so.1", "libgomp.so.1", "libz.so.1", "libc.so.6"];
/// How the loader, and Python by it, says that it cannot use a library.
const COMPLAINTS: [&str; 8] = [
    "symbol lookup error",
    "undefined symbol",
    "error while loading shared libraries",
    "cannot open shared object file",
    "' not found (required by",
    "wrong ELF class",
    "invalid ELF header",
    "cannot be preloaded",
];
/// The exit code of a program that the loader could not start.
pub const LOADER_FAILED: &str = "exit code 127";
/// Names of libraries in one sentence.
const MOST_NAMES: usize = 3;

/// LD_LIBRARY_PATH as a launch needs it, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnFirst {
    pub path: String,
    pub note: String,
}

/// What others have set.
struct Theirs {
    folders: Vec<PathBuf>,
    preloaded: Vec<PathBuf>,
}

impl Theirs {
    fn of_this_process() -> Theirs {
        let value = |name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()).unwrap_or_default();
        let (path, preloaded) = (value(PATH), value(PRELOAD));
        // An empty word of a list stands for the current folder.
        let folders = path.split([':', ';']).map(|folder| if folder.is_empty() { "." } else { folder });
        Theirs {
            folders: folders.filter(|_| !path.is_empty()).map(PathBuf::from).collect(),
            preloaded: preloaded.split([':', ' ']).filter(|file| !file.is_empty()).map(PathBuf::from).collect(),
        }
    }

    /// The first folder that holds some of these libraries, with their names.
    fn hiding<'a>(&self, names: &'a BTreeSet<String>) -> Option<(&Path, Vec<&'a str>)> {
        self.folders.iter().find_map(|folder| {
            let held: Vec<&str> = names.iter().map(String::as_str).filter(|name| folder.join(name).exists()).collect();
            (!held.is_empty() && !is_system(folder)).then_some((folder.as_path(), held))
        })
    }
}

/// A folder that the loader looks into by itself.
fn is_system(folder: &Path) -> bool {
    let of = folder.strip_prefix("/usr").unwrap_or(folder).to_string_lossy().into_owned();
    ["/lib", "lib", "/lib64", "lib64"].contains(&of.trim_end_matches('/'))
        || of.trim_start_matches('/').starts_with("lib/") && of.ends_with("-linux-gnu")
}

/// Where the launcher of the lab should be.
fn own_mpirun() -> PathBuf {
    let given = std::env::var_os("HVD_LAB_MPIRUN").filter(|path| !path.is_empty()).map(PathBuf::from);
    given.or_else(|| Some(Installation::here()?.mpirun())).unwrap_or_else(|| PathBuf::from(BUILD_MPIRUN))
}

/// Folders with the libraries of this launcher; with `is_rank` those of the lab's ranks as well.
fn own_folders(mpirun: &Path, is_rank: bool) -> Vec<PathBuf> {
    let prefix = mpirun.parent().and_then(Path::parent).filter(|prefix| *prefix != Path::new("/usr"));
    let of_mpi = prefix.into_iter().flat_map(|prefix| ["lib", "lib/openmpi"].map(|folder| prefix.join(folder)));
    let installed = Installation::here().map(|installation| installation.libtorch());
    let of_torch = installed.unwrap_or_else(|| PathBuf::from(BUILD_LIBTORCH)).join("lib");
    is_rank.then_some(of_torch).into_iter().chain(of_mpi).filter(|folder| folder.is_absolute() && folder.is_dir()).collect()
}

fn names_in(folders: &[PathBuf]) -> BTreeSet<String> {
    let names = folders.iter().flat_map(|folder| files::names_in(folder));
    names.filter(|name| name.starts_with("lib") && name.contains(".so")).collect()
}

/// LD_LIBRARY_PATH that finds the libraries of this launcher, and of ranks of the lab, before those of the same name that a module,
/// conda or an image has put there; `None` where nothing hides them.
pub(super) fn own_first(mpirun: &Path, is_rank: bool) -> Option<OwnFirst> {
    let theirs = Theirs::of_this_process();
    let own = own_folders(mpirun, is_rank);
    let names = if theirs.folders.is_empty() { BTreeSet::new() } else { names_in(&own) };
    let (folder, hidden) = theirs.hiding(&names).filter(|(folder, _)| !own.iter().any(|own| own == folder))?;
    let path: Vec<String> = own.iter().chain(&theirs.folders).map(|folder| folder.display().to_string()).collect();
    let note = format!("{PATH} names {}, which has another {}: the lab's own come first", folder.display(), listed(&hidden));
    Some(OwnFirst { path: path.join(":"), note })
}

/// A program that needs the libraries of the lab's launcher or ranks.
pub fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.envs(own_first(&own_mpirun(), true).map(|own| (PATH, own.path)));
    command
}

/// Whether it is only a remark of the loader, after which the program starts.
pub fn is_remark(line: &str) -> bool {
    line.contains("no version information available (required by") || line.contains("cannot be preloaded")
}

/// Which variable with whose library makes a program fail with these words of the loader, or which parameter with those of Open MPI,
/// and what to do: two sentences. `None` where nothing that is set can be the cause.
pub fn blame(words: &str) -> Option<(String, String)> {
    parameters::blame(words).or_else(|| blame_here(words, is_complaint))
}

/// A thread that was never joined makes the C++ library abort the process, which happens behind the end of the program itself.
pub fn thread_left(words: &str) -> Option<(String, String)> {
    words.contains("terminate called without an active exception").then(|| {
        let what = "A library still had a thread when it was ended, as PyTorch's gloo does now and then at the end of a program";
        (what.to_owned(), "if the last lines of the program are there, its training is complete".to_owned())
    })
}

/// The same of a program of the lab that ended with [`LOADER_FAILED`]. Open MPI now and then loses the last line of a rank, which is the
/// loader's complaint; its remarks name the library as well.
pub fn blame_of_failed(words: &str) -> Option<(String, String)> {
    blame(words).or_else(|| blame_here(words, is_remark))
}

fn is_complaint(line: &str) -> bool {
    COMPLAINTS.iter().any(|complaint| line.contains(complaint))
}

/// What of this process's variables is the cause, by the lines of the loader that count.
fn blame_here(words: &str, counts: fn(&str) -> bool) -> Option<(String, String)> {
    let names = SYSTEM.map(String::from).into_iter().chain(names_in(&own_folders(&own_mpirun(), true))).collect();
    blame_among(&Theirs::of_this_process(), words, counts, &names)
}

fn blame_among(theirs: &Theirs, words: &str, counts: fn(&str) -> bool, names: &BTreeSet<String>) -> Option<(String, String)> {
    let lines: Vec<&str> = words.lines().filter(|line| counts(line)).collect();
    if lines.is_empty() {
        return None;
    }
    let is_named = |path: &Path| lines.iter().any(|line| line.contains(&*path.to_string_lossy()));
    let file_name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let preloaded = |is_it: &dyn Fn(&Path) -> bool| {
        let file = theirs.preloaded.iter().find(|file| is_it(file))?;
        let remedy = format!("`unset {PRELOAD}`, or take {} out of it", file.display());
        Some((format!("{PRELOAD} loads {} into every program", printable::line(&file.to_string_lossy())), remedy))
    };
    let held = |folder: &Path, held: &[&str]| {
        let what = format!(
            "{PATH} names {}, whose {} is used in place of the one that belongs here",
            printable::line(&folder.to_string_lossy()),
            listed(held)
        );
        (what, format!("`unset {PATH}`, or leave {} out of it", folder.display()))
    };
    // What the loader names itself, then what could hide a library of the lab or of the system.
    let by_name = || {
        let in_folder = |line: &&str, folder: &Path| {
            let (_, rest) = line.split_once(&format!("{}/", folder.to_string_lossy().trim_end_matches('/')))?;
            let name = rest.split([':', ' ', '\'', ',']).next().filter(|name| name.contains(".so"))?;
            Some(name.to_owned())
        };
        theirs.folders.iter().find_map(|folder| {
            let name = lines.iter().find_map(|line| in_folder(line, folder))?;
            Some(held(folder, &[&name]))
        })
    };
    preloaded(&is_named)
        .or_else(by_name)
        .or_else(|| preloaded(&|file| file_name(file).is_some_and(|name| names.contains(&name))))
        .or_else(|| theirs.hiding(names).map(|(folder, hidden)| held(folder, &hidden)))
        .or_else(|| preloaded(&|_| lines.iter().any(|line| line.contains("symbol"))))
}

/// What the loader has refused of LD_PRELOAD, with the remedy, and what would hide the lab's own libraries, where nothing is to be done.
pub fn remarks() -> Vec<(String, String)> {
    let mapped = std::fs::read_to_string("/proc/self/maps").ok();
    let is_refused = |file: &&PathBuf| {
        let whole = file.canonicalize().unwrap_or_else(|_| file.to_path_buf()).display().to_string();
        // A plain name is looked for in many folders, and may be a link to a longer one.
        let part = if whole.contains('/') { whole } else { format!("/{}", whole.split(".so").next().unwrap_or_default()) };
        mapped.as_ref().is_some_and(|mapped| !mapped.contains(&part))
    };
    let preloaded = Theirs::of_this_process().preloaded;
    let refused = preloaded.iter().find(is_refused).map(|file| {
        let what = format!(
            "{PRELOAD} names {}, which is not there or does not fit this machine",
            printable::line(&file.to_string_lossy())
        );
        (what, format!("`unset {PRELOAD}`: every program complains of it, and goes on without it"))
    });
    let own = own_first(&own_mpirun(), true).map(|own| (own.note, String::new()));
    refused.into_iter().chain(own).collect()
}

fn listed(names: &[&str]) -> String {
    let more = names.len().saturating_sub(MOST_NAMES);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    names.iter().take(MOST_NAMES).copied().collect::<Vec<_>>().join(", ") + &rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_abort_behind_the_end_of_a_program_is_told_from_one_inside_of_it() {
        let said = |words: &str| thread_left(words).map(|(_, remedy)| remedy).unwrap_or_default();
        assert!(said("epoch 3\nterminate called without an active exception\n").contains("is complete"));
        assert!(said("terminate called after throwing an instance of 'gloo::EnforceNotMet'").is_empty());
    }

    #[test]
    fn the_library_that_the_loader_cannot_use_is_traced_to_its_variable() {
        let folder = tempfile::tempdir().unwrap();
        let foreign = folder.path().display().to_string();
        std::fs::write(folder.path().join("libpmix.so.2"), "").unwrap();
        let names: BTreeSet<String> = ["libpmix.so.2", "libz.so.1"].map(String::from).into();
        let lookup = "/lab/bin/prterun: symbol lookup error: /lab/lib/libprrte.so.3: undefined symbol: pmix_tool_version";
        let version = format!("hvd-train: {foreign}/libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by hvd-train)");
        let preload =
            "ERROR: ld.so: object '/x/liba.so' from LD_PRELOAD cannot be preloaded (wrong ELF class: ELFCLASS32): ignored.";
        for (folders, preloaded, words, expected) in [
            (vec!["/none", &foreign], vec![], lookup, Some("LD_LIBRARY_PATH libpmix.so.2")),
            (vec!["/none"], vec![], lookup, None),
            (vec!["/usr/lib", "/lib/x86_64-linux-gnu"], vec![], lookup, None),
            (vec![&foreign], vec![], &version, Some("LD_LIBRARY_PATH libstdc++.so.6")),
            (vec![&foreign], vec![], "Segmentation fault", None),
            (vec![&foreign], vec!["/x/liba.so"], preload, Some("LD_PRELOAD /x/liba.so")),
            (vec![], vec!["/x/libz.so.1"], lookup, Some("LD_PRELOAD /x/libz.so.1")),
            (vec![], vec!["/x/libb.so"], lookup, Some("LD_PRELOAD /x/libb.so")),
        ] {
            let paths = |names: Vec<&str>| names.into_iter().map(PathBuf::from).collect();
            let theirs = Theirs { folders: paths(folders), preloaded: paths(preloaded) };
            let said = blame_among(&theirs, &format!("a banner\n{words}\n"), is_complaint, &names);
            let all_of = |expected: &str| {
                let said = said.clone().map(|(what, remedy)| format!("{what}: {remedy}")).unwrap_or_default();
                expected.split(' ').all(|word| said.contains(word)) && said.contains("unset")
            };
            assert!(expected.map_or(said.is_none(), all_of), "{words}: {said:?}");
        }
    }
}
