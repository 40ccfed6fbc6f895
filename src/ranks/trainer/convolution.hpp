// The convolution 3 x 3 with a border of zeros, in float32, for processors with vectors of 16 numbers. Knows nothing of libtorch.
//
// Channels lie side by side in memory, pixel after pixel. For a few pixels of a line, and 16 or 32 channels of each, the sums stay in
// registers from the first product to the last. One number of the image then meets one or two vectors of the kernel, and nothing else
// takes time: no window is copied, and no product with the border is made.
#pragma once

#include <cstdint>
#include <vector>

#include "vectors.hpp"

#if defined(HVD_CHOOSES_VECTORS)
#include <immintrin.h>

namespace hvd {

constexpr int64_t VECTOR = 16;

struct Convolution {
  // Of `images` times `height` times `width` pixels, `from` channels to `to`.
  int64_t images, height, width, from, to;

  int64_t vectors() const { return to % (2 * VECTOR) == 0 ? 2 : 1; }
  // How many pixels of a line are computed together: a divisor of the width, with enough sums to keep the processor busy while it waits
  // for the last product of each. 0: no such number.
  int64_t pixels() const {
    for (const int64_t pixels : {7, 8}) {
      const int64_t all = pixels * (2 / vectors());
      if (width % all == 0) return all;
    }
    return 0;
  }
  // Whether it is faster here than libtorch's. Where three lines of the image are too much for the first cache, it is not.
  bool is_known() const {
    const int64_t cached = 16 << 10;
    const bool fits = 3 * width * from * static_cast<int64_t>(sizeof(float)) <= cached;
    return fits && to % VECTOR == 0 && pixels() > 0 && __builtin_cpu_supports("avx512f");
  }
};

// A kernel [to, from, 3, 3] anywhere in memory: how many numbers further the next one is along each side.
struct Kernel {
  const float* numbers;
  int64_t to, from, line, column;

