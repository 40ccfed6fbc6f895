//! The rules of the house, held against the source: which floor may name which, what is nobody's business, and form.
//!
//! Never runs the program. A rule is a function from a source file to complaints, and tested with a snippet that breaks it.

#![allow(clippy::unwrap_used)]

#[path = "architecture/circles.rs"]
mod circles;
#[path = "architecture/documents.rs"]
mod documents;
#[path = "architecture/house.rs"]
mod house;
#[path = "architecture/modules.rs"]
mod modules;
#[path = "architecture/source.rs"]
mod source;

use std::collections::BTreeSet;
use std::path::Path;

use house::FLOORS;
use modules::{logic_without_drawing, said_once, screen_floors};
use source::{Source, dependencies, feature, sources};

/// The only users of a crate: (crate, where it may be named).
const OWNERS: [(&str, &[&str]); 9] = [
    ("tch", &["src/trainer/", "src/bin/hvd-train.rs", "src/bin/hvd-bench/", "src/bin/hvd-nvcnn/"]),
    ("safetensors", &["src/trainer/"]),
    ("crc32c", &["src/dataset/tfrecord.rs"]),
    ("cudarc", &["src/trainer/", "src/comm/nccl"]),
    ("mpi", &["src/comm/"]),
    ("ratatui", &["src/tui/", "src/bin/hvd-lab.rs"]),
    ("crossterm", &["src/tui/", "src/bin/hvd-lab.rs"]),
    ("nvml_wrapper", &["src/telemetry/nvml"]),
    ("sysinfo", &["src/host/"]),
];

/// They panic when standard error is closed, and print escape sequences as they come.
const PRINTING: [&str; 4] = ["println!", "print!", "eprintln!", "eprint!"];

/// What a place never does: (place, its test modules too?, forbidden paths and macros, why).
const NEVER: [(&str, &[&str], &str); 6] = [
    (
        "src/domain/",
        &[
            "std::fs",
            "std::io",
            "std::net",
            "std::process",
            "std::env",
            "std::thread",
            "std::time::Instant",
            "std::time::SystemTime",
            "println!",
            "print!",
            "eprintln!",
            "eprint!",
        ],
        "domain does no I/O and reads no clock",
    ),
    (
        "src/comm/",
        &["std::fs", "std::io", "std::net", "println!", "print!", "eprintln!", "eprint!", "Tensor"],
        "comm knows no tensor, file or terminal",
    ),
    ("src/cli/", &PRINTING, "cli::output prints, and makes it safe"),
    ("src/tui/", &PRINTING, "the screen draws"),
    ("src/bin/hvd-lab", &PRINTING, "cli::output prints, and makes it safe"),
    ("", &["todo!", "unimplemented!", "dbg!"], "what is not done is not landed"),
];

/// What the screen leaves to [`SCREEN_OUTSIDE`].
const SCREEN_NEVER: [&str; 9] =
    ["std::fs", "std::io", "std::process", "std::thread", "tokio", "await", "Instant::now", "SystemTime::now", "crate::host"];

/// The places of the screen that do I/O: its event loop, its threads and its files. Tests may too.
const SCREEN_OUTSIDE: [&str; 7] = [
    "src/tui/mod.rs",
    "src/tui/io/",
    "src/tui/config.rs",
    "src/tui/app/session.rs",
    "src/tui/app/start.rs",
    "src/tui/testing/",
    "src/tui/tests",
];

/// Crates that the domain may use: std is no crate here, and serde_json only turns events into text and back.
const DOMAIN_CRATES: [&str; 2] = ["serde", "serde_json"];

