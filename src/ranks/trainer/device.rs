//! Where a rank computes: a GPU by local rank, or a slice of the CPU's cores. CUDA is looked for once, at the first question
//! about it.

use std::ffi::c_void;
use std::time::Duration;

use tch::{Cuda, Device, Kind, Tensor};

use crate::comm::Gpu;
use crate::domain::benchmark::NumberFormat;
use crate::domain::topology::Topology;
use crate::host::{cores, driver, numa};

/// How long a rank computes on a core that it shares before the next one takes its turn, unless it waits. Linux's usual few milliseconds are
/// too short to make use of what the caches hold of a rank.
const TIME_SLICE: Duration = Duration::from_millis(100);

/// The device of one process, and what it may use of the CPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    pub device: Device,
    /// NVML's name of the GPU (`GPU-...`), where the device is one.
    pub uuid: Option<String>,
    /// Logical cores that this process runs on.
    pub cores: Vec<usize>,
    /// GPUs on this host, or else cores: what its ranks share out.
    pub found: usize,
    /// Threads inside one operation.
    pub threads: usize,
}

/// Step 1 on: the GPU with the index of the local rank, or this local rank's equal share of the cores.
///
/// # Horovod
/// `set_visible_devices(gpus[hvd.local_rank()], 'GPU')`. Chosen by index, not by `CUDA_VISIBLE_DEVICES`, which would
/// break direct copies between GPUs.
pub fn pin(topology: &Topology) -> Placement {
    place(topology, Wish::default())
}

/// Where a rank is put that says more than [`pin`] asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// On the CPU also where there are GPUs.
    pub no_gpu: bool,
    /// On the cores that the launcher gave, rather than on a share of them.
    pub as_launched: bool,
    /// Threads inside one operation; `None` for those of [`pin`].
    pub threads: Option<usize>,
}

/// As [`pin`], with what is wished for.
pub fn place(topology: &Topology, wish: Wish) -> Placement {
    let mut placement = match if wish.no_gpu { 0 } else { gpu_count() } {
        0 if wish.as_launched => cpu(cores_in_order(), cores_in_order().len()),
        // Where binding is forbidden, the number of threads still keeps ranks from crowding.
        0 => {
            let (cores, found) = bind_to_train(topology);
            cpu(cores, found)
        }
        gpus => gpu(topology.local_rank.0 % gpus, gpus, cores_in_order()),
    };
    if let Some(threads) = wish.threads {
        placement.threads = threads.clamp(1, placement.cores.len());
        tch::set_num_threads(placement.threads as i32);
    }
    placement
}

/// Binds this process to the local rank's equal share of the cores: which it runs on now, and how many there are. macOS binds no
/// process: there the share only says how much each rank may take.
pub fn bind(topology: &Topology) -> (Vec<usize>, usize) {
    let all = cores_in_order();
    let found = all.len();
    let mine = all[topology.core_slice(found)].to_vec();
    let bound = cores::bind(std::process::id(), &mine).is_ok();
    (if bound || !cfg!(target_os = "linux") { mine } else { all }, found)
}

/// [`bind`] for training, where ranks compute for milliseconds between two messages: ranks that share a core ask for long time slices. Only
/// where Open MPI was told to yield while it waits: a rank that spins would keep the core from the rank that it waits for.
fn bind_to_train(topology: &Topology) -> (Vec<usize>, usize) {
    let (cores, found) = bind(topology);
    let yields = std::env::var("OMPI_MCA_mpi_yield_when_idle").is_ok_and(|value| value == "1");
    if topology.local_size.0 > found && yields {
        // Where the system cannot do it, ranks are a little slower.
        numa::set_time_slice(TIME_SLICE).ok();
    }
    (cores, found)
}

/// Step 1 off: the first GPU, or any core, as if no other rank were there.
pub fn first() -> Placement {
    let cores = cores_in_order();
    let found = cores.len();
    match gpu_count() {
        0 => cpu(cores, found),
        gpus => gpu(0, gpus, cores),
    }
}

/// A rank on a CPU computes on one thread, or on OMP_NUM_THREADS where that is set: as one rank on a GPU means one GPU,
/// so that np ranks have np times the compute of one, and speed-ups compare like with like.
fn cpu(cores: Vec<usize>, found: usize) -> Placement {
    let wanted = std::env::var("OMP_NUM_THREADS").ok().and_then(|text| text.trim().parse().ok()).unwrap_or(1);
    let threads = usize::clamp(wanted, 1, cores.len());
    tch::set_num_threads(threads as i32);
    Placement { device: Device::Cpu, uuid: None, cores, found, threads }
}

fn gpu(index: usize, found: usize, cores: Vec<usize>) -> Placement {
    let threads = tch::get_num_threads() as usize;
    Placement { device: Device::Cuda(index), uuid: Gpu::uuid_of(index), cores, found, threads }
}

/// The cores this process may use, siblings of one physical core side by side, so that slices share no core.
fn cores_in_order() -> Vec<usize> {
    let place = |core: usize| {
        let read = |name: &str| -> usize {
            let path = format!("/sys/devices/system/cpu/cpu{core}/topology/{name}");
            std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(core)
        };
        (read("physical_package_id"), read("core_id"), core)
    };
    let mut found = cores::allowed(0);
    found.sort_by_key(|&core| place(core));
    if found.is_empty() { vec![0] } else { found }
}

/// Number of GPUs that libtorch can use; opens the CUDA half of libtorch where there is a driver.
pub fn gpu_count() -> usize {
    open_cuda().map_or(0, |()| Cuda::device_count().max(0) as usize)
}

