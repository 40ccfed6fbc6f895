//! All lessons: those of the program, and those of a folder over them.
//!
//! A folder takes precedence lesson by lesson, by number: an instructor who changes one lesson writes one file and still
//! gets the others of the next release; a translation is a folder with all of them. Names may differ (a slug is
//! translated too), and numbers beyond the program's are lessons of the folder's own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::lesson::{Lesson, LessonError, number_and_slug};
use crate::domain::step::Step;
use crate::host::read;

/// Names the folder where no flag does.
pub const LESSONS_VARIABLE: &str = "HVD_LAB_LESSONS";
/// Largest size of one lesson.
const MOST_BYTES: u64 = 4 << 20;

/// Name and text of every lesson file, written by build.rs out of `lessons/`.
const EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/lessons.rs"));

/// The lessons in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalog {
    /// By number.
    lessons: BTreeMap<usize, Lesson>,
}

#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    #[error(transparent)]
    Lesson(#[from] LessonError),
    #[error("cannot read the lessons {}: {cause}", path.display())]
    Io { path: PathBuf, cause: io::Error },
    #[error("no lessons in {}: their files are named NN_slug.md, such as 04_broadcast.md", path.display())]
    Empty { path: PathBuf },
}

impl Catalog {
    /// The lessons of the program, with those of a folder over them: `folder`, else the one that HVD_LAB_LESSONS names,
    /// else none.
    ///
    /// # Errors
    /// A folder that cannot be read or has no lesson, and the first lesson that cannot be parsed.
    pub fn open(folder: Option<&Path>) -> Result<Catalog, CatalogError> {
        let mut catalog = Catalog::embedded()?;
        let named = || std::env::var_os(LESSONS_VARIABLE).filter(|folder| !folder.is_empty()).map(PathBuf::from);
        if let Some(folder) = folder.map(Path::to_owned).or_else(named) {
            catalog.lessons.extend(Catalog::of_folder(&folder)?.lessons);
        }
        Ok(catalog)
    }

    /// The lessons of the program.
    ///
    /// # Errors
    /// None in a program that passes its tests.
    pub fn embedded() -> Result<Catalog, CatalogError> {
        let lessons = EMBEDDED.iter().map(|(name, text)| Lesson::parse(&format!("lessons/{name}"), text));
        Ok(Catalog { lessons: by_number(lessons)? })
    }

    /// The lessons of a folder alone.
    ///
    /// # Errors
    /// As [`Catalog::open`].
    pub fn of_folder(folder: &Path) -> Result<Catalog, CatalogError> {
        let files = Catalog::files(folder)?;
        Ok(Catalog { lessons: by_number(files.iter().map(|(file, text)| Lesson::parse(file, text)))? })
    }

    /// Path and text of the lesson files in a folder, by name. Other files are left alone.
    ///
    /// # Errors
    /// A folder that cannot be read or has no lesson.
    pub(super) fn files(folder: &Path) -> Result<Vec<(String, String)>, CatalogError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |cause| CatalogError::Io { path, cause }
        };
        let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>).map_err(failed(folder))?;
        let mut paths: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).filter(|path| is_lesson(path)).collect();
        if paths.is_empty() {
            return Err(CatalogError::Empty { path: folder.to_owned() });
        }
        paths.sort();
        let text = |path: PathBuf| Ok((path.display().to_string(), read::small_text(&path, MOST_BYTES).map_err(failed(&path))?));
        paths.into_iter().map(text).collect()
    }

    /// Name and text of the program's own lesson files, by name.
    pub(super) fn embedded_files() -> Vec<(String, String)> {
        EMBEDDED.iter().map(|(name, text)| (format!("lessons/{name}"), (*text).to_owned())).collect()
    }

    /// A catalog of these lessons, used by tests.
    #[cfg(test)]
    pub fn of(lessons: impl IntoIterator<Item = Lesson>) -> Catalog {
        Catalog { lessons: lessons.into_iter().map(|lesson| (lesson.number, lesson)).collect() }
    }

    /// All lessons by number.
    pub fn lessons(&self) -> impl Iterator<Item = &Lesson> {
        self.lessons.values()
    }

    pub fn lesson(&self, number: usize) -> Option<&Lesson> {
        self.lessons.get(&number)
    }

    pub fn of_step(&self, step: Step) -> Option<&Lesson> {
        self.lesson(step.number())
    }
}

fn is_lesson(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| number_and_slug(name).is_some())
}

fn by_number(lessons: impl Iterator<Item = Result<Lesson, LessonError>>) -> Result<BTreeMap<usize, Lesson>, LessonError> {
    let mut by_number = BTreeMap::new();
    for lesson in lessons {
        let lesson = lesson?;
        let number = lesson.number;
        let file = lesson.file.clone();
        if let Some(other) = by_number.insert(number, lesson) {
            let what = format!("there is another lesson {number}: {}", other.file);
            return Err(LessonError { file, line: 1, what });
        }
    }
    Ok(by_number)
}
