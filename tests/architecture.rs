//! The rules of the house, held against the source: which floor may name which, what is nobody's business, and form.
//!
//! Never runs the program. A rule is a function from a source file to complaints, and tested with a snippet that breaks it.

mod circles;
mod documents;
mod house;
mod modules;
mod source;

use std::collections::BTreeSet;
use std::path::Path;

use house::FLOORS;
use modules::{logic_without_drawing, said_once, screen_floors};
use source::{Source, dependencies, inside, sources};

/// The only users of a crate: (crate, where it may be named).
const OWNERS: [(&str, &[&str]); 8] = [
    (
        "tch",
        &[
            "src/ranks/trainer/",
            "src/ranks/bin/hvd-train.rs",
            "src/ranks/bin/hvd-measure/bench/",
            "src/ranks/bin/hvd-measure/feed.rs",
            "src/ranks/bin/hvd-measure/nvcnn/",
        ],
    ),
    ("safetensors", &["src/ranks/trainer/"]),
    ("crc32c", &["src/core/dataset/"]),
    ("cudarc", &["src/ranks/trainer/", "src/ranks/comm/nccl"]),
    ("mpi", &["src/ranks/comm/"]),
    ("ratatui", &["src/lab/tui/", "src/lab/bin/hvd-lab.rs"]),
    ("crossterm", &["src/lab/tui/", "src/lab/bin/hvd-lab.rs"]),
    ("nvml_wrapper", &["src/lab/telemetry/nvml"]),
];

/// What a place never does: (place, forbidden paths, why). What no place does is denied in lib.rs and Cargo.toml, to clippy.
const NEVER: [(&str, &[&str], &str); 2] = [
    (
        "src/core/domain/",
        &[
            "std::fs",
            "std::io",
            "std::net",
            "std::process",
            "std::env",
            "std::thread",
            "std::time::Instant",
            "std::time::SystemTime",
        ],
        "domain does no I/O and reads no clock",
    ),
    ("src/ranks/comm/", &["std::fs", "std::io", "std::net", "Tensor"], "comm knows no tensor, file or terminal"),
];

/// What the screen leaves to [`SCREEN_OUTSIDE`].
const SCREEN_NEVER: [&str; 9] =
    ["std::fs", "std::io", "std::process", "std::thread", "tokio", "await", "Instant::now", "SystemTime::now", "crate::host"];

/// The places of the screen that do I/O: its event loop, its threads and its files. Tests may too.
const SCREEN_OUTSIDE: [&str; 7] = [
    "src/lab/tui/mod.rs",
    "src/lab/tui/io/",
    "src/lab/tui/config.rs",
    "src/lab/tui/app/session.rs",
    "src/lab/tui/app/start.rs",
    "src/lab/tui/testing/",
    "src/lab/tui/tests",
];

/// Crates that the domain may use: std is no crate here, and serde_json only turns events into text and back.
const DOMAIN_CRATES: [&str; 2] = ["serde", "serde_json"];

