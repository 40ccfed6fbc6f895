//! The commands of the documents are held to the verbs and flags that there are: README, docs/, and `lessons/programs.md`, which says what
//! takes the place of other people's programs.
//!
//! Never in the program itself: these are tests.

use std::ffi::OsString;

use clap::error::ErrorKind;

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

fn refused(line: &str) -> Option<String> {
    let parsed = super::parse(line.split_whitespace().map(OsString::from));
    let error = parsed.err().filter(|error| error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand)?;
    Some(format!("{line}: {}", error.to_string().lines().next().unwrap_or_default()))
}

/// Commands of the lab in indented lines and in quotes, without their comments.
fn commands(page: &str) -> Vec<String> {
    let lines = page.lines().filter_map(|line| line.strip_prefix("    ")).map(|line| line.split(" #").next().unwrap_or_default());
    let quoted = page.split('`').skip(1).step_by(2).filter(|quote| !quote.contains('\n'));
    let parts = lines.chain(quoted).flat_map(|line| line.split("&&"));
    let found = parts.filter_map(|part| part.find("hvd-lab ").map(|start| part[start..].trim().to_owned()));
    found
        .filter(|command| {
            command.split(' ').nth(1).is_some_and(|verb| verb.starts_with(char::is_lowercase) && !verb.contains('-'))
        })
        .collect()
}

#[test]
fn every_command_of_the_documents_is_there() {
    let root = std::path::Path::new(env!("HVD_LAB_CHECKOUT"));
    let pages = std::fs::read_dir(root.join("docs")).unwrap().map(|page| page.unwrap().path());
    let texts: Vec<String> = pages.chain([root.join("README.md")]).map(|page| std::fs::read_to_string(page).unwrap()).collect();
    let found: Vec<String> = texts.iter().flat_map(|text| commands(text)).collect();
    assert!(found.len() > 90, "{found:#?}");
    // A sentence may name a verb without what it is asked for.
    let problems =
        found.iter().filter_map(|line| refused(line)).filter(|why| !why.contains("required arguments were not provided"));
    assert_eq!(problems.collect::<Vec<_>>(), [""; 0]);
}

/// Why the command in a cell is none of the lab's, or why a row without one is not whole.
fn problem([there, here, why]: &[String; 3]) -> Option<String> {
    if here == NONE {
        return why.is_empty().then(|| format!("{there}: why is there none?"));
    }
    let Some(line) = here.strip_prefix('`').and_then(|here| here.strip_suffix('`')) else {
        return Some(format!("{there}: `{here}` is no command in quotes"));
    };
    refused(line).map(|why| format!("{there}: {why}"))
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
