//! The `use` lines of a program: which names they bring, and which of them go when nobody mentions them any more.
//!
//! Never adds a name, and never drops one that was not mentioned before either: a trait may be needed unnamed.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::{Item, ItemUse, UseTree};

/// Full paths of all names that are brought in: `std::time::Instant`.
pub fn paths(text: &str) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for item in uses(text) {
        flatten(&item.tree, "", &mut paths);
    }
    paths
}

/// The word that a path brings in.
pub fn name(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

/// Without the names that `whole` mentions in its code and `text` does not.
pub fn without_unused(text: &str, whole: &str) -> String {
    let (before, now) = (words(whole), words(text));
    let is_dropped = |name: &str| before.contains(name) && !now.contains(name);
    let mut text = text.to_owned();
    for item in uses(&text).iter().rev() {
        let mut brought = BTreeSet::new();
        flatten(&item.tree, "", &mut brought);
        if brought.iter().any(|path| is_dropped(name(path))) {
            let range = item.span().byte_range();
            match kept(&item.tree, &is_dropped) {
                Some(tree) => text.replace_range(range, &format!("use {tree};")),
                None => text.replace_range(range.start..range.end + 1, ""),
            }
        }
    }
    text
}

/// The text without its `use` lines.
pub fn cut(text: &str) -> String {
    let mut text = text.to_owned();
    for item in uses(&text).iter().rev() {
        text.replace_range(item.span().byte_range(), "");
    }
    text
}

/// Every word of a piece of Rust, but for comments, literals and `use` lines.
pub fn words(text: &str) -> BTreeSet<String> {
    fn collect(tokens: TokenStream, words: &mut BTreeSet<String>) {
        for token in tokens {
            match token {
                TokenTree::Ident(word) => drop(words.insert(word.to_string())),
                TokenTree::Group(group) => collect(group.stream(), words),
                _ => {}
            }
        }
    }
    let mut words = BTreeSet::new();
    collect(cut(text).parse().unwrap(), &mut words);
    words
}

fn uses(text: &str) -> Vec<ItemUse> {
    let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
    file.items.into_iter().filter_map(|item| if let Item::Use(item) = item { Some(item) } else { None }).collect()
}

fn flatten(tree: &UseTree, prefix: &str, paths: &mut BTreeSet<String>) {
    match tree {
        UseTree::Path(path) => flatten(&path.tree, &format!("{prefix}{}::", path.ident), paths),
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, prefix, paths)),
        UseTree::Name(name) if name.ident == "self" => drop(paths.insert(prefix.trim_end_matches("::").to_owned())),
        UseTree::Name(name) => drop(paths.insert(format!("{prefix}{}", name.ident))),
        UseTree::Rename(_) | UseTree::Glob(_) => panic!("the trainer renames no import and takes no glob"),
    }
}

fn kept(tree: &UseTree, is_dropped: &dyn Fn(&str) -> bool) -> Option<String> {
    match tree {
        UseTree::Path(path) => match kept(&path.tree, is_dropped)?.as_str() {
            "self" => (!is_dropped(&path.ident.to_string())).then(|| path.ident.to_string()),
            tree => Some(format!("{}::{tree}", path.ident)),
        },
        UseTree::Group(group) => {
            let items: Vec<String> = group.items.iter().filter_map(|tree| kept(tree, is_dropped)).collect();
            match &items[..] {
                [] => None,
                [only] => Some(only.clone()),
                _ => Some(format!("{{{}}}", items.join(", "))),
            }
        }
        UseTree::Name(name) => (!is_dropped(&name.ident.to_string())).then(|| name.ident.to_string()),
        UseTree::Rename(_) | UseTree::Glob(_) => None,
    }
}
