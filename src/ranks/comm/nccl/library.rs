//! NCCL's functions, out of the library that libtorch works with.
//!
//! One process must have one NCCL. libtorch's CUDA half brings `libnccl.so.2`, whose functions are global from then on. If another
//! file is opened beside it, such as a system's `libnccl.so`, its calls to itself land in libtorch's, which finds a "corrupted comm
//! object". So the name that libtorch opens by is tried first, and cudarc's own search (`libnccl.so` first) is not used.

use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;

use cudarc::nccl::sys::{cudaStream_t, ncclComm_t, ncclDataType_t, ncclRedOp_t, ncclResult_t, ncclUniqueId};
use libloading::Library;

/// As libtorch names it, and as a system's development package does.
const NAMES: [&str; 2] = ["libnccl.so.2", "libnccl.so"];

/// Declares a field for each function, and how all of them are found.
macro_rules! functions {
    ($($name:ident($($argument:ty),*) -> $result:ty;)*) => {
        /// NCCL's functions under their own names: see its manual.
        #[allow(non_snake_case, reason = "these are NCCL's names")]
        pub(super) struct Functions {
            // SAFETY: types, as NCCL 2's header has them; calls give their reason.
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        fn find(library: &Library) -> Result<Functions, libloading::Error> {
            // SAFETY: the types are those of NCCL 2's header.
            Ok(unsafe { Functions { $($name: *library.get(concat!(stringify!($name), "\0").as_bytes())?,)* } })
        }
    };
}

functions! {
    ncclGetVersion(*mut c_int) -> ncclResult_t;
    ncclGetUniqueId(*mut ncclUniqueId) -> ncclResult_t;
    ncclCommInitRank(*mut ncclComm_t, c_int, ncclUniqueId, c_int) -> ncclResult_t;
    ncclCommDestroy(ncclComm_t) -> ncclResult_t;
    ncclCommAbort(ncclComm_t) -> ncclResult_t;
    ncclCommGetAsyncError(ncclComm_t, *mut ncclResult_t) -> ncclResult_t;
    ncclAllReduce(*const c_void, *mut c_void, usize, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t) -> ncclResult_t;
    ncclBroadcast(*const c_void, *mut c_void, usize, ncclDataType_t, c_int, ncclComm_t, cudaStream_t) -> ncclResult_t;
    ncclGetErrorString(ncclResult_t) -> *const c_char;
    ncclGetLastError(ncclComm_t) -> *const c_char;
}

/// Opens the library at the first call.
///
/// # Errors
/// That there is none, or which function it lacks.
pub(super) fn functions() -> Result<&'static Functions, String> {
    static FUNCTIONS: OnceLock<Result<Functions, String>> = OnceLock::new();
    FUNCTIONS.get_or_init(open).as_ref().map_err(Clone::clone)
}

fn open() -> Result<Functions, String> {
    // SAFETY: opening NVIDIA's library runs nothing but what it runs for every program.
    let mut opened = NAMES.iter().filter_map(|name| unsafe { Library::new(*name) }.ok());
    // Left open for good: the functions live in it.
    let library: &'static Library = Box::leak(Box::new(opened.next().ok_or("libnccl.so.2 is not found")?));
    find(library).map_err(|error| format!("libnccl.so.2 is too old: {error}"))
}
