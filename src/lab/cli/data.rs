//! `hvd-lab data`: show, fetch or import the data set, and draw or pack photos.
//!
//! Never draws a screen, and never downloads unless asked to.

mod make_images;
mod shared;
mod tfrecord;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::output::{Usage, print_done, print_json_done, say, say_bare};
use crate::dataset::{self, CacheStatus, Collection, DatasetError, FileState, Located};
use crate::domain::training::DataSource;
use crate::domain::{printable, units};
use crate::download::{self, Progress};

const EXAMPLES: &str = "\
Examples:
  hvd-lab data                          what is here, and what a run would train on
  hvd-lab data --json | jq .run.images  the same for programs
  hvd-lab data fetch                    download the four official files (31 MB)
  hvd-lab data fetch mnist              handwritten digits (12 MB), for --data digits
  hvd-lab data import ~/fashion-mnist   take them from a folder, without a network
  hvd-lab data make-images --out photos draw photo-like JPEGs, by class
  hvd-lab data tfrecord photos --out records --shards 8
                                        pack them as ImageNet is packed
  HVD_LAB_DATA_URL=http://teacher:8000 hvd-lab data fetch
                                        take them from a mirror first

The files are kept in HVD_LAB_HOME/data and checked by SHA-256. You can use your own 28x28 images in the same format: \
`hvd-lab run --data-dir DIR`, or HVD_LAB_DATA. \
If there are no images, runs train on generated garments and say so.";

/// A pipe gets a line this often.
const LINE_EVERY: Duration = Duration::from_secs(2);

/// Show, fetch or import the data set.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Never use the network (also by HVD_LAB_OFFLINE=1).
    #[arg(long, global = true)]
    offline: bool,
    /// One JSON object of what is here.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// What is here, checked bit for bit, and what a run would train on (the default).
    Status,
    /// Download the official files that are missing. It continues where it stopped.
    Fetch {
        /// Which images: fashion-mnist or mnist.
        #[arg(value_name = "SET", default_value = "fashion-mnist", value_parser = Collection::by_word)]
        collection: &'static Collection,
    },
    MakeImages(make_images::Args),
    Tfrecord(tfrecord::Args),
    /// Copy the four official files of Fashion-MNIST or of MNIST from a folder.
    Import {
        /// The folder that holds them, as .gz or unpacked.
        dir: PathBuf,
    },
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let cache = dataset::cache_dir;
    match args.verb.unwrap_or(Verb::Status) {
        Verb::Status => status(&cache()?, args.offline, args.json),
        _ if args.json => Err(Usage("--json only works without a verb: use `hvd-lab data --json`".into()).into()),
        Verb::Fetch { collection } => fetch(collection, &cache()?, args.offline),
        Verb::MakeImages(args) => make_images::run(args),
        Verb::Tfrecord(args) => tfrecord::run(args),
        Verb::Import { dir } => {
            let cache = cache()?;
            let collection = dataset::import(&dir, &cache)?;
            print_done(&format!("imported {} into {}\n", collection.name, collection.folder_in(&cache).display()))
        }
    }
}

fn status(cache: &Path, offline: bool, as_json: bool) -> anyhow::Result<ExitCode> {
    let here = Collection::ALL.map(|collection| Ok((collection, dataset::status(collection, cache)?)));
    let here = here.into_iter().collect::<Result<Vec<_>, DatasetError>>()?;
    let located = dataset::locate(DataSource::Auto, None, offline)?;
    if as_json {
        return print_json_done(&json(&here, &located));
    }
    let note = located.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
    let described: String = here.iter().map(|(collection, status)| describe(collection, status)).collect();
    print_done(&format!("{described}a run trains on {}{note}\n", located.label))
}

