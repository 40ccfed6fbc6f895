// The convolution 3 x 3 with a border of zeros, in float32. Knows nothing of libtorch.
//
// Channels lie side by side in memory, pixel after pixel. For a few pixels of a line, and 16 or 32 channels of each, the sums stay in
// registers from the first product to the last. One number of the image then meets the vectors of the kernel, and nothing else takes
// time: no window is copied, and no product with the border is made.
//
// Every sum begins with the same number, and the same products are added to it one by one, each rounded once. So the bits of a result do
// not depend on how many numbers a vector has, nor on how a line is cut into tiles.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

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

// What the sums of a result begin with: nothing if `numbers` is null, a bias for each channel (`step` is 0), or a tensor like the result
// (`step` is its channels).
struct Beginning {
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

// Some pixels of a line. `x`, `first` and `y` are at the first of them, `kernel`, `first` and `y` at the group of channels. `first` is what
// the sums begin with, `step` numbers further for each pixel, or null. Lines `begin` to `end` of the kernel are over lines of the image.
template <int LANES, int VECTORS, int PIXELS, bool LEFTMOST, bool RIGHTMOST>
HVD_INLINE void convolve_tile(const float* x, const float* kernel, const float* first, int64_t step, float* y, const Convolution* of,
                              int begin, int end) {
  using Vector = typename VectorOf<LANES>::Type;
  const int64_t from = of->from;
  Vector sums[PIXELS][VECTORS];
#pragma GCC unroll 16
  for (int pixel = 0; pixel < PIXELS; ++pixel) {
#pragma GCC unroll 4
    for (int vector = 0; vector < VECTORS; ++vector) {
      sums[pixel][vector] = first == nullptr ? Vector{} : read<Vector>(first + pixel * step + vector * LANES);
    }
  }
  for (int line = begin; line < end; ++line) {
    const float* numbers = x + (line - 1) * of->width * from;
    const float* weights = kernel + line * from * 3 * VECTORS * LANES;
    for (int64_t channel = 0; channel < from; ++channel, ++numbers) {
#pragma GCC unroll 3
      for (int column = 0; column < 3; ++column, weights += VECTORS * LANES) {
        Vector weight[VECTORS];
        // The compiler knows no longer which numbers it has read. It would keep them, and have no registers left for the sums.
        asm("" : "+r"(numbers));
#pragma GCC unroll 4
        for (int vector = 0; vector < VECTORS; ++vector) weight[vector] = read<Vector>(weights + vector * LANES);
#pragma GCC unroll 16
        for (int pixel = 0; pixel < PIXELS; ++pixel) {
          if ((LEFTMOST && column + pixel == 0) || (RIGHTMOST && column + pixel == PIXELS + 1)) continue;
          const float number = numbers[(pixel + column - 1) * from];
#pragma GCC unroll 4
          for (int vector = 0; vector < VECTORS; ++vector) {
            add_products(sums[pixel][vector], number, weight[vector], std::make_integer_sequence<int, LANES>());
          }
        }
      }
    }
  }
#pragma GCC unroll 16
  for (int pixel = 0; pixel < PIXELS; ++pixel) {
#pragma GCC unroll 4
    for (int vector = 0; vector < VECTORS; ++vector) write(y + pixel * of->to + vector * LANES, sums[pixel][vector]);
  }
}

// How a line is cut: into `tiles` of `least` pixels, the first `longer` of them with one more.
struct Pieces {
  int64_t tiles, least, longer;
};

// A line is cut into as few tiles as possible, nearly alike, each of one of so many PIXELS. All sums of a tile, and what they are made
// from, are in registers, and they are enough to keep the processor busy while it waits for the last product of each.
template <int LANES, int VECTORS, int... PIXELS>
struct Tiles {
  static constexpr int64_t GROUP = LANES * VECTORS, MOST = std::max({PIXELS...});