  // That of the gradient by the image: it goes back from `to` to `from`, and is turned over.
  Kernel turned() const { return {numbers + 2 * line + 2 * column, from, to, -line, -column}; }
};

// The kernel in the order in which it is read: for each group of channels of the result line by line, channel by channel, and pixel by
// pixel.
inline std::vector<float> packed(const Convolution& of, const Kernel& kernel) {
  const int64_t group = of.vectors() * VECTOR;
  std::vector<float> numbers(of.to * of.from * 9);
  float* next = numbers.data();
  for (int64_t first = 0; first < of.to; first += group) {
    for (int64_t line = 0; line < 3; ++line) {
      for (int64_t channel = 0; channel < of.from; ++channel) {
        for (int64_t column = 0; column < 3; ++column) {
          const float* at = kernel.numbers + first * kernel.to + line * kernel.line + channel * kernel.from + column * kernel.column;
          for (int64_t to = 0; to < group; ++to, at += kernel.to) *next++ = *at;
        }
      }
    }
  }
  return numbers;
}

// What the sums of a result begin with: nothing if `numbers` is null, a bias for each channel (`step` is 0), or a tensor like the result
// (`step` is its channels).
struct Beginning {
  const float* numbers;
  int64_t step;
  const float* at(int64_t pixel, int64_t channel) const { return numbers == nullptr ? nullptr : numbers + pixel * step + channel; }
};

// Some pixels of a line. `x`, `first` and `y` are at the first of them, `kernel`, `first` and `y` at the group of channels. `first` is what
// the sums begin with, `step` numbers further for each pixel, or null. Lines `begin` to `end` of the kernel are over lines of the image.
template <int PIXELS, int VECTORS, bool LEFTMOST, bool RIGHTMOST>
__attribute__((target("avx512f"), noinline)) void convolve_tile(const float* x, const float* kernel, const float* first, int64_t step,
                                                               float* y, const Convolution& of, int begin, int end) {
  const int64_t from = of.from;
  __m512 sums[PIXELS][VECTORS];
#pragma GCC unroll 16
  for (int pixel = 0; pixel < PIXELS; ++pixel) {
#pragma GCC unroll 2
    for (int vector = 0; vector < VECTORS; ++vector) {
      sums[pixel][vector] = first == nullptr ? _mm512_setzero_ps() : _mm512_loadu_ps(first + pixel * step + vector * VECTOR);
    }
  }
  for (int line = begin; line < end; ++line) {
    const float* numbers = x + (line - 1) * of.width * from;
    const float* weights = kernel + line * from * 3 * VECTORS * VECTOR;
    for (int64_t channel = 0; channel < from; ++channel, ++numbers, weights += 3 * VECTORS * VECTOR) {
#pragma GCC unroll 3
      for (int column = 0; column < 3; ++column) {
        __m512 weight[VECTORS];
#pragma GCC unroll 2
        for (int vector = 0; vector < VECTORS; ++vector) weight[vector] = _mm512_loadu_ps(weights + (column * VECTORS + vector) * VECTOR);
#pragma GCC unroll 16
        for (int pixel = 0; pixel < PIXELS; ++pixel) {
          if ((LEFTMOST && column + pixel == 0) || (RIGHTMOST && column + pixel == PIXELS + 1)) continue;
          const __m512 number = _mm512_set1_ps(numbers[(pixel + column - 1) * from]);
#pragma GCC unroll 2
          for (int vector = 0; vector < VECTORS; ++vector) {
            sums[pixel][vector] = _mm512_fmadd_ps(number, weight[vector], sums[pixel][vector]);
          }
        }
      }
    }
  }
#pragma GCC unroll 16
  for (int pixel = 0; pixel < PIXELS; ++pixel) {
#pragma GCC unroll 2
    for (int vector = 0; vector < VECTORS; ++vector) _mm512_storeu_ps(y + pixel * of.to + vector * VECTOR, sums[pixel][vector]);
  }
}

template <int PIXELS, int VECTORS>
void convolve_line(const float* x, const float* kernel, const float* first, int64_t step, float* y, const Convolution& of, int64_t line) {
  const int begin = line == 0 ? 1 : 0, end = line == of.height - 1 ? 2 : 3;
  const auto tile = [&](int64_t at, auto convolve) {
    convolve(x + at * of.from, kernel, first == nullptr ? nullptr : first + at * step, step, y + at * of.to, of, begin, end);
  };
  if (of.width == PIXELS) return tile(0, convolve_tile<PIXELS, VECTORS, true, true>);
  tile(0, convolve_tile<PIXELS, VECTORS, true, false>);
  for (int64_t at = PIXELS; at < of.width - PIXELS; at += PIXELS) tile(at, convolve_tile<PIXELS, VECTORS, false, false>);
  tile(of.width - PIXELS, convolve_tile<PIXELS, VECTORS, false, true>);
}

// `kernel` as it is packed.
inline void convolve_image(int64_t image, const float* x, const float* kernel, const Beginning& with, float* y, const Convolution& of) {
  const int64_t group = of.vectors() * VECTOR;
  for (int64_t channel = 0; channel < of.to; channel += group) {
    for (int64_t line = 0; line < of.height; ++line) {
      const int64_t pixel = (image * of.height + line) * of.width;
      const auto convolve = [&](auto convolve_line) {
        convolve_line(x + pixel * of.from, kernel + channel * of.from * 9, with.at(pixel, channel), with.step, y + pixel * of.to + channel,
                      of, line);
      };
      switch (of.pixels() * 10 + of.vectors()) {
        case 72: convolve(convolve_line<7, 2>); break;
        case 82: convolve(convolve_line<8, 2>); break;
        case 141: convolve(convolve_line<14, 1>); break;
        case 161: convolve(convolve_line<16, 1>); break;
      }
    }
  }
}

}  // namespace hvd

#endif
