//! Times the methods at one size, in turn, and logs one execution of each schedule.

use hvd_lab::comm::clock_sync::{self, Correction};
use hvd_lab::comm::p2p::{Plan, PointToPoint, gather, now};
use hvd_lab::comm::{CommError, Communicator, GpuAllreduce, LibraryAllreduce, MpiComm, MpiPoint, allgather_numbers};
use hvd_lab::domain::collective::{Algorithm, AllreduceReport, CollectivesSpec, MessagesReport, Method};
use hvd_lab::domain::event::Event;
use hvd_lab::trainer::report::Reporter;

/// Messages in one event: a line then passes through pipes in one piece.
const MESSAGES: usize = 20;
/// Iterations whose times are gathered at once.
const TOLD: usize = 4096;

/// A method, and what does it.
pub struct Way<'a> {
    pub method: Method,
    by: By<'a>,
}

enum By<'a> {
    Schedule(Algorithm),
    Library(LibraryAllreduce<'a>),
    /// Its numbers lie in the GPU: they are there before the clock starts, as with nccl-tests.
    Gpu(GpuAllreduce<'a>),
}

impl<'a> Way<'a> {
    /// For buffers of up to so many numbers.
    ///
    /// # Collective
    /// All ranks.
    ///
    /// # Errors
    /// Why it does not work here, in one sentence.
    pub fn new(method: Method, comm: &'a MpiComm, numbers: usize) -> Result<Way<'a>, String> {
        let by = match method {
            Method::Own(algorithm) => By::Schedule(algorithm),
            Method::Mpi => By::Library(comm.library_allreduce(None)?),
            Method::MpiForced(algorithm) => By::Library(comm.library_allreduce(Some(algorithm))?),
            Method::Nccl => By::Gpu(comm.gpu_allreduce(numbers)?),
        };
        Ok(Way { method, by })
    }
}

/// What all measurements share: the buffers, and who takes part.
pub struct Bench<'a> {
    comm: &'a MpiComm,
    peers: &'a MpiPoint<'a>,
    spec: &'a CollectivesSpec,
    /// What this rank gives, never changed.
    source: Vec<f32>,
    target: Vec<f32>,
    scratch: Vec<f32>,
}

/// One method at one size.
struct Work<'a> {
    way: &'a Way<'a>,
    plan: Option<Plan>,
    seconds: Vec<f64>,
    wrong: Option<u64>,
}

