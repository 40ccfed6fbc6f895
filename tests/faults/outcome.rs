//! What is in a folder before and after, and whether anything of it was lost on the way.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Replaced as a whole by what they are made from, whatever they held: caches, and what the screen or a command sets anew.
const MADE_ANEW: [&str; 4] = ["summary.json", "screen.json", "share.json", "class/ada.json"];

/// A file as it was, and whether all of it was JSON.
#[derive(Clone, PartialEq)]
struct Content {
    bytes: Vec<u8>,
    is_json: bool,
}

/// Every regular file below a folder, by its path from there. Links are not followed.
#[derive(Clone, Default, PartialEq)]
pub struct Snapshot(BTreeMap<String, Content>);

impl Snapshot {
    pub fn of(folder: &Path) -> Snapshot {
        let mut all = BTreeMap::new();
        walk(folder, folder, &mut all);
        Snapshot(all)
    }

    /// The first file that was lost on the way to `after`.
    ///
    /// A file may grow, be replaced by another whole version of itself (what was whole JSON is whole JSON still), or be moved or
    /// set aside under another name with all its content.
    pub fn lost(&self, after: &Snapshot) -> Result<(), String> {
        for (path, before) in &self.0 {
            let is_moved = |to: &String, now: &Content| {
                let same_name = to.rsplit('/').next() == path.rsplit('/').next();
                now.bytes == before.bytes || (same_name && to != path && before.is_json && now.is_json)
            };
            let is_moved = || after.0.iter().any(|(to, now)| is_moved(to, now));
            let is_made_anew = || MADE_ANEW.iter().any(|name| path.ends_with(name));
            match after.0.get(path) {
                Some(now) if now.bytes.starts_with(&before.bytes) || (now.is_json && (before.is_json || is_made_anew())) => {}
                None if path.ends_with("summary.json") => {}
                _ if is_moved() => {}
                Some(now) => return Err(format!("{path} had {} bytes and has {} now", before.bytes.len(), now.bytes.len())),
                None => return Err(format!("{path} is gone")),
            }
        }
        Ok(())
    }

    /// Files that are there now and were not before, with their lengths.
    pub fn new_in<'a>(&'a self, before: &Snapshot) -> impl Iterator<Item = (&'a str, usize)> {
        let known: Vec<&String> = before.0.keys().collect();
        self.0.iter().filter(move |(path, _)| !known.contains(path)).map(|(path, content)| (path.as_str(), content.bytes.len()))
    }

    /// Files with a name that the lab gives what it has not finished yet.
    pub fn temporary(&self) -> Vec<&str> {
        let is_temporary = |path: &&String| path.contains(".tmp") || path.ends_with(".new") || path.ends_with(".part");
        self.0.keys().filter(is_temporary).map(String::as_str).collect()
    }
}

fn walk(root: &Path, folder: &Path, all: &mut BTreeMap<String, Content>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
        if kind.is_dir() {
            walk(root, &path, all);
        } else if kind.is_file()
            && let Ok(bytes) = fs::read(&path)
        {
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            let is_json = name.ends_with(".json") && serde_json::from_slice::<serde_json::Value>(&bytes).is_ok();
            all.insert(name, Content { bytes, is_json });
        }
    }
}

#[test]
fn what_is_cut_emptied_or_removed_is_lost_and_what_is_set_aside_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("run.json"), r#"{"np": 2}"#).unwrap();
    fs::write(at("rank-0.log"), "a line").unwrap();
    let before = Snapshot::of(folder.path());
    let lost = || before.lost(&Snapshot::of(folder.path()));
    fs::write(at("run.json"), r#"{"np": 2, "name": "two"}"#).unwrap();
    assert_eq!(lost(), Ok(()));
    fs::write(at("run.json"), r#"{"np": "#).unwrap();
    assert!(lost().unwrap_err().contains("run.json had 9 bytes"));
    fs::write(at("run.json.damaged"), r#"{"np": 2}"#).unwrap();
    assert_eq!(lost(), Ok(()));
    fs::write(at("rank-0.log"), "a line, and one more").unwrap();
    assert_eq!(lost(), Ok(()));
    fs::write(at("rank-0.log"), "").unwrap();
    assert!(lost().unwrap_err().contains("rank-0.log had 6 bytes and has 0"));
    fs::remove_file(at("rank-0.log")).unwrap();
    assert_eq!(lost(), Err("rank-0.log is gone".to_owned()));
}
