//! A piece of float32 memory that a collective works on while its owner does something else.
//!
//! Never owns the memory, and never looks at it by itself: only the communicator that was given it does.

use std::ops::Range;

/// Where the numbers of a bucket lie: in host memory, or in this rank's GPU for a communicator that is CUDA-aware.
///
/// A plain slice would not do: the collective runs while backward goes on, so the borrow would have to outlive the call.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    start: *mut f32,
    len: usize,
    on_gpu: bool,
}

impl Region {
    /// `len` float32 numbers from `start` on, in host memory.
    ///
    /// # Safety
    /// From [`Communicator::start_allreduce`](super::Communicator::start_allreduce) until
    /// [`finish_allreduces`](super::Communicator::finish_allreduces) has returned, the memory stays where it is and
    /// nobody else writes to it, nor reads it if it is the target. If that returns an error, the memory stays until the
    /// communicator is called for the last time, but to abort.
    // SAFETY: the promise above is the caller's; nothing is read or written here.
    pub unsafe fn new(start: *mut f32, len: usize) -> Region {
        Region { start: some(start, len), len, on_gpu: false }
    }

    /// The same in memory of this rank's GPU, for a communicator that is CUDA-aware
    /// ([`is_cuda_aware`](super::Communicator::is_cuda_aware)). Its use then starts and ends in stream order: see
    /// [`finish_allreduces`](super::Communicator::finish_allreduces).
    ///
    /// # Safety
    /// As for [`Region::new`], in the order of the compute stream.
    // SAFETY: the promise above is the caller's; nothing is read or written here.
    pub unsafe fn new_on_gpu(start: *mut f32, len: usize) -> Region {
        Region { start: some(start, len), len, on_gpu: true }
    }

    /// Whether it lies in the GPU's memory.
    pub fn is_on_gpu(self) -> bool {
        self.on_gpu
    }

    /// Number of float32 numbers.
    pub fn len(self) -> usize {
        self.len
    }

    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The address of the first number.
    pub fn start(self) -> *mut f32 {
        self.start
    }

    /// Some of the numbers.
    ///
    /// # Panics
    /// If there are fewer.
    pub(super) fn part(self, range: Range<usize>) -> Region {
        assert!(range.start <= range.end && range.end <= self.len, "{range:?} of {} numbers", self.len);
        Region { start: self.start.wrapping_add(range.start), len: range.len(), ..self }
    }

    /// Which numbers of another region these are; `None` if not all of them are there.
    pub(super) fn range_in(self, whole: Region) -> Option<Range<usize>> {
        let bytes = (self.start as usize).checked_sub(whole.start as usize)?;
        let first = bytes / size_of::<f32>();
        (bytes % size_of::<f32>() == 0 && first + self.len <= whole.len).then(|| first..first + self.len)
    }

    /// Whether the two share memory.
    pub(super) fn overlaps(self, other: Region) -> bool {
        let (one, two) = (self.start as usize, other.start as usize);
        one < two + size_of::<f32>() * other.len && two < one + size_of::<f32>() * self.len
    }

    /// Regions of `length` numbers, and the rest, in order. An empty region has none.
    pub(super) fn chunks(self, length: usize) -> impl Iterator<Item = Region> {
        (0..self.len).step_by(length).map(move |at| self.part(at..self.len.min(at + length)))
    }

    /// The numbers, for reading.
    ///
    /// # Panics
    /// If they lie in a GPU's memory.
    pub(super) fn numbers(self) -> &'static [f32] {
        assert!(!self.on_gpu, "the host cannot read a GPU's memory");
        // SAFETY: `new` was promised live memory that nobody writes to until the collective is finished.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }

    /// The numbers, for writing.
    ///
    /// # Panics
    /// If they lie in a GPU's memory.
    pub(super) fn numbers_mut(self) -> &'static mut [f32] {
        assert!(!self.on_gpu, "the host cannot write to a GPU's memory");
        // SAFETY: as above, and nobody else reads the target of a collective in flight.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }

    /// The device pointer of the first number.
    ///
    /// # Panics
    /// If they lie in host memory.
    pub(super) fn device_ptr(self) -> *mut f32 {
        assert!(self.on_gpu, "a GPU's collective on host memory");
        self.start
    }
}

/// No numbers have no memory: a tensor without any is at address 0, where no slice may be.
fn some(start: *mut f32, len: usize) -> *mut f32 {
    if len == 0 { std::ptr::dangling_mut() } else { start }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Region {
        /// Memory that is never given back.
        pub(in crate::comm) fn leaked(len: usize) -> Region {
            let numbers: &'static mut [f32] = vec![0.0; len].leak();
            Region { start: numbers.as_mut_ptr(), len: numbers.len(), on_gpu: false }
        }
    }

    #[test]
    fn a_part_knows_its_place() {
        let whole = Region::leaked(10);
        assert_eq!(whole.part(3..7).range_in(whole), Some(3..7));
        assert_eq!(whole.part(3..7).part(1..4).range_in(whole), Some(4..7));
        assert_eq!(whole.range_in(whole.part(0..9)), None);
        assert_eq!(whole.range_in(whole.part(1..10)), None);
        assert_eq!(Region::leaked(1).range_in(whole), None);
    }

    #[test]
    fn no_numbers_are_a_region_too() {
        // SAFETY: there is no memory to promise anything of.
        let none = unsafe { Region::new(std::ptr::null_mut(), 0) };
        assert!(none.is_empty() && none.numbers().is_empty() && none.numbers_mut().is_empty());
    }
}
