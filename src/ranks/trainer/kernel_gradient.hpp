// The gradient of a 3 x 3 convolution with respect to its kernel, in float32. Knows nothing of libtorch.
//
// It reverses convolution.hpp. With d for 4 x 4 numbers of the image, and e for the gradient of the 2 x 2 numbers made from them:
//
//   gradient of g = G' (sum over tiles and images of (B' d B) o (A e A')) G
//
// The sums are again one matrix product for each of the 16 positions: channels x tiles times tiles x channels. The images are divided into
// blocks, each with its own sums, which are added up in order. The blocks depend on the shape alone, so any number of threads gives the same
// bits.
#pragma once

#include "convolution.hpp"

namespace hvd {

// How the images are divided into blocks: at least 4, so that several threads can work, and more where the caches hold all sums.
struct ImageBlocks {
  explicit ImageBlocks(const Convolution& of)
      : images(of.images), sums(POSITIONS * of.from * of.to), count(std::min(images, std::clamp<int64_t>(CACHED / sums, 4, 16))) {}
  int64_t first(int64_t block) const { return block * images / count; }

  static constexpr int64_t CACHED = 1 << 18;
  // `sums`: of one block.
  int64_t images, sums, count;
};

// Whether it is computed here because this is faster than libtorch. The sums of a block take at most 8 MB.
inline bool knows_kernel_gradient(const Convolution& of) {
  return is_known(of) && has_tiles(of, 128) && of.from % 16 == 0 && ImageBlocks(of).sums <= 1 << 21;
}

// A e A' of a row of tiles, LANES channels at a time. `upper` and `lower`: its two rows of pixels. `w`: [positions, tiles, to], `stride` numbers
// from one position to the next.
template <int LANES>
HVD_INLINE void transform_gradient(const float* upper, const float* lower, const Convolution* of, int64_t tiles, float* w, int64_t stride) {
  using Vector = typename VectorOf<LANES>::Type;
  for (int64_t channel = 0; channel < of->to; channel += LANES) {
    float* to = w + channel;
    for (int64_t tile = 0; tile < tiles; ++tile, to += of->to) {
      const int64_t left = 2 * tile * of->to + channel, right = left + of->to;
      const bool is_whole = 2 * tile + 1 < of->width;
      const Vector a = read<Vector>(upper + left), b = is_whole ? read<Vector>(upper + right) : Vector{};
      const Vector c = read<Vector>(lower + left), d = is_whole ? read<Vector>(lower + right) : Vector{};
      const Vector lefts[4] = {a, a + c, a - c, -c}, rights[4] = {b, b + d, b - d, -d};
#pragma GCC unroll 4
      for (int row = 0; row < 4; ++row) {
        float* position = to + 4 * row * stride;
        write(position, lefts[row]), write(position + stride, lefts[row] + rights[row]);
        write(position + 2 * stride, lefts[row] - rights[row]), write(position + 3 * stride, -rights[row]);
      }
    }
  }
}

// The sums of a block, in the order of a packed kernel. `x` and `dy`: the whole tensors.
template <int LANES, int VECTORS, int MOST>
void sum_block(Loops<LANES, VECTORS, MOST> loops, const ImageBlocks& blocks, int64_t block, const float* x, const float* dy, float* sums,
               const Convolution& of) {
  const TileGrid grid(of);
  const int64_t most = grid.columns * grid.rows_together, numbers = AlignedBuffer::whole_lines(of.width * std::max(of.from, of.to));
  const int64_t v_stride = AlignedBuffer::stride(most * of.from), w_stride = AlignedBuffer::stride(most * of.to);
  float* border = AlignedBuffer::scratch(numbers + POSITIONS * (v_stride + w_stride));
  float *v = border + numbers, *w = v + POSITIONS * v_stride;
  std::fill_n(border, numbers, 0.0f);
  bool accumulates = false;
  for (int64_t image = blocks.first(block); image < blocks.first(block + 1); ++image) {
    const float *from = x + image * of.height * of.width * of.from, *to = dy + image * of.height * of.width * of.to;
    for (int64_t first = 0; first < grid.rows; first += grid.rows_together, accumulates = true) {
      const int64_t rows = std::min(grid.rows_together, grid.rows - first);
      loops.transform(from, of, first, rows, border, v, v_stride);
      for (int64_t row = 0; row < rows; ++row) {
        const int64_t down = 2 * (first + row), next = of.width * of.to;
        const float *upper = to + down * next, *lower = down + 1 < of.height ? upper + next : border;
        Vectors<LANES>::template call<transform_gradient<LANES>>(upper, lower, &of, grid.columns, w + row * grid.columns * of.to, w_stride);
      }
      // As in convolve_image.
      const auto prefetch_part = [&](int position) __attribute__((always_inline)) {
        const int64_t pixels = 2 * rows * of.width, end = 2 * first * of.width + pixels;
        const int64_t of_x = pixels * of.from / POSITIONS, of_dy = pixels * of.to / POSITIONS;
        prefetch(from + (end + of.width) * of.from + position * of_x, of_x), prefetch(to + end * of.to + position * of_dy, of_dy);
      };
      for (int64_t channel = 0; channel < of.to; channel += loops.GROUP) {
        for (int position = 0; position < POSITIONS; ++position) {
          if (channel == 0) prefetch_part(position);
          float* m = sums + (channel * POSITIONS + position * loops.GROUP) * of.from;
          const float *tiles = v + position * v_stride, *gradients = w + position * w_stride + channel;
          loops.multiply({tiles, 1, of.from, gradients, of.to, m, rows * grid.columns, accumulates}, of.from);
        }
      }
    }
  }
}

// G' s: three numbers from four, for each channel of a group. The strides lead from one of them to the next.
HVD_INLINE void transform_sums(const float* __restrict s, int64_t s_stride, float* __restrict g, int64_t g_stride, int64_t group) {
  for (int64_t to = 0; to < group; ++to) {
    const float a = s[to], b = s[s_stride + to], c = s[2 * s_stride + to], d = s[3 * s_stride + to];
    g[to] = a + 0.5f * (b + c), g[g_stride + to] = 0.5f * (b - c), g[2 * g_stride + to] = d + 0.5f * (b + c);
  }
}

// Writes the gradient from the sums of all blocks, with the strides of `kernel`.
template <typename Each>
void unpack(const Convolution& of, const float* sums, float* gradient, const Kernel& kernel, Each each) {
  const ImageBlocks blocks(of);
  const int64_t group = with_loops(of, [](auto loops) { return decltype(loops)::GROUP; });
  each(of.to / group, [&](int64_t index) {
    const AlignedBuffer totals(POSITIONS * group), half(12 * group), window(9 * group);
    float *total = totals.data(), *down = half.data(), *g = window.data();
    const float* of_group = sums + index * group * of.from * POSITIONS;
    for (int64_t from = 0; from < of.from; ++from) {
      run(HVD_LOOP {
        for (int position = 0; position < POSITIONS; ++position) {
          float* __restrict to = total + position * group;
          const float* __restrict part = of_group + (position * of.from + from) * group;
          for (int64_t at = 0; at < group; ++at) to[at] = part[at];
          for (int64_t block = 1; block < blocks.count; ++block) {
            part += blocks.sums;
            for (int64_t at = 0; at < group; ++at) to[at] += part[at];
          }
        }
        for (int column = 0; column < 4; ++column) {
          transform_sums(total + column * group, 4 * group, down + column * group, 4 * group, group);
        }
        for (int row = 0; row < 3; ++row) transform_sums(down + 4 * row * group, group, g + 3 * row * group, group, group);
      });
      float* to = gradient + index * group * kernel.to + from * kernel.from;
      for (int64_t at = 0; at < group; ++at, to += kernel.to) {
        for (int weight = 0; weight < 9; ++weight) to[weight / 3 * kernel.line + weight % 3 * kernel.column] = g[weight * group + at];
      }
    }
  });
}

// The gradient of a kernel, with the strides of `kernel`. `each`: as in batch_norm.hpp.
template <typename Each>
void kernel_gradient(const float* x, const float* dy, float* gradient, const Kernel& kernel, const Convolution& of, Each each) {
  const ImageBlocks blocks(of);
  const AlignedBuffer buffer(blocks.count * blocks.sums);
  float* sums = buffer.data();
  each(blocks.count, [&](int64_t block) {
    with_loops(of, [&](auto loops) { sum_block(loops, blocks, block, x, dy, sums + block * blocks.sums, of); });
  });
  unpack(of, sums, gradient, kernel, each);
}

}  // namespace hvd
