// What libtorch's C++ interface can do and tch cannot: give a leaf the memory that its gradient accumulates into, call a
// hook when its gradient is complete, choose the precision of convolutions and matrix products on a GPU, and name the
// stream that a GPU computes on.
#include <ATen/Context.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <memory>

namespace {

struct Hook : torch::autograd::PostAccumulateGradHook {
  Hook(void (*call)(void*, size_t), void* hook, size_t index) : call(call), hook(hook), index(index) {}
  void operator()(const torch::autograd::Variable&) override { call(hook, index); }
  void (*call)(void*, size_t);
  void* hook;
  size_t index;
};

}  // namespace

extern "C" {

// From now on backward adds to `memory`, which has the shape and strides of `leaf`.
void hvd_set_gradient(at::Tensor* leaf, const at::Tensor* memory) { leaf->mutable_grad() = *memory; }

// After every backward pass that reaches `leaf`, `call(hook, index)` runs once its gradient is complete: on the calling
// thread for tensors on a CPU, on libtorch's thread of the device otherwise. A leaf has one hook at a time.
void hvd_register_post_accumulate_hook(const at::Tensor* leaf, void (*call)(void*, size_t), void* hook, size_t index) {
  torch::autograd::impl::set_post_acc_grad_hooks(*leaf, std::make_unique<Hook>(call, hook, index));
}

void hvd_remove_post_accumulate_hook(const at::Tensor* leaf) {
  torch::autograd::impl::set_post_acc_grad_hooks(*leaf, nullptr);
}

// Whether a GPU may round the factors of float32 products to 10 bits of fraction.
void hvd_allow_tf32(bool allow) {
  at::globalContext().setAllowTF32CuDNN(allow);
  at::globalContext().setAllowTF32CuBLAS(allow);
}

// The CUDA stream that this thread's computations on the GPU are given to. Asked by way of the guard that libtorch_cuda.so
// registers, as nothing of CUDA is linked.
void* hvd_compute_stream(int index) {
  const c10::impl::VirtualGuardImpl guard(c10::DeviceType::CUDA);
  return guard.getStreamNativeHandle(guard.getStream(c10::Device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index))));
}

}  // extern "C"
