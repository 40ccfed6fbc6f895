//! The rows of the table: which figures stand beside which, and what is demanded of them.
//!
//! Never measures and never formats a table. A ratio above 1 means that what stands first is the better one.

use hvd_lab_terminal::domain::benchmark::NumberFormat;
use serde::Serialize;

use super::allreduce::{self, SIZES};
use super::bound::{Bound, Side};
use super::figures::{Rounds, Spread};
use super::models::{self, Engine as ModelEngine, Measured, Shape};
use super::options::{Model, Scale, Vectors};
use super::photos::{self, Operations};
use super::training::{Engine, Training, Work};

#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub what: String,
    pub ours: Value,
    /// What it is measured against.
    pub beside: Option<Value>,
    /// How many times better ours is, within each round.
    pub ratio: Option<Spread>,
    pub target: Option<Target>,
}

/// Medians and spreads with their unit.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Value {
    pub unit: Unit,
    pub spread: Spread,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    ImagesPerSec,
    Seconds,
    Bytes,
    /// Of 1, shown in percent.
    Share,
    /// Seconds of an allreduce of so many bytes, shown with its bus bandwidth.
    Allreduce(usize),
}

/// What the design demands.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    RatioAtLeast(f64),
    AtMost(f64),
}

impl Row {
    /// `None` where nothing is demanded, or nothing was measured to hold against it.
    pub fn meets(&self) -> Option<bool> {
        match self.target? {
            Target::RatioAtLeast(least) => Some(self.ratio?.median >= least),
            Target::AtMost(most) => Some(self.ours.spread.median <= most),
        }
    }
}

/// Every row that there are figures for.
pub fn rows(rounds: &Rounds, scale: &Scale) -> Vec<Row> {
    let table = Table { rounds, vectors: Vectors::All };
    let mut rows = Vec::new();
    for work in [Work::Pipeline, Work::FixedBatch] {
        for &model in scale.models {
            for np in [1, 2] {
                rows.extend(table.throughput(work, model, np));
            }
            rows.extend(table.scaling(work, model));
        }
    }
    let run = |engine, model, np| Training { engine, model, np, work: Work::Pipeline };
    for &model in scale.models {
        let pair = [Engine::HvdTrain, Engine::Apart].map(|engine| run(engine, model, 2));
        rows.extend(table.against_itself(", against two ranks that exchange nothing", pair, 0.97));
    }
    for np in OVERSUBSCRIBED {
        let pair = [np, 2].map(|np| run(Engine::HvdTrain, scale.models[0], np));
        rows.extend(table.against_itself(" against np 2", pair, 1.0));
    }
    for &model in scale.models {
        rows.extend(table.shares(model));
    }
    rows.extend(limited(rounds, scale));
    rows.extend(table.memory(scale.models[0]));
    rows.extend(table.first_step(scale.models[0]));
    for &model in scale.models {
        rows.extend(table.switches(model));
    }
    rows.extend(table.bounds(scale.models[0]));
    for &shape in scale.shapes {
        rows.extend(table.models(shape));
    }
    for operations in Operations::ALL {
        rows.extend(table.photos(operations));
    }
    for bytes in SIZES {
        rows.extend(["blocking", "started", "shared"].into_iter().filter_map(|kind| table.allreduce(kind, bytes)));
    }
    rows.extend(table.screen());
    rows.extend(table.cluster());
    rows
}

/// Ranks that take turns on the cores of a small machine.
pub const OVERSUBSCRIBED: [usize; 2] = [4, 8];

const KEY_TO_FRAME: &str = "screen: key_to_frame_p99_s";

/// Training and models with AVX2.
fn limited(rounds: &Rounds, scale: &Scale) -> impl Iterator<Item = Row> {
    let vectors = Vectors::Avx2;
    let rounds = rounds.of(vectors.prefix());
    let table = Table { rounds: &rounds, vectors };
    let mut rows = Vec::new();
    for np in [1, 2] {
        rows.extend(table.throughput(Work::Pipeline, scale.models[0], np));
    }
    for &shape in scale.shapes {
        rows.extend(table.models(shape));
    }
    rows.into_iter().map(move |row| Row { what: format!("{}{}", vectors.prefix(), row.what), ..row })
}

struct Table<'a> {
    rounds: &'a Rounds,
    /// What the programs computed with: more is demanded of wide vectors.
    vectors: Vectors,
}

