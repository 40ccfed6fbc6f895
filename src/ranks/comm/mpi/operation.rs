//! Reductions that MPI lacks: the sum of 16-bit floating-point numbers, and the mean of two float32.
//!
//! Never panics: MPI calls these functions.

use std::os::raw::{c_int, c_void};

use ::mpi::collective::UnsafeUserOperation;
use ::mpi::ffi::MPI_Datatype;

use crate::comm::compression::Half;

/// One sum per format, and one mean. They live as long as the process, because a sum may be in flight until its end.
#[derive(Clone, Copy)]
pub(super) struct Operations {
    fp16: &'static UnsafeUserOperation,
    bf16: &'static UnsafeUserOperation,
    /// The mean over exactly two ranks. Whatever algorithm MPI picks, it combines two numbers once, so the mean needs no pass
    /// of its own. The bits are those of the sum, halved.
    pub(super) mean_of_two: &'static UnsafeUserOperation,
}

impl Operations {
    /// Needs MPI initialised. Once in a process.
    pub(super) fn register() -> Operations {
        // SAFETY: all commute. The first two are used with MPI_UINT16_T alone (`sum` is for u16), the third with MPI_FLOAT.
        let operations = unsafe { [add_fp16, add_bf16, halve_sum].map(|function| UnsafeUserOperation::commutative(function)) };
        let [fp16, bf16, mean_of_two] = operations.map(|operation| &*Box::leak(Box::new(operation)));
        Operations { fp16, bf16, mean_of_two }
    }

    /// The sum of numbers in this format, each one u16.
    pub(super) fn sum(self, format: Half) -> &'static UnsafeUserOperation {
        match format {
            Half::Fp16 => self.fp16,
            Half::Bf16 => self.bf16,
        }
    }
}

// SAFETY: MPI keeps the contract of an MPI_User_function, as `add` needs it.
unsafe extern "C" fn add_fp16(other: *mut c_void, sum: *mut c_void, length: *mut c_int, _: *mut MPI_Datatype) {
    // SAFETY: handed on as they came.
    unsafe { add(Half::Fp16, other, sum, length) }
}

// SAFETY: as above.
unsafe extern "C" fn add_bf16(other: *mut c_void, sum: *mut c_void, length: *mut c_int, _: *mut MPI_Datatype) {
    // SAFETY: handed on as they came.
    unsafe { add(Half::Bf16, other, sum, length) }
}

// SAFETY: MPI keeps the contract of an MPI_User_function, as `arrays` needs it.
unsafe extern "C" fn halve_sum(other: *mut c_void, sum: *mut c_void, length: *mut c_int, _: *mut MPI_Datatype) {
    // SAFETY: handed on as they came, on MPI_FLOAT.
    let (other, sum) = unsafe { arrays::<f32>(other, sum, length) };
    sum.iter_mut().zip(other).for_each(|(sum, other)| *sum = (*sum + other) * 0.5);
}

// SAFETY: needs two arrays of `length` u16 that do not overlap, which is what MPI gives an operation on MPI_UINT16_T.
unsafe fn add(format: Half, other: *mut c_void, sum: *mut c_void, length: *mut c_int) {
    // SAFETY: the caller's promise.
    let (other, sum) = unsafe { arrays(other, sum, length) };
    format.add(other, sum);
}

// SAFETY: needs two arrays of `length` T that do not overlap, and are not used otherwise for as long as `'a`.
unsafe fn arrays<'a, T>(other: *mut c_void, sum: *mut c_void, length: *mut c_int) -> (&'a [T], &'a mut [T]) {
    // SAFETY: the caller's promise. A length is never negative.
    unsafe {
        let length = *length as usize;
        (std::slice::from_raw_parts(other.cast(), length), std::slice::from_raw_parts_mut(sum.cast(), length))
    }
}
