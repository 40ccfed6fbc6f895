//! The image pipeline on one core: `bench-images`, and tf.data and torchvision with the same operations (`peer_images.py`).
//!
//! Never reads photos of others: both sides read the same drawn ones. Images are counted by the processor's time of all threads, so that
//! other programs change little.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::figures::Round;
use super::options::Scale;
use super::place::Place;
use super::process::{Flow, watch};

const LIMIT: Duration = Duration::from_secs(420);
/// Photos that are drawn and packed.
const PHOTOS: &str = "64";

/// What is done to each photo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operations {
    /// All of it is decoded, then cut.
    Whole,
    /// Only the part that is shown is decoded.
    Partial,
    /// As partial, with colour distortion.
    Colour,
}

impl Operations {
    pub const ALL: [Operations; 3] = [Operations::Whole, Operations::Partial, Operations::Colour];

    pub fn words(self) -> &'static str {
        match self {
            Operations::Whole => "whole photos decoded",
            Operations::Partial => "the shown part decoded",
            Operations::Colour => "the shown part decoded, with colours",
        }
    }

    fn flags(self) -> &'static [&'static str] {
        match self {
            Operations::Whole => &["--whole"],
            Operations::Partial => &[],
            Operations::Colour => &["--colour"],
        }
    }

    /// What a line of the peers' script says of it, behind the name and the version. torchvision decodes whole photos only.
    fn of_line(library: &str, line: &str) -> Option<Operations> {
        match (line.contains(" colour"), line.contains(" partial")) {
            (true, _) => Some(Operations::Colour),
            (false, true) => Some(Operations::Partial),
            (false, false) => (library == "tf.data" || library == "torchvision").then_some(Operations::Whole),
        }
    }
}

/// Name of the figure: images a second of a core.
pub fn figure(library: &str, operations: Operations) -> String {
    format!("images: {library} {}", operations.words())
}

/// Draws photos, packs them, and measures ours and whoever of the peers is there.
///
/// # Errors
/// Why nothing could be measured.
pub fn run(place: &Place, scale: &Scale) -> Result<Round, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (photos, records) = (at("photos"), at("records"));
    let lab = |words: &[&str]| {
        let mut command = Command::new(&place.lab);
        command.arg("data").args(words);
        watch(command, LIMIT, |_, _| Flow::GoOn)
    };
    lab(&["make-images", "--out", &photos, "--images", PHOTOS, "--classes", "4"])?;
    lab(&["tfrecord", &photos, "--out", &records])?;
    let mut figures = Round::new();
    for operations in Operations::ALL {
        let mut command = Command::new(&place.images_program);
        command.args([&records, "--images", &scale.photos.to_string()]).args(operations.flags()).env_remove("OMP_NUM_THREADS");
        watch(command, LIMIT, |_, line| {
            if let Some(rate) = of_core(line) {
                figures.insert(figure("ours", operations), rate);
            }
            Flow::GoOn
        })?;
    }
    if let Ok(peer) = &place.pipelines {
        peers(peer.python.as_path(), &peer.script, [&records, &photos], &mut figures)?;
    }
    Ok(figures)
}

fn peers(python: &Path, script: &Path, folders: [&str; 2], figures: &mut Round) -> Result<(), String> {
    let mut command = Command::new(python);
    command.arg(script).args(folders);
    watch(command, LIMIT, |_, line| {
        let library = line.split(' ').next().unwrap_or_default();
        if let Some((operations, rate)) = Operations::of_line(library, line).zip(of_core(line)) {
            figures.insert(figure(library, operations), rate);
        }
        Flow::GoOn
    })
}

/// `tf.data 2.21.0 partial      747 images/s of a core`
pub fn of_core(line: &str) -> Option<f64> {
    let (before, _) = line.split_once(" images/s of a core")?;
    before.rsplit(' ').next()?.parse().ok()
}