impl Table<'_> {
    fn value(&self, unit: Unit, name: &str) -> Option<Value> {
        Some(Value { unit, spread: self.rounds.figure(name)? })
    }

    /// A row of two figures of which more is better, or less.
    fn row(&self, what: String, unit: Unit, more_is_better: bool, ours: &str, beside: &str) -> Option<Row> {
        let (over, under) = if more_is_better { (ours, beside) } else { (beside, ours) };
        Some(Row {
            what,
            ours: self.value(unit, ours)?,
            beside: self.value(unit, beside),
            ratio: self.rounds.ratio(over, under),
            target: None,
        })
    }

    /// A row without anything beside.
    fn alone(&self, what: String, unit: Unit, ours: &str, target: Option<Target>) -> Option<Row> {
        Some(Row { what, ours: self.value(unit, ours)?, beside: None, ratio: None, target })
    }

    fn throughput(&self, work: Work, model: Model, np: usize) -> Vec<Row> {
        let name = |engine| figure(Training { engine, model, np, work }, "images_per_sec");
        let (ours, on) = (name(Engine::HvdTrain), if work == Work::Pipeline { "real data" } else { "a fixed batch" });
        let what = |peer: &str| format!("images/s on {on}, {}, np {np}{peer}", model.name);
        let [as_it_comes, at_its_best, keras] = if self.vectors == Vectors::All { [2.1, 1.7, 1.6] } else { [1.7, 1.3, 1.4] };
        let peers = [
            (Engine::Ddp, ", against DDP as it comes", as_it_comes),
            (Engine::TunedDdp, ", against DDP at its best", at_its_best),
            (Engine::Keras, ", against Keras on Horovod", keras),
        ];
        let against = |(engine, peer, least): (Engine, &str, f64)| {
            let row = self.row(what(peer), Unit::ImagesPerSec, true, &ours, &name(engine))?;
            row.beside?;
            Some(Row { target: (work == Work::Pipeline).then_some(Target::RatioAtLeast(least)), ..row })
        };
        let compared: Vec<Row> = peers.into_iter().filter_map(against).collect();
        if compared.is_empty() { self.alone(what(""), Unit::ImagesPerSec, &ours, None).into_iter().collect() } else { compared }
    }

    /// Speed of 2 ranks over twice that of 1.
    fn scaling(&self, work: Work, model: Model) -> Option<Row> {
        let name = |np| figure(Training { engine: Engine::HvdTrain, model, np, work }, "images_per_sec");
        let (two, one) = (name(2), name(1));
        let on = if work == Work::Pipeline { "real data" } else { "a fixed batch" };
        let twice = self.rounds.each(|round| Some(2.0 * round.get(&one)?))?;
        Some(Row {
            what: format!("scaling efficiency on {on}, {}, np 2 against twice np 1", model.name),
            ours: self.value(Unit::ImagesPerSec, &two)?,
            beside: Some(Value { unit: Unit::ImagesPerSec, spread: twice }),
            ratio: self.rounds.each(|round| Some(round.get(&two)? / (2.0 * round.get(&one)?))),
            target: Some(Target::RatioAtLeast(0.95)),
        })
    }

    /// Training on real data beside the same training in another way.
    fn against_itself(&self, what: &str, [ours, beside]: [Training; 2], least: f64) -> Option<Row> {
        let [name, beside] = [ours, beside].map(|training| figure(training, "images_per_sec"));
        let what = format!("images/s on real data, {}, np {}{what}", ours.model.name, ours.np);
        let row = self.row(what, Unit::ImagesPerSec, true, &name, &beside)?;
        row.beside?;
        Some(Row { target: Some(Target::RatioAtLeast(least)), ..row })
    }

    fn shares(&self, model: Model) -> Vec<Row> {
        let run = |np| Training { engine: Engine::HvdTrain, model, np, work: Work::Pipeline };
        let pipeline = |np| {
            let what = format!("data pipeline's share of a step, {}, np {np}", model.name);
            self.alone(what, Unit::Share, &figure(run(np), "data_share"), Some(Target::AtMost(0.03)))
        };
        let exposed = format!("exposed allreduce's share of a step, {}, np 2", model.name);
        let exposed = self.alone(exposed, Unit::Share, &figure(run(2), "exposed_share"), None);
        [pipeline(1), pipeline(2), exposed].into_iter().flatten().collect()
    }

    fn memory(&self, model: Model) -> Vec<Row> {
        let name = |engine| figure(Training { engine, model, np: 2, work: Work::Pipeline }, "peak_rss_bytes");
        let what = format!("peak memory of a rank, real data, {}, np 2", model.name);
        self.against_peers(&what, Unit::Bytes, name, None)
    }

    fn first_step(&self, model: Model) -> Vec<Row> {
        let name = |engine| figure(Training { engine, model, np: 2, work: Work::FirstStep }, "first_step_s");
        let what = format!("launch to the first finished step, {}, np 2", model.name);
        self.against_peers(&what, Unit::Seconds, name, Some(Target::AtMost(0.5)))
    }

    /// One row a peer; less is better.
    fn against_peers(&self, what: &str, unit: Unit, name: impl Fn(Engine) -> String, target: Option<Target>) -> Vec<Row> {
        let ours = name(Engine::HvdTrain);
        let peers =
            [(Engine::Ddp, "DDP as it comes"), (Engine::TunedDdp, "DDP at its best"), (Engine::Keras, "Keras on Horovod")];
        let against = |(engine, peer)| {
            let row = self.row(format!("{what}, against {peer}"), unit, false, &ours, &name(engine))?;
            row.beside?;
            Some(Row { target, ..row })
        };
        let compared: Vec<Row> = peers.into_iter().filter_map(against).collect();
        if compared.is_empty() { self.alone(what.to_owned(), unit, &ours, target).into_iter().collect() } else { compared }
    }

    /// What overlap and fusion are worth.
    fn switches(&self, model: Model) -> Vec<Row> {
        let run = |engine, what| figure(Training { engine, model, np: 2, work: Work::FixedBatch }, what);
        let against = |engine, word: &str| {
            let what = |kind: &str| format!("{kind}, {}, np 2, {word} on against off", model.name);
            let row = |kind, unit, name| {
                let row = self.row(what(kind), unit, true, &run(Engine::HvdTrain, name), &run(engine, name))?;
                row.beside.is_some().then_some(row)
            };
            let speed = row("images/s on a fixed batch", Unit::ImagesPerSec, "images_per_sec");
            // Shares stand side by side: a ratio of two that are nearly nothing is noise.
            let exposed = row("exposed allreduce's share of a step", Unit::Share, "exposed_share");
            [speed, exposed.map(|row| Row { ratio: None, ..row })].into_iter().flatten()
        };
        against(Engine::WithoutOverlap, "overlap").chain(against(Engine::WithoutFusion, "fusion")).collect()
    }

    /// One rank beside the convolutions of its model alone. libtorch's are the yardstick; its own say how much of a step is something else.
    fn bounds(&self, model: Model) -> Vec<Row> {
        let row = |bound: Bound, side| {
            let (whose, target) = match side {
                Side::Libtorch => ("libtorch's", Some(Target::RatioAtLeast(0.85))),
                Side::Own | Side::Trainer => ("its own", None),
            };
            let what = format!("{}, against {whose} convolutions alone", bound.what());
            let row = self.row(what, Unit::ImagesPerSec, true, &bound.figure(Side::Trainer), &bound.figure(side))?;
            Some(Row { target, ..row })
        };
        let rows = |precision| {
            let bound = Bound { model, precision };
            bound.sides().iter().filter_map(move |&side| row(bound, side))
        };
        Bound::PRECISIONS.into_iter().flat_map(rows).collect()
    }

    /// One rank beside PyTorch; two ranks beside two that exchange nothing, and what overlap and fusion are worth.
    fn models(&self, shape: Shape) -> Vec<Row> {
        let name = |engine, np, precision| models::figure(Measured { engine, shape, np, precision }, "images_per_sec");
        let against = |what: String, np, precision, engine, least: Option<f64>| {
            let ours = name(ModelEngine::Measure, np, precision);
            let row = self.row(what, Unit::ImagesPerSec, true, &ours, &name(engine, np, precision))?;
            row.beside?;
            Some(Row { target: least.map(Target::RatioAtLeast), ..row })
        };
        let mut rows = Vec::new();
        for precision in [NumberFormat::Fp32, NumberFormat::Bf16] {
            let what = format!("images/s of one rank, {shape}, {precision}");
            let as_it_comes = (precision == NumberFormat::Fp32).then_some(1.3);
            let peers = [
                against(format!("{what}, against PyTorch channels-last"), 1, precision, ModelEngine::ChannelsLast, Some(1.0)),
                against(format!("{what}, against PyTorch as it comes"), 1, precision, ModelEngine::Torch, as_it_comes),
            ];
            let peers: Vec<Row> = peers.into_iter().flatten().collect();
            let alone = || self.alone(what, Unit::ImagesPerSec, &name(ModelEngine::Measure, 1, precision), None);
            rows.extend(if peers.is_empty() { alone().into_iter().collect() } else { peers });
        }
        let two = |words: &str, engine, least| {
            against(format!("images/s, {shape}, np 2, {words}"), 2, NumberFormat::Fp32, engine, least)
        };
        let share = |engine, whose: &str, words: &str, name, most: Option<f64>| {
            let run = Measured { engine, shape, np: 2, precision: NumberFormat::Fp32 };
            let what = format!("{whose} share of a step, {shape}, np 2{words}");
            self.alone(what, Unit::Share, &models::figure(run, name), most.map(Target::AtMost))
        };
        let exposed = |engine, words| share(engine, "exposed allreduce's", words, "exposed_share", None);
        rows.extend(two("against two ranks that exchange nothing", ModelEngine::Apart, Some(0.97)));
        rows.extend(two("overlap on against off", ModelEngine::WithoutOverlap, None));
        rows.extend(two("fusion on against off", ModelEngine::WithoutFusion, None));
        rows.extend(exposed(ModelEngine::Measure, ""));
        rows.extend(exposed(ModelEngine::WithoutOverlap, ", without overlap"));
        rows.extend(share(ModelEngine::Measure, "the exchange's own", ", no rank late", "exchange_share", Some(0.03)));
        rows
    }

    /// The image pipeline on one core.
    fn photos(&self, operations: Operations) -> Vec<Row> {
        let what = format!("images/s of a core, {}", operations.words());
        let ours = photos::figure("ours", operations);
        let against = |(library, least): (&str, f64)| {
            // The same batches: it has no way to decode a part.
            let (what, theirs) = match (library, operations) {
                ("torchvision", Operations::Partial) => {
                    (format!("{what}, against torchvision, which decodes all of them"), Operations::Whole)
                }
                _ => (format!("{what}, against {library}"), operations),
            };
            let row = self.row(what, Unit::ImagesPerSec, true, &ours, &photos::figure(library, theirs))?;
            row.beside?;
            Some(Row { target: Some(Target::RatioAtLeast(least)), ..row })
        };
        let compared: Vec<Row> = [("tf.data", 1.5), ("torchvision", 2.0)].into_iter().filter_map(against).collect();
        let alone = || self.alone(what.clone(), Unit::ImagesPerSec, &ours, None);
        if compared.is_empty() { alone().into_iter().collect() } else { compared }
    }

    fn allreduce(&self, kind: &str, bytes: usize) -> Option<Row> {
        let size = if bytes < 1 << 20 { format!("{} KB", bytes >> 10) } else { format!("{} MB", bytes >> 20) };
        let how = match kind {
            "blocking" => "allreduce",
            "started" => "allreduce, started and finished",
            _ => "the same in memory that both ranks see",
        };
        let what = format!("{how}, {size}, np {}, against raw MPI_Allreduce", allreduce::NP);
        let name = |kind| allreduce::figure(kind, bytes);
        self.row(what, Unit::Allreduce(bytes), false, &name(kind), &name("raw"))
    }

    fn screen(&self) -> Vec<Row> {
        let rows = [
            ("hvd-lab: start to the first frame", Unit::Seconds, "screen: first_frame_s", 0.05),
            ("hvd-lab: resident memory", Unit::Bytes, "screen: resident_bytes", 30e6),
            ("hvd-lab: idle use of a core, a finished run open", Unit::Share, "screen: idle_share", 0.005),
            (
                "hvd-lab: key to frame, 99th percentile, 2 runs logging 1,000 lines/s, 8 devices",
                Unit::Seconds,
                KEY_TO_FRAME,
                0.016,
            ),
            ("hvd-lab: 1,000 runs listed", Unit::Seconds, "store: list_s", 0.1),
            ("hvd-lab: 50,000 lines of an event log read", Unit::Seconds, "store: events_s", 1.0),
        ];
        let row = |(what, unit, name, most): (&str, Unit, &str, f64)| {
            self.alone(what.to_owned(), unit, name, Some(Target::AtMost(most)))
        };
        // Once after runs were copied here; from then on each has its summary.
        let first =
            self.alone("hvd-lab: 1,000 runs listed for the first time".into(), Unit::Seconds, "store: first_list_s", None);
        rows.into_iter().filter_map(row).chain(first).collect()
    }

    /// A run of 512 ranks on 64 hosts.
    fn cluster(&self) -> Vec<Row> {
        let rows = [
            ("the supervisor's use of a core", Unit::Share, "supervisor_share", Some(1.0)),
            ("peak memory of the supervisor", Unit::Bytes, "supervisor_bytes", Some(200e6)),
            ("steps that are not in the events", Unit::Share, "lost_share", Some(0.0)),
            ("the latest step after its time", Unit::Seconds, "late_s", None),
            ("the screen's use of a core", Unit::Share, "screen_share", None),
            ("start of the screen to the first frame", Unit::Seconds, "first_frame_s", Some(0.05)),
            ("resident memory of the screen", Unit::Bytes, "resident_bytes", Some(30e6)),
            ("resident memory of the screen, the run finished", Unit::Bytes, "resident_after_bytes", Some(30e6)),
            ("key to frame, 99th percentile", Unit::Seconds, "key_to_frame_p99_s", Some(0.016)),
            ("idle use of a core, the run finished", Unit::Share, "idle_share", Some(0.005)),
        ];
        let row = |(what, unit, name, most): (&str, Unit, &str, Option<f64>)| {
            self.alone(format!("512 ranks, 10 steps/s each: {what}"), unit, &format!("scale: {name}"), most.map(Target::AtMost))
        };
        rows.into_iter().filter_map(row).collect()
    }
}

/// Name of a figure of a training run.
pub fn figure(training: Training, what: &str) -> String {
    format!("{training}: {what}")
}
