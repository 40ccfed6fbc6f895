//! Memory that several processes of a host see.
//!
//! It is an anonymous file (memfd), so a killed process leaves nothing behind. The other processes open it through /proc, by the id of the
//! process that created it.

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

use rustix::fs::{FallocateFlags, fallocate};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use serde::{Deserialize, Serialize};

use super::cpu::host_memory;

/// Parts of the memory begin at a multiple of this: the largest page size of common hosts, in bytes. The first page holds the token.
pub const PAGE: usize = 64 << 10;

/// The memory, as one process has it.
pub struct SharedMemory {
    file: File,
    bytes: usize,
}

/// The memory where this process sees it, given back unless it is kept.
pub struct Mapping {
    start: *mut c_void,
    bytes: usize,
}

/// By which another process finds the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    process: u32,
    descriptor: i32,
    /// Stands in the file as well: to a process in another container the number of the process may be that of another one.
    token: u64,
    pub bytes: usize,
}

impl SharedMemory {
    /// Creates shared memory of `bytes` bytes.
    ///
    /// # Errors
    /// Less than twice `bytes` is free on this host: running out of memory later would kill a process. Or the system's error.
    pub fn create(bytes: usize) -> io::Result<(SharedMemory, Address)> {
        if host_memory().0 / 2 < bytes as u64 {
            return Err(ErrorKind::OutOfMemory.into());
        }
        let file = unnamed_file()?;
        file.set_len(bytes as u64)?;
        let token = RandomState::new().build_hasher().finish();
        file.write_all_at(&token.to_ne_bytes(), 0)?;
        let address = Address { process: std::process::id(), descriptor: file.as_raw_fd(), token, bytes };
        Ok((SharedMemory { file, bytes }, address))
    }

    /// Opens what another process has made, and still has.
    ///
    /// # Errors
    /// The system's, as where the processes do not see each other.
    pub fn open(address: Address) -> io::Result<SharedMemory> {
        let path = Path::new("/proc").join(address.process.to_string()).join("fd").join(address.descriptor.to_string());
        // Neither a pipe nor a terminal of another process is opened.
        if fs::metadata(&path)?.len() != address.bytes as u64 {
            return Err(ErrorKind::NotFound.into());
        }
        let file = fs::OpenOptions::new().read(true).write(true).open(path)?;
        let mut token = [0; 8];
        file.read_exact_at(&mut token, 0)?;
        let memory = SharedMemory { file, bytes: address.bytes };
        if token == address.token.to_ne_bytes() { Ok(memory) } else { Err(ErrorKind::NotFound.into()) }
    }

    /// Allocates these bytes now, on the NUMA node of this process: a write to a page that cannot be allocated would kill the process.
    ///
    /// # Errors
    /// The system's, as where there is too little.
    pub fn reserve(&self, range: Range<usize>) -> io::Result<()> {
        Ok(fallocate(&self.file, FallocateFlags::empty(), range.start as u64, range.len() as u64)?)
    }

    /// Its bytes in this process.
    ///
    /// # Errors
    /// The system's.
    pub fn map(&self) -> io::Result<Mapping> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, at an address that the system picks.
        let start = unsafe { mmap(ptr::null_mut(), self.bytes, access, MapFlags::SHARED, &self.file, 0) }?;
        Ok(Mapping { start, bytes: self.bytes })
    }
}

impl Mapping {
    /// The address of the first byte, which stays mapped until the process ends.
    pub fn keep(self) -> *mut u8 {
        let start = self.start;
        std::mem::forget(self);
        start.cast()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the address is only handed out by `keep`, which never gets here.
        let _ = unsafe { munmap(self.start, self.bytes) };
    }
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_one_writes_the_other_reads() {
        let (made, address) = SharedMemory::create(3 * PAGE).unwrap();
        let opened = SharedMemory::open(address).unwrap();
        opened.reserve(PAGE..3 * PAGE).unwrap();
        let (one, other) = (made.map().unwrap().keep(), opened.map().unwrap().keep());
        assert_ne!(one, other);
        // SAFETY: both have three pages.
        unsafe {
            one.add(PAGE + 7).write_volatile(42);
            assert_eq!(other.add(PAGE + 7).read_volatile(), 42);
        }
    }

    #[test]
    fn what_is_not_it_is_not_opened() {
        let (made, address) = SharedMemory::create(PAGE).unwrap();
        let wrong = [
            Address { token: address.token + 1, ..address },
            Address { bytes: 2 * PAGE, ..address },
            Address { descriptor: i32::MAX, ..address },
            Address { process: u32::MAX, ..address },
        ];
        assert!(wrong.into_iter().all(|address| SharedMemory::open(address).is_err()));
        drop(made);
        assert!(SharedMemory::open(address).is_err(), "its last owner is gone");
        assert!(SharedMemory::create(usize::MAX / 4).is_err());
    }
}
