//! Memory of a host that all ranks see: numbers of each rank, and one average of them all.
//!
//! Never sends a number. Each rank averages its part of the numbers where they lie, and all ranks read the result in one place: between
//! processes of a host a message is a copy by the kernel, and takes several times as long as the sum.

use std::collections::hash_map::RandomState;
use std::ffi::c_void;
use std::fs::{self, File};
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{Ordering, fence};

use ::mpi::collective::SystemOperation;
use ::mpi::topology::SimpleCommunicator;
use ::mpi::traits::{Communicator as _, CommunicatorCollectives as _, Root as _};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::comm::average::average;
use crate::comm::communicator::SharedRegions;
use crate::comm::region::Region;
use crate::host::cpu::host_memory;

/// What the memory of a rank is rounded up to: the largest page that a host may have. The first holds the token.
const PAGE: usize = 64 << 10;
/// Numbers that are averaged in one go: they stay in the core's nearest cache until all ranks' are added.
const CHUNK: usize = 4 << 10;
/// The parts of two ranks meet at a whole number of cache lines.
const LINE: usize = 32;

/// The memory, in the order of the ranks. It stays to the end of the process, because tensors lie in it.
pub(super) struct SharedMemory {
    own: usize,
    sources: Vec<Region>,
    target: Region,
}

/// What rank 0 tells the others of the file that it has made. It has no name, so nothing is left behind whenever a rank is killed.
#[derive(Clone, Copy, Default)]
struct Announcement {
    process: u64,
    descriptor: u64,
    /// Stands in the file as well: the same process number may mean another process to a rank in another container.
    token: u64,
}

/// Mapped memory that is given back unless it is kept.
struct Mapping {
    start: *mut c_void,
    bytes: usize,
}

impl Mapping {
    fn of(file: &File, bytes: usize) -> io::Result<Mapping> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, at an address that the system picks.
        let start = unsafe { mmap(ptr::null_mut(), bytes, access, MapFlags::SHARED, file, 0) }?;
        Ok(Mapping { start, bytes })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: a mapping of its own, into which no region points yet.
        let _ = unsafe { munmap(self.start, self.bytes) };
    }
}

impl SharedMemory {
    /// For `length` numbers of each rank; `None` if some rank cannot have or see it, or if rank 0 does not want it.
    ///
    /// # Collective
    /// All ranks, with the same length.
    pub(super) fn new(world: &SimpleCommunicator, length: usize, is_wanted: bool) -> Option<SharedMemory> {
        let (own, ranks) = (world.rank() as usize, world.size() as usize);
        let stride = (length * size_of::<f32>()).next_multiple_of(PAGE);
        let bytes = PAGE + (ranks + 1) * stride;
        let made = if own == 0 && is_wanted { announce(bytes).ok() } else { None };
        let mut words = made.as_ref().map_or([0; 3], |(_, told)| [told.process, told.descriptor, told.token]);
        world.process_at_rank(0).broadcast_into(&mut words[..]);
        let [process, descriptor, token] = words;
        let told = Announcement { process, descriptor, token };
        let reserve = |file: &File| -> io::Result<Mapping> {
            let places = [PAGE + own * stride..PAGE + (own + 1) * stride, PAGE + ranks * stride..bytes];
            // Each rank reserves its own, on the memory of the cores that it runs on.
            for place in &places[..if own == 0 { 2 } else { 1 }] {
                fallocate(file, FallocateFlags::empty(), place.start as u64, place.len() as u64)?;
            }
            Mapping::of(file, bytes)
        };
        let file = made.map_or_else(|| open(told, bytes), |(file, _)| Ok(file));
        let mapping = file.and_then(|file| Ok((reserve(&file)?, file)));
        let mut is_there = [0u8];
        world.all_reduce_into(&[u8::from(mapping.is_ok())], &mut is_there[..], SystemOperation::min());
        let (mapping, _) = mapping.ok().filter(|_| is_there[0] == 1)?;
        let start = mapping.start;
        std::mem::forget(mapping);
        // SAFETY: within the mapping, which stays. Who reads and writes it when, is the promise of those who get the regions.
        let region = |index: usize| unsafe { Region::new(start.byte_add(PAGE + index * stride).cast(), length) };
        Some(SharedMemory { own, sources: (0..ranks).map(region).collect(), target: region(ranks) })
    }

    pub(super) fn regions(&self) -> SharedRegions {
        SharedRegions { source: self.sources[self.own], target: self.target }
    }

    /// Which of the numbers these are, of this rank's and of the averages; `None` if they lie elsewhere.
    pub(super) fn range_of(&self, source: Region, target: Region) -> Option<Range<usize>> {
        source.range_in(self.sources[self.own]).filter(|range| target.range_in(self.target).as_ref() == Some(range))
    }

    /// This rank's part of the work: the averages of some of the numbers, in the order of the ranks. All are there once all ranks have done
    /// theirs.
    pub(super) fn average_part(&self, range: Range<usize>) {
        let ranks = self.sources.len();
        let bound =
            |rank: usize| range.start + if rank == ranks { range.len() } else { range.len() * rank / ranks / LINE * LINE };
        // What the others have written before they came here is seen now, and they see what is written here.
        fence(Ordering::SeqCst);
        let end = bound(self.own + 1);
        for start in (bound(self.own)..end).step_by(CHUNK) {
            let chunk = start..end.min(start + CHUNK);
            let sums = self.target.part(chunk.clone()).numbers_mut();
            sums.copy_from_slice(self.sources[0].part(chunk.clone()).numbers());
            for source in &self.sources[1..] {
                sums.iter_mut().zip(source.part(chunk.clone()).numbers()).for_each(|(sum, number)| *sum += number);
            }
            average(sums, ranks);
        }
        fence(Ordering::SeqCst);
    }
}

/// Makes the file, if the host has twice as much memory to spare: it is written to only after that, and a shortage then ends the process.
fn announce(bytes: usize) -> io::Result<(File, Announcement)> {
    if host_memory().0 / 2 < bytes as u64 {
        return Err(ErrorKind::OutOfMemory.into());
    }
    let file = unnamed_file()?;
    file.set_len(bytes as u64)?;
    let token = RandomState::new().build_hasher().finish();
    file.write_all_at(&token.to_ne_bytes(), 0)?;
    let told = Announcement { process: std::process::id().into(), descriptor: file.as_raw_fd() as u64, token };
    Ok((file, told))
}

#[cfg(target_os = "linux")]
fn unnamed_file() -> io::Result<File> {
    use rustix::fs::{MemfdFlags, memfd_create};
    Ok(File::from(memfd_create("hvd-lab", MemfdFlags::CLOEXEC)?))
}

#[cfg(not(target_os = "linux"))]
fn unnamed_file() -> io::Result<File> {
    Err(ErrorKind::Unsupported.into())
}

/// Opens the file of another process.
fn open(told: Announcement, bytes: usize) -> io::Result<File> {
    let path = Path::new("/proc").join(told.process.to_string()).join("fd").join(told.descriptor.to_string());
    // Neither a pipe nor a terminal of another process is opened.
    if fs::metadata(&path)?.len() != bytes as u64 {
        return Err(ErrorKind::NotFound.into());
    }
    let file = fs::OpenOptions::new().read(true).write(true).open(path)?;
    let mut token = [0; 8];
    file.read_exact_at(&mut token, 0)?;
    if token == told.token.to_ne_bytes() { Ok(file) } else { Err(ErrorKind::NotFound.into()) }
}
