// The gradient of a convolution 3 x 3 by its kernel, in float32. Knows nothing of libtorch.
//
// It is what convolution.hpp does, the other way round: with d for the numbers of the image, and e for the gradient of a square of 2 x 2,
//
//   gradient by g = G' (sum over squares and images of (B' d B) o (A e A')) G
//
// Again a product of matrices for each of the 16 places: channels of the image times squares, and squares times channels of the result.
// Images are cut into blocks, each with sums of its own, which are added up in their order. The blocks depend on the shape alone, so any
// number of threads gives the same bits.
#pragma once

#include "convolution.hpp"

namespace hvd {

// How images are cut into blocks: at least 4, for as many threads, and more where the caches hold their sums.
struct ImageBlocks {
  explicit ImageBlocks(const Convolution& of)
      : images(of.images), sums(PLACES * of.from * of.to), count(std::min(images, std::clamp<int64_t>(CACHED / sums, 4, 16))) {}
  int64_t first(int64_t block) const { return block * images / count; }

  static constexpr int64_t CACHED = 1 << 18;
  int64_t images, sums, count;
};

// Whether it is computed here, faster than by libtorch: the sums of a block take 8 MB at most.
inline bool knows_kernel_gradient(const Convolution& of) { return is_known(of) && of.from % 16 == 0 && ImageBlocks(of).sums <= 1 << 21; }

// A e A' of a line of squares, LANES channels at a time. `upper` and `lower`: its two lines of pixels. `w`: as transform_line's `v`.
template <int LANES>
HVD_INLINE void spread_line(const float* upper, const float* lower, const Convolution* of, int64_t squares, float* w, int64_t apart) {
  using Vector = typename VectorOf<LANES>::Type;
  for (int64_t channel = 0; channel < of->to; channel += LANES) {
    float* to = w + channel;
    for (int64_t square = 0; square < squares; ++square, to += of->to) {
      const int64_t left = 2 * square * of->to + channel, right = left + of->to;
      const bool is_whole = 2 * square + 1 < of->width;
      const Vector a = read<Vector>(upper + left), b = is_whole ? read<Vector>(upper + right) : Vector{};
      const Vector c = read<Vector>(lower + left), d = is_whole ? read<Vector>(lower + right) : Vector{};
      const Vector lefts[4] = {a, a + c, a - c, -c}, rights[4] = {b, b + d, b - d, -d};
#pragma GCC unroll 4
      for (int at = 0; at < 4; ++at) {
        float* place = to + 4 * at * apart;
        write(place, lefts[at]), write(place + apart, lefts[at] + rights[at]);
        write(place + 2 * apart, lefts[at] - rights[at]), write(place + 3 * apart, -rights[at]);
      }
    }
  }
}

// The sums of a block, in the order of a packed kernel. `x` and `dy`: the whole tensors.
template <int LANES, int VECTORS, int MOST>
void sum_block(Tiles<LANES, VECTORS, MOST>, const ImageBlocks& blocks, int64_t block, const float* x, const float* dy, float* sums,
               const Convolution& of) {
  using Of = Tiles<LANES, VECTORS, MOST>;
  const Squares cut(of);
  const int64_t most = cut.wide * cut.lines, numbers = Room::whole(of.width * std::max(of.from, of.to));
  const int64_t v_apart = Room::apart(most * of.from), w_apart = Room::apart(most * of.to);
  float *border = Room::of_thread(numbers + PLACES * (v_apart + w_apart)), *v = border + numbers, *w = v + PLACES * v_apart;
  std::fill_n(border, numbers, 0.0f);
  bool goes_on = false;
  for (int64_t image = blocks.first(block); image < blocks.first(block + 1); ++image) {
    const float *from = x + image * of.height * of.width * of.from, *to = dy + image * of.height * of.width * of.to;
    for (int64_t first = 0; first < cut.high; first += cut.lines, goes_on = true) {
      const int64_t lines = std::min(cut.lines, cut.high - first);
      Of::transform(from, of, first, lines, cut.wide, border, v, v_apart);
      for (int64_t line = 0; line < lines; ++line) {
        const int64_t down = 2 * (first + line), apart = of.width * of.to;
        Vectors<LANES>::template call<spread_line<LANES>>(to + down * apart, down + 1 < of.height ? to + (down + 1) * apart : border, &of,
                                                          cut.wide, w + line * cut.wide * of.to, w_apart);
      }
      // As in convolve_image.
      const auto fetch_part = [&](int place) __attribute__((always_inline)) {
        const int64_t pixels = 2 * lines * of.width, end = 2 * first * of.width + pixels;
        const int64_t of_x = pixels * of.from / PLACES, of_dy = pixels * of.to / PLACES;
        fetch(from + (end + of.width) * of.from + place * of_x, of_x), fetch(to + end * of.to + place * of_dy, of_dy);
      };
      for (int64_t channel = 0; channel < of.to; channel += Of::GROUP) {
        for (int place = 0; place < PLACES; ++place) {
          if (channel == 0) fetch_part(place);
          float* m = sums + (channel * PLACES + place * Of::GROUP) * of.from;
          Of::multiply({v + place * v_apart, 1, of.from, w + place * w_apart + channel, of.to, m, lines * cut.wide, goes_on}, of.from);
        }
      }
    }
  }
}

// G' s for each channel of a group: of four numbers, `apart` numbers apart, three.
HVD_INLINE void gather_kernel(const float* __restrict s, int64_t apart, float* __restrict g, int64_t g_apart, int64_t group) {
  for (int64_t to = 0; to < group; ++to) {
    const float a = s[to], b = s[apart + to], c = s[2 * apart + to], d = s[3 * apart + to];
    g[to] = a + 0.5f * (b + c), g[g_apart + to] = 0.5f * (b - c), g[2 * g_apart + to] = d + 0.5f * (b + c);
  }
}

// Writes the gradient, where `kernel` says, from the sums of all blocks.
inline void unpack(const Convolution& of, const float* sums, float* gradient, const Kernel& kernel) {
  const ImageBlocks blocks(of);
  const int64_t group = with_tiles(of, [](auto tiles) { return decltype(tiles)::GROUP; });
  const Room places(PLACES * group), half(12 * group), window(9 * group);
  float *total = places.begin(), *down = half.begin(), *g = window.begin();
  for (int64_t first = 0; first < of.to; first += group, sums += group * of.from * PLACES) {
    for (int64_t from = 0; from < of.from; ++from) {
      run(HVD_LOOP {
        for (int place = 0; place < PLACES; ++place) {
          float* __restrict to = total + place * group;
          const float* __restrict part = sums + (place * of.from + from) * group;
          for (int64_t at = 0; at < group; ++at) to[at] = part[at];
          for (int64_t block = 1; block < blocks.count; ++block) {
            part += blocks.sums;
            for (int64_t at = 0; at < group; ++at) to[at] += part[at];
          }
        }
        for (int column = 0; column < 4; ++column) {
          gather_kernel(total + column * group, 4 * group, down + column * group, 4 * group, group);
        }
        for (int line = 0; line < 3; ++line) gather_kernel(down + 4 * line * group, group, g + 3 * line * group, group, group);
      });
      float* to = gradient + first * kernel.to + from * kernel.from;
      for (int64_t at = 0; at < group; ++at, to += kernel.to) {
        for (int place = 0; place < 9; ++place) to[place / 3 * kernel.line + place % 3 * kernel.column] = g[place * group + at];
      }
    }
  }
}

// The gradient by the kernel, of the order that `kernel` has. `each` as in batch_norm.hpp.
template <typename Each>
void kernel_gradient(const float* x, const float* dy, float* gradient, const Kernel& kernel, const Convolution& of, Each each) {
  const ImageBlocks blocks(of);
  const Room room(blocks.count * blocks.sums);
  float* sums = room.begin();
  each(blocks.count, [&](int64_t block) {
    with_tiles(of, [&](auto tiles) { sum_block(tiles, blocks, block, x, dy, sums + block * blocks.sums, of); });
  });
  unpack(of, sums, gradient, kernel);
}

}  // namespace hvd
