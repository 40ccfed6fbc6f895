//! Sums of 16-bit floating-point numbers as operations of MPI, which has none of its own.
//!
//! Never panics: MPI calls these functions.

use std::os::raw::{c_int, c_void};

use ::mpi::collective::UnsafeUserOperation;
use ::mpi::ffi::MPI_Datatype;

use super::super::sixteen::Format;

/// One operation per format. They live as long as the process, as a sum may be on its way until its end.
#[derive(Clone, Copy)]
pub(super) struct Sums {
    fp16: &'static UnsafeUserOperation,
    bf16: &'static UnsafeUserOperation,
}

impl Sums {
    /// Needs MPI initialised. Once in a process.
    pub(super) fn register() -> Sums {
        // SAFETY: both functions are used with MPI_UINT16_T alone (`of` is for sums of u16), and commute.
        let operations = unsafe { [UnsafeUserOperation::commutative(add_fp16), UnsafeUserOperation::commutative(add_bf16)] };
        let [fp16, bf16] = operations.map(|operation| &*Box::leak(Box::new(operation)));
        Sums { fp16, bf16 }
    }

    /// The sum of numbers in this format, each in one u16.
    pub(super) fn of(self, format: Format) -> &'static UnsafeUserOperation {
        match format {
            Format::Fp16 => self.fp16,
            Format::Bf16 => self.bf16,
        }
    }
}

// SAFETY: MPI keeps the contract of an MPI_User_function, as `add` needs it.
unsafe extern "C" fn add_fp16(other: *mut c_void, sum: *mut c_void, length: *mut c_int, _: *mut MPI_Datatype) {
    // SAFETY: handed on as they came.
    unsafe { add(Format::Fp16, other, sum, length) }
}

// SAFETY: as above.
unsafe extern "C" fn add_bf16(other: *mut c_void, sum: *mut c_void, length: *mut c_int, _: *mut MPI_Datatype) {
    // SAFETY: handed on as they came.
    unsafe { add(Format::Bf16, other, sum, length) }
}

// SAFETY: needs two arrays of `length` u16 that do not overlap, which is what MPI gives an operation on MPI_UINT16_T.
unsafe fn add(format: Format, other: *mut c_void, sum: *mut c_void, length: *mut c_int) {
    // SAFETY: the caller's promise. A length is never negative.
    let (other, sum) = unsafe {
        let length = *length as usize;
        (std::slice::from_raw_parts(other.cast::<u16>(), length), std::slice::from_raw_parts_mut(sum.cast::<u16>(), length))
    };
    format.add(other, sum);
}
