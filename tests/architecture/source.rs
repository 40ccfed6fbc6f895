//! What a source file names, read from its tokens: comments and literals do not count.
//!
//! Never judges: the rules are in `architecture.rs`.

use std::collections::BTreeSet;
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// One file: its path from the repository root, its text, and what its code names.
pub struct Source {
    pub path: String,
    pub text: String,
    /// Full paths (`std::fs::read`, use groups spelled out), macros (`todo!`) and single words, without comments and
    /// literals.
    pub names: BTreeSet<String>,
}

impl Source {
    pub fn new(path: &str, text: &str) -> Source {
        let mut names = BTreeSet::new();
        match text.parse() {
            Ok(tokens) => collect_names(tokens, "", &mut names),
            Err(error) => panic!("{path} is no Rust: {error}"),
        }
        Source { path: path.into(), text: text.into(), names }
    }

    /// Whether the code names `wanted` as a path, part of a path, macro or word.
    pub fn names(&self, wanted: &str) -> bool {
        let wanted: Vec<&str> = wanted.split("::").collect();
        let within = |name: &String| name.split("::").collect::<Vec<_>>().windows(wanted.len()).any(|part| part == wanted);
        self.names.iter().any(within)
    }

    /// Whether the code names a crate: as the first part of a path, also behind a leading `::`.
    pub fn uses_crate(&self, name: &str) -> bool {
        self.names.iter().any(|path| path.split_once("::").is_some_and(|(first, _)| first == name))
    }
}

/// Words that may stand before a path that opens with `::`.
const KEYWORDS: [&str; 9] = ["use", "as", "in", "return", "dyn", "impl", "for", "mut", "else"];

/// Walks tokens and keeps what they name. `prefix` is the path before a group in braces: `use std::{fs, io}`.
fn collect_names(tokens: TokenStream, prefix: &str, names: &mut BTreeSet<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is = |at: usize, symbol: char| matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == symbol);
    let mut at = 0;
    // Inside a use group every entry continues the prefix; elsewhere a path starts anew.
    let mut path = prefix.to_owned();
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Ident(word) => {
                let word = word.to_string();
                path = if path.is_empty() { word } else { format!("{path}::{word}") };
                names.insert(if is(at + 1, '!') { format!("{path}!") } else { path.clone() });
                // `use ::mpi` is a path of its own and none that goes on from `use`.
                if is(at + 1, ':') && is(at + 2, ':') && !KEYWORDS.contains(&path.as_str()) {
                    at += 3;
                    continue;
                }
            }
            TokenTree::Group(group) => {
                let continues = group.delimiter() == Delimiter::Brace && at > 1 && is(at - 1, ':') && is(at - 2, ':');
                collect_names(group.stream(), if continues { &path } else { "" }, names);
            }
            _ => {}
        }
        path = prefix.to_owned();
        at += 1;
    }
}

/// All Rust files of the repository that are not generated.
pub fn sources() -> Vec<Source> {
    let root = Path::new(env!("HVD_LAB_CHECKOUT"));
    let mut waiting: Vec<_> = ["src", "python", "tests", "lessons", "solutions"].iter().map(|name| root.join(name)).collect();
    let mut sources = Vec::new();
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            sources.push(Source::new(&name, &std::fs::read_to_string(&path).unwrap()));
        }
    }
    sources
}

/// Names under [dependencies], as code spells them.
pub fn dependencies(manifest: &str) -> Vec<String> {
    let section = manifest.split("[dependencies]").nth(1).unwrap_or_default().split("\n[").next().unwrap_or_default();
    section.lines().filter_map(|line| Some(line.split([' ', '.']).next()?.replace('-', "_"))).collect()
}

/// The path from the root of its crate: `comm/mpi/mod.rs` for src/ranks/comm/mpi/mod.rs.
pub fn inside(path: &str) -> Option<&str> {
    Some(path.strip_prefix("src/")?.split_once('/')?.1)
}
