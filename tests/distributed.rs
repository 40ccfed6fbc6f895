//! Step 3 under the microscope: what travels, when it leaves, and that neither changes a bit of the result.

use std::cell::RefCell;
use std::time::Duration;

use hvd_lab::comm::{CommError, Communicator, Compression, LocalComm, MpiComm, ReduceOp, Region, StallLimits, ThreadComm};
use hvd_lab::dataset::{self, Location, SplitKind};
use hvd_lab::domain::event::{Event, EventLine, MARKER};
use hvd_lab::domain::model::ModelSpec;
use hvd_lab::domain::topology::{Rank, Topology};
use hvd_lab::trainer::accumulation::AccumulationStep;
use hvd_lab::trainer::batches::Images;
use hvd_lab::trainer::distributed::{AllreduceOptions, DistributedOptimizer};
use hvd_lab::trainer::model::{self, Dropout, Mode, Model};
use hvd_lab::trainer::optimizer::{NovoGrad, Optimizer, Sgd};
use hvd_lab::trainer::params::to_vec;
use hvd_lab::trainer::random::{Purpose, stream};
use tch::{Device, Kind};

use crate::support::blocks::blocks;
use crate::support::images;
use crate::support::mpi;

const PLAIN: AllreduceOptions =
    AllreduceOptions { fusion_threshold_bytes: 25 << 20, overlap: true, compression: Compression::None };
const UNFUSED: AllreduceOptions = AllreduceOptions { fusion_threshold_bytes: 0, ..PLAIN };
/// Trained tensors of WRN-10-1, and how many of them get a gradient: biases before batch norm do not.
const TENSORS: usize = 34;
const WITHOUT_GRADIENT: usize = 7;

fn fresh_model() -> Box<dyn Model> {
    fresh(ModelSpec::wrn(10, 1))
}

fn fresh(spec: ModelSpec) -> Box<dyn Model> {
    model::build(spec, &mut stream(7, 0, 0, Purpose::Weights), Device::Cpu)
}

fn images() -> Images {
    Images::training(dataset::load(&Location::Generated, SplitKind::Train, Some(256)).unwrap(), Device::Cpu)
}

/// Weights after a few updates on this rank's part of the images.
fn train(comm: &dyn Communicator, traffic: AllreduceOptions, updates: usize, passes: usize) -> Vec<f32> {
    train_model(fresh_model(), comm, traffic, updates, passes)
}

fn train_model(
    mut model: Box<dyn Model>,
    comm: &dyn Communicator,
    traffic: AllreduceOptions,
    updates: usize,
    passes: usize,
) -> Vec<f32> {
    let images = images();
    let inner = Box::new(NovoGrad::new(model.params(), 0.0));
    let mut optimizer = DistributedOptimizer::new(inner, comm, model.params(), traffic);
    let Topology { rank, size, .. } = comm.topology();
    let order = blocks(rank.0, size.0, 256, updates * passes, 16);
    let mut dropout = Dropout::new(0.01, stream(1, rank.0, 0, Purpose::Dropout));
    for (index, picks) in order.iter().enumerate() {
        let batch = images.batch(picks);
        let pass = AccumulationStep::at(index, order.len(), passes);
        let loss = model.forward(&batch.images, Mode::Training(&mut dropout)).cross_entropy_for_logits(&batch.labels);
        pass.backward(&loss, model.params_mut(), &mut optimizer);
        if pass.is_last {
            let gradients = optimizer.synchronize(model.params()).unwrap();
            optimizer.step(model.params_mut(), &gradients, 0.01);
        }
    }
    model.params().to_vec()
}

fn on_ranks(size: usize, traffic: AllreduceOptions, updates: usize, passes: usize) -> Vec<Vec<f32>> {
    let ranks: Vec<_> = ThreadComm::group(size)
        .into_iter()
        .map(|comm| std::thread::spawn(move || train(&comm, traffic, updates, passes)))
        .collect();
    ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
}

fn distance(a: &[f32], b: &[f32]) -> f64 {
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
    norm(&mut a.iter().zip(b).map(|(a, b)| f64::from(a - b))) / norm(&mut a.iter().map(|&a| f64::from(a)))
}