/// Files that may be `unsafe`, each with its reason. That every block says SAFETY as well is asked by clippy.
const UNSAFE: [(&str, &str); 31] = [
    ("src/ranks/trainer/model/batch_norm.rs", "calls the C++ that does batch norm in one operation"),
    (
        "src/ranks/trainer/model/convolution.rs",
        "calls the C++ that convolves images of few channels, and takes over what it makes",
    ),
    ("src/ranks/trainer/model/fused.rs", "takes over the tensor that the C++ of a model has made"),
    ("src/ranks/trainer/model/max_pool.rs", "calls the C++ that pools, and computes its gradient in one pass"),
    (
        "src/ranks/trainer/model/bias_relu.rs",
        "calls the C++ that adds a bias and applies ReLU, and computes their gradients in one pass",
    ),
    ("src/ranks/trainer/event_secret.rs", "takes a variable out of the environment that the process began with"),
    ("src/ranks/trainer/pipeline/batch.rs", "lends each thread the memory of its own image of a batch"),
    ("src/ranks/trainer/pipeline/decode.rs", "calls the C beside it, which calls libjpeg"),
    ("src/ranks/trainer/pipeline/wide.rs", "calls what is compiled for AVX2 where the processor has it"),
    ("src/ranks/trainer/gradients.rs", "calls the C++ beside it, and makes regions of flat tensors"),
    ("src/ranks/trainer/distributed.rs", "lends flat tensors to collectives, and registers gradient hooks"),
    ("src/ranks/comm/region.rs", "lends raw tensor memory to a collective that runs beside backward"),
    ("src/core/host/shared_memory.rs", "maps memory that several processes share"),
    ("src/ranks/trainer/shared_gradients.rs", "makes regions of memory that the ranks of a host share"),
    ("tests/collectives/shared.rs", "lends parts of shared memory to started allreduces"),
    ("src/ranks/comm/mpi/request.rs", "keeps memory alive for MPI, which holds it after the call that gave it"),
    ("src/ranks/comm/mpi/operation.rs", "adds up numbers in a function that MPI calls"),
    ("src/ranks/comm/mpi/point_to_point.rs", "receives into and sends from the same numbers, in one round"),
    ("src/ranks/comm/mpi/library_allreduce.rs", "changes settings of MPI by its own interface"),
    ("tests/collectives/started.rs", "lends memory to started allreduces"),
    ("tests/collectives/measure.rs", "lends memory to started allreduces"),
    ("src/ranks/comm/nccl/library.rs", "opens NCCL and finds its functions"),
    ("src/ranks/comm/nccl.rs", "hands raw tensor memory to NCCL"),
    ("src/ranks/comm/nccl/memory.rs", "allocates memory of a GPU, and copies to and from it"),
    ("src/ranks/trainer/gpu_marks.rs", "names the stream that libtorch computes on to CUDA"),
    ("src/ranks/trainer/device.rs", "opens libtorch_cuda.so where a driver is, and sets the C allocator"),
    ("src/core/host/driver.rs", "opens the libraries of the NVIDIA driver"),
    ("src/core/host/numa/linux.rs", "asks the kernel where memory comes from, which only libc does"),
    ("python/src/ranks.rs", "keeps the communicator beside what refers to it, and frees it last"),
    ("tests/nccl.rs", "plays libtorch on a stand-in for CUDA"),
    ("tests/bench/rank_allreduce.rs", "lends memory to a collective that is started and finished"),
];

const MAX_LINES: usize = 399;
const MAX_TRAINER_LINES: usize = 250;

// ---------------------------------------------------------------------------------------------------------- the rules

type Rule = fn(&Source) -> Vec<String>;

const RULES: [(&str, Rule); 12] = [
    ("floors", floors),
    ("owners", owners),
    ("never", never),
    ("screen", screen),
    ("screen floors", screen_floors),
    ("screen logic", logic_without_drawing),
    ("domain crates", domain_crates),
    ("unsafe", unsafe_code),
    ("form", form),
    ("unfinished", unfinished),
    ("said once", said_once),
    ("the ten steps", ten_steps),
];

/// `comm` for src/ranks/comm/..., `host` for src/core/host.rs, nothing for the binaries and tests.
fn floor(source: &Source) -> Option<&str> {
    let floor = inside(&source.path)?.split(['/', '.']).next()?;
    FLOORS.iter().any(|(name, _)| *name == floor).then_some(floor)
}

/// Floors that the code names, as `crate::floor`, or by climbing up with `super`.
fn named_floors(source: &Source) -> BTreeSet<&'static str> {
    let depth = source.path.matches('/').count() - 1 - usize::from(source.path.ends_with("/mod.rs"));
    let floor_of = |path: &'_ String| {
        let parts: Vec<&str> = path.split("::").collect();
        let climbed = parts.iter().take_while(|part| **part == "super").count();
        let at = match parts[0] {
            "crate" => 1,
            _ if climbed >= depth.max(1) => climbed,
            _ => return None,
        };
        FLOORS.iter().map(|(floor, _)| *floor).find(|floor| parts.get(at) == Some(floor))
    };
    source.names.iter().filter_map(floor_of).collect()
}