impl<'a> Bench<'a> {
    pub fn new(comm: &'a MpiComm, peers: &'a MpiPoint<'a>, spec: &'a CollectivesSpec) -> Bench<'a> {
        let largest = spec.sizes().into_iter().chain(spec.log_bytes).max().unwrap_or_default();
        let source: Vec<f32> = (0..(largest / 4) as usize).map(|place| given(peers.rank(), place)).collect();
        let target = source.clone();
        Bench { comm, peers, spec, source, target, scratch: Vec::new() }
    }

    /// The methods take turns, so that whatever disturbs the machine meanwhile disturbs all of them.
    ///
    /// # Collective
    /// All ranks.
    ///
    /// # Errors
    /// [`CommError`].
    pub fn rows(&mut self, ways: &[Way<'_>], elements: usize) -> Result<Vec<AllreduceReport>, CommError> {
        let plan = |way: &Way<'_>| self.plan(way, elements);
        let mut works: Vec<Work<'_>> =
            ways.iter().map(|way| Work { way, plan: plan(way), seconds: Vec::new(), wrong: None }).collect();
        if self.spec.check == 1 {
            for work in &mut works {
                self.once(work, elements)?;
                if let By::Gpu(gpu) = &work.way.by {
                    gpu.read(&mut self.target[..elements])?;
                }
                work.wrong = Some(self.wrong(elements)?);
            }
        }
        for iteration in 0..self.spec.warmup + self.spec.iterations {
            for place in 0..works.len() {
                // There and back, so that none always comes after the same other one.
                let work = if iteration % 2 == 0 { place } else { works.len() - 1 - place };
                let seconds = self.once(&works[work], elements)?;
                if iteration >= self.spec.warmup {
                    works[work].seconds.push(seconds);
                }
            }
        }
        works.into_iter().map(|work| self.row(work, elements)).collect()
    }

    fn plan(&self, way: &Way<'_>, elements: usize) -> Option<Plan> {
        let By::Schedule(algorithm) = way.by else { return None };
        let schedule = algorithm.schedule(self.peers.size(), elements, self.spec.shape);
        Some(Plan::new(&schedule, self.peers.rank()))
    }

    /// Seconds that this rank took. Setting the numbers, which comes first, is not timed.
    fn once(&mut self, work: &Work<'_>, elements: usize) -> Result<f64, CommError> {
        let (source, target) = (&self.source[..elements], &mut self.target[..elements]);
        target.copy_from_slice(source);
        if let By::Gpu(gpu) = &work.way.by {
            gpu.load(source)?;
        }
        self.peers.barrier()?;
        let began = now();
        match (&work.way.by, &work.plan) {
            (By::Library(library), _) => library.sum(source, target),
            (By::Gpu(gpu), _) => gpu.sum(elements)?,
            (By::Schedule(_), Some(plan)) => plan.run(self.peers, target, &mut self.scratch)?,
            (By::Schedule(_), None) => {}
        }
        Ok((now() - began) as f64 / 1e9)
    }

    /// Numbers that are not the sum, over all ranks.
    fn wrong(&self, elements: usize) -> Result<u64, CommError> {
        let ranks = self.peers.size();
        let sum = |place: usize| (ranks * (place % 1000) + ranks * (ranks - 1) / 2) as f32;
        let wrong = self.target[..elements].iter().enumerate().filter(|(place, number)| **number != sum(*place)).count();
        Ok(allgather_numbers(self.comm, &[wrong as u64])?.concat().into_iter().sum())
    }

    fn row(&self, work: Work<'_>, elements: usize) -> Result<AllreduceReport, CommError> {
        let mut slowest = Vec::with_capacity(work.seconds.len());
        for seconds in work.seconds.chunks(TOLD) {
            let all = allgather_numbers(self.comm, seconds)?;
            slowest.extend((0..seconds.len()).map(|place| all.iter().map(|own| own[place]).fold(0.0, f64::max)));
        }
        slowest.sort_by(f64::total_cmp);
        let count = slowest.len().max(1);
        Ok(AllreduceReport {
            method: work.way.method.to_string(),
            bytes: 4 * elements as u64,
            elements,
            iterations: slowest.len(),
            mean_s: slowest.iter().sum::<f64>() / count as f64,
            median_s: slowest.get(count / 2).copied().unwrap_or_default(),
            min_s: slowest.first().copied().unwrap_or_default(),
            max_s: slowest.last().copied().unwrap_or_default(),
            wrong: work.wrong,
        })
    }

    /// Reports the messages of one execution, after one that warms up. MPI's own algorithms report none.
    ///
    /// # Collective
    /// All ranks.
    ///
    /// # Errors
    /// [`CommError`].
    pub fn log(&mut self, way: &Way<'_>, elements: usize, report: &Reporter) -> Result<(), CommError> {
        let Some(plan) = self.plan(way, elements) else { return Ok(()) };
        let topology = self.comm.topology();
        // Ranks of one host read one clock.
        let everyone_is_here = self.comm.allgather(&[u8::from(topology.local_size == topology.size)])?;
        let compare = || clock_sync::compare(self.comm, now);
        let is_one_clock = everyone_is_here.iter().all(|answer| answer == &[1]);
        let before = if is_one_clock { None } else { Some(compare()?) };
        let target = &mut self.target[..elements];
        target.copy_from_slice(&self.source[..elements]);
        plan.run(self.peers, target, &mut self.scratch)?;
        target.copy_from_slice(&self.source[..elements]);
        let log = plan.run_logged(self.peers, target, &mut self.scratch)?;
        let clock = before.map(|before| Ok::<_, CommError>(Correction { before, after: compare()? })).transpose()?;
        let messages = gather(self.comm, &log, clock.as_ref())?;
        for (part, messages) in messages.chunks(MESSAGES).enumerate() {
            let method = way.method.to_string();
            report.event(Event::Messages(MessagesReport { method, elements, part, messages: messages.to_vec() }));
        }
        Ok(())
    }
}

/// Whole numbers, whose sum over the ranks has all its bits.
fn given(rank: usize, place: usize) -> f32 {
    (rank + place % 1000) as f32
}
