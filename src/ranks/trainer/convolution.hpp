// The 3 x 3 convolution with a border of zeros, in float32. Knows nothing of libtorch.
//
// Channels lie side by side in memory, pixel after pixel. A tile of 2 x 2 numbers of the result depends on 4 x 4 numbers of the image.
// Winograd's minimal filtering (Lavin and Gray 2016, arXiv:1509.09308, F(2x2, 3x3)) computes it with 16 products per channel instead of
// 36. With d for the numbers of the image, g for the kernel, and o for the product of two matrices element by element:
//
//   y = A' (sum over channels of (B' d B) o (G g G')) A
//
//        | 1  0 -1  0 |        | 1    0    0   |         | 1  1  1  0 |
//   B' = | 0  1  1  0 |    G = | 1/2  1/2  1/2 |    A' = | 0  1 -1 -1 |
//        | 0 -1  1  0 |        | 1/2 -1/2  1/2 |
//        | 0  1  0 -1 |        | 0    0    1   |
//
// The sums over the channels are one matrix product for each of the 16 positions: tiles x channels times channels x channels. The sums
// stay in registers from the first product to the last, and the matrices stay in the nearest caches.
//
// Every number is computed by the same operations in the same order, and each operation rounds once. So the bits of a result depend neither
// on the width of the vectors nor on how the work is divided.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "vectors.hpp"

namespace hvd {

// Where vectors of 4 numbers multiply and add at once. Those of 8 and 16 always do.
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
constexpr bool FOUR_LANES_FUSE = true;
#else
constexpr bool FOUR_LANES_FUSE = false;
#endif

struct Convolution {
  // Of `images` times `height` times `width` pixels, `from` channels to `to`.
  int64_t images, height, width, from, to;
};

// A kernel [to, from, 3, 3] anywhere in memory: how many numbers further the next one is along each side.
struct Kernel {
  const float* numbers;
  int64_t to, from, line, column;

  // That of the gradient by the image: it goes back from `to` to `from`, and is turned over.
  Kernel turned() const { return {numbers + 2 * line + 2 * column, from, to, -line, -column}; }
};

// What is added to a result: nothing if `numbers` is null, one bias per channel if `step` is 0, or a tensor of the result's shape if `step` is
// its number of channels.
struct Addend {
  const float* numbers;
  int64_t step;
  const float* at(int64_t pixel, int64_t channel) const { return numbers == nullptr ? nullptr : numbers + pixel * step + channel; }
};

template <int LANES>
struct VectorOf {
  typedef float Type __attribute__((vector_size(4 * LANES)));
};

// Adds the products of a number with a vector, each rounded once. The compiler makes one operation of it.
template <typename Vector, int... LANE>
HVD_INLINE void add_products(Vector& sums, float number, const Vector& weights, std::integer_sequence<int, LANE...>) {
  sums = Vector{__builtin_fmaf(number, weights[LANE], sums[LANE])...};
}

// The positions in a 4 x 4 matrix, row by row.
constexpr int POSITIONS = 16;

// Uninitialised memory that starts at a cache line, so that no vector crosses one.
class AlignedBuffer {
 public:
  explicit AlignedBuffer(int64_t numbers) : numbers(numbers), memory(new float[numbers + CACHE_LINE]) {}
  // A buffer that each thread keeps for its next call: it is in the caches already.
  static float* scratch(int64_t numbers) {
    static thread_local AlignedBuffer buffer(0);
    if (buffer.numbers < numbers) buffer = AlignedBuffer(numbers);
    return buffer.data();
  }
  float* data() const {
    const auto bytes = reinterpret_cast<uintptr_t>(memory.get());
    return memory.get() + (CACHE_LINE - bytes / sizeof(float) % CACHE_LINE) % CACHE_LINE;
  }
  static int64_t whole_lines(int64_t numbers) { return (numbers + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE; }
  // The distance from one position to the next. One line of padding keeps them from evicting each other: a cache is indexed by the low bits
  // of an address.
  static int64_t stride(int64_t numbers) { return whole_lines(numbers) + CACHE_LINE; }

  // In numbers.
  static constexpr int64_t CACHE_LINE = 16;

 private:
  int64_t numbers;
  std::unique_ptr<float[]> memory;
};

// Asks for numbers that will be read or written soon, without waiting for them. An address behind the last image does no harm.
template <bool WRITTEN = false>
HVD_INLINE void prefetch(const float* numbers, int64_t count) {
  for (int64_t at = 0; at < count; at += AlignedBuffer::CACHE_LINE) __builtin_prefetch(numbers + at, WRITTEN);
}

// The tiles of an image, and how many of their rows are computed together, so that everything between the transforms stays in the nearest
// caches. Where the height or the width is odd, half of the last tiles is thrown away.
struct TileGrid {
  explicit TileGrid(const Convolution& of)
      : columns((of.width + 1) / 2),
        rows((of.height + 1) / 2),
        rows_together(std::max<int64_t>(1, std::min(rows, ENOUGH / columns))) {}

