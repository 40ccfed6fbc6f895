// The arithmetic of batch norm in training, fused with what follows it: an addition, a ReLU and max-pooling. Knows nothing of libtorch.
//
// Memory is slower than arithmetic, so each pass over the numbers does as much as it can. Forward takes two passes: the
// sums, then the result. Backward takes two as well: the sums, then the gradient. (Ioffe and Szegedy 2015, arXiv:1502.03167.)
//
// Lines and blocks of numbers are those of sums.hpp.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "max_pool.hpp"
#include "sums.hpp"

namespace hvd {

// What follows the norm. The numbers are those of `After` in batch_norm.rs.
enum class After : int { nothing = 0, relu = 1, add_relu = 2, relu_add = 3, dropped_relu = 4 };

// Whether backward needs the result to tell where the ReLU let a number pass: dropout may have set more of it to 0, or something was
// added before. Otherwise the ReLU's input is computed again, which takes less time than reading the result.
constexpr bool needs_result(After after) { return after == After::dropped_relu || after == After::add_relu; }

// Sums of x - pivot and (x - pivot)^2. With a pivot near the mean, the variance is no small difference of large numbers
// (Chan, Golub and LeVeque 1983): any pixel will do.
template <typename T>
HVD_INLINE void add_squares(const T* __restrict x, int64_t lines, int64_t width, const float* __restrict pivot,
                            float* __restrict sum, float* __restrict squares) {
  int64_t line = 0;
  for (; line + 4 <= lines; line += 4, x += 4 * width) {
    for (int64_t at = 0; at < width; ++at) {
      const float a = load(x[at]) - pivot[at], b = load(x[width + at]) - pivot[at];
      const float c = load(x[2 * width + at]) - pivot[at], d = load(x[3 * width + at]) - pivot[at];
      sum[at] += (a + b) + (c + d);
      squares[at] += (a * a + b * b) + (c * c + d * d);
    }
  }
  for (; line < lines; ++line, x += width) {
    for (int64_t at = 0; at < width; ++at) {
      const float a = load(x[at]) - pivot[at];
      sum[at] += a;
      squares[at] += a * a;
    }
  }
}

// y = a x + b, with `other` added and negative numbers set to 0 as `after` says.
template <After after, typename T>
HVD_INLINE void normalise(const T* __restrict x, const T* __restrict other, T* __restrict y, int64_t lines, int64_t width,
                          const float* __restrict a, const float* __restrict b) {
  for (int64_t line = 0; line < lines; ++line, x += width, other += width, y += width) {
    for (int64_t at = 0; at < width; ++at) {
      float number = a[at] * load(x[at]) + b[at];
      if (after == After::add_relu) number += load(other[at]);
      // A number that is none stays what it is.
      if (after != After::nothing) number = number < 0 ? 0 : number;
      if (after == After::relu_add) number += load(other[at]);
      store(y[at], number);
    }
  }
}

// The gradient that passed the ReLU.
template <After after, typename T>
HVD_INLINE float passed(T dy, T y, T x, float a, float b) {
  const float gradient = load(dy);
  if (after == After::nothing) return gradient;
  return (needs_result(after) ? load(y) : a * load(x) + b) <= 0 ? 0 : gradient;
}

// Sums of g and g (x - mean), where g is the gradient that passed the ReLU; it is also that of what was added before it.
template <After after, typename T>
HVD_INLINE void add_gradients(const T* __restrict dy, const T* __restrict y, const T* __restrict x, T* __restrict d_other,
                              int64_t lines, int64_t width, const float* __restrict mean, const float* __restrict a,
                              const float* __restrict b, float* __restrict sum, float* __restrict products) {
  for (int64_t line = 0; line < lines; ++line, dy += width, y += width, x += width, d_other += width) {
    for (int64_t at = 0; at < width; ++at) {
      const float g = passed<after>(dy[at], y[at], x[at], a[at], b[at]);
      if (after == After::add_relu) store(d_other[at], g);
      sum[at] += g;
      products[at] += g * (load(x[at]) - mean[at]);
    }
  }
}

// dx = p g + q (x - mean) + r
template <After after, typename T>
HVD_INLINE void gradient(const T* __restrict dy, const T* __restrict y, const T* __restrict x, T* __restrict dx,
                         int64_t lines, int64_t width, const float* __restrict mean, const float* __restrict a,
                         const float* __restrict b, const float* __restrict p, const float* __restrict q,
                         const float* __restrict r) {
  for (int64_t line = 0; line < lines; ++line, dy += width, y += width, x += width, dx += width) {
    for (int64_t at = 0; at < width; ++at) {
      const float g = passed<after>(dy[at], y[at], x[at], a[at], b[at]);
      store(dx[at], p[at] * g + q[at] * (load(x[at]) - mean[at]) + r[at]);
    }
  }
}

// One call of a kernel for the `after` of the moment: `call(std::integral_constant<After, ...>)`.
template <typename Call>
void choose(After after, const Call& call) {
  switch (after) {
    case After::nothing: return call(std::integral_constant<After, After::nothing>());
    case After::relu: return call(std::integral_constant<After, After::relu>());
    case After::add_relu: return call(std::integral_constant<After, After::add_relu>());
    case After::relu_add: return call(std::integral_constant<After, After::relu_add>());
    case After::dropped_relu: return call(std::integral_constant<After, After::dropped_relu>());
  }
}

// What forward finds out about each channel, and backward needs again.
struct Statistics {
  std::vector<double> mean, variance;
};

// For numbers that are in memory already.
constexpr auto nothing_to_make = [](int64_t) {};

// `each(blocks, task)` calls `task(block)` for every block, on any thread. `make(block)` computes the numbers of a block: right before they
// are added up, while the cache has them. Sums begin with the last block, which the cache still has from whoever wrote it. The second
// pass then begins with the first, which the cache has from the sums.
template <typename T, typename Each, typename Make>
Statistics statistics(const T* x, const Cut& cut, Each each, Make make) {
  make(0);
  std::vector<double> pivot(cut.channels);
  for (int64_t at = 0; at < cut.channels; ++at) pivot[at] = load(x[at]);
  const std::vector<float> line = cut.line(pivot);
  Sums sums(cut);
  each(cut.blocks, [&](int64_t turn) {
    const int64_t block = cut.blocks - 1 - turn;
    if (block > 0) make(block);
    run(HVD_LOOP {
      add_up(cut, block, sums.block(block), [&](int64_t first, int64_t lines, float* some) __attribute__((always_inline)) {
        add_squares(x + first * cut.width, lines, cut.width, line.data(), some, some + cut.width);
      });
    });
  });
  Statistics found;
  sums.total(found.mean, found.variance);
  for (int64_t at = 0; at < cut.channels; ++at) {
    const double shifted = found.mean[at] / cut.pixels;
    const double variance = found.variance[at] / cut.pixels - shifted * shifted;
    found.variance[at] = variance < 0 ? 0 : variance;
    found.mean[at] = shifted + pivot[at];
  }
  return found;
}

// y = gain (scale (x - mean) / deviation + shift) = a x + b, and what follows.
struct Line {
  Line(const Cut& cut, const Statistics& of, const float* scale, const float* shift, double gain, double eps) {
    std::vector<double> slope(cut.channels), offset(cut.channels);
    for (int64_t at = 0; at < cut.channels; ++at) {
      slope[at] = gain * scale[at] / std::sqrt(of.variance[at] + eps);
      offset[at] = gain * shift[at] - of.mean[at] * slope[at];
    }
    a = cut.line(slope), b = cut.line(offset);
  }
  std::vector<float> a, b;
};

template <typename T, typename Each>
void forward(const T* x, const T* other, T* y, const Cut& cut, const Line& line, After after, Each each) {
  choose(after, [&](auto constant) {
    each(cut.blocks, [&](int64_t block) {
      const int64_t at = cut.first_line(block) * cut.width;
      run(HVD_LOOP {
        normalise<decltype(constant)::value>(x + at, other + at, y + at, cut.lines_of(block), cut.width, line.a.data(),
                                             line.b.data());
      });
    });
  });
}

// The same with max-pooling behind it. The whole result is never in memory: two lines of pixels are, until their windows are read.
template <typename T, typename Each>
void forward_pooled(const T* x, const T* other, T* y, T* places, const Pooling& of, const Cut& cut, const Line& line, After after,
                    Each each) {
  const int64_t width = of.width * of.channels, lines = 2 * width / cut.width, rest = 2 * width % cut.width;
  choose(after, [&](auto constant) {
    each(of.lines(), [&](int64_t windows) {
      std::vector<T> pixels(2 * width);
      const T *from = x + of.in_x(windows), *added = other + of.in_x(windows);
      const int64_t to = of.in_y(windows);
      run(HVD_LOOP {
        constexpr After what = decltype(constant)::value;
        const float *a = line.a.data(), *b = line.b.data();
        normalise<what>(from, added, pixels.data(), lines, cut.width, a, b);
        const int64_t done = 2 * width - rest;
        normalise<what>(from + done, added + done, pixels.data() + done, 1, rest, a, b);
        pool(pixels.data(), pixels.data() + width, y + to, places + to, of.windows(), of.channels);
      });
    });
  });
}

// With g for the gradient of a x + b, s = 1 / deviation, z = (x - mean) s, and sums over the N pixels (Ioffe and Szegedy 2015, 3):
//
//   d shift = sum g        d scale = sum g z        dx = scale s (g - (sum g) / N - z (sum g z) / N)
//
// `gain` multiplies all three. Writes `d_other` if something was added before the ReLU.
template <typename T, typename Each>
void backward(const T* dy, const T* y, const T* x, T* dx, T* d_other, float* d_scale, float* d_shift, const Cut& cut,
              const Statistics& of, const Line& line, const float* scale, double gain, double eps, After after, Each each) {
  const std::vector<float> mean = cut.line(of.mean);
  Sums sums(cut);
  std::vector<double> g, gx, p(cut.channels), q(cut.channels), r(cut.channels);
  choose(after, [&](auto constant) {
    each(cut.blocks, [&](int64_t turn) {
      const int64_t block = cut.blocks - 1 - turn;
      run(HVD_LOOP {
        add_up(cut, block, sums.block(block), [&](int64_t first, int64_t lines, float* some) __attribute__((always_inline)) {
          const int64_t at = first * cut.width;
          add_gradients<decltype(constant)::value>(dy + at, y + at, x + at, d_other + at, lines, cut.width, mean.data(),
                                                   line.a.data(), line.b.data(), some, some + cut.width);
        });
      });
    });
  });
  sums.total(g, gx);
  for (int64_t at = 0; at < cut.channels; ++at) {
    const double s = 1 / std::sqrt(of.variance[at] + eps);
    d_shift[at] = static_cast<float>(gain * g[at]);
    d_scale[at] = static_cast<float>(gain * gx[at] * s);
    p[at] = gain * scale[at] * s;
    q[at] = -p[at] * s * s * gx[at] / cut.pixels;
    r[at] = -p[at] * g[at] / cut.pixels;
  }
  const std::vector<float> ps = cut.line(p), qs = cut.line(q), rs = cut.line(r);
  choose(after, [&](auto constant) {
    each(cut.blocks, [&](int64_t block) {
      const int64_t at = cut.first_line(block) * cut.width;
      run(HVD_LOOP {
        gradient<decltype(constant)::value>(dy + at, y + at, x + at, dx + at, cut.lines_of(block), cut.width, mean.data(),
                                            line.a.data(), line.b.data(), ps.data(), qs.data(), rs.data());
      });
    });
  });
}

}  // namespace hvd