/// Nobody names a floor above. That no tower names the other is the compiler's business: each is a crate.
fn floors(source: &Source) -> Vec<String> {
    let Some(own) = floor(source) else { return Vec::new() };
    let below = FLOORS.iter().filter(|(floor, _)| *floor == own).flat_map(|(_, below)| *below);
    let allowed: Vec<&str> = below.copied().chain([own]).collect();
    let named = named_floors(source).into_iter().filter(|floor| !allowed.contains(floor));
    named.map(|floor| format!("names the floor {floor}")).collect()
}

fn owners(source: &Source) -> Vec<String> {
    let inside = |places: &[&str]| !source.path.starts_with("src/") || places.iter().any(|place| source.path.starts_with(place));
    let strangers = OWNERS.iter().filter(|(name, places)| source.uses_crate(name) && !inside(places));
    strangers.map(|(name, places)| format!("names the crate {name}, which belongs to {}", places.join(" and "))).collect()
}

fn never(source: &Source) -> Vec<String> {
    let rules = NEVER.iter().filter(|(place, ..)| source.path.starts_with(place));
    let complaints = |(_, forbidden, why): &(&str, &[&str], &str)| {
        let named = forbidden.iter().filter(|name| source.names(name));
        named.map(|name| format!("names {name}: {why}")).collect::<Vec<_>>()
    };
    rules.flat_map(complaints).collect()
}

/// What the screen does and how it looks are functions of its state: keys, files and results come in as messages.
fn screen(source: &Source) -> Vec<String> {
    if !source.path.starts_with("src/lab/tui/")
        || source.path.contains("/tests")
        || SCREEN_OUTSIDE.iter().any(|place| source.path.starts_with(place))
    {
        return Vec::new();
    }
    let named = SCREEN_NEVER.iter().filter(|name| source.names(name));
    named.map(|name| format!("names {name}: the screen does no I/O, reads no clock and never waits")).collect()
}

fn domain_crates(source: &Source) -> Vec<String> {
    if floor(source) != Some("domain") {
        return Vec::new();
    }
    let dependencies = dependencies(include_str!("../src/core/Cargo.toml"));
    let named = dependencies.iter().filter(|name| source.uses_crate(name) && !DOMAIN_CRATES.contains(&name.as_str()));
    named.map(|name| format!("names the crate {name}: domain uses std and serde only")).collect()
}

fn unsafe_code(source: &Source) -> Vec<String> {
    let may_be = UNSAFE.iter().any(|(path, _)| *path == source.path);
    if source.names.contains("unsafe") && !may_be {
        return vec!["is unsafe, and not on the list of files that may be".into()];
    }
    Vec::new()
}

/// Short files, each opening with what it is for. What it never does stands there where that says something.
fn form(source: &Source) -> Vec<String> {
    let mut complaints = Vec::new();
    let lines = source.text.lines().count();
    if lines > MAX_LINES {
        complaints.push(format!("has {lines} lines, more than {MAX_LINES}"));
    }
    if !source.text.starts_with("//!") {
        complaints.push("does not open with //!".into());
    }
    complaints
}

/// Comments count here: a promise to come back is no better there.
fn unfinished(source: &Source) -> Vec<String> {
    let marks = [concat!("FIX", "ME"), concat!("XX", "X")];
    marks.iter().filter(|mark| source.text.contains(**mark)).map(|mark| format!("says {mark}")).collect()
}