#[test]
fn overlap_and_fusion_change_no_bit() {
    for size in [1, 2, 3] {
        let plain = on_ranks(size, PLAIN, 4, 1);
        assert!(plain.iter().all(|rank| *rank == plain[0]), "all ranks hold the same bits");
        for traffic in [UNFUSED, AllreduceOptions { overlap: false, ..PLAIN }, AllreduceOptions { overlap: false, ..UNFUSED }] {
            assert!(on_ranks(size, traffic, 4, 1) == plain, "{size} ranks, {traffic:?}");
        }
    }
}

/// How far the weights of a compressed training may be from those of a plain one after 50 updates, relative to how far
/// training has moved them. Rounding feeds back through every update, so this is far above the formats' own 2^-11 and 2^-8.
const TOLERANCE: [(Compression, f64); 2] = [(Compression::Fp16, 0.1), (Compression::Bf16, 0.3)];

#[test]
fn compressed_gradients_stay_near_plain_ones() {
    let start = fresh_model().params().to_vec();
    let plain = on_ranks(2, PLAIN, 50, 1);
    let way = distance(&plain[0], &start);
    for (compression, tolerance) in TOLERANCE {
        let compressed = on_ranks(2, AllreduceOptions { compression, ..PLAIN }, 50, 1);
        assert!(compressed[0] == compressed[1], "all ranks hold the same bits");
        let off = distance(&compressed[0], &plain[0]) / way;
        println!("{compression:?} {off}");
        assert!(off > 1e-6 && off < tolerance, "{compression:?}: {off} of the way is off");
    }
}

#[test]
fn ranks_that_do_not_exchange_gradients_part() {
    let apart: Vec<_> = (0..2)
        .map(|rank| {
            let mut model = fresh_model();
            let batch = images().batch(&blocks(rank, 2, 256, 1, 16)[0]);
            let mut sgd = Sgd::new(model.params(), 0.9, 0.0);
            model.forward(&batch.images, Mode::Evaluation).cross_entropy_for_logits(&batch.labels).backward();
            let gradients = sgd.synchronize(model.params()).unwrap();
            sgd.step(model.params_mut(), &gradients, 0.1);
            model.params().to_vec()
        })
        .collect();
    assert!(distance(&apart[0], &apart[1]) > 1e-3);
}

/// LocalComm with a diary.
#[derive(Default)]
struct Spy(RefCell<Vec<String>>);

impl Communicator for Spy {
    fn topology(&self) -> Topology {
        Topology::ALONE
    }
    fn name(&self) -> &'static str {
        "spy"
    }
    fn start_allreduce(&self, source: Region, target: Region, compression: Compression) -> Result<(), CommError> {
        self.0.borrow_mut().push(format!("start {}", source.len()));
        LocalComm.start_allreduce(source, target, compression)
    }
    fn finish_allreduces(&self) -> Result<(), CommError> {
        self.0.borrow_mut().push("finish".into());
        Ok(())
    }
    fn allreduce(&self, _: &mut [f32], _: ReduceOp) -> Result<(), CommError> {
        Ok(())
    }
    fn allreduce_f64(&self, _: &mut [f64], _: ReduceOp) -> Result<(), CommError> {
        Ok(())
    }
    fn broadcast(&self, _: &mut [f32], _: Rank) -> Result<(), CommError> {
        Ok(())
    }
    fn broadcast_bytes(&self, _: &mut Vec<u8>, _: Rank) -> Result<(), CommError> {
        Ok(())
    }
    fn allgather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
        Ok(vec![bytes.to_vec()])
    }
    fn barrier(&self) -> Result<(), CommError> {
        Ok(())
    }
    fn abort(&self, code: i32) -> ! {
        std::process::exit(code)
    }
}

