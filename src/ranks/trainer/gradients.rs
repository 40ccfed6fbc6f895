//! Gradients as views of one flat buffer, and hooks that run as soon as backward has completed a gradient.
//!
//! The C++ beside this file does what tch has no name for.

use std::ffi::c_void;

use tch::Tensor;

use crate::comm::Region;

/// What libtorch calls a tensor behind tch's type.
type CTensor = c_void;

// SAFETY: the declarations agree with src/ranks/trainer/libtorch.cpp.
unsafe extern "C" {
    fn hvd_set_gradient(leaf: *mut CTensor, memory: *const CTensor);
    fn hvd_register_post_accumulate_hook(
        leaf: *const CTensor,
        call: extern "C" fn(*mut c_void, usize),
        hook: *mut c_void,
        index: usize,
    );
    fn hvd_remove_post_accumulate_hook(leaf: *const CTensor);
}

/// Makes backward add the gradient of `leaf` to `memory`.
///
/// # Shapes
/// `memory` has the shape and strides of `leaf`: then libtorch adds in place, pass after pass.
///
/// # Panics
/// If shape or strides differ.
pub fn set_gradient(leaf: &Tensor, memory: &Tensor) {
    assert_eq!((leaf.size(), leaf.stride()), (memory.size(), memory.stride()));
    // SAFETY: both are live tensors; libtorch keeps a reference of its own to `memory`.
    unsafe { hvd_set_gradient(leaf.as_ptr() as *mut CTensor, memory.as_ptr() as *const CTensor) }
}

type Hook<'a> = Box<dyn Fn(usize) + 'a>;

/// Calls a hook for every completed gradient, until it is dropped.
///
/// # PyTorch
/// `Tensor.register_post_accumulate_grad_hook`, on every leaf.
pub struct GradientHooks<'a> {
    leaves: Vec<Tensor>,
    /// Boxed twice, because C++ keeps one plain pointer to it.
    _hook: Box<Hook<'a>>,
}

impl<'a> GradientHooks<'a> {
    /// From now on `hook` is called with the index of a leaf whenever a backward pass has completed its gradient.
    ///
    /// Calls come in backward's order, which is the same on every rank that runs the same model. For leaves on a CPU they
    /// come on the thread that called backward. For leaves on a GPU they come on libtorch's one thread for that GPU, while
    /// the caller waits in backward; libtorch's queue orders the memory accesses of the two threads. So there is never more
    /// than one call at a time, and never one while the owner is outside of backward.
    ///
    /// # Safety
    /// - The value is dropped before `'a` ends: it must not be leaked, because only its drop removes the hooks.
    /// - Everything that `hook` touches may be used on libtorch's thread while the thread that called backward waits. The
    ///   closure need not be `Send` or `Sync` for that, as the two threads take turns, but what it touches must not depend
    ///   on the thread (a thread-local variable, or MPI calls where MPI wants the main thread).
    /// - Nobody calls backward on these leaves from two threads at once.
    ///
    /// # Panics
    /// If the leaves are on different devices.
    // SAFETY: the promises above are the caller's; the calls below say why they are sound.
    pub unsafe fn new(leaves: Vec<Tensor>, hook: impl Fn(usize) + 'a) -> GradientHooks<'a> {
        assert!(leaves.iter().all(|leaf| leaf.device() == leaves[0].device()), "one device, one thread");
        let hook: Box<Hook<'a>> = Box::new(Box::new(hook));
        let pointer = &raw const *hook as *mut c_void;
        for (index, leaf) in leaves.iter().enumerate() {
            // SAFETY: a live tensor, and a hook that stays where it is until `drop` has removed it from every leaf.
            unsafe { hvd_register_post_accumulate_hook(leaf.as_ptr() as *const CTensor, call, pointer, index) }
        }
        GradientHooks { leaves, _hook: hook }
    }
}

impl Drop for GradientHooks<'_> {
    fn drop(&mut self) {
        for leaf in &self.leaves {
            // SAFETY: a live tensor; afterwards libtorch holds no pointer to the hook.
            unsafe { hvd_remove_post_accumulate_hook(leaf.as_ptr() as *const CTensor) }
        }
    }
}

