//! Collectives between GPUs, under the real mpirun, against a stand-in for libcuda and libnccl that the test builds.
//!
//! Never needs a GPU, and says nothing about one: what it holds is the order of streams, agreement between ranks and what
//! happens when a link fails. Without mpirun or `cc` its tests are skipped by name, unless HVD_LAB_REQUIRE names them.

use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use hvd_lab::comm::{CommError, Communicator, Compression, Gpu, MpiComm, Region, StallLimits};
use hvd_lab::domain::phase::Phase;
use hvd_lab::domain::topology::Rank;
use hvd_lab::trainer::stopwatch::Clock;
use libloading::os::unix::{Library, Symbol};

use crate::support::mpi::{self, mpirun, run_limited, text};
use crate::support::needs::skip;

/// What each process under mpirun does, and the folder of the stand-in; set by the launching test.
const TASK: &str = "HVD_LAB_NCCL_TASK";
const FOLDER: &str = "HVD_LAB_NCCL_STAND_IN";
const LENGTHS: [usize; 3] = [5_000, 1, 700];

// ------------------------------------------------------------------------------------------------- what one rank does

/// The program that mpirun starts. Without a task it is an empty test.
#[test]
fn rank_process() {
    let Ok(task) = std::env::var(TASK) else { return };
    if task == "phases" {
        return phases();
    }
    let limits = StallLimits { warning: Duration::ZERO, shutdown: Duration::from_secs(5), ..StallLimits::default() };
    let comm = MpiComm::connect(limits, |_| {}).unwrap();
    let rank = comm.topology().rank.0;
    let uuid = if task == "share" { "GPU-0".to_owned() } else { format!("GPU-{rank}") };
    let gpu = Gpu { index: 0, uuid, compute_stream: Box::new(std::ptr::null_mut) };
    let way = comm.connect_gpus((task != "one on a cpu" || rank == 0).then_some(gpu)).unwrap().unwrap();
    println!("\nway {} {}", way.direct, way.text);
    assert_eq!(way.direct, comm.is_cuda_aware());
    let outcome = if way.direct { steps(&comm, &task) } else { Ok(()) };
    println!("\nrank {rank} {outcome:?}");
    if outcome.is_err() {
        // As a trainer does that cannot go on; here only after all have spoken.
        std::thread::sleep(Duration::from_millis(500));
        comm.abort(3);
    }
}

/// Steps of a training that computes on the stand-in's stream alone: gradients in, averages out.
fn steps(comm: &dyn Communicator, task: &str) -> Result<(), CommError> {
    let (rank, size) = (comm.topology().rank.0, comm.topology().size.0);
    let device = Device::open();
    let mut weights = vec![if rank == size - 1 { 7.5 } else { rank as f32 }; 3_000];
    device.compute(Box::new({
        let weights = weights.as_mut_ptr() as usize;
        // SAFETY: `weights` outlives the stand-in's streams, which are waited for below.
        move || unsafe { *(weights as *mut f32) += 0.5 }
    }));
    // SAFETY: `weights` stays, and is touched by the compute stream alone.
    comm.broadcast_region(unsafe { Region::new_on_gpu(weights.as_mut_ptr(), weights.len()) }, Rank(size - 1))?;
    assert_eq!((weights[0], weights[1]), (8.0, 7.5), "what was computed before is sent");

    let mut gradients = LENGTHS.map(|len| vec![f32::NAN; len]);
    let mut averages = LENGTHS.map(|len| vec![f32::NAN; len]);
    let mut seen: Vec<Vec<f32>> = vec![Vec::new(); 6];
    for (step, seen) in seen.iter_mut().enumerate() {
        for (bucket, (source, target)) in gradients.iter_mut().zip(&mut averages).enumerate() {
            let (from, len) = (source.as_mut_ptr() as usize, source.len());
            // SAFETY: `gradients` outlives the streams.
            device.compute(Box::new(move || unsafe {
                (0..len).for_each(|i| *(from as *mut f32).add(i) = value(rank, step, bucket, i));
            }));
            let len = if task == "mismatch" && (rank, step, bucket) == (1, 3, 2) { len - 1 } else { len };
            // SAFETY: both stay, and are touched by streams alone.
            let [source, target] = [source, target].map(|numbers| unsafe { Region::new_on_gpu(numbers.as_mut_ptr(), len) });
            comm.start_allreduce(source, target, Compression::None)?;
        }
        comm.finish_allreduces()?;
        let (averages, seen) = (&raw const averages as usize, &raw mut *seen as usize);
        // SAFETY: both outlive the streams, and nobody else looks before they are waited for.
        device.compute(Box::new(move || unsafe {
            let averages = &*(averages as *const [Vec<f32>; 3]);
            *(seen as *mut Vec<f32>) = averages.concat();
        }));
    }
    device.wait();
    for (step, seen) in seen.iter().enumerate() {
        let average = |bucket: usize, i: usize| (0..size).map(|rank| value(rank, step, bucket, i)).sum::<f32>() / size as f32;
        let right: Vec<f32> =
            LENGTHS.iter().enumerate().flat_map(|(bucket, len)| (0..*len).map(move |i| average(bucket, i))).collect();
        assert!(*seen == right, "step {step}: what the compute stream saw is not the average");
    }
    Ok(())
}