/// How many buckets had left when backward returned, and afterwards, step by step.
fn departures(traffic: AllreduceOptions, passes: usize) -> Vec<(usize, usize)> {
    let (spy, mut model, images) = (Spy::default(), fresh_model(), images());
    let mut optimizer = DistributedOptimizer::new(Box::new(Sgd::new(model.params(), 0.9, 0.0)), &spy, model.params(), traffic);
    let picks: Vec<u32> = (0..8).collect();
    let mut counts = Vec::new();
    for index in 0..2 * passes {
        let batch = images.batch(&picks);
        let pass = AccumulationStep::at(index, 2 * passes, passes);
        let loss = model.forward(&batch.images, Mode::Evaluation).cross_entropy_for_logits(&batch.labels);
        pass.backward(&loss, model.params_mut(), &mut optimizer);
        let during = spy.0.borrow().len();
        let mut after = 0;
        if pass.is_last {
            let _ = optimizer.synchronize(model.params()).unwrap();
            assert_eq!(spy.0.borrow().last().map(String::as_str), Some("finish"));
            after = spy.0.borrow().len() - during - 1;
        }
        counts.push((during, after));
        spy.0.borrow_mut().clear();
    }
    counts
}

#[test]
fn buckets_leave_while_backward_goes_on() {
    // The first step shows which gradients never come; from the second on nobody waits for them.
    let unfused = departures(UNFUSED, 1);
    assert_eq!(unfused.iter().map(|(during, after)| during + after).collect::<Vec<_>>(), [TENSORS; 2]);
    assert_eq!(unfused[1], (TENSORS, 0));
    assert_eq!(departures(AllreduceOptions { overlap: false, ..UNFUSED }, 1), [(0, TENSORS); 2]);
    assert_eq!(departures(PLAIN, 1)[1], (1, 0), "WRN-10-1 fits into one bucket");
    // With two passes an update only the second lets anything go.
    assert_eq!(departures(PLAIN, 2).iter().map(|(during, after)| during + after).collect::<Vec<_>>(), [0, 1, 0, 1]);
}

#[test]
fn two_passes_are_one_batch_of_both() {
    let (mut model, images) = (fresh_model(), images());
    let picks: Vec<u32> = (0..64).collect();
    let mut sgd = Sgd::new(model.params(), 0.9, 0.0);
    let mut gradients = |batches: &[&[u32]]| {
        for (index, picks) in batches.iter().enumerate() {
            let batch = images.batch(picks);
            let loss = model.forward(&batch.images, Mode::Evaluation).cross_entropy_for_logits(&batch.labels);
            AccumulationStep::at(index, batches.len(), batches.len()).backward(&loss, model.params_mut(), &mut sgd);
        }
        to_vec(&model.params().gradients)
    };
    let whole = gradients(&[&picks]);
    assert!(distance(&whole, &gradients(&[&picks[..32], &picks[32..]])) < 1e-5);
    assert!(distance(&whole, &gradients(&[&picks[..32]])) > 1e-2, "half of the images is something else");
}

#[test]
fn biases_that_batch_norm_takes_away_get_no_gradient() {
    let (mut model, images) = (fresh_model(), images());
    let batch = images.batch(&(0..16).collect::<Vec<_>>());
    let mut dropout = Dropout::new(0.0, stream(1, 0, 0, Purpose::Dropout));
    model.params_mut().zero_gradients();
    model.forward(&batch.images, Mode::Training(&mut dropout)).cross_entropy_for_logits(&batch.labels).backward();
    let params = model.params();
    let is_zero = |start: i64, len: i64| to_vec(&params.gradients.narrow(0, start, len)).iter().all(|&value| value == 0.0);
    let zero: Vec<&str> =
        params.segments.iter().filter(|at| is_zero(at.start, at.len)).map(|segment| segment.name.as_str()).collect();
    assert_eq!((params.segments.len(), zero.len()), (TENSORS, WITHOUT_GRADIENT), "{zero:?}");
    assert!(zero.iter().all(|name| name.ends_with(".conv.bias")), "{zero:?}");
}