/// Called by C++, which no panic may cross. An `extern "C"` function ends the process on a panic, which is right for a rank
/// that cannot go on.
extern "C" fn call(hook: *mut c_void, index: usize) {
    // SAFETY: `hook` is the pointer that `GradientHooks::new` gave, alive until its drop, and only ever shared.
    unsafe { (*(hook as *const Hook<'_>))(index) }
}

/// A piece of a flat tensor where it lies, for a collective: `len` float32 numbers from `start` on.
///
/// # Safety
/// As for [`Region::new`]: from the start of the collective until it is finished, the tensor is neither freed nor written by
/// anyone else, nor read if it is the target. For a tensor on a GPU that holds in the order of the compute stream.
///
/// # Panics
/// If the tensor is not contiguous float32, or the piece is not within it.
// SAFETY: the promise above is the caller's.
pub unsafe fn region(flat: &Tensor, start: i64, len: i64) -> Region {
    assert!(flat.is_contiguous() && flat.kind() == tch::Kind::Float);
    let piece = flat.view(-1).narrow(0, start, len);
    let (first, len) = (piece.data_ptr() as *mut f32, len as usize);
    // SAFETY: `narrow` has checked the bounds; the rest is this function's own contract.
    unsafe { if flat.device() == tch::Device::Cpu { Region::new(first, len) } else { Region::new_on_gpu(first, len) } }
}

/// A flat float32 tensor over a region of host memory.
///
/// # Safety
/// The memory outlives the tensor, and nobody else writes to it while the tensor is used.
// SAFETY: the promise above is the caller's.
pub unsafe fn tensor_of(region: Region) -> Tensor {
    assert!(!region.is_on_gpu());
    // SAFETY: the region is `len` float32 numbers long, and the caller promises the rest.
    unsafe { Tensor::from_blob(region.start().cast(), &[region.len() as i64], &[1], tch::Kind::Float, tch::Device::Cpu) }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use tch::{Device, Kind};

    use super::*;
    use crate::trainer::params::to_vec;

    fn leaf(values: [f32; 2]) -> Tensor {
        Tensor::from_slice(&values).set_requires_grad(true)
    }

    #[test]
    fn backward_adds_to_the_memory_it_was_given() {
        let flat = Tensor::zeros([4], (Kind::Float, Device::Cpu));
        let (a, b) = (leaf([1.0, 2.0]), leaf([3.0, 4.0]));
        set_gradient(&a, &flat.narrow(0, 0, 2));
        set_gradient(&b, &flat.narrow(0, 2, 2));
        (&a * &b).sum(Kind::Float).backward();
        assert_eq!(to_vec(&flat), [3.0, 4.0, 1.0, 2.0]);
        (&a * 10.0).sum(Kind::Float).backward();
        assert_eq!(to_vec(&flat), [13.0, 14.0, 1.0, 2.0]);
    }

    #[test]
    fn hooks_run_in_backward_order_until_they_are_dropped() {
        let heard = RefCell::new(Vec::new());
        let leaves = [leaf([1.0, 1.0]), leaf([2.0, 2.0]), leaf([3.0, 3.0])];
        let loss = || ((&leaves[0] * 2.0 + 1.0) * &leaves[1]).sum(Kind::Float);
        let clones = leaves.iter().map(Tensor::shallow_clone).collect();
        // SAFETY: dropped below, before `heard`; backward runs on this thread.
        let hooks = unsafe { GradientHooks::new(clones, |index| heard.borrow_mut().push(index)) };
        loss().backward();
        // The last multiplication comes first on the way back; leaf 2 is not in the graph at all.
        assert_eq!(*heard.borrow(), [1, 0]);
        drop(hooks);
        loss().backward();
        assert_eq!(heard.borrow().len(), 2);
    }
}