/// A step whose work is given at once and done later: the clock of the training loop tells when the GPU did it.
fn phases() {
    let device = Device::open();
    let gpu = Gpu { index: 0, uuid: "GPU-0".into(), compute_stream: Box::new(std::ptr::null_mut) };
    let mut clock = Clock::since(Instant::now(), None, Some(gpu));
    let work = |milliseconds| device.compute(Box::new(move || std::thread::sleep(Duration::from_millis(milliseconds))));
    let began = Instant::now();
    for _ in 0..3 {
        clock.begin_step();
        clock.lap(Phase::Data);
        work(10);
        clock.lap(Phase::Forward);
        work(30);
        clock.lap(Phase::Backward);
        device.wait(); // as reading the loss does
        clock.lap(Phase::Optimizer);
    }
    let (seconds, phases) = (began.elapsed().as_secs_f64(), clock.take_phases());
    let sum = Phase::OF_STEP.into_iter().map(|phase| phases[phase]).sum::<f64>();
    assert!(
        phases[Phase::Forward] >= 0.03 && phases[Phase::Backward] >= 0.09 && phases[Phase::Optimizer] < phases[Phase::Backward],
        "{phases:?}"
    );
    assert!(sum > 0.119 && sum <= seconds, "{sum} of {seconds}: {phases:?}");
    println!("phases of the gpu");
}

fn value(rank: usize, step: usize, bucket: usize, i: usize) -> f32 {
    (1 + rank * 3 + step * 7 + bucket * 11 + i % 97) as f32
}

/// The stand-in's stream that computes.
struct Device {
    // SAFETY: a type, as the stand-in has it; calls give their reason.
    compute: Symbol<unsafe extern "C" fn(extern "C" fn(*mut c_void), *mut c_void)>,
    // SAFETY: as above.
    synchronize: Symbol<unsafe extern "C" fn() -> i32>,
    _library: Library,
}

impl Device {
    fn open() -> Device {
        let path = Path::new(&std::env::var(FOLDER).unwrap()).join("libcuda.so");
        // SAFETY: the library is the stand-in, whose functions have these types.
        unsafe {
            let library = Library::new(path).unwrap();
            let compute = library.get(b"hvd_stand_in_compute").unwrap();
            Device { compute, synchronize: library.get(b"cuCtxSynchronize").unwrap(), _library: library }
        }
    }

    fn compute(&self, kernel: Box<dyn FnOnce()>) {
        extern "C" fn run(kernel: *mut c_void) {
            // SAFETY: made below, and run once.
            let kernel = unsafe { Box::from_raw(kernel as *mut Box<dyn FnOnce()>) };
            kernel();
        }
        // SAFETY: the stand-in hands the pointer to `run`, once.
        unsafe { (self.compute)(run, Box::into_raw(Box::new(kernel)).cast()) }
    }

