//! Gradients as views of one flat buffer, and word of each as soon as backward is done with it.
//!
//! Never communicates. The C++ beside this file does what tch has no name for.

use std::ffi::c_void;

use tch::Tensor;

use crate::comm::Region;

/// What libtorch calls a tensor behind tch's type.
type CTensor = c_void;

// SAFETY: the declarations agree with src/trainer/libtorch.cpp.
unsafe extern "C" {
    fn hvd_set_gradient(leaf: *mut CTensor, memory: *const CTensor);
    fn hvd_watch_gradient(leaf: *const CTensor, tell: extern "C" fn(*mut c_void, usize), listener: *mut c_void, index: usize);
    fn hvd_unwatch_gradient(leaf: *const CTensor);
}

/// Let backward add the gradient of `leaf` to `memory`.
///
/// # Shapes
/// `memory` as `leaf`, strides too: then libtorch adds in place, pass after pass.
pub fn set_gradient(leaf: &Tensor, memory: &Tensor) {
    assert_eq!((leaf.size(), leaf.stride()), (memory.size(), memory.stride()));
    // SAFETY: both are live tensors; libtorch keeps a reference of its own to `memory`.
    unsafe { hvd_set_gradient(leaf.as_ptr() as *mut CTensor, memory.as_ptr() as *const CTensor) }
}

type Listener<'a> = Box<dyn Fn(usize) + 'a>;

/// Tells a listener about finished gradients for as long as it lives.
pub struct Watch<'a> {
    leaves: Vec<Tensor>,
    /// Boxed twice, since C++ keeps one plain pointer to it.
    _listener: Box<Listener<'a>>,
}

impl<'a> Watch<'a> {
    /// Call `listener` with the index of a leaf whenever a backward pass has completed its gradient.
    ///
    /// In backward's order, which is the same on every rank that runs the same model: on a CPU on the thread that called
    /// backward, and for leaves on a GPU on libtorch's one thread for that GPU, while the caller waits in backward. So
    /// the listener is never called twice at a time, nor while its owner uses what it shares with it, and libtorch's
    /// queue orders what one thread wrote before what the other reads.
    pub fn new(leaves: Vec<Tensor>, listener: impl Fn(usize) + 'a) -> Watch<'a> {
        assert!(leaves.iter().all(|leaf| leaf.device() == leaves[0].device()), "one device, one thread");
        let listener: Box<Listener<'a>> = Box::new(Box::new(listener));
        let pointer = &raw const *listener as *mut c_void;
        for (index, leaf) in leaves.iter().enumerate() {
            // SAFETY: the listener stays where it is until `drop` has unregistered it from every leaf.
            unsafe { hvd_watch_gradient(leaf.as_ptr() as *const CTensor, tell, pointer, index) }
        }
        Watch { leaves, _listener: listener }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        for leaf in &self.leaves {
            // SAFETY: a live tensor; afterwards libtorch holds no pointer to the listener.
            unsafe { hvd_unwatch_gradient(leaf.as_ptr() as *const CTensor) }
        }
    }
}

/// Called by C++, which no panic may cross: an `extern "C"` function ends the process on one, as is right for a rank
/// that cannot go on.
extern "C" fn tell(listener: *mut c_void, index: usize) {
    // SAFETY: `listener` is the pointer that `Watch::new` gave, alive until its drop, and only ever shared.
    unsafe { (*(listener as *const Listener<'_>))(index) }
}

/// A stretch of a flat tensor where it lies, for a collective.
///
/// # Panics
/// If the tensor is not a line of float32 numbers.
pub fn region(flat: &Tensor, start: i64, len: i64) -> Region {
    assert!(flat.is_contiguous() && flat.kind() == tch::Kind::Float);
    let piece = flat.view(-1).narrow(0, start, len);
    let (first, len) = (piece.data_ptr() as *mut f32, len as usize);
    // SAFETY: `narrow` has checked the bounds, and the one caller, the distributed optimizer, keeps the tensor and
    // leaves the piece alone until the collective is finished.
    unsafe { if flat.device() == tch::Device::Cpu { Region::new(first, len) } else { Region::new_on_gpu(first, len) } }
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
    fn word_comes_in_backward_order_and_until_the_watch_ends() {
        let heard = RefCell::new(Vec::new());
        let leaves = [leaf([1.0, 1.0]), leaf([2.0, 2.0]), leaf([3.0, 3.0])];
        let loss = || ((&leaves[0] * 2.0 + 1.0) * &leaves[1]).sum(Kind::Float);
        let watch = Watch::new(leaves.iter().map(Tensor::shallow_clone).collect(), |index| heard.borrow_mut().push(index));
        loss().backward();
        // The last multiplication comes first on the way back; leaf 2 is not in the graph at all.
        assert_eq!(*heard.borrow(), [1, 0]);
        drop(watch);
        loss().backward();
        assert_eq!(heard.borrow().len(), 2);
    }
}
