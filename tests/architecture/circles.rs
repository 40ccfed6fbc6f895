//! Circles of imports: files of one floor that name each other, directly or by way of others.
//!
//! Never counts tests, comments, or a file that only declares its children and passes their names on (`mod`, `pub use`): a
//! name counts for the file that defines it.

use std::collections::{BTreeMap, BTreeSet};

use syn::spanned::Spanned;
use syn::{Attribute, Item, UseTree, Visibility};

use super::source::{Source, inside, sources};

/// A module by its path from the root: `["comm", "mpi"]`.
type Path = Vec<String>;

/// What one file declares, and the paths that it names.
#[derive(Default)]
struct Module {
    file: String,
    children: BTreeSet<String>,
    defined: BTreeSet<String>,
    /// Imported names, public or not, with the paths that they stand for.
    imported: BTreeMap<String, Path>,
    /// Absolute paths that the code names.
    named: BTreeSet<Path>,
}

/// Groups of files that name each other in a circle, each floor by itself.
fn circles(sources: &[Source]) -> Vec<BTreeSet<String>> {
    let modules = modules(sources);
    let edges: BTreeMap<&str, BTreeSet<&str>> = modules
        .values()
        .map(|module| {
            let named = module.named.iter().filter_map(|path| resolve(&modules, path, 0));
            (module.file.as_str(), named.filter(|file| *file != module.file).collect())
        })
        .collect();
    let reached: BTreeMap<&str, BTreeSet<&str>> = edges.keys().map(|file| (*file, reachable(&edges, file))).collect();
    let circle = |file: &str| -> BTreeSet<String> {
        let others = reached[file].iter().filter(|other| reached.get(*other).is_some_and(|back| back.contains(file)));
        others.map(|other| (*other).to_owned()).collect()
    };
    let circles: BTreeSet<BTreeSet<String>> = edges.keys().map(|file| circle(file)).filter(|circle| circle.len() > 1).collect();
    circles.into_iter().collect()
}

/// Files that can be reached from one, and so the file itself only if it is in a circle.
fn reachable<'a>(edges: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &str) -> BTreeSet<&'a str> {
    let (mut found, mut waiting) = (BTreeSet::new(), vec![from]);
    while let Some(file) = waiting.pop() {
        for next in edges.get(file).into_iter().flatten() {
            if found.insert(*next) {
                waiting.push(next);
            }
        }
    }
    found
}

/// The file that defines what a path names, if it is one of ours. A path to another floor leads nowhere.
fn resolve<'a>(modules: &'a BTreeMap<Path, Module>, path: &[String], depth: usize) -> Option<&'a str> {
    let mut at = modules.get(path.get(..1)?)?;
    for (index, part) in path.iter().enumerate().skip(1) {
        if at.children.contains(part) {
            // A child that is missing is a test.
            at = modules.get(&path[..=index])?;
        } else if let (false, Some(stands_for)) = (at.defined.contains(part), at.imported.get(part)) {
            let whole: Path = stands_for.iter().chain(&path[index + 1..]).cloned().collect();
            return if depth < 8 { resolve(modules, &whole, depth + 1) } else { None };
        } else {
            break;
        }
    }
    Some(&at.file)
}

/// All files of the library by module path, without those that are compiled for tests alone.
fn modules(sources: &[Source]) -> BTreeMap<Path, Module> {
    let mut modules = BTreeMap::new();
    let mut tests = BTreeSet::new();
    for source in sources {
        let Some(own) = module_path(&source.path) else { continue };
        let (module, only_tests) = read(source, &own);
        tests.extend(only_tests);
        modules.insert(own, module);
    }
    modules.retain(|path: &Path, _| !(1..=path.len()).any(|length| tests.contains(&path[..length])));
    modules
}

