//! nvcnn's training on photos, as NVIDIA's lab changes it: another model, another decoder, a flip, and where the broadcast stands.

use super::super::language::Language;
use super::super::program::{Program, Solutions};
use crate::course::{Evidence, check_photos};
use crate::domain::job::{Resources, RunSpec, Workload};
use crate::domain::model::ModelSpec;
use crate::domain::nvcnn::NvcnnSpec;

const TITLES: [&str; 5] = [
    "Add AlexNet to the models",
    "Decode with the accurate transform",
    "Mirror half of the photos",
    "Call sync() once, before the loop",
    "Measure sync() inside the loop",
];
/// Side of the images: the smallest that AlexNet's layers take.
const PIXELS: usize = 67;

pub static NVCNN: Program = Program {
    track: "nvcnn",
    title_of_all: "nvcnn's training on photos, five changes",
    lesson: Some(20),
    language: Language::Rust,
    file: "nvcnn.rs",
    mark: "Change",
    noun: "change",
    count: TITLES.len(),
    title: |number| number.checked_sub(1).and_then(|index| TITLES.get(index)).copied().unwrap_or_default(),
    exercise: include_str!("../../../../lessons/nvcnn.rs"),
    solutions: Solutions::Whole(include_str!("../../../../solutions/nvcnn.rs")),
    job: |_, _| RunSpec { resources: Resources::ranks(2), workload: Workload::Nvcnn(training()) },
    check: |folder, record| Ok(check_photos(&Evidence::read(folder, record, record.request.spec.nvcnn())?)),
    compared: None,
};

/// The same in Python, with a builder of networks like nvcnn's own.
pub static NVCNN_IN_PYTHON: Program = Program {
    language: Language::Python,
    file: "nvcnn.py",
    exercise: include_str!("../../../../lessons/nvcnn.py"),
    solutions: Solutions::Whole(include_str!("../../../../solutions/nvcnn.py")),
    ..NVCNN
};

/// On photos that the program draws itself: enough of them to count how many are mirrored, and steps enough to compare those with
/// a broadcast and those without.
fn training() -> NvcnnSpec {
    let defaults = NvcnnSpec::of_model(ModelSpec::ALEXNET);
    NvcnnSpec { image_size: Some(PIXELS), batch_size: 8, num_batches: 12, threads: Some(1), ..defaults }
}