/// The trainer is read in one sitting, and each step is found by its marker.
fn ten_steps(source: &Source) -> Vec<String> {
    if source.path != "src/ranks/bin/hvd-train.rs" {
        return Vec::new();
    }
    let lines = source.text.lines().count();
    let missing = (1..=10).map(|step| format!("// Step {step}/10: ")).filter(|marker| !source.text.contains(marker));
    let mut complaints: Vec<String> = missing.map(|marker| format!("has no marker `{}`", marker.trim())).collect();
    if lines > MAX_TRAINER_LINES {
        complaints.push(format!("has {lines} lines, more than {MAX_TRAINER_LINES}"));
    }
    complaints
}

fn complaints(source: &Source) -> Vec<String> {
    let all = RULES.iter().flat_map(|(rule, check)| check(source).into_iter().map(move |complaint| (rule, complaint)));
    all.map(|(rule, complaint)| format!("[{rule}] {} {complaint}", source.path)).collect()
}

// ---------------------------------------------------------------------------------------------------------- the tests

#[test]
fn the_source_keeps_the_rules() {
    let sources = sources();
    assert!(sources.len() > 30, "only {} files found", sources.len());
    let complaints: Vec<String> = sources.iter().flat_map(complaints).collect();
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn every_part_of_a_library_is_a_floor_with_rules() {
    let root = Path::new(env!("HVD_LAB_CHECKOUT")).join("src");
    let entries = ["core", "ranks", "lab"].into_iter().flat_map(|name| std::fs::read_dir(root.join(name)).unwrap());
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let is_known = |name: &String| {
        let floor = name.trim_end_matches(".rs");
        ["Cargo.toml", "bin", "build", "lib"].contains(&floor) || FLOORS.iter().any(|(known, _)| *known == floor)
    };
    let unknown: Vec<String> = names.filter(|name| !is_known(name)).collect();
    assert!(unknown.is_empty(), "say in FLOORS what these may name: {unknown:?}");
}

#[test]
fn the_lab_is_built_without_libtorch_and_mpi() {
    let core = dependencies(include_str!("../src/core/Cargo.toml"));
    let ranks = dependencies(include_str!("../src/ranks/Cargo.toml"));
    let lab = dependencies(include_str!("../src/lab/Cargo.toml"));
    let common = |these: &[String], others: &[&str]| these.iter().any(|name| others.contains(&name.as_str()));
    let (of_ranks, of_lab) = (["tch", "mpi", "cudarc", "hvd_lab_ranks"], ["ratatui", "crossterm", "tokio", "hvd_lab"]);
    assert!(common(&ranks, &of_ranks) && !common(&ranks, &of_lab), "{ranks:?}");
    assert!(common(&lab, &of_lab) && !common(&lab, &of_ranks), "{lab:?}");
    assert!(!common(&core, &of_lab) && !common(&core, &of_ranks), "{core:?}");
}

#[test]
fn every_rule_catches_what_it_forbids() {
    let good = "//! A file.\n";
    let cases: [(&str, &str, &str); 34] = [
        ("src/core/domain/x.rs", "use crate::comm::Rank;", "[floors]"),
        ("src/core/domain/x.rs", "fn f() { crate::host::now_s(); }", "names the floor host"),
        ("src/core/host.rs", "use crate::dataset::idx;", "names the floor dataset"),
        ("src/ranks/comm/x.rs", "fn f() { crate::trainer::go() }", "[floors]"),
        ("src/ranks/comm/mod.rs", "use super::{domain::step, trainer::config};", "names the floor trainer"),
        ("src/lab/runs/x.rs", "use super::super::launch::Setup;", "names the floor launch"),
        ("src/lab/runs/export/x.rs", "use crate::telemetry::probe;", "[floors]"),
        ("src/lab/launch/x.rs", "use crate::{domain::step::Step, course::Level};", "names the floor course"),
        ("src/lab/tui/x.rs", "use crate::cli;", "[floors]"),
        ("src/lab/telemetry/x.rs", "use crate::tui::State;", "[floors]"),
        ("src/lab/launch/x.rs", "use tch::Tensor;", "crate tch"),
        ("src/ranks/trainer/x.rs", "use ::mpi::traits::*;", "crate mpi"),
        ("src/lab/cli/x.rs", "fn f() { crossterm::terminal::size(); }", "crate crossterm"),
        ("src/lab/runs/x.rs", "use ratatui::style::{Color, Style};", "crate ratatui"),
        ("src/lab/telemetry/cpu.rs", "use nvml_wrapper::Nvml;", "crate nvml_wrapper"),
        ("src/core/domain/x.rs", "use std::{fmt, fs};", "names std::fs"),
        ("src/core/domain/x.rs", "fn f() { let _ = std::time::Instant::now(); }", "reads no clock"),
        ("src/core/domain/x.rs", "use sysinfo::System;", "[domain crates]"),
        ("src/ranks/comm/x.rs", "use std::fs::File;", "names std::fs"),
        ("src/ranks/comm/x.rs", "fn f(_: &Tensor) {}", "no tensor"),
        ("src/lab/tui/app/update.rs", "async fn f() { g().await }", "names await"),
        ("src/lab/tui/log/update.rs", "use std::time::Instant; fn f() { Instant::now(); }", "Instant::now"),
        ("src/lab/tui/chart/draw.rs", "use crate::host;", "names crate::host"),
        ("src/lab/tui/log/draw.rs", "use crate::tui::chart::state::Chart;", "names tui::chart, which log may not"),
        ("src/lab/tui/runs/x.rs", "use crate::tui::app::state::State;", "names tui::app"),
        ("src/lab/tui/widgets/x.rs", "use super::super::shared::state::Shared;", "names tui::shared, which widgets may not"),
        ("src/lab/tui/actions/x.rs", "use crate::tui::{log::state::Log};", "names tui::log, which actions may not"),
        ("src/lab/tui/io/x.rs", "fn f() { crate::tui::app::update::update() }", "names tui::app, which io may not"),
        ("src/lab/tui/log/update.rs", "use super::draw::lines;", "names draw: what a key does is decided"),
        ("src/lab/runs/x.rs", "fn f() { unsafe { g() } }", "[unsafe]"),
        ("src/lab/runs/x.rs", concat!("// FIX", "ME later"), "[unfinished]"),
        ("src/lab/runs/x.rs", "#[error(\"cannot read: {source}\")]", "says its source in the text"),
        ("src/ranks/bin/hvd-train.rs", "// Step 1/10: init", "no marker `// Step 2/10:`"),
        ("tests/x.rs", &"\n".repeat(400), "has 401 lines"),
    ];
    for (path, snippet, expected) in cases {
        let found = complaints(&Source::new(path, &format!("{good}{snippet}")));
        assert!(found.iter().any(|complaint| complaint.contains(expected)), "{path}: {snippet}: {found:?}");
    }
    assert!(!complaints(&Source::new("src/lab/runs/x.rs", "fn f() {}")).is_empty(), "no opening");
}

#[test]
fn no_rule_complains_about_what_is_allowed() {
    let safe = "// SAFETY: as the manual says.\nlet x = unsafe { g() };";
    let cases = [
        (
            "src/ranks/comm/mpi.rs",
            "//! No tensor, std::fs or println! here. Never.\nuse ::mpi::traits::*;\nconst A: &str = \"unsafe todo!()\";"
                .to_owned(),
        ),
        ("src/ranks/comm/x.rs", "//! Never.\nmod mpi;\nuse super::launched_index; // unsafe, tch::Tensor".into()),
        ("src/ranks/trainer/device.rs", format!("//! Never.\nfn f() {{\n{safe}\n}}")),
        ("src/lab/tui/app/update.rs", "//! Never.\nuse std::time::Duration; use crate::runs::Store;".into()),
        ("src/lab/tui/io/x.rs", "//! Never.\nuse std::io; async fn f() { g().await }".into()),
        ("tests/x.rs", "//! A test.\nuse tch::Tensor; fn f() { println!(); }".into()),
    ];
    for (path, text) in cases {
        assert_eq!(complaints(&Source::new(path, &text)), Vec::<String>::new());
    }
}