/// `["comm", "mpi"]` for src/ranks/comm/mpi/mod.rs and for src/ranks/comm/mpi.rs; nothing for the root and the binaries.
fn module_path(path: &str) -> Option<Path> {
    let inner = inside(path)?.strip_suffix(".rs")?;
    let parts: Path = inner.trim_end_matches("/mod").split('/').map(str::to_owned).collect();
    (!matches!(parts[0].as_str(), "lib" | "bin" | "build")).then_some(parts)
}

/// One file, and the children that it declares for tests alone.
fn read(source: &Source, own: &Path) -> (Module, Vec<Path>) {
    let file = syn::parse_file(&source.text).unwrap_or_else(|error| panic!("{}: {error}", source.path));
    let mut module = Module { file: source.path.clone(), ..Module::default() };
    let (mut tests, mut uses, mut code) = (Vec::new(), Vec::new(), BTreeSet::new());
    for item in &file.items {
        let is_test = attributes(item).iter().any(|attribute| {
            let text = &source.text[attribute.span().byte_range()];
            text.starts_with("#[cfg(") && text.contains("test") && !text.contains("not(test")
        });
        match item {
            Item::Mod(child) if is_test => tests.push([own.as_slice(), &[child.ident.to_string()]].concat()),
            _ if is_test => {}
            Item::Mod(child) if child.content.is_none() => _ = module.children.insert(child.ident.to_string()),
            Item::Use(item) => flatten(&item.tree, &mut Vec::new(), matches!(item.vis, Visibility::Inherited), &mut uses),
            item => {
                module.defined.extend(name(item));
                code.extend(Source::new(&source.path, &source.text[item.span().byte_range()]).names);
            }
        }
    }
    for (path, as_name, is_private) in uses {
        let Some(path) = absolute(&path, own, &module.children) else { continue };
        // A name that is only passed on is no import, unless the file's own code uses it too.
        if is_private || code.iter().any(|name| name.split("::").next() == Some(&as_name)) {
            module.named.insert(path.clone());
        }
        module.imported.insert(as_name, path);
    }
    let longest = code.iter().filter(|name| !code.range(format!("{name}::")..format!("{name}:;")).any(|_| true));
    let paths = longest.filter_map(|name| {
        let parts: Path = name.trim_end_matches('!').split("::").map(str::to_owned).collect();
        if parts.len() > 1 { absolute(&parts, own, &module.children) } else { None }
    });
    module.named.extend(paths.collect::<Vec<_>>());
    (module, tests)
}

/// A path as it is written, from the root. `None` for paths into other crates.
fn absolute(path: &[String], own: &Path, children: &BTreeSet<String>) -> Option<Path> {
    match path.first()?.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([own, &path[1..]].concat()),
        "super" => {
            let climbed = path.iter().take_while(|part| *part == "super").count();
            Some([&own[..own.len().checked_sub(climbed)?], &path[climbed..]].concat())
        }
        first => children.contains(first).then(|| [own, path].concat()),
    }
}

/// Every path of a `use` tree, with the name that it brings and whether it stays in the file. `*` brings no name.
fn flatten(tree: &UseTree, prefix: &mut Path, is_private: bool, uses: &mut Vec<(Path, String, bool)>) {
    let mut keep =
        |last: Option<String>, name: String| uses.push((prefix.iter().cloned().chain(last).collect(), name, is_private));
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            flatten(&path.tree, prefix, is_private, uses);
            prefix.pop();
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, prefix, is_private, uses)),
        UseTree::Name(name) if name.ident == "self" => {
            let name = prefix.last().cloned().unwrap_or_default();
            keep(None, name);
        }
        UseTree::Name(name) => keep(Some(name.ident.to_string()), name.ident.to_string()),
        UseTree::Rename(rename) => keep(Some(rename.ident.to_string()), rename.rename.to_string()),
        UseTree::Glob(_) => keep(None, "*".into()),
    }
}

