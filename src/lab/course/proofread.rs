//! What an author should fix in a lesson beyond what parses: sections, fences, links, widths, and missing parts.

use std::collections::BTreeMap;
use std::path::Path;

use super::catalog::{Catalog, CatalogError};
use super::lesson::{Lesson, LessonError};
use crate::domain::step::Step;

/// Sections of a step's lesson, in their order.
pub const SECTIONS: [&str; 7] =
    ["The problem", "The idea", "How it is written", "Run it", "What to look for", "The trap", "The original's numbers"];

/// Parts of the third section, each with a fence in this language, and whether a lesson must have it.
const SPELLINGS: [(&str, &str, bool); 4] = [
    ("Horovod with Keras", "python", true),
    ("Horovod with PyTorch", "python", false),
    ("Here in Python", "python", false),
    ("Here in Rust", "rust", true),
];

/// Prose and diagrams fit a terminal of 80 columns beside a list.
const PROSE_COLUMNS: usize = 100;
const DIAGRAM_COLUMNS: usize = 60;

/// The result of proofreading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    pub lessons: usize,
    /// By file and line.
    pub problems: Vec<LessonError>,
}

/// Proofread a folder, or the lessons of the program. What a folder lacks the program's lessons stand in for.
///
/// # Errors
/// A folder that cannot be read or has no lesson.
pub fn proofread(folder: Option<&Path>) -> Result<Proof, CatalogError> {
    let files = folder.map_or_else(|| Ok(Catalog::embedded_files()), Catalog::files)?;
    let mut proof = Proof { lessons: files.len(), problems: Vec::new() };
    let mut by_number: BTreeMap<usize, String> = BTreeMap::new();
    for (file, text) in &files {
        match Lesson::parse(file, text) {
            Ok(lesson) => {
                proof.problems.extend(problems(&lesson));
                if let Some(other) = by_number.insert(lesson.number, file.clone()) {
                    let what = format!("there is another lesson {}: {other}", lesson.number);
                    proof.problems.push(LessonError { file: file.clone(), line: 1, what });
                }
            }
            // Its number is taken all the same: one complaint is enough.
            Err(error) => {
                by_number.extend(super::lesson::number_and_slug(file).map(|(number, _)| (number, file.clone())));
                proof.problems.push(error);
            }
        }
    }
    let program = if folder.is_some() { Catalog::embedded()? } else { Catalog::default() };
    for step in Step::ALL.into_iter().filter(|step| !by_number.contains_key(&step.number()) && program.of_step(*step).is_none()) {
        let file = folder.map_or_else(|| "lessons".into(), |folder| folder.display().to_string());
        proof.problems.push(LessonError { file, line: 1, what: format!("no lesson of step {}", step.number()) });
    }
    proof.problems.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    Ok(proof)
}

/// All that should be fixed in one lesson, by line.
pub fn problems(lesson: &Lesson) -> Vec<LessonError> {
    let mut found = Vec::new();
    let mut say = |line: usize, what: String| found.push(LessonError { file: lesson.file.clone(), line, what });
    if lesson.step.is_some() {
        let parts =
            [("hints", lesson.hints.is_empty()), ("question", lesson.questions.is_empty()), ("run", lesson.run.is_none())];
        for (name, _) in parts.iter().filter(|(_, is_missing)| *is_missing) {
            say(1, format!("the lesson of a step needs {name} in its front matter"));
        }
    }
    if let (Some(step), Some(run)) = (lesson.step, &lesson.run)
        && (run.before.contains(step) || !run.after.contains(step))
    {
        say(1, format!("[run]: step {} must be off before ({}) and on after ({})", step.number(), run.before, run.after));
    }
    for link in lesson.links.iter().filter(|link| !is_https(&link.url) || link.title.trim().is_empty()) {
        say(1, format!("the link `{}` to `{}` needs a title and an address that begins with https://", link.title, link.url));
    }
    let body = Body::read(lesson);
    body.problems.iter().for_each(|(line, what)| say(*line, what.clone()));
    if lesson.step.is_some()
        && let Some((line, what)) = sections(&body, lesson.body_line)
    {
        say(line, what);
    }
    found.sort();
    found
}

/// The outline of a body, with what is wrong in its lines. Lines are those of the file.
#[derive(Default)]
struct Body {
    /// Level, text, line.
    headings: Vec<(usize, String, usize)>,
    /// Language, line.
    fences: Vec<(String, usize)>,
    problems: Vec<(usize, String)>,
}