#[test]
fn bfloat16_rounds_activations_and_leaves_weights_alone() {
    let images = images();
    let batch = images.batch(&(0..64).collect::<Vec<_>>());
    let run = |kind: Kind| {
        let mut model = fresh_model();
        model.compute_in(kind);
        let scores = model.forward(&batch.images, Mode::Evaluation);
        scores.cross_entropy_for_logits(&batch.labels).backward();
        assert_eq!((scores.kind(), model.params().flat.kind()), (Kind::Float, Kind::Float));
        (to_vec(&scores), to_vec(&model.params().gradients))
    };
    let (exact, rounded) = (run(Kind::Float), run(Kind::BFloat16));
    // 8 significant bits, through ten layers.
    for (what, exact, rounded) in [("scores", &exact.0, &rounded.0), ("gradients", &exact.1, &rounded.1)] {
        let difference = distance(exact, rounded);
        assert!((1e-5..5e-2).contains(&difference), "{what} differ by {difference}");
    }
}

/// Set for each process that mpirun starts of the next test.
const RANK: &str = "HVD_LAB_DISTRIBUTED_RANK";

/// A model of so many numbers that the ranks of a host average them in memory that both see, beside ranks on threads, which do not.
#[test]
fn ranks_that_share_memory_come_to_the_bits_of_those_that_do_not() {
    const NAME: &str = "distributed::ranks_that_share_memory_come_to_the_bits_of_those_that_do_not";
    if std::env::var_os(RANK).is_none() {
        let Some(mpirun) = mpi::mpirun() else { return };
        let mut command = mpi::command(&mpirun, 2);
        command.arg(std::env::current_exe().unwrap()).args(["--exact", NAME, "--nocapture", "--test-threads=1"]).env(RANK, "");
        let output = mpi::run_limited(command, Duration::from_secs(120));
        let text = mpi::text(&output);
        return assert!(output.status.success() && text.matches("1 passed").count() == 2, "{text}");
    }
    let weights = |comm: &dyn Communicator| {
        tch::set_num_threads(1);
        train_model(fresh(ModelSpec::wrn(16, 4)), comm, PLAIN, 4, 2)
    };
    let comm = MpiComm::connect(StallLimits::default(), |message| println!("{message}")).unwrap();
    let shared = weights(&comm);
    let has_shared = std::fs::read_to_string("/proc/self/maps").unwrap_or_default().contains("memfd:hvd-lab");
    assert_eq!(has_shared, cfg!(target_os = "linux"));
    let threads: Vec<_> = ThreadComm::group(2).into_iter().map(|comm| std::thread::spawn(move || weights(&comm))).collect();
    let apart: Vec<_> = threads.into_iter().map(|rank| rank.join().unwrap()).collect();
    assert!(shared == apart[0] && shared == apart[1]);
}

/// Losses of every step of both ranks over real MPI.
fn losses(flags: &str) -> Option<Vec<(usize, u64)>> {
    let mut command = mpi::command(&mpi::mpirun()?, 2);
    command.arg(env!("CARGO_BIN_EXE_hvd-train"));
    let fixed = "--events --model wrn-10-1 --train-images 400 --validation-images 100 --batch-size 32 --epochs 1";
    command.args(["--data-dir", images::few()]).args(fixed.split_whitespace()).args(flags.split_whitespace());
    let output = mpi::run_limited(command, Duration::from_secs(120));
    assert!(output.status.success(), "{}", mpi::text(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let events = text.lines().filter_map(|line| EventLine::parse_line(line.strip_prefix(MARKER)?));
    let mut losses: Vec<(usize, u64)> = events
        .filter_map(|line| if let Event::Step { loss, .. } = line.event { Some((line.process, loss.to_bits())) } else { None })
        .collect();
    losses.sort_by_key(|(process, _)| *process);
    Some(losses)
}

#[test]
fn over_mpi_too_overlap_and_fusion_change_no_bit() {
    let Some(plain) = losses("") else { return };
    assert!(plain.len() > 8);
    for flags in ["--no-overlap", "--fusion-threshold-mb 0", "--no-overlap --fusion-threshold-mb 0"] {
        assert!(losses(flags).unwrap() == plain, "{flags}");
    }
    assert!(losses("--backward-passes-per-step 2").unwrap() != plain);
}
