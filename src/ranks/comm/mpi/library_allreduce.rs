//! MPI's own allreduce, with the algorithm that the library picks or with one that it is told (MPI_T).

use std::ffi::{CStr, c_int};
use std::marker::PhantomData;
use std::ptr;

use ::mpi::collective::SystemOperation;
use ::mpi::ffi::{
    MPI_SUCCESS, MPI_T_cvar_get_index, MPI_T_cvar_handle, MPI_T_cvar_handle_alloc, MPI_T_cvar_handle_free, MPI_T_cvar_read,
    MPI_T_cvar_write, MPI_T_finalize, MPI_T_init_thread, MPI_THREAD_FUNNELED,
};
use ::mpi::topology::SimpleCommunicator;
use ::mpi::traits::{Communicator as _, CommunicatorCollectives as _};

use super::MpiComm;
use crate::domain::collective::MpiAlgorithm;

/// Numbers in one call, which counts in i32.
const LONGEST: usize = 1 << 30;

/// Open MPI reads both when a communicator is made, which keeps the algorithm for as long as it lives.
const DYNAMIC_RULES: &CStr = c"coll_tuned_use_dynamic_rules";
const ALGORITHM: &CStr = c"coll_tuned_allreduce_algorithm";

/// MPI_Allreduce. No longer than its communicator, for its end is MPI's.
pub struct LibraryAllreduce<'a> {
    comm: SimpleCommunicator,
    _connected: PhantomData<&'a ()>,
}

impl MpiComm {
    /// MPI_Allreduce without a negotiation, with the algorithm that the library picks, or with this one.
    ///
    /// # Collective
    /// All ranks (MPI_Comm_dup), which run the same library and so succeed or fail together.
    ///
    /// # Errors
    /// Why the library cannot be told its algorithm, in one sentence.
    pub fn library_allreduce(&self, forced: Option<MpiAlgorithm>) -> Result<LibraryAllreduce<'_>, String> {
        let make = || LibraryAllreduce { comm: self.world.duplicate(), _connected: PhantomData };
        let Some(algorithm) = forced else { return Ok(make()) };
        let tools = Tools::start()?;
        tools.set(DYNAMIC_RULES, 1)?;
        tools.set(ALGORITHM, algorithm.number())?;
        let made = make();
        tools.set(ALGORITHM, 0)?;
        Ok(made)
    }
}

impl LibraryAllreduce<'_> {
    /// The sum of all ranks' `source`, into `target`.
    ///
    /// # Collective
    /// All ranks, with equal lengths.
    pub fn sum(&self, source: &[f32], target: &mut [f32]) {
        for (source, target) in source.chunks(LONGEST).zip(target.chunks_mut(LONGEST)) {
            self.comm.all_reduce_into(source, target, SystemOperation::sum());
        }
    }
}

/// MPI's interface to its own settings, until it is dropped.
struct Tools;

impl Tools {
    fn start() -> Result<Tools, String> {
        let mut provided: c_int = 0;
        // SAFETY: it may be started at any time and any number of times; each is ended by `drop`.
        let answer = unsafe { MPI_T_init_thread(MPI_THREAD_FUNNELED as c_int, &mut provided) };
        if answer == MPI_SUCCESS as c_int {
            Ok(Tools)
        } else {
            Err("this MPI library does not let its settings be changed".into())
        }
    }

    /// Changes a setting that is one number, and looks whether it took.
    fn set(&self, name: &CStr, value: c_int) -> Result<(), String> {
        let name_text = name.to_string_lossy();
        let (mut index, mut count, mut read): (c_int, c_int, c_int) = (0, 0, 0);
        // SAFETY: a text that ends with a zero byte, and a place for the answer.
        let found = unsafe { MPI_T_cvar_get_index(name.as_ptr(), &mut index) };
        if found != MPI_SUCCESS as c_int {
            return Err(format!("this MPI library has no setting `{name_text}`: Open MPI alone can be told its algorithm"));
        }
        // SAFETY: the setting is one number, for which there is a place, and belongs to no object. The handle is written if the
        // first call succeeds, and given back.
        let took = unsafe {
            let mut handle: MPI_T_cvar_handle = std::mem::zeroed();
            let success = MPI_SUCCESS as c_int;
            MPI_T_cvar_handle_alloc(index, ptr::null_mut(), &mut handle, &mut count) == success && {
                let wrote = count == 1
                    && MPI_T_cvar_write(handle, ptr::from_ref(&value).cast()) == success
                    && MPI_T_cvar_read(handle, ptr::from_mut(&mut read).cast()) == success;
                MPI_T_cvar_handle_free(&mut handle);
                wrote && read == value
            }
        };
        if took { Ok(()) } else { Err(format!("this MPI library does not let `{name_text}` be changed")) }
    }
}

impl Drop for Tools {
    fn drop(&mut self) {
        // SAFETY: it was started.
        unsafe { MPI_T_finalize() };
    }
}