impl Body {
    fn read(lesson: &Lesson) -> Body {
        let mut body = Body::default();
        // Mark, language and line of the fence that is open.
        let mut open: Option<(String, String, usize)> = None;
        for (line, text) in lesson.body.lines().enumerate().map(|(index, text)| (lesson.body_line + index, text)) {
            let columns = text.chars().count();
            let mark = fence_mark(text);
            match (&open, mark) {
                (Some((opened, ..)), Some(mark)) if mark.starts_with(opened.as_str()) && text.trim() == mark => open = None,
                (Some((_, language, _)), _) => {
                    if language == "text" && columns > DIAGRAM_COLUMNS {
                        body.problems.push((line, format!("the diagram is {columns} columns wide, more than {DIAGRAM_COLUMNS}")));
                    }
                }
                (None, Some(mark)) => {
                    let language = text.trim().trim_start_matches(mark).trim().to_owned();
                    if language.is_empty() {
                        body.problems.push((line, format!("the code fence names no language: {mark}text for plain text")));
                    }
                    body.fences.push((language.clone(), line));
                    open = Some((mark.to_owned(), language, line));
                }
                (None, None) => body.prose(line, text, columns),
            }
        }
        if let Some((mark, _, line)) = open {
            body.problems.push((line, format!("the code fence {mark} is not closed")));
        }
        if lesson.body.trim().is_empty() {
            body.problems.push((lesson.body_line, "there is nothing below the front matter".into()));
        }
        body
    }

    fn prose(&mut self, line: usize, text: &str, columns: usize) {
        let level = text.bytes().take_while(|byte| *byte == b'#').count();
        if (1..=6).contains(&level) && text[level..].starts_with(' ') {
            self.headings.push((level, text[level..].trim().to_owned(), line));
        }
        // Rows of a table and long addresses cannot be wrapped.
        let can_wrap = !text.trim_start().starts_with('|') && text.trim().contains(' ') && !text.contains("https://");
        if columns > PROSE_COLUMNS && can_wrap {
            self.problems.push((line, format!("{columns} columns: wrap prose at {PROSE_COLUMNS}")));
        }
        for address in text.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next()) {
            if !is_https(address) {
                self.problems.push((line, format!("the link to `{address}` does not begin with https://")));
            }
        }
    }
}

/// The back-ticks or tildes that a fence line begins with.
fn fence_mark(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let first = text.chars().next().filter(|first| "`~".contains(*first))?;
    let length = text.chars().take_while(|c| *c == first).count();
    (length >= 3).then(|| &text[..length])
}

fn is_https(url: &str) -> bool {
    let host = url.strip_prefix("https://").map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    host.is_some_and(|host| host.contains('.') && !host.starts_with('.') && !host.ends_with('.'))
        && !url.contains(|c: char| c.is_whitespace() || c.is_control() || "<>\"".contains(c))
}

/// The first thing that is wrong with the sections of a step's lesson, which are all there, in order. Of a translation, which names none
/// of them, only their number counts.
fn sections(body: &Body, body_line: usize) -> Option<(usize, String)> {
    let found: Vec<(&str, usize)> =
        body.headings.iter().filter(|(level, ..)| *level == 2).map(|(_, text, line)| (text.as_str(), *line)).collect();
    if !found.is_empty() && !found.iter().any(|(text, _)| SECTIONS.contains(text)) {
        let what = format!("{} sections (##): the lesson of a step has {}", found.len(), SECTIONS.len());
        return (found.len() != SECTIONS.len()).then_some((found[0].1, what));
    }
    let end = found.last().map_or(body_line, |(_, line)| *line);
    let misplaced = SECTIONS.iter().enumerate().find_map(|(index, wanted)| match found.get(index) {
        Some((text, _)) if text == wanted => None,
        Some((text, line)) => Some((*line, format!("section {} is `{text}`, and should be `{wanted}`", index + 1))),
        None => Some((end, format!("the section `{wanted}` is missing"))),
    });
    let surplus = || found.get(SECTIONS.len()).map(|(text, line)| (*line, format!("the section `{text}` is one too many")));
    misplaced.or_else(surplus).or_else(|| spellings(body))
}

/// "How it is written" spells the step in several ways, each in a fence of its language.
fn spellings(body: &Body) -> Option<(usize, String)> {
    let start = body.headings.iter().position(|(level, text, _)| *level == 2 && text == SECTIONS[2])?;
    let parts: Vec<_> = body.headings[start + 1..].iter().take_while(|(level, ..)| *level > 2).collect();
    let end = body.headings.get(start + 1 + parts.len()).map_or(usize::MAX, |(_, _, line)| *line);
    let mut index = 0;
    for (wanted, language, is_needed) in SPELLINGS {
        let (text, line) = match parts.get(index) {
            Some((_, text, line)) if text == wanted => (text, line),
            _ if !is_needed => continue,
            Some((_, text, line)) => {
                return Some((*line, format!("part {} is `{text}`, and should be `{wanted}`", index + 1)));
            }
            None => return Some((body.headings[start].2, format!("the part `### {wanted}` is missing"))),
        };
        index += 1;
        let until = parts.get(index).map_or(end, |(_, _, line)| *line);
        if !body.fences.iter().any(|(found, at)| found == language && (line..&until).contains(&at)) {
            return Some((*line, format!("`{text}` has no code fence in {language}")));
        }
    }
    None
}
