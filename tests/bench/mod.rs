//! The benchmark: hvd-train, hvd-lab, raw MPI, PyTorch DDP and Keras on Horovod side by side, in one go, as one table of ratios.
//!
//! Never runs two things at a time, and never runs one thing in a block: every round runs each case once, every other
//! round in reverse, so that a machine that grows slower or faster does so for both sides of a ratio.

pub mod allreduce;
pub mod bound;
pub mod figures;
pub mod models;
pub mod options;
pub mod photos;
mod place;
pub mod process;
pub mod rows;
mod scale;
mod screen;
mod store;
pub mod table;
pub mod training;

use std::time::Instant;

use bound::Bound;
use figures::{Round, Rounds};
use hvd_lab_terminal::domain::benchmark::NumberFormat;
use models::Measured;
use options::{Options, Scale, Section, Vectors};
use place::{Load, Place};
use serde_json::json;
use table::Report;
use training::{Engine, Training, Work};

/// One thing that is run in each round.
#[derive(Clone, Copy, Debug)]
enum Case {
    Training(Training),
    Model(Measured),
    Bound(Bound),
    Photos,
    Allreduce,
    Screen,
    Cluster,
}

impl Case {
    fn name(&self) -> String {
        match self {
            Case::Training(training) => training.to_string(),
            Case::Model(measured) => measured.to_string(),
            Case::Bound(bound) => format!("{}, and its convolutions alone", bound.what()),
            Case::Photos => "the image pipeline".into(),
            Case::Allreduce => "allreduce".into(),
            Case::Screen => "hvd-lab".into(),
            Case::Cluster => "512 ranks".into(),
        }
    }

    fn run(&self, place: &Place, scale: &Scale) -> Result<Round, String> {
        match self {
            Case::Training(training) => {
                let figures = training.run(place, scale)?;
                Ok(figures.into_iter().map(|(what, value)| (rows::figure(*training, &what), value)).collect())
            }
            Case::Model(measured) => measured.run(place, scale),
            Case::Bound(bound) => bound.run(place, scale),
            Case::Photos => photos::run(place, scale),
            Case::Allreduce => allreduce::run(place, scale),
            Case::Screen => screen::run(scale),
            Case::Cluster => scale::run(scale),
        }
    }
}

/// Measures what is asked for; tells its progress on stderr.
///
/// # Errors
/// Only where nothing can be measured at all: what fails in between is in the report.
pub fn run(options: &Options, with_peer: bool) -> Result<Report, String> {
    let scale = options.scale();
    let place = Place::find(with_peer)?;
    let mut left_out = Vec::new();
    let cases = cases(options, &scale, &place, &mut left_out);
    let load = Load::now(place.setup.machine.cores);
    let mut warnings = warnings(options, &place, &load);
    warnings.iter().for_each(|warning| eprintln!("bench: {warning}"));

    let began = Instant::now();
    let (mut rounds, mut failures) = (Rounds::default(), Vec::new());
    for index in 0..scale.rounds {
        let mut order = cases.clone();
        if index % 2 == 1 {
            order.reverse();
        }
        let mut round = Round::new();
        for (at, &(case, vectors)) in order.iter().enumerate() {
            let name = format!("{}{}", vectors.prefix(), case.name());
            eprintln!("bench: round {}/{}, {}/{}: {name}", index + 1, scale.rounds, at + 1, order.len());
            match case.run(&place, &Scale { vectors, ..scale }) {
                Ok(figures) => {
                    round.extend(figures.into_iter().map(|(what, value)| (format!("{}{what}", vectors.prefix()), value)));
                }
                Err(why) => {
                    eprintln!("bench: {why}");
                    failures.push(format!("{name}, round {}: {}", index + 1, place.shown(&why)));
                }
            }
        }
        rounds.0.push(round);
    }
    if options.quick {
        warnings.insert(0, "A quick run: it shows that the benchmark works, not how fast anything is.".into());
    }
    let mut machine = place.machine();
    machine["images"] = json!(place.images_label());
    machine["load_average"] = json!(load.average);
    machine["cores_in_use"] = json!(load.cores_in_use);
    let (took_seconds, rows) = (began.elapsed().as_secs_f64(), rows::rows(&rounds, &scale));
    Ok(Report {
        machine,
        command: options.command(),
        lines: lines(&cases, &place, &scale),
        warnings,
        rounds,
        took_seconds,
        rows,
        left_out,
        failures,
    })
}

