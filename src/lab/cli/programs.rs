//! `lessons/programs.md` says what takes the place of other people's programs. Here it is held to the verbs and flags that there are.
//!
//! Never in the program itself: these are tests.

use std::ffi::OsString;

const PAGE: &str = include_str!("../../../lessons/programs.md");
const NONE: &str = "**none**";

/// What is there, what is typed here, and what there is to know, row by row of the tables behind this heading.
pub(super) fn rows(page: &str, heading: &str) -> Vec<[String; 3]> {
    let section = page.split("\n## ").find(|section| section.starts_with(heading)).unwrap_or_default();
    let cells = |line: &str| {
        let line = line.strip_prefix("| ")?.strip_suffix('|')?;
        let cells: Vec<String> = line.split(" |").map(|cell| cell.trim().to_owned()).collect();
        <[String; 3]>::try_from(cells.into_iter().take(3).collect::<Vec<_>>()).ok()
    };
    section.lines().filter_map(cells).filter(|[there, ..]| there != "there").collect()
}

/// The flags, with their dashes, in the quotes of a cell.
pub(super) fn flags(cell: &str) -> Vec<&str> {
    let quoted = cell.split('`').skip(1).step_by(2);
    quoted.filter(|word| word.starts_with("--")).filter_map(|word| word.split([' ', '=']).next()).collect()
}

pub(super) fn page_rows(heading: &str) -> Vec<[String; 3]> {
    rows(PAGE, heading)
}

/// Why the command in a cell is none of the lab's, or why a row without one is not whole.
fn problem([there, here, why]: &[String; 3]) -> Option<String> {
    if here == NONE {
        return why.is_empty().then(|| format!("{there}: why is there none?"));
    }
    let Some(line) = here.strip_prefix('`').and_then(|here| here.strip_suffix('`')) else {
        return Some(format!("{there}: `{here}` is no command in quotes"));
    };
    let parsed = super::parse(line.split(' ').map(OsString::from));
    parsed.err().map(|error| format!("{there}: {line}: {}", error.to_string().lines().next().unwrap_or_default()))
}

#[test]
fn every_verb_and_flag_of_the_page_is_there() {
    let mut found = 0;
    for heading in ["The ten steps", "Notes on Horovod", "Multi-GPU training"] {
        let rows = page_rows(heading);
        assert!(rows.len() > 10, "{heading}: {rows:?}");
        found += rows.len();
        let problems: Vec<String> = rows.iter().filter_map(problem).collect();
        assert!(problems.is_empty(), "{problems:#?}");
    }
    let lines = PAGE.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| there |")).count();
    assert_eq!(found, lines, "no row is left out");
}

#[test]
fn what_is_not_there_is_noticed() {
    let page = "\n## A\n| there | here | what to know |\n|---|---|---|\n| `x` | `hvd-lab sneeze` | |\n| y | `hvd-lab run --sneeze` | |\n\
                | z | **none** | |\n| fine | `hvd-lab run --np 2` | |\n| u | run | |\n";
    let problems: Vec<Option<String>> = rows(page, "A").iter().map(problem).collect();
    assert_eq!(problems.iter().map(Option::is_some).collect::<Vec<_>>(), [true, true, true, false, true], "{problems:?}");
}
