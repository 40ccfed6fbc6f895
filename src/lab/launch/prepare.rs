//! Which images a run trains on: where they are, and fetching them first where they are not. And where a program works.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::LaunchError;
use super::adapter::Adapter;
use crate::dataset::{self, Located, Location, images};
use crate::domain::job::{RunSpec, Workload};
use crate::domain::training::DataSource;
use crate::domain::units;
use crate::download::{self, Progress};

/// Progress is reported at most this often, since each report writes and syncs a file.
const TELL_EVERY: Duration = Duration::from_millis(250);

/// Where the images are: empty for what trains nothing, and so needs none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Images {
    /// What hvd-train's `--data-dir` takes: an absolute folder, or the word of a generator.
    pub argument: String,
    /// `Fashion-MNIST`, `generated garments`, ...
    pub label: String,
    /// Where they are, or why it is not the real ones.
    pub note: Option<String>,
}

impl Images {
    /// Which they are, for the log of the launcher; nothing where there are none.
    pub fn in_words(&self) -> Option<String> {
        let note = self.note.iter().map(|note| format!(" ({note})")).collect::<String>();
        (!self.label.is_empty()).then(|| format!("images: {}{note}", self.label))
    }

    fn new(located: Located) -> Result<Images, LaunchError> {
        // Ranks run in the folder of the run: a path relative to here would mean another place there.
        let argument = LaunchError::text(&located.location.into_argument())?;
        Ok(Images { argument, label: located.label, note: located.note })
    }
}

/// What a workload that downloads nothing trains on: of a benchmark what its settings name, if they do.
///
/// # Errors
/// As [`expected`].
pub(super) fn named(workload: &Workload) -> Result<Images, LaunchError> {
    let (folder, are_photos) = match workload {
        Workload::Benchmark(benchmark) => (&benchmark.data_dir, benchmark.takes_photos()),
        Workload::Nvcnn(nvcnn) => (&nvcnn.data_dir, true),
        _ => return Ok(Images::default()),
    };
    match folder {
        None => Ok(Images { label: "synthetic".into(), ..Images::default() }),
        Some(folder) if are_photos => {
            let label = images::generated_by(Path::new(folder)).map_or(folder.clone(), |_| format!("{folder} (generated)"));
            Ok(Images { label, ..Images::default() })
        }
        Some(folder) => expected(&DataSource::Auto, Some(Path::new(folder)), true),
    }
}

/// A folder with photos, as the ranks find it. It has to be readable before the run is made.
///
/// # Errors
/// Why not, and what to do, with the flag.
fn photo_folder(flag: &str, folder: &str) -> Result<String, String> {
    let whole = whole_path(flag, folder)?;
    match std::fs::read_dir(&whole) {
        Ok(_) => Ok(whole),
        Err(error) => Err(format!("{flag} {folder} cannot be read ({error}): give a folder with photos or TFRecord files")),
    }
}

/// As the ranks, who run elsewhere, find it.
///
/// # Errors
/// A path that means nothing here.
pub fn whole_path(flag: &str, folder: &str) -> Result<String, String> {
    let whole = std::path::absolute(Path::new(folder)).map_err(|error| format!("{flag} {folder}: {error}"))?;
    Ok(whole.display().to_string())
}

/// A benchmark, a training on photos or an own program with its folders as the ranks find them, refused as its verb refuses it.
///
/// An own program works in the current folder, on as many ranks as its launcher starts.
///
/// # Errors
/// [`LaunchError::Spec`] with the line of the verb.
pub fn located(mut spec: RunSpec) -> Result<RunSpec, LaunchError> {
    let photos = |folder: &str| photo_folder("--data-dir", folder).map_err(LaunchError::Spec);
    let whole = |flag: &'static str| move |path: &str| whole_path(flag, path).map_err(LaunchError::Spec);
    match &mut spec.workload {
        Workload::Benchmark(of) => {
            let whole = |folder: &String| {
                let whole = Location::from_argument(Path::new(folder)).into_argument().into_os_string().into_string();
                whole.map_err(|folder| LaunchError::Spec(format!("--data-dir {} is not text", folder.display())))
            };
            of.data_dir = of.data_dir.as_ref().map(whole).transpose()?;
            // A folder that the run could not use anyway is not looked for.
            if of.takes_photos() && spec.resources.problem().or_else(|| of.problem()).is_none() {
                of.data_dir.as_deref().map(photos).transpose()?;
            }
        }
        Workload::Nvcnn(of) => {
            of.data_dir = of.data_dir.as_deref().map(photos).transpose()?;
            of.log_dir = of.log_dir.as_deref().map(whole("--log-dir")).transpose()?;
            of.timeline = of.timeline.as_deref().map(whole("--timeline")).transpose()?;
        }
        Workload::Command(of) => {
            of.directory = current_folder()?;
            // Whether its patterns are regular expressions.
            Adapter::new(of).map_err(LaunchError::Spec)?;
            if of.own_launcher().is_some() {
                spec.resources.np = of.own_np(&|name| std::env::var(name).ok()).unwrap_or(1);
            }
        }
        _ => {}
    }
    LaunchError::refuse_if(spec.problem()).map(|()| spec)
}

fn current_folder() -> Result<String, LaunchError> {
    let refuse = LaunchError::Spec;
    let current = std::env::current_dir().map_err(|error| refuse(format!("the current folder cannot be used: {error}")))?;
    let name = current.to_str().map(str::to_owned);
    name.ok_or_else(|| refuse(format!("the name of {} is not UTF-8 text: start it elsewhere", current.display())))
}

/// The path from the root; itself where there is no current folder.
pub(super) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// What the run will train on, as far as is known without a download.
///
/// # Errors
/// [`LaunchError::Data`] where the choice cannot be met.
pub(super) fn expected(choice: &DataSource, data_dir: Option<&Path>, offline: bool) -> Result<Images, LaunchError> {
    Images::new(dataset::locate(*choice, data_dir, offline)?)
}

/// Fetch what is missing, saying how far that is.
///
/// # Errors
/// Why there are no images to train on.
pub(super) fn images(
    choice: &DataSource,
    data_dir: Option<&Path>,
    offline: bool,
    tell: &mut dyn FnMut(String),
) -> Result<Images, LaunchError> {
    let mut told: Option<Instant> = None;
    let mut progress = |progress: Progress| {
        let is_count = matches!(progress, Progress::Bytes { .. });
        if !is_count || told.is_none_or(|at| at.elapsed() >= TELL_EVERY) {
            told = is_count.then(Instant::now);
            tell(words(progress));
        }
    };
    Images::new(download::prepare(*choice, data_dir, offline, &mut progress)?)
}

fn words(progress: Progress) -> String {
    match progress {
        Progress::Waiting => "waiting for another download of the images".into(),
        Progress::Asking { file, .. } => format!("fetching {file}"),
        Progress::Bytes { done, total } => {
            format!("fetching the images: {} of {}", units::bytes(done), units::bytes(total))
        }
        Progress::Setback { message } => format!("fetching the images: {message}; trying again"),
    }
}