/// What there is to run, by which vectors, and what is left out and why.
fn cases(options: &Options, scale: &Scale, place: &Place, left_out: &mut Vec<String>) -> Vec<(Case, Vectors)> {
    let mut cases = Vec::new();
    let mut limited = Vec::new();
    let mut peers = |work: Work| {
        let mut engines = Vec::new();
        let all = [("PyTorch DDP", vec![Engine::Ddp, Engine::TunedDdp]), ("Keras on Horovod", vec![Engine::Keras])];
        for (name, of_peer) in all {
            let problem = match (place.peer(of_peer[0]), work == Work::FixedBatch || place.images.is_some()) {
                (Err(why), _) => why.clone(),
                (Ok(_), false) => "it reads the real files, and they are not here: HVD_LAB_TEST_DATA names them".to_owned(),
                (Ok(_), true) => {
                    engines.extend(of_peer);
                    continue;
                }
            };
            let entry = format!("{name}: {problem}");
            if !left_out.contains(&entry) {
                left_out.push(entry);
            }
        }
        engines
    };
    let training = |engine, model, np, work| Case::Training(Training { engine, model, np, work });
    for (section, work) in [(Section::Data, Work::Pipeline), (Section::Synthetic, Work::FixedBatch)] {
        if !options.wants(section) {
            continue;
        }
        let engines: Vec<Engine> = [Engine::HvdTrain].into_iter().chain(peers(work)).collect();
        for &model in scale.models {
            for np in [1, 2] {
                // On a fixed batch the peer is there to tell the pipelines' part, for which one size is enough.
                let wanted =
                    |engine: &&Engine| !engine.is_peer() || work == Work::Pipeline || (np == 2 && model == scale.models[0]);
                cases.extend(engines.iter().filter(wanted).map(|&engine| training(engine, model, np, work)));
            }
        }
        if work == Work::Pipeline {
            cases.extend(scale.models.iter().map(|&model| training(Engine::Apart, model, 2, work)));
            cases.extend(rows::OVERSUBSCRIBED.map(|np| training(Engine::HvdTrain, scale.models[0], np, work)));
        }
    }
    let is_limited = options.wants(Section::Avx2) && has_wider_vectors();
    if is_limited {
        let engines: Vec<Engine> = [Engine::HvdTrain].into_iter().chain(peers(Work::Pipeline)).collect();
        let of_np = |np| engines.iter().map(move |&engine| training(engine, scale.models[0], np, Work::Pipeline));
        limited.extend([1, 2].into_iter().flat_map(of_np));
        let one_rank = |measured: &Measured| measured.np == 1 && measured.precision == NumberFormat::Fp32;
        limited.extend(models::all(scale.shapes, place.torch.is_ok()).into_iter().filter(one_rank).map(Case::Model));
    }
    if options.wants(Section::Start) {
        let engines = [Engine::HvdTrain].into_iter().chain(peers(Work::FirstStep));
        cases.extend(engines.map(|engine| training(engine, scale.models[0], 2, Work::FirstStep)));
    }
    if options.wants(Section::Overlap) {
        for &model in scale.models {
            // The other side of these ratios, where the fixed batch is not measured anyway.
            if !options.wants(Section::Synthetic) {
                cases.push(training(Engine::HvdTrain, model, 2, Work::FixedBatch));
            }
            for engine in [Engine::WithoutOverlap, Engine::WithoutFusion] {
                let flag = engine.flags()[0];
                if place.help.contains(flag) {
                    cases.push(training(engine, model, 2, Work::FixedBatch));
                } else if model == scale.models[0] {
                    left_out.push(format!("hvd-train {flag}: this hvd-train has no such flag"));
                }
            }
        }
    }
    if options.wants(Section::Bound) {
        match place.convolutions.is_file() {
            true => cases.extend(Bound::PRECISIONS.map(|precision| Case::Bound(Bound { model: scale.models[0], precision }))),
            false => left_out.push("the convolutions alone: there is no bench-convolutions; `make bench` builds it".into()),
        }
    }
    if options.wants(Section::Models) {
        cases.extend(models::all(scale.shapes, place.torch.is_ok()).into_iter().map(Case::Model));
        left_out.extend(place.torch.as_ref().err().map(|why| format!("PyTorch on one rank: {why}")));
    }
    if options.wants(Section::Images) {
        match place.images_program.is_file() {
            true => cases.push(Case::Photos),
            false => left_out.push("the image pipeline: there is no bench-images; `make bench` builds it".into()),
        }
        left_out.extend(place.pipelines.as_ref().err().map(|why| format!("tf.data and torchvision: {why}")));
    }
    cases.extend(options.wants(Section::Allreduce).then_some(Case::Allreduce));
    cases.extend(options.wants(Section::Screen).then_some(Case::Screen));
    cases.extend(options.wants(Section::Scale).then_some(Case::Cluster));
    if options.wants(Section::Avx2) && !is_limited {
        left_out.push("rows limited to AVX2: this processor has no wider vectors".into());
    }
    let cases = cases.into_iter().map(|case| (case, Vectors::All));
    cases.chain(limited.into_iter().map(|case| (case, Vectors::Avx2))).collect()
}

