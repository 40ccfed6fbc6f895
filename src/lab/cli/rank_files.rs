//! `--output-filename DIR`: what each rank prints, where users of horovodrun look for it.
//!
//! Never a second copy: `DIR/rank.0/stdout` is a link to the log of that rank in the folder of the run, so that it grows with it.

use std::io;
use std::path::{Path, PathBuf};

use super::output::Usage;
use crate::launch;
use crate::runs::{RunId, RunRequest, RunStore};

/// Start a run, with a link to the log of each rank in `folder` if there is one.
///
/// # Errors
/// The folder cannot be used, then nothing is started; or whatever is wrong with the run.
pub(super) fn start(store: &RunStore, request: RunRequest, folder: Option<&Path>) -> anyhow::Result<RunId> {
    let np = request.spec.resources.np;
    let links = folder.map(|folder| places(folder, np)).transpose()?;
    let id = launch::start(store, request)?;
    for (process, link) in links.into_iter().flatten().enumerate() {
        let log = store.folder(id).rank_log(process);
        // The run goes on without: its log is in its folder in any case.
        if let Err(error) = place(&log, &link) {
            super::output::say(&format!("no link {} to {}: {error}", link.display(), log.display()));
        }
    }
    Ok(id)
}

/// The links of all ranks, with their folders made. As many digits as the highest rank has, as horovodrun writes them.
fn places(folder: &Path, np: usize) -> Result<Vec<PathBuf>, Usage> {
    let digits = np.saturating_sub(1).to_string().len();
    let links = (0..np).map(|rank| folder.join(format!("rank.{rank:0digits$}")).join("stdout"));
    let made = |link: PathBuf| {
        let cannot = |error: io::Error| {
            Usage(format!("--output-filename {} cannot be used ({error}): give a folder that you can write", folder.display()))
        };
        link.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(cannot)?;
        // What horovodrun or somebody else wrote is not ours to replace.
        match link.symlink_metadata() {
            Ok(found) if !found.is_symlink() => {
                Err(Usage(format!("--output-filename: {} is there already: give another folder, or remove it", link.display())))
            }
            _ => Ok(link),
        }
    };
    links.map(made).collect()
}

/// A link that takes the place of an older one at once.
fn place(log: &Path, link: &Path) -> io::Result<()> {
    let new = link.with_file_name(format!(".stdout-{}", std::process::id()));
    std::os::unix::fs::symlink(log, &new)?;
    std::fs::rename(&new, link).inspect_err(|_| _ = std::fs::remove_file(&new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rank_has_a_place_with_as_many_digits_as_the_highest_and_a_file_of_somebody_elses_stays() {
        let folder = tempfile::tempdir().unwrap();
        let links = places(folder.path(), 11).unwrap();
        assert_eq!(links.len(), 11);
        assert!(links[3].ends_with("rank.03/stdout") && links[10].ends_with("rank.10/stdout"), "{links:?}");
        for log in ["/one", "/two"] {
            place(Path::new(log), &links[3]).unwrap();
            assert_eq!(std::fs::read_link(&links[3]).unwrap(), Path::new(log), "the newest run has it");
        }
        std::fs::write(&links[4], "precious").unwrap();
        let error = places(folder.path(), 11).unwrap_err().to_string();
        assert!(error.contains("rank.04/stdout is there already"), "{error}");
        assert_eq!(std::fs::read_to_string(&links[4]).unwrap(), "precious");
        assert!(places(Path::new("/dev/null"), 1).unwrap_err().to_string().contains("cannot be used"));
    }
}