  static Pieces cut(int64_t width) {
    const int64_t tiles = (width + MOST - 1) / MOST;
    return {tiles, width / tiles, width % tiles};
  }
  static bool can_cut(int64_t width) {
    const Pieces pieces = cut(width);
    return ((pieces.least == PIXELS) || ...) && (pieces.longer == 0 || ((pieces.least + 1 == PIXELS) || ...));
  }

  static void convolve_line(const float* x, const float* kernel, const float* first, int64_t step, float* y, const Convolution& of,
                            int64_t line, const Pieces& pieces) {
    const int begin = line == 0 ? 1 : 0, end = line == of.height - 1 ? 2 : 3;
    for (int64_t tile = 0; tile < pieces.tiles; ++tile) {
      const int64_t pixels = tile < pieces.longer ? pieces.least + 1 : pieces.least;
      const auto convolve = [&](auto size, auto leftmost, auto rightmost) {
        constexpr auto function = convolve_tile<LANES, VECTORS, decltype(size)::value, leftmost, rightmost>;
        Vectors<LANES>::template call<function>(x, kernel, first, step, y, &of, begin, end);
      };
      const auto at_its_place = [&](auto size) {
        const std::true_type yes;
        const std::false_type no;
        const bool is_leftmost = tile == 0, is_rightmost = tile == pieces.tiles - 1;
        if (is_leftmost && is_rightmost) return convolve(size, yes, yes);
        if (is_leftmost) return convolve(size, yes, no);
        if (is_rightmost) return convolve(size, no, yes);
        convolve(size, no, no);
      };
      ((pixels == PIXELS ? at_its_place(std::integral_constant<int, PIXELS>()) : void()), ...);
      x += pixels * of.from, y += pixels * of.to;
      if (first != nullptr) first += pixels * step;
    }
  }

  // `kernel` as it is packed.
  static void convolve_image(int64_t image, const float* x, const float* kernel, const Beginning& with, float* y,
                             const Convolution& of) {
    const Pieces pieces = cut(of.width);
    for (int64_t channel = 0; channel < of.to; channel += GROUP) {
      for (int64_t line = 0; line < of.height; ++line) {
        const int64_t pixel = (image * of.height + line) * of.width;
        convolve_line(x + pixel * of.from, kernel + channel * of.from * 9, with.at(pixel, channel), with.step, y + pixel * of.to + channel,
                      of, line, pieces);
      }
    }
  }
};

// Calls `call` with the tiles for this processor. The most pixels are those with the fewest loads that leave all sums in its registers.
template <typename Call>
auto with_tiles(const Convolution& of, const Call& call) {
  switch (lanes()) {
    case 16: return of.to % 32 == 0 ? call(Tiles<16, 2, 7, 8>()) : call(Tiles<16, 1, 14, 16>());
    case 8: return call(Tiles<8, 2, 3, 4, 5, 6>());
    default: return call(Tiles<4, 4, 3, 4>());
  }
}

// Whether it is computed here. Where three lines of the image are too much for the first cache, libtorch's is faster.
inline bool is_known(const Convolution& of) {
  const int64_t cached = 16 << 10;
  const bool fits = 3 * of.width * of.from * static_cast<int64_t>(sizeof(float)) <= cached;
  return fits && of.to % 16 == 0 && (lanes() > 4 || FOUR_LANES_FUSE) && with_tiles(of, [&](auto tiles) { return tiles.can_cut(of.width); });
}

// The kernel in the order in which it is read: for each group of channels of the result line by line, channel by channel, and pixel by
// pixel.
inline std::vector<float> packed(const Convolution& of, const Kernel& kernel) {
  const int64_t group = with_tiles(of, [](auto tiles) { return decltype(tiles)::GROUP; });
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

// `kernel` as it is packed.
inline void convolve_image(int64_t image, const float* x, const float* kernel, const Beginning& with, float* y, const Convolution& of) {
  with_tiles(of, [&](auto tiles) { tiles.convolve_image(image, x, kernel, with, y, of); });
}

}  // namespace hvd