fn has_wider_vectors() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx512f");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

fn warnings(options: &Options, place: &Place, load: &Load) -> Vec<String> {
    let mut warnings = Vec::new();
    if load.is_busy() {
        warnings.push(format!(
            "The machine was busy before the start (load average {:.2}, {:.1} cores in use): ratios say little. (A build that has just ended counts: wait a minute then.)",
            load.average, load.cores_in_use
        ));
    }
    if place.setup.machine.physical_cores < 2 && !options.quick {
        warnings.push("2 ranks share one physical core here: scaling says nothing.".into());
    }
    warnings
}

/// One command line of each program, as others would type it.
fn lines(cases: &[(Case, Vectors)], place: &Place, scale: &Scale) -> Vec<String> {
    let mut lines: Vec<((Engine, Vectors), String)> = Vec::new();
    for &(case, vectors) in cases {
        let Case::Training(training) = case else { continue };
        let (kind, scale) = ((training.engine, vectors), &Scale { vectors, ..*scale });
        let is_first = training.np == 2 && !lines.iter().any(|(other, _)| *other == kind);
        let line = match (place.peer(training.engine), training.engine.is_peer()) {
            (Ok(peer), true) => Some(training.peer_line(place, peer, scale)),
            _ => training.line(place, scale).ok(),
        };
        lines.extend(line.filter(|_| is_first).map(|line| (kind, place.shown(&line.to_shell()))));
    }
    for (case, vectors) in cases {
        let Case::Bound(bound) = case else { continue };
        let alone = bound.sides().iter().map(|&side| bound.line(side, place, scale));
        let all = bound.training().line(place, scale).into_iter().chain(alone);
        lines.extend(all.map(|line| ((bound.training().engine, *vectors), place.shown(&line.to_shell()))));
    }
    let mut models: Vec<((models::Engine, Vectors), String)> = Vec::new();
    for &(case, vectors) in cases {
        let Case::Model(measured) = case else { continue };
        let kind = (measured.engine, vectors);
        if models.iter().all(|(other, _)| *other != kind)
            && let Ok(line) = measured.line(place, &Scale { vectors, ..*scale })
        {
            models.push((kind, place.shown(&line.to_shell())));
        }
    }
    let of_training = lines.into_iter().map(|(_, line)| line);
    of_training.chain(models.into_iter().map(|(_, line)| line)).collect()
}