/// Why there is no CUDA, or that there is.
///
/// `hvd-train` is linked with the CPU half of libtorch alone, so the same binary runs where no driver is. The CUDA half
/// registers itself when it is opened, which must be before the first question about CUDA.
///
/// # Errors
/// A sentence that says why.
pub fn open_cuda() -> Result<(), String> {
    static OPENED: std::sync::OnceLock<Result<(), String>> = std::sync::OnceLock::new();
    let open = || {
        driver::nvidia()?;
        use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
        // SAFETY: opening libtorch's own library runs its registration code, which is meant to run once in a process
        // that has libtorch; it stays open for good, since libtorch keeps pointers into it.
        let opened = unsafe { Library::open(Some("libtorch_cuda.so"), RTLD_NOW | RTLD_GLOBAL) };
        std::mem::forget(opened.map_err(|error| format!("libtorch_cuda.so does not open: {error}"))?);
        let unusable = || "libtorch finds no usable GPU (driver too old, or none visible)".to_owned();
        Cuda::is_available().then_some(()).ok_or_else(unusable)
    };
    OPENED.get_or_init(open).clone()
}

// SAFETY: as defined in src/ranks/trainer/libtorch.cpp.
unsafe extern "C" {
    fn hvd_allow_tf32(allow: bool);
    fn hvd_try_algorithms(count: i32);
    fn hvd_compute_stream(index: i32) -> *mut c_void;
}

impl Placement {
    /// The GPU, for a communicator to reach.
    pub fn gpu(&self) -> Option<Gpu> {
        let (Device::Cuda(index), Some(uuid)) = (self.device, self.uuid.clone()) else { return None };
        // SAFETY: libtorch's CUDA half is open, or there were no such device. The stream is libtorch's and stays.
        let compute_stream = Box::new(move || unsafe { hvd_compute_stream(index as i32) });
        Some(Gpu { index, uuid, compute_stream })
    }
}

/// A batch that was made on the host, on its device.
///
/// A GPU fetches it by itself from pinned memory, which the kernel never moves, while this thread prepares what comes next. From any
/// other memory the driver copies it first, and this thread waits. The copy stands in the compute stream before whatever uses it, and
/// libtorch gives the pinned memory to nobody else until then. Where no memory can be pinned, it is sent as it is.
pub fn from_host(batch: Tensor, device: Device) -> Tensor {
    match device {
        Device::Cuda(_) => match batch.f_internal_pin_memory(device) {
            Ok(pinned) => pinned.to_device_(device, batch.kind(), true, false),
            Err(_) => batch.to_device(device),
        },
        _ => batch,
    }
}

/// Set libtorch up for a precision, and let cuDNN try which of its algorithms is the fastest for each shape. Returns what
/// activations and kernels are to be cast to: weights, gradients, batch norm and the loss are float32 in all of them.
pub fn prepare(device: Device, precision: NumberFormat) -> Kind {
    if let Device::Cuda(_) = device {
        // How many algorithms cuDNN tries for each shape before the first step is done. Among those for float32 are slow ones: to
        // try ten, libtorch's number, took 36 s on an H200, and a run has seen minutes of training before they pay (docs/gpus.md).
        let algorithms = if precision == NumberFormat::Bf16 { 10 } else { 4 };
        // SAFETY: both set flags of libtorch's context, before any work is given to the GPU.
        unsafe {
            hvd_allow_tf32(precision == NumberFormat::Tf32);
            hvd_try_algorithms(algorithms);
        }
        Cuda::cudnn_set_benchmark(true);
    }
    if precision == NumberFormat::Bf16 { Kind::BFloat16 } else { Kind::Float }
}

/// Let the allocator keep what is freed: a training step allocates the same large blocks again and again, and handing
/// them back to the kernel each time costs up to a quarter of the step (page faults on a CPU). The first GiB that it keeps lies in huge
/// pages where the kernel has them: a processor spends up to a tenth of the step on looking up pages of 4 KB.
#[cfg(target_os = "linux")]
pub fn keep_freed_memory() {
    use nix::libc::{M_MMAP_MAX, M_TRIM_THRESHOLD, MADV_HUGEPAGE, free, madvise, malloc, mallopt};
    const HUGE_PAGE: usize = 2 << 20;
    // Of addresses, which become memory when they are written to. More would be trimmed again.
    const ROOM: usize = 1 << 30;
    // SAFETY: mallopt only sets two numbers of the C allocator; called once, before other threads start. The advice is about whole pages
    // inside of what malloc gave, and changes nothing that they hold.
    unsafe {
        mallopt(M_MMAP_MAX, 0);
        mallopt(M_TRIM_THRESHOLD, i32::MAX);
        if are_addresses_free() {
            let room = malloc(ROOM);
            if !room.is_null() {
                madvise(room.byte_add(room.align_offset(HUGE_PAGE)), ROOM - HUGE_PAGE, MADV_HUGEPAGE);
                free(room);
            }
        }
    }
}

/// Whether addresses that are not written to take nothing from anybody: no limit counts them, nor does the kernel.
#[cfg(target_os = "linux")]
fn are_addresses_free() -> bool {
    use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
    let is_unlimited = |of: Resource| getrlimit(of).is_ok_and(|(now, _)| now == RLIM_INFINITY);
    let counts_all = std::fs::read_to_string("/proc/sys/vm/overcommit_memory").is_ok_and(|mode| mode.trim() == "2");
    is_unlimited(Resource::RLIMIT_AS) && is_unlimited(Resource::RLIMIT_DATA) && !counts_all
}

/// Nothing: macOS's allocator has no such setting.
#[cfg(not(target_os = "linux"))]
pub fn keep_freed_memory() {}

/// `cpu` or `cuda:0`, as in events.
pub fn name(device: Device) -> String {
    if let Device::Cuda(index) = device { format!("cuda:{index}") } else { "cpu".to_owned() }
}