fn name(item: &Item) -> Option<String> {
    Some(match item {
        Item::Const(item) => item.ident.to_string(),
        Item::Enum(item) => item.ident.to_string(),
        Item::Fn(item) => item.sig.ident.to_string(),
        Item::Macro(item) => item.ident.as_ref()?.to_string(),
        Item::Mod(item) => item.ident.to_string(),
        Item::Static(item) => item.ident.to_string(),
        Item::Struct(item) => item.ident.to_string(),
        Item::Trait(item) => item.ident.to_string(),
        Item::Type(item) => item.ident.to_string(),
        Item::Union(item) => item.ident.to_string(),
        _ => return None,
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

#[test]
fn no_files_of_a_floor_name_each_other_in_a_circle() {
    let circles = circles(&sources());
    assert!(circles.is_empty(), "circles of imports: {circles:#?}");
}

#[test]
fn a_circle_is_found_whatever_way_it_goes() {
    let found = |files: &[(&str, &str)]| {
        let sources: Vec<Source> = files.iter().map(|(path, text)| Source::new(path, text)).collect();
        circles(&sources).into_iter().map(|circle| circle.into_iter().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    let two = ["src/ranks/comm/a.rs src/ranks/comm/b.rs"];
    let root = ("src/ranks/comm/mod.rs", "mod a; mod b; pub use a::A; pub use b::{B, make};");
    assert_eq!(
        found(&[root, ("src/ranks/comm/a.rs", "use super::b::B; pub struct A(B);"), ("src/ranks/comm/b.rs", "use super::a::A;")]),
        two
    );
    // By the name that the parent passes on, by a path in code, and by a child of one of them.
    assert_eq!(
        found(&[root, ("src/ranks/comm/a.rs", "use super::B;"), ("src/ranks/comm/b.rs", "fn f() { super::a::g() }")]),
        two
    );
    assert_eq!(
        found(&[root, ("src/ranks/comm/a.rs", "use crate::comm::{make};"), ("src/ranks/comm/b.rs", "use crate::comm::A;")]),
        two
    );
    let longer = ("src/ranks/comm/c.rs", "use super::a::A;");
    let three = ["src/ranks/comm/a.rs src/ranks/comm/b.rs src/ranks/comm/c.rs"];
    let root3 = ("src/ranks/comm/mod.rs", "mod a; mod b; mod c; pub use a::A;");
    assert_eq!(
        found(&[root3, longer, ("src/ranks/comm/a.rs", "use super::b;"), ("src/ranks/comm/b.rs", "use super::c::f;")]),
        three
    );
    // A parent that builds its child, and a child that uses what the parent defines.
    let parent = ("src/ranks/comm/mod.rs", "mod a; pub use a::A; pub trait T {} fn build() -> A { A }");
    assert_eq!(
        found(&[parent, ("src/ranks/comm/a.rs", "use super::T; pub struct A;")]),
        ["src/ranks/comm/a.rs src/ranks/comm/mod.rs"]
    );
}

#[test]
fn what_is_no_circle_is_left_alone() {
    let found = |files: &[(&str, &str)]| {
        let sources: Vec<Source> = files.iter().map(|(path, text)| Source::new(path, text)).collect();
        circles(&sources)
    };
    let none: Vec<BTreeSet<String>> = Vec::new();
    let root = ("src/ranks/comm/mod.rs", "mod a; mod b; #[cfg(test)] mod tests; pub use a::A; pub use b::B;");
    let a = ("src/ranks/comm/a.rs", "use super::b::B; // use super::tests;\npub struct A(B);");
    assert_eq!(found(&[root, a, ("src/ranks/comm/b.rs", "#[cfg(test)]\nmod tests { use super::super::a::A; }")]), none);
    assert_eq!(found(&[root, a, ("src/ranks/comm/tests.rs", "use super::*;"), ("src/ranks/comm/b.rs", "use std::fmt;")]), none);
    assert_eq!(found(&[root, a, ("src/ranks/comm/b.rs", "const TEXT: &str = \"super::a::A\";")]), none);
}