  // Tiles that fill the registers of every processor.
  static constexpr int64_t ENOUGH = 16;
  int64_t columns, rows, rows_together;
};

// B' d B of a row of tiles, LANES channels at a time. `pixels`: the four rows of pixels. `v`: [positions, tiles, from], `stride` numbers from
// one position to the next.
template <int LANES>
HVD_INLINE void transform_input(const float* const* pixels, const Convolution* of, int64_t tiles, float* v, int64_t stride) {
  using Vector = typename VectorOf<LANES>::Type;
  struct Column {
    Vector rows[4];
  };
  const float *first = pixels[0], *second = pixels[1], *third = pixels[2], *fourth = pixels[3];
  for (int64_t channel = 0; channel < of->from; channel += LANES) {
    const auto column = [&](int64_t pixel) __attribute__((always_inline)) {
      if (pixel >= of->width) return Column{};
      const int64_t at = pixel * of->from + channel;
      const Vector a = read<Vector>(first + at), b = read<Vector>(second + at);
      const Vector c = read<Vector>(third + at), d = read<Vector>(fourth + at);
      return Column{{a - c, b + c, c - b, b - d}};
    };
    Column a{}, b = column(0);
    float* to = v + channel;
    for (int64_t tile = 0; tile < tiles; ++tile, to += of->from) {
      const Column c = column(2 * tile + 1), d = column(2 * tile + 2);
#pragma GCC unroll 4
      for (int row = 0; row < 4; ++row) {
        float* position = to + 4 * row * stride;
        write(position, a.rows[row] - c.rows[row]);
        write(position + stride, b.rows[row] + c.rows[row]);
        write(position + 2 * stride, c.rows[row] - b.rows[row]);
        write(position + 3 * stride, b.rows[row] - d.rows[row]);
      }
      a = c, b = d;
    }
  }
}

// A matrix product m = v u, or m += v u if it `accumulates`. u has `count` rows; m has one group of columns. The rest are strides: from one row
// to the next, and for v also from one column to the next.
struct MatrixProduct {
  const float* v;
  int64_t v_row, v_column;
  const float* u;
  int64_t u_row;
  float* m;
  int64_t count;
  bool accumulates;
};

// A few rows of a product, with all their sums in registers. v0 to v12: every fourth row of v. A processor reaches three more from each
// by the same two distances, so the registers hold all addresses.
template <int LANES, int VECTORS, int ROWS>
HVD_INLINE void multiply_rows(const MatrixProduct* of, const float* v0, const float* v4, const float* v8, const float* v12) {
  using Vector = typename VectorOf<LANES>::Type;
  const float* u = of->u;
  float* m = of->m;
  const float* fourths[] = {v0, v4, v8, v12};
  const int64_t v_row = of->v_row, v_column = of->v_column, u_row = of->u_row;
  Vector sums[ROWS][VECTORS] = {};
  if (of->accumulates) {
#pragma GCC unroll 16
    for (int row = 0; row < ROWS; ++row) {
#pragma GCC unroll 4
      for (int vector = 0; vector < VECTORS; ++vector) sums[row][vector] = read<Vector>(m + (row * VECTORS + vector) * LANES);
    }
  }
  for (int64_t left = of->count; left > 0; --left, u += u_row) {
    Vector weight[VECTORS];
#pragma GCC unroll 4
    for (int vector = 0; vector < VECTORS; ++vector) weight[vector] = read<Vector>(u + vector * LANES);
#pragma GCC unroll 16
    for (int row = 0; row < ROWS; ++row) {
#pragma GCC unroll 4
      for (int vector = 0; vector < VECTORS; ++vector) {
        add_products(sums[row][vector], fourths[row / 4][row % 4 * v_row], weight[vector], std::make_integer_sequence<int, LANES>());
      }
    }
#pragma GCC unroll 4
    for (int fourth = 0; 4 * fourth < ROWS; ++fourth) fourths[fourth] += v_column;
  }
#pragma GCC unroll 16
  for (int row = 0; row < ROWS; ++row) {
#pragma GCC unroll 4
    for (int vector = 0; vector < VECTORS; ++vector) write(m + (row * VECTORS + vector) * LANES, sums[row][vector]);
  }
}

// A' m A of a row of tiles for one group of channels, plus the addend. `m`: [positions, tiles, group], `stride` numbers from one position to
// the next. `first` and `y` point to the group's channels in the first pixel. `rows`: the rows of pixels from there to the end of the image.
template <int LANES, int VECTORS>
HVD_INLINE void transform_output(const float* m, int64_t stride, const float* first, int64_t step, float* y, const Convolution* of,
                                 int64_t tiles, int64_t rows) {
  using Vector = typename VectorOf<LANES>::Type;
  for (int64_t tile = 0; tile < tiles; ++tile) {
#pragma GCC unroll 4
    for (int vector = 0; vector < VECTORS; ++vector) {
      const float* position = m + (tile * VECTORS + vector) * LANES;
      Vector upper[4], lower[4];
#pragma GCC unroll 4
      for (int column = 0; column < 4; ++column, position += stride) {
        const Vector a = read<Vector>(position), b = read<Vector>(position + 4 * stride);
        const Vector c = read<Vector>(position + 8 * stride), d = read<Vector>(position + 12 * stride);
        upper[column] = a + b + c, lower[column] = b - c - d;
      }
      const auto put = [&](int64_t row, int64_t column, Vector number) __attribute__((always_inline)) {
        if (row >= rows || column >= of->width) return;
        const int64_t pixel = row * of->width + column;
        if (first != nullptr) number += read<Vector>(first + pixel * step + vector * LANES);
        write(y + pixel * of->to + vector * LANES, number);
      };
      put(0, 2 * tile, upper[0] + upper[1] + upper[2]), put(0, 2 * tile + 1, upper[1] - upper[2] - upper[3]);
      put(1, 2 * tile, lower[0] + lower[1] + lower[2]), put(1, 2 * tile + 1, lower[1] - lower[2] - lower[3]);
    }
  }
}

// The loops for one kind of processor. The rows of a product are divided into as few parts as possible, of nearly equal size and at most
// MOST: then all sums of a part are in registers, and there are enough of them to hide the latency of each operation.
template <int LANES, int VECTORS, int MOST>
struct Loops {
  // The channels of the result that are computed together.
  static constexpr int64_t GROUP = LANES * VECTORS;