/// Files that may be `unsafe`, each with its reason. Every block says SAFETY beside it as well.
const UNSAFE: [(&str, &str); 28] = [
    ("src/trainer/model/batch_norm.rs", "calls the C++ that does batch norm in one operation"),
    ("src/trainer/model/convolution.rs", "calls the C++ that convolves images of few channels, and takes over what it makes"),
    ("src/trainer/model/fused.rs", "takes over the tensor that the C++ of a model has made"),
    ("src/trainer/model/max_pool.rs", "calls the C++ that pools, and computes its gradient in one pass"),
    (
        "src/trainer/model/bias_relu.rs",
        "calls the C++ that adds a bias and applies ReLU, and computes their gradients in one pass",
    ),
    ("src/trainer/event_secret.rs", "takes a variable out of the environment that the process began with"),
    ("src/trainer/pipeline/batch.rs", "lends each thread the memory of its own image of a batch"),
    ("src/trainer/pipeline/decode.rs", "calls the C beside it, which calls libjpeg"),
    ("src/trainer/pipeline/wide.rs", "calls what is compiled for AVX2 where the processor has it"),
    ("src/trainer/gradients.rs", "calls the C++ beside it, and makes regions of flat tensors"),
    ("src/trainer/distributed.rs", "lends flat tensors to collectives, and registers gradient hooks"),
    ("src/comm/region.rs", "lends raw tensor memory to a collective that runs beside backward"),
    ("src/comm/mpi/request.rs", "keeps memory alive for MPI, which holds it after the call that gave it"),
    ("src/comm/mpi/operation.rs", "adds up numbers in a function that MPI calls"),
    ("src/comm/mpi/point_to_point.rs", "receives into and sends from the same numbers, in one round"),
    ("src/comm/mpi/library_allreduce.rs", "changes settings of MPI by its own interface"),
    ("tests/collectives/started.rs", "lends memory to started allreduces"),
    ("tests/collectives/measure.rs", "lends memory to started allreduces"),
    ("src/comm/nccl/library.rs", "opens NCCL and finds its functions"),
    ("src/comm/nccl.rs", "hands raw tensor memory to NCCL"),
    ("src/comm/nccl/memory.rs", "allocates memory of a GPU, and copies to and from it"),
    ("src/trainer/gpu_marks.rs", "names the stream that libtorch computes on to CUDA"),
    ("src/trainer/device.rs", "opens libtorch_cuda.so where a driver is, and sets the C allocator"),
    ("src/host/driver.rs", "opens the libraries of the NVIDIA driver"),
    ("src/host/numa/linux.rs", "asks the kernel where memory comes from, which only libc does"),
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

/// Derived from the trainer: the learner's exercise and its solutions.
fn is_derived(path: &str) -> bool {
    path.starts_with("lessons/") || path.starts_with("solutions/")
}

/// `comm` for src/comm/..., `host` for src/host.rs, nothing for the binaries and tests.
fn floor(source: &Source) -> Option<&str> {
    let floor = source.path.strip_prefix("src/")?.split(['/', '.']).next()?;
    FLOORS.iter().any(|(name, _)| *name == floor).then_some(floor)
}

/// Floors that the code names, as `crate::floor`, `hvd_lab::floor`, or by climbing up with `super`.
fn named_floors(source: &Source) -> BTreeSet<&'static str> {
    let depth = source.path.matches('/').count() - usize::from(source.path.ends_with("/mod.rs"));
    let floor_of = |path: &'_ String| {
        let parts: Vec<&str> = path.split("::").collect();
        let climbed = parts.iter().take_while(|part| **part == "super").count();
        let at = match parts[0] {
            "crate" | "hvd_lab" => 1,
            _ if climbed >= depth.max(1) => climbed,
            _ => return None,
        };
        FLOORS.iter().map(|(floor, _)| *floor).find(|floor| parts.get(at) == Some(floor))
    };
    source.names.iter().filter_map(floor_of).collect()
}

/// Towers never name each other, and nobody names a floor above.
fn floors(source: &Source) -> Vec<String> {
    let allowed: Vec<&str> = match source.path.as_str() {
        // The exercise and the solutions are the trainer with some steps on, and for Python it comes in pieces.
        path if path == "src/bin/hvd-train.rs" || is_derived(path) || path.starts_with("python/") => {
            vec!["domain", "dataset", "comm", "trainer"]
        }
        "src/bin/hvd-lab.rs" => vec!["domain", "dataset", "runs", "launch", "telemetry", "course", "tui", "cli"],
        _ => match floor(source) {
            Some(own) => {
                FLOORS.iter().filter(|(floor, _)| *floor == own).flat_map(|(_, below)| *below).copied().chain([own]).collect()
            }
            None => return Vec::new(),
        },
    };
    named_floors(source)
        .into_iter()
        .filter(|floor| !allowed.contains(floor))
        .map(|floor| format!("names the floor {floor}"))
        .collect()
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
    if !source.path.starts_with("src/tui/")
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
    let dependencies = dependencies(include_str!("../Cargo.toml"));
    let named = dependencies.iter().filter(|name| source.uses_crate(name) && !DOMAIN_CRATES.contains(&name.as_str()));
    named.map(|name| format!("names the crate {name}: domain uses std and serde only")).collect()
}

