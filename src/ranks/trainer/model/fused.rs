//! What all operations of our own C++ share: which tensors they take, and how they hand over the one they make.

use std::ffi::{CStr, c_char, c_void};

use tch::{Kind, Tensor};

/// What libtorch calls a tensor behind tch's type.
pub type CTensor = c_void;

/// The tensor that the C++ makes, which `call` tells where to put it.
///
/// # Safety
/// `call` gives the C++ live tensors of the shapes and kinds that it takes. It returns null and has set its argument to a tensor that is
/// now the caller's, or it returns a text to be freed.
///
/// # Panics
/// With that text.
// SAFETY: the promise above is the caller's.
pub unsafe fn made(call: impl FnOnce(*mut *mut CTensor) -> *mut c_char) -> Tensor {
    let mut result = std::ptr::null_mut();
    let wrong = call(&raw mut result);
    // SAFETY: as the caller has promised.
    unsafe {
        if !wrong.is_null() {
            let text = CStr::from_ptr(wrong).to_string_lossy().into_owned();
            nix::libc::free(wrong.cast());
            // As tch says it.
            panic!("{text}");
        }
        Tensor::from_ptr(result.cast())
    }
}

/// The tensor as the C++ takes it, for as long as it lives.
pub fn raw(tensor: &Tensor) -> *const CTensor {
    tensor.as_ptr() as *const CTensor
}

/// Whether our own C++ takes this tensor: on a CPU, pixel by pixel in memory, with at least one number.
pub fn is_fusible(x: &Tensor) -> bool {
    let [_, _, _, _] = x.size()[..] else { return false };
    let is_known = matches!(x.kind(), Kind::Float | Kind::BFloat16) && x.device() == tch::Device::Cpu;
    is_known && x.numel() > 0 && x.permute([0, 2, 3, 1]).is_contiguous()
}
