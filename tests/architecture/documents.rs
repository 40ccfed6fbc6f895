//! What the documents promise: links lead somewhere, and each page can be read in one go.

use std::fs;
use std::path::{Path, PathBuf};

/// In KB: what a reader takes in at a time.
const LIMITS: [(&str, usize); 4] = [("README.md", 10), ("CHANGELOG.md", 3), ("BENCHMARKS.md", 10), ("CONTRIBUTING.md", 8)];
const OF_A_PAGE: usize = 6;

fn root() -> &'static Path {
    Path::new(env!("HVD_LAB_CHECKOUT"))
}

fn documents() -> Vec<(PathBuf, usize)> {
    let mut found: Vec<(PathBuf, usize)> = LIMITS.iter().map(|(name, limit)| (root().join(name), *limit)).collect();
    let pages = fs::read_dir(root().join("docs")).unwrap().map(|page| (page.unwrap().path(), OF_A_PAGE));
    found.extend(pages);
    found
}

/// The targets of links and pictures that are files.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target).filter(|target| !target.starts_with("http"))
}

fn broken<'a>(text: &'a str, folder: &Path) -> Vec<&'a str> {
    links(text).filter(|target| !folder.join(target).exists()).collect()
}

#[test]
fn links_of_the_documents_lead_to_files() {
    let documents = documents();
    let texts: Vec<String> = documents.iter().map(|(path, _)| fs::read_to_string(path).unwrap()).collect();
    assert!(texts.iter().map(|text| links(text).count()).sum::<usize>() > 30, "{documents:?}");
    for ((path, _), text) in documents.iter().zip(&texts) {
        assert_eq!(broken(text, path.parent().unwrap()), [""; 0], "{}", path.display());
    }
    assert_eq!(broken("[a](README.md), ![b](docs/nothing.svg), [c](https://example.org)", root()), ["docs/nothing.svg"]);
}

#[test]
fn no_document_is_longer_than_a_reader_takes_in() {
    for (path, limit) in documents() {
        let size = fs::metadata(&path).unwrap().len() as usize;
        assert!(size <= limit * 1024, "{}: {size} bytes, at most {limit} KB", path.display());
    }
}