  template <int... LESS_ONE>
  static auto of_each_size(std::integer_sequence<int, LESS_ONE...>) {
    using Row = const float*;
    using Multiply = void (*)(const MatrixProduct*, Row, Row, Row, Row);
    return std::array<Multiply, MOST>{Vectors<LANES>::template call<multiply_rows<LANES, VECTORS, LESS_ONE + 1>>...};
  }

  static void multiply(MatrixProduct of, int64_t rows) {
    static const auto sizes = of_each_size(std::make_integer_sequence<int, MOST>());
    const int64_t parts = (rows + MOST - 1) / MOST, longer = rows % parts;
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t some = rows / parts + (part < longer ? 1 : 0);
      sizes[some - 1](&of, of.v, of.v + 4 * of.v_row, of.v + 8 * of.v_row, of.v + 12 * of.v_row);
      of.v += some * of.v_row, of.m += some * GROUP;
    }
  }

  // B' d B of `rows` rows of tiles from `first` on. `border`: a row of zero pixels.
  static void transform(const float* image, const Convolution& of, int64_t first, int64_t rows, const float* border, float* v, int64_t stride) {
    const int64_t tiles = TileGrid(of).columns;
    for (int64_t row = first; row < first + rows; ++row, v += tiles * of.from) {
      const float* pixels[4];
      for (int64_t at = 0; at < 4; ++at) {
        const int64_t there = 2 * row + at - 1;
        pixels[at] = there < 0 || there >= of.height ? border : image + there * of.width * of.from;
      }
      if (of.from % LANES == 0) {
        Vectors<LANES>::template call<transform_input<LANES>>(pixels, &of, tiles, v, stride);
      } else {
        Vectors<LANES>::template call<transform_input<1>>(pixels, &of, tiles, v, stride);
      }
    }
  }