    fn wait(&self) {
        // SAFETY: takes and gives nothing.
        unsafe { (self.synchronize)() };
    }
}

// --------------------------------------------------------------------------------------------------------- the tests

/// A folder with the stand-in under both names.
fn stand_in() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("nccl-stand-in-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (library, source) = (folder.join("libcuda.so"), concat!(env!("HVD_LAB_CHECKOUT"), "/tests/nccl/stand_in.c"));
    static BUILT: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    let build = || match Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).status() {
        Ok(status) => {
            assert!(status.success(), "cc refused the stand-in");
            std::fs::hard_link(&library, folder.join("libnccl.so.2")).unwrap();
            true
        }
        Err(error) => {
            skip("cc", format_args!("cc does not start ({error})"));
            false
        }
    };
    BUILT.get_or_init(build).then_some(folder)
}

/// What the ranks said, and the exit code.
fn ranks(size: usize, task: &str, variables: &[(&str, &str)]) -> Option<(String, i32)> {
    let (mpirun, folder) = (mpirun()?, stand_in()?);
    let mut command = mpi::command(&mpirun, size);
    command.arg(std::env::current_exe().unwrap()).args(["--exact", "nccl::rank_process", "--nocapture"]);
    command.env(TASK, task).env(FOLDER, &folder).env("LD_LIBRARY_PATH", &folder).envs(variables.iter().copied());
    let output = run_limited(command, Duration::from_secs(60));
    Some((text(&output), output.status.code().unwrap_or(-1)))
}

#[test]
fn averages_are_right_whichever_stream_is_slow() {
    for lazy in ["compute", "nccl"] {
        for size in [1, 2, 3] {
            let Some((said, code)) = ranks(size, "train", &[("HVD_STAND_IN_LAZY", lazy)]) else { return };
            assert_eq!((code, said.matches("Ok(())").count()), (0, size), "{size} ranks, lazy {lazy}\n{said}");
            assert!(said.contains(&format!("way true NCCL 2.28.9 between {size} GPUs")), "{said}");
        }
    }
}

/// What `make gpu-proof` asks of a real GPU: without an event between the streams the numbers are wrong, and the run says so.
#[test]
fn without_one_of_the_events_the_averages_are_wrong() {
    for (event, lazy) in [("ready", "compute"), ("done", "nccl")] {
        let variables = [("HVD_STAND_IN_LAZY", lazy), ("HVD_LAB_PROOF_WITHOUT_EVENTS", event)];
        let Some((said, code)) = ranks(1, "train", &variables) else { return };
        let is_wrong = said.contains("is not the average") || said.contains("what was computed before is sent");
        assert!(code != 0 && is_wrong, "{event}: {code}\n{said}");
        assert!(said.contains(&format!("NCCL 2.28.9 between 1 GPUs, WITHOUT waiting for `{event}`")), "{said}");
    }
}

#[test]
fn phases_are_timed_where_they_are_computed() {
    let Some((said, code)) = ranks(1, "phases", &[("HVD_STAND_IN_LAZY", "compute")]) else { return };
    assert!(code == 0 && said.contains("phases of the gpu"), "{said}");
}

#[test]
fn a_bucket_of_another_length_is_named_and_ends_what_is_on_its_way() {
    let Some((said, code)) = ranks(2, "mismatch", &[("HVD_STAND_IN_LAZY", "nccl")]) else { return };
    assert_eq!((code, said.matches("Err(Mismatch(").count()), (3, 2), "{said}");
}

#[test]
fn an_error_of_the_link_is_told() {
    let Some((said, code)) = ranks(2, "train", &[("HVD_STAND_IN_FAIL", "async:1")]) else { return };
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("rank 1 Err(Gpu(\"NCCL: internal error (the stand-in was asked to fail)\"))"), "{said}");
}

