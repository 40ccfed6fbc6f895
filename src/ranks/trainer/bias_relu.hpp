// The bias of a convolution and the ReLU behind it, and their gradients. Knows nothing of libtorch.
//
// By themselves they go over the gradients twice in the backward pass: the ReLU reads and writes them, and the bias's gradient is a sum
// over what it wrote. Here it is one pass.
#pragma once

#include <cstdint>
#include <vector>

#include "sums.hpp"

namespace hvd {

// x = x + bias, negative numbers set to 0. In place. A number that is none stays what it is.
template <typename T, typename Each>
void add_bias_relu(T* x, const float* bias, const Cut& cut, Each each) {
  const std::vector<float> line = cut.line(std::vector<double>(bias, bias + cut.channels));
  each(cut.blocks, [&](int64_t block) {
    run(HVD_LOOP {
      T* numbers = x + cut.first_line(block) * cut.width;
      for (int64_t left = cut.lines_of(block); left > 0; --left, numbers += cut.width) {
        for (int64_t at = 0; at < cut.width; ++at) {
          const float number = load(numbers[at]) + line[at];
          store(numbers[at], number < 0 ? 0 : number);
        }
      }
    });
  });
}

// dx is the gradient where the ReLU let a number pass, otherwise 0; its sums are the bias's gradient.
template <typename T>
HVD_INLINE void pass(const T* __restrict dy, const T* __restrict y, T* __restrict dx, int64_t lines, int64_t width,
                     float* __restrict sum) {
  for (int64_t line = 0; line < lines; ++line, dy += width, y += width, dx += width) {
    for (int64_t at = 0; at < width; ++at) {
      const float gradient = load(y[at]) <= 0 ? 0 : load(dy[at]);
      store(dx[at], gradient);
      sum[at] += gradient;
    }
  }
}

// `y` is the result of `add_bias_relu`.
template <typename T, typename Each>
void bias_relu_gradient(const T* dy, const T* y, T* dx, float* d_bias, const Cut& cut, Each each) {
  Sums sums(cut);
  each(cut.blocks, [&](int64_t block) {
    run(HVD_LOOP {
      add_up(cut, block, sums.block(block), [&](int64_t first, int64_t lines, float* some) __attribute__((always_inline)) {
        const int64_t at = first * cut.width;
        pass(dy + at, y + at, dx + at, lines, cut.width, some);
      });
    });
  });
  std::vector<double> found, unused;
  sums.total(found, unused);
  for (int64_t at = 0; at < cut.channels; ++at) d_bias[at] = static_cast<float>(found[at]);
}

}  // namespace hvd