  // `kernel`: as `packed` returns it.
  static void convolve_image(int64_t image, const float* x, const float* kernel, const Addend& with, float* y, const Convolution& of) {
    const TileGrid grid(of);
    const int64_t most = grid.columns * grid.rows_together, numbers = AlignedBuffer::whole_lines(of.width * of.from);
    const int64_t v_stride = AlignedBuffer::stride(most * of.from), m_stride = AlignedBuffer::stride(most * GROUP);
    float* border = AlignedBuffer::scratch(numbers + POSITIONS * (v_stride + m_stride));
    float *v = border + numbers, *m = v + POSITIONS * v_stride;
    std::fill_n(border, numbers, 0.0f);
    const int64_t top = image * of.height * of.width;
    for (int64_t first = 0; first < grid.rows; first += grid.rows_together) {
      const int64_t rows = std::min(grid.rows_together, grid.rows - first), begin = top + 2 * first * of.width;
      transform(x + top * of.from, of, first, rows, border, v, v_stride);
      // The memory is idle during the products. Meanwhile it fetches what the next transform reads and what this one writes, a part at each
      // position. Inlined, since GCC removes a function that only prefetches.
      const auto prefetch_part = [&](int position) __attribute__((always_inline)) {
        const int64_t pixels = 2 * rows * of.width, read = pixels * of.from / POSITIONS, written = pixels * of.to / POSITIONS;
        prefetch(x + (begin + pixels + of.width) * of.from + position * read, read);
        prefetch<true>(y + begin * of.to + position * written, written);
        if (with.numbers != nullptr && with.step > 0) prefetch(with.at(begin, 0) + position * written, written);
      };
      for (int64_t channel = 0; channel < of.to; channel += GROUP) {
        for (int position = 0; position < POSITIONS; ++position) {
          if (channel == 0) prefetch_part(position);
          const float* u = kernel + (channel * POSITIONS + position * GROUP) * of.from;
          multiply({v + position * v_stride, of.from, 1, u, GROUP, m + position * m_stride, of.from, false}, rows * grid.columns);
        }
        for (int64_t row = 0; row < rows; ++row) {
          const int64_t down = 2 * (first + row), pixel = top + down * of.width;
          Vectors<LANES>::template call<transform_output<LANES, VECTORS>>(m + row * grid.columns * GROUP, m_stride, with.at(pixel, channel),
                                                                          with.step, y + pixel * of.to + channel, &of, grid.columns,
                                                                          of.height - down);
        }
      }
    }
  }
};

// Calls `call` with the loops for this processor.
template <typename Call>
auto with_loops(const Convolution& of, const Call& call) {
  switch (lanes()) {
    case 16: return of.to % 32 == 0 ? call(Loops<16, 2, 8>()) : call(Loops<16, 1, 16>());
    case 8: return call(Loops<8, 2, 6>());
    default: return call(Loops<4, 4, 4>());
  }
}

// Whether a batch has so many tiles that transforming a kernel of many channels is worth it.
inline bool has_tiles(const Convolution& of, int64_t least) {
  const TileGrid grid(of);
  return of.from * of.to <= 4096 || of.images * grid.columns * grid.rows >= least;
}

// Whether it is computed here because this is faster than libtorch: there are enough tiles for the registers, and a row of them fits the caches.
inline bool is_known(const Convolution& of) {
  const TileGrid grid(of);
  const bool is_fit = grid.columns * grid.rows >= 4 && grid.columns <= 32 && has_tiles(of, 64);
  return of.to % 16 == 0 && is_fit && (lanes() > 4 || FOUR_LANES_FUSE);
}

// G g: four numbers from three, for each channel of a group. The strides lead from one of them to the next.
HVD_INLINE void transform_kernel(const float* __restrict g, int64_t g_stride, float* __restrict u, int64_t u_stride, int64_t group) {
  for (int64_t to = 0; to < group; ++to) {
    const float a = g[to], b = g[g_stride + to], c = g[2 * g_stride + to], ends = a + c;
    u[to] = a, u[u_stride + to] = 0.5f * (ends + b), u[2 * u_stride + to] = 0.5f * (ends - b), u[3 * u_stride + to] = c;
  }
}

// G g G' of a kernel in the order in which it is read: [groups of channels of the result, positions, from, group]. `each`: as in
// batch_norm.hpp.
template <typename Each>
AlignedBuffer packed(const Convolution& of, const Kernel& kernel, Each each) {
  const int64_t group = with_loops(of, [](auto loops) { return decltype(loops)::GROUP; });
  AlignedBuffer buffer(of.to * of.from * POSITIONS);
  each(of.to / group, [&](int64_t index) {
    const AlignedBuffer window(9 * group), half(12 * group);
    float *g = window.data(), *down = half.data(), *u = buffer.data() + index * group * of.from * POSITIONS;
    for (int64_t from = 0; from < of.from; ++from) {
      const float* at = kernel.numbers + index * group * kernel.to + from * kernel.from;
      for (int64_t to = 0; to < group; ++to, at += kernel.to) {
        for (int weight = 0; weight < 9; ++weight) g[weight * group + to] = at[weight / 3 * kernel.line + weight % 3 * kernel.column];
      }
      run(HVD_LOOP {
        for (int column = 0; column < 3; ++column) transform_kernel(g + column * group, 3 * group, down + column * group, 3 * group, group);
        for (int row = 0; row < 4; ++row) {
          transform_kernel(down + 3 * row * group, group, u + (4 * row * of.from + from) * group, of.from * group, group);
        }
      });
    }
  });
  return buffer;
}

// `kernel`: as `packed` returns it.
inline void convolve_image(int64_t image, const float* x, const float* kernel, const Addend& with, float* y, const Convolution& of) {
  with_loops(of, [&](auto loops) { loops.convolve_image(image, x, kernel, with, y, of); });
}

}  // namespace hvd