#[test]
fn all_ranks_take_the_way_through_host_memory_if_one_must() {
    let way = "way false MPI through host memory, as ";
    for (task, variable, why) in [
        ("train", ("HVD_STAND_IN_FAIL", "init:1"), "rank 1: NCCL: invalid usage (the stand-in was asked to fail)"),
        ("share", ("HVD_STAND_IN_VERSION", "22809"), "ranks 0 and 1 share GPU-0, which NCCL 2.28.9 refuses"),
        ("share", ("HVD_STAND_IN_VERSION", "23003"), "ranks 0 and 1 share GPU-0, which NCCL allows with"),
        ("one on a cpu", ("HVD_STAND_IN_LAZY", "nccl"), "rank 1 computes on a CPU"),
    ] {
        let Some((said, code)) = ranks(2, task, &[variable]) else { return };
        assert_eq!((code, said.matches(&format!("{way}{why}")).count()), (0, 2), "{task}\n{said}");
    }
    let allowed = [("HVD_STAND_IN_VERSION", "23003"), ("NCCL_MULTI_RANK_GPU_ENABLE", "1")];
    let Some((said, code)) = ranks(2, "share", &allowed) else { return };
    assert_eq!((code, said.matches("way true NCCL 2.30.3 between 2 GPUs").count()), (0, 2), "{said}");
}

/// What `hvd-measure collectives` says, and its exit code, where each rank has a GPU of the stand-in.
fn measured(size: usize, flags: &str, variables: &[(&str, &str)]) -> Option<(String, i32)> {
    let (mpirun, folder) = (mpirun()?, stand_in()?);
    let mut command = mpi::command(&mpirun, size);
    command.args([env!("CARGO_BIN_EXE_hvd-measure"), "collectives"]).args(flags.split_whitespace());
    command.env("LD_LIBRARY_PATH", &folder).envs(variables.iter().copied());
    let output = run_limited(command, Duration::from_secs(60));
    Some((text(&output), output.status.code().unwrap_or(-1)))
}

#[test]
fn nccl_is_measured_beside_the_labs_own_algorithms() {
    for lazy in ["compute", "nccl"] {
        for size in [1, 2, 3] {
            let flags = "--algorithm ring,nccl -b 1K -e 64K -f 8 -n 3 -w 1";
            let Some((said, code)) = measured(size, flags, &[("HVD_STAND_IN_LAZY", lazy)]) else { return };
            let rows: Vec<Vec<&str>> = said.lines().map(|line| line.split_whitespace().collect()).collect();
            let rows: Vec<&Vec<&str>> = rows.iter().filter(|row| row.first() == Some(&"nccl")).collect();
            assert_eq!((code, rows.len()), (0, 3), "{size} ranks, lazy {lazy}\n{said}");
            // The last column: numbers that are not the sum.
            assert!(rows.iter().all(|row| row.last() == Some(&"0")), "{said}");
        }
    }
}

#[test]
fn why_nccl_is_not_measured_stands_in_one_line() {
    for (variable, why) in [
        (("HVD_STAND_IN_GPUS", "0"), "it needs a GPU for each rank (CUDA finds no GPU)"),
        (("HVD_STAND_IN_GPUS", "1"), "data would travel by MPI through host memory, as ranks 0 and 1 share GPU-00000000-0000-"),
        (("HVD_STAND_IN_FAIL", "init:1"), "rank 1: NCCL: invalid usage (the stand-in was asked to fail)"),
        (("HVD_STAND_IN_MEMORY", "4096"), "rank 0: "),
    ] {
        let Some((said, code)) = measured(2, "--algorithm nccl -b 8K -e 8K -n 1", &[variable]) else { return };
        let line = "hvd-measure collectives: --algorithm nccl cannot be measured: ";
        let lines: Vec<&str> = said.lines().filter(|said| said.contains(line)).collect();
        assert!(code == 2 && lines.len() == 1 && lines[0].contains(why), "{variable:?}: {code}\n{said}");
    }
}