/// `cache` and `files` are those of Fashion-MNIST; each set has its own below `sets`.
fn json(here: &[(&'static Collection, CacheStatus)], located: &Located) -> serde_json::Value {
    let sets: serde_json::Map<_, _> = here.iter().map(|(collection, status)| (collection.word.to_owned(), set(status))).collect();
    let first = &sets[Collection::FASHION_MNIST.word];
    serde_json::json!({
        "cache": first["cache"],
        "files": first["files"],
        "sets": sets,
        "run": { "images": located.label, "from": located.location.to_string(), "note": located.note },
    })
}

fn set(status: &CacheStatus) -> serde_json::Value {
    let files = status.files.iter().map(|file| {
        let (state, found) = match &file.state {
            FileState::Official => ("ok", None),
            FileState::Missing => ("missing", None),
            FileState::Partial { bytes } => ("partial", Some(serde_json::json!(bytes))),
            FileState::Damaged { found } => ("damaged", Some(serde_json::json!(found))),
        };
        serde_json::json!({ "name": file.name, "state": state, "found": found, "bytes": file.bytes })
    });
    serde_json::json!({ "cache": status.folder.display().to_string(), "files": files.collect::<Vec<_>>() })
}

fn describe(collection: &Collection, status: &CacheStatus) -> String {
    let mut text = format!("{} in {}\n", collection.name, status.folder.display());
    if status.files.iter().all(|file| file.state == FileState::Missing) {
        return text + &format!("  not there: `hvd-lab data fetch {}` gets it\n", collection.word);
    }
    for file in &status.files {
        let state = match &file.state {
            FileState::Official => format!("ok, {}", units::bytes(file.bytes)),
            FileState::Missing => "not there".into(),
            FileState::Partial { bytes } => {
                format!("{} of {} fetched", units::bytes(*bytes), units::bytes(file.bytes))
            }
            FileState::Damaged { found } => format!("damaged ({found}): `hvd-lab data fetch {}` replaces it", collection.word),
        };
        text += &format!("  {:<28}{state}\n", file.name);
    }
    text
}

fn fetch(collection: &'static Collection, cache: &Path, offline: bool) -> anyhow::Result<ExitCode> {
    let (name, folder) = (collection.name, collection.folder_in(cache));
    if dataset::status(collection, cache)?.is_complete() {
        return print_done(&format!("{name} is in {} already\n", folder.display()));
    }
    if dataset::is_offline(offline) {
        return Err(collection.offline(cache).into());
    }
    let mut teller = Teller::new(collection.total_bytes());
    let outcome = download::fetch(collection, cache, &mut |progress| teller.tell(progress));
    teller.bar.finish_and_clear();
    match outcome {
        // The network is at fault, not the input.
        Err(error @ DatasetError::Download { .. }) => {
            say(&error.to_string());
            return Ok(ExitCode::FAILURE);
        }
        other => other?,
    }
    print_done(&format!("{name} is in {}\n", folder.display()))
}

/// Shows the progress of a download on standard error: a bar on a terminal, lines in a pipe.
struct Teller {
    bar: ProgressBar,
    last_line: Option<Instant>,
}

impl Teller {
    fn new(total_bytes: u64) -> Teller {
        let bar = if io::stderr().is_terminal() { ProgressBar::new(total_bytes) } else { ProgressBar::hidden() };
        let template = "{msg} [{wide_bar}] {bytes}/{total_bytes} {bytes_per_sec} {eta}";
        // The template is fixed; were it wrong, the plain bar would serve.
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.progress_chars("=> "));
        Teller { bar, last_line: None }
    }

    fn tell(&mut self, progress: Progress) {
        match progress {
            Progress::Waiting => self.line("waiting for another download into the same folder".into()),
            Progress::Asking { file, address, from_byte } => {
                self.bar.set_message(file);
                let rest = if from_byte > 0 { format!(", from byte {from_byte}") } else { String::new() };
                self.line(format!("{file} from {address}{rest}"));
            }
            Progress::Bytes { done, total } => {
                self.bar.set_position(done);
                if self.bar.is_hidden() && self.last_line.is_none_or(|at| at.elapsed() >= LINE_EVERY) {
                    self.last_line = Some(Instant::now());
                    say_bare(&format!("{} of {}", units::bytes(done), units::bytes(total)));
                }
            }
            Progress::Setback { message } => self.line(format!("{message}; trying again")),
        }
    }

    /// A separate line, above the bar where there is one.
    fn line(&mut self, text: String) {
        if self.bar.is_hidden() { say_bare(&text) } else { self.bar.println(printable::line(&text)) }
    }
}