fn unsafe_code(source: &Source) -> Vec<String> {
    if !source.names.contains("unsafe") {
        return Vec::new();
    }
    if !UNSAFE.iter().any(|(path, _)| *path == source.path) {
        return vec!["is unsafe, and not on the list of files that may be".into()];
    }
    let lines: Vec<&str> = source.text.lines().collect();
    let code = |line: &str| {
        !line.trim_start().starts_with("//") && line.split(|c: char| !c.is_alphanumeric()).any(|word| word == "unsafe")
    };
    let reasoned = |at: usize| lines[at.saturating_sub(3)..at].iter().any(|line| line.contains("// SAFETY:"));
    let bare = lines.iter().enumerate().filter(|(at, line)| code(line) && !reasoned(*at));
    bare.map(|(at, _)| format!("line {} is unsafe without a SAFETY comment above", at + 1)).collect()
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
    if source.path != "src/bin/hvd-train.rs" {
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
fn every_part_of_the_library_is_a_floor_with_rules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let names = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let is_known = |name: &String| {
        let floor = name.trim_end_matches(".rs");
        ["bin", "lib"].contains(&floor) || FLOORS.iter().any(|(known, _)| *known == floor)
    };
    let unknown: Vec<String> = names.filter(|name| !is_known(name)).collect();
    assert!(unknown.is_empty(), "say in FLOORS what these may name: {unknown:?}");
}

#[test]
fn the_lab_is_built_without_libtorch_and_mpi() {
    let manifest = include_str!("../Cargo.toml");
    let (lab, train) = (feature(manifest, "lab"), feature(manifest, "train"));
    assert!(lab.contains(&"ratatui") && train.contains(&"tch") && train.contains(&"mpi"));
    for crate_name in ["tch", "mpi", "cudarc", "safetensors"] {
        assert!(!lab.contains(&crate_name), "the feature lab pulls {crate_name}");
        let line = manifest.lines().find(|line| line.starts_with(&format!("{crate_name} = "))).unwrap();
        assert!(line.contains("optional = true"), "{line}");
    }
    assert!(!train.contains(&"ratatui") && !train.contains(&"crossterm"));
}

#[test]
fn every_rule_catches_what_it_forbids() {
    let good = "//! A file.\n";
    let cases: [(&str, &str, &str); 42] = [
        ("src/domain/x.rs", "use crate::comm::Rank;", "[floors]"),
        ("src/domain/x.rs", "fn f() { crate::host::now_s(); }", "names the floor host"),
        ("src/host.rs", "use crate::dataset::idx;", "names the floor dataset"),
        ("src/comm/x.rs", "fn f() { crate::trainer::go() }", "[floors]"),
        ("src/comm/mod.rs", "use super::{domain::step, launch::start};", "names the floor launch"),
        ("src/comm/x.rs", "use super::super::runs::Store;", "names the floor runs"),
        ("src/trainer/x.rs", "use crate::{domain::step::Step, tui};", "names the floor tui"),
        ("src/trainer/model/x.rs", "use crate::telemetry::probe;", "[floors]"),
        ("src/launch/x.rs", "use crate::trainer::config::Config;", "[floors]"),
        ("src/tui/x.rs", "use crate::comm;", "[floors]"),
        ("src/telemetry/x.rs", "use crate::tui::State;", "[floors]"),
        ("src/bin/hvd-lab.rs", "use hvd_lab::comm::connect;", "[floors]"),
        ("src/bin/hvd-train.rs", "use hvd_lab::launch::start;", "[floors]"),
        ("solutions/x.rs", "use hvd_lab::launch::start;", "names the floor launch"),
        ("src/launch/x.rs", "use tch::Tensor;", "crate tch"),
        ("src/trainer/x.rs", "use ::mpi::traits::*;", "crate mpi"),
        ("src/cli/x.rs", "fn f() { crossterm::terminal::size(); }", "crate crossterm"),
        ("src/runs/x.rs", "use ratatui::style::{Color, Style};", "crate ratatui"),
        ("src/telemetry/cpu.rs", "use nvml_wrapper::Nvml;", "crate nvml_wrapper"),
        ("src/domain/x.rs", "use std::{fmt, fs};", "names std::fs"),
        ("src/domain/x.rs", "fn f() { let _ = std::time::Instant::now(); }", "reads no clock"),
        ("src/domain/x.rs", "fn f() { println!(\"x\"); }", "names println!"),
        ("src/cli/x.rs", "fn f() { eprintln!(\"x\"); }", "names eprintln!"),
        ("src/domain/x.rs", "use anyhow::Context;", "[domain crates]"),
        ("src/comm/x.rs", "use std::fs::File;", "names std::fs"),
        ("src/comm/x.rs", "fn f(_: &Tensor) {}", "no tensor"),
        ("src/tui/app/update.rs", "async fn f() { g().await }", "names await"),
        ("src/tui/log/update.rs", "use std::time::Instant; fn f() { Instant::now(); }", "Instant::now"),
        ("src/tui/chart/draw.rs", "use crate::host;", "names crate::host"),
        ("src/tui/log/draw.rs", "use crate::tui::chart::state::Chart;", "names tui::chart, which log may not"),
        ("src/tui/runs/x.rs", "use crate::tui::app::state::State;", "names tui::app"),
        ("src/tui/widgets/x.rs", "use super::super::shared::state::Shared;", "names tui::shared, which widgets may not"),
        ("src/tui/actions/x.rs", "use crate::tui::{log::state::Log};", "names tui::log, which actions may not"),
        ("src/tui/io/x.rs", "fn f() { crate::tui::app::update::update() }", "names tui::app, which io may not"),
        ("src/tui/log/update.rs", "use super::draw::lines;", "names draw: what a key does is decided"),
        ("src/runs/x.rs", "fn f() { todo!() }", "names todo!"),
        ("src/runs/x.rs", "fn f() { unsafe { g() } }", "[unsafe]"),
        ("src/trainer/device.rs", "fn f() { unsafe { g() } }", "line 2 is unsafe without"),
        ("src/runs/x.rs", concat!("// FIX", "ME later"), "[unfinished]"),
        ("src/runs/x.rs", "#[error(\"cannot read: {source}\")]", "says its source in the text"),
        ("src/bin/hvd-train.rs", "// Step 1/10: init", "no marker `// Step 2/10:`"),
        ("tests/x.rs", &"\n".repeat(400), "has 401 lines"),
    ];
    for (path, snippet, expected) in cases {
        let found = complaints(&Source::new(path, &format!("{good}{snippet}")));
        assert!(found.iter().any(|complaint| complaint.contains(expected)), "{path}: {snippet}: {found:?}");
    }
    assert!(!complaints(&Source::new("src/runs/x.rs", "fn f() {}")).is_empty(), "no opening");
}

#[test]
fn no_rule_complains_about_what_is_allowed() {
    let safe = "// SAFETY: as the manual says.\nlet x = unsafe { g() };";
    let cases = [
        (
            "src/comm/mpi.rs",
            "//! No tensor, std::fs or println! here. Never.\nuse ::mpi::traits::*;\nconst A: &str = \"unsafe todo!()\";"
                .to_owned(),
        ),
        ("src/comm/x.rs", "//! Never.\nmod mpi;\nuse super::launched_index; // unsafe, tch::Tensor".into()),
        ("src/trainer/device.rs", format!("//! Never.\nfn f() {{\n{safe}\n}}")),
        ("src/tui/app/update.rs", "//! Never.\nuse std::time::Duration; use crate::runs::Store;".into()),
        ("src/tui/io/x.rs", "//! Never.\nuse std::io; async fn f() { g().await }".into()),
        ("tests/x.rs", "//! A test.\nuse tch::Tensor; fn f() { println!(); }".into()),
    ];
    for (path, text) in cases {
        assert_eq!(complaints(&Source::new(path, &text)), Vec::<String>::new());
    }
}
