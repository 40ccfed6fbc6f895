// The convolution 3 x 3 with a border of zeros, in float32. Knows nothing of libtorch.
//
// Channels lie side by side in memory, pixel after pixel. A square of 2 x 2 numbers of the result depends on 4 x 4 numbers of the image.
// Winograd's filtering (Lavin and Gray 2016, arXiv:1509.09308) makes it with 16 products a channel instead of 36. With d for the numbers
// of the image, g for the kernel, and o for products number by number:
//
//   y = A' (sum over channels of (B' d B) o (G g G')) A
//
//        | 1  0 -1  0 |        | 1    0    0   |         | 1  1  1  0 |
//   B' = | 0  1  1  0 |    G = | 1/2  1/2  1/2 |    A' = | 0  1 -1 -1 |
//        | 0 -1  1  0 |        | 1/2 -1/2  1/2 |
//        | 0  1  0 -1 |        | 0    0    1   |
//
// The sums over the channels are a product of matrices for each of the 16 places: squares times channels, and channels times channels.
// Their numbers stay in registers from the first product to the last, and in the nearest cache before and behind it.
//
// Every number is made by the same operations in the same order, each rounded once. So the bits of a result do not depend on how many
// numbers a vector has, nor on how the squares are cut into tiles.
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

// What is added to a result: nothing if `numbers` is null, a bias for each channel (`step` is 0), or a tensor like the result (`step` is its
// channels).
struct Addition {
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

// The places of 4 x 4 numbers, line by line.
constexpr int PLACES = 16;

// Memory for so many numbers that begins with a line of the cache, as no vector should lie on two of them.
class Room {
 public:
  explicit Room(int64_t numbers) : numbers(numbers), memory(new float[numbers + LINE]) {}
  // For so many numbers that are soon forgotten, the same each time: it is in the caches.
  static float* of_thread(int64_t numbers) {
    static thread_local Room room(0);
    if (room.numbers < numbers) room = Room(numbers);
    return room.begin();
  }
  float* begin() const {
    const auto bytes = reinterpret_cast<uintptr_t>(memory.get());
    return memory.get() + (LINE - bytes / sizeof(float) % LINE) % LINE;
  }
  // As many numbers or a few more, for what comes behind them to begin with a line as well.
  static int64_t whole(int64_t numbers) { return (numbers + LINE - 1) / LINE * LINE; }
  // From one place to the next: a line of the cache more, for them not to displace each other. Caches are laid out by the low bits of an address.
  static int64_t apart(int64_t numbers) { return whole(numbers) + LINE; }

  // Numbers of a line of the cache.
  static constexpr int64_t LINE = 16;

 private:
  int64_t numbers;
  std::unique_ptr<float[]> memory;
};

// Asks for numbers that are soon read, or written, and waits for none of them. They may be none at all, behind the last image.
template <bool WRITTEN = false>
HVD_INLINE void fetch(const float* numbers, int64_t count) {
  for (int64_t at = 0; at < count; at += Room::LINE) __builtin_prefetch(numbers + at, WRITTEN);
}

// How a result is cut into squares, those of the last line and column with a half that is thrown away, and lines of squares into sets:
// what is between the transforms of a set is in the nearest caches.
struct Squares {
  explicit Squares(const Convolution& of)
      : wide((of.width + 1) / 2), high((of.height + 1) / 2), lines(std::max<int64_t>(1, std::min(high, ENOUGH / wide))) {}

  // For the registers of every processor.
  static constexpr int64_t ENOUGH = 16;
  // Of an image, and of a set.
  int64_t wide, high, lines;
};

// B' d B of a line of squares, LANES channels at a time. `line`: the four lines of the image. `v`: the first place of the first square;
// the places are `apart` numbers apart, the squares as many as an image has channels.
template <int LANES>
HVD_INLINE void transform_line(const float* const* line, const Convolution* of, int64_t squares, float* v, int64_t apart) {
  using Vector = typename VectorOf<LANES>::Type;
  struct Column {
    Vector places[4];
  };
  const float *first = line[0], *second = line[1], *third = line[2], *fourth = line[3];
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
    for (int64_t square = 0; square < squares; ++square, to += of->from) {
      const Column c = column(2 * square + 1), d = column(2 * square + 2);
#pragma GCC unroll 4
      for (int at = 0; at < 4; ++at) {
        float* place = to + 4 * at * apart;
        write(place, a.places[at] - c.places[at]);
        write(place + apart, b.places[at] + c.places[at]);
        write(place + 2 * apart, c.places[at] - b.places[at]);
        write(place + 3 * apart, b.places[at] - d.places[at]);
      }
      a = c, b = d;
    }
  }
}

// The product of two matrices: m = v u, or that added to m if it `goes_on`. How many numbers further the next line of each is, and of v the
// next of `count` columns. The lines of u are the columns of v; m has a group of columns.
struct Product {
  const float* v;
  int64_t v_line, v_column;
  const float* u;
  int64_t u_line;
  float* m;
  int64_t count;
  bool goes_on;
};

// A few lines of a product.
template <int LANES, int VECTORS, int LINES>
HVD_INLINE void multiply_tile(const Product* of) {
  using Vector = typename VectorOf<LANES>::Type;
  const float *v = of->v, *u = of->u;
  float* m = of->m;
  const int64_t v_line = of->v_line, v_column = of->v_column, u_line = of->u_line;
  Vector sums[LINES][VECTORS] = {};
  if (of->goes_on) {
#pragma GCC unroll 16
    for (int line = 0; line < LINES; ++line) {
#pragma GCC unroll 4
      for (int vector = 0; vector < VECTORS; ++vector) sums[line][vector] = read<Vector>(m + (line * VECTORS + vector) * LANES);
    }
  }
  for (int64_t left = of->count; left > 0; --left, v += v_column, u += u_line) {
    Vector weight[VECTORS];
#pragma GCC unroll 4
    for (int vector = 0; vector < VECTORS; ++vector) weight[vector] = read<Vector>(u + vector * LANES);
#pragma GCC unroll 16
    for (int line = 0; line < LINES; ++line) {
#pragma GCC unroll 4
      for (int vector = 0; vector < VECTORS; ++vector) {
        add_products(sums[line][vector], v[line * v_line], weight[vector], std::make_integer_sequence<int, LANES>());
      }
    }
  }
#pragma GCC unroll 16
  for (int line = 0; line < LINES; ++line) {
#pragma GCC unroll 4
    for (int vector = 0; vector < VECTORS; ++vector) write(m + (line * VECTORS + vector) * LANES, sums[line][vector]);
  }
}

// A' m A of a line of squares, for a group of channels, plus what Addition says. `m`: as transform_line's `v`. `first` and `y` are at the
// group's channels of the first pixel. Of the two lines of pixels that they make, `lines` are kept.
template <int LANES, int VECTORS>
HVD_INLINE void finish_line(const float* m, int64_t apart, const float* first, int64_t step, float* y, const Convolution* of,
                            int64_t squares, int64_t lines) {
  using Vector = typename VectorOf<LANES>::Type;
  for (int64_t square = 0; square < squares; ++square) {
#pragma GCC unroll 4
    for (int vector = 0; vector < VECTORS; ++vector) {
      const float* at = m + (square * VECTORS + vector) * LANES;
      Vector upper[4], lower[4];
#pragma GCC unroll 4
      for (int column = 0; column < 4; ++column, at += apart) {
        const Vector a = read<Vector>(at), b = read<Vector>(at + 4 * apart);
        const Vector c = read<Vector>(at + 8 * apart), d = read<Vector>(at + 12 * apart);
        upper[column] = a + b + c, lower[column] = b - c - d;
      }
      const auto put = [&](int64_t line, int64_t column, Vector number) __attribute__((always_inline)) {
        if (line >= lines || column >= of->width) return;
        const int64_t pixel = line * of->width + column;
        if (first != nullptr) number += read<Vector>(first + pixel * step + vector * LANES);
        write(y + pixel * of->to + vector * LANES, number);
      };
      put(0, 2 * square, upper[0] + upper[1] + upper[2]), put(0, 2 * square + 1, upper[1] - upper[2] - upper[3]);
      put(1, 2 * square, lower[0] + lower[1] + lower[2]), put(1, 2 * square + 1, lower[1] - lower[2] - lower[3]);
    }
  }
}

// The lines of a product are cut into as few tiles as possible, nearly alike, each of at most MOST. All sums of a tile, and what they are made
// from, are in registers, and they are enough to keep the processor busy while it waits for the last product of each.
template <int LANES, int VECTORS, int MOST>
struct Tiles {
  static constexpr int64_t GROUP = LANES * VECTORS;

  template <int... LESS_ONE>
  static auto of_each_size(std::integer_sequence<int, LESS_ONE...>) {
    using Multiply = void (*)(const Product*);
    return std::array<Multiply, MOST>{Vectors<LANES>::template call<multiply_tile<LANES, VECTORS, LESS_ONE + 1>>...};
  }

  static void multiply(Product of, int64_t lines) {
    static const auto sizes = of_each_size(std::make_integer_sequence<int, MOST>());
    const int64_t tiles = (lines + MOST - 1) / MOST, longer = lines % tiles;
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const int64_t some = lines / tiles + (tile < longer ? 1 : 0);
      sizes[some - 1](&of);
      of.v += some * of.v_line, of.m += some * GROUP;
    }
  }

  // B' d B of a set: `lines` lines of squares, from the `first` on. `border`: a line of zeros.
  static void transform(const float* image, const Convolution& of, int64_t first, int64_t lines, int64_t wide, const float* border, float* v,
                        int64_t apart) {
    for (int64_t line = first; line < first + lines; ++line, v += wide * of.from) {
      const float* pixels[4];
      for (int64_t at = 0; at < 4; ++at) {
        const int64_t there = 2 * line + at - 1;
        pixels[at] = there < 0 || there >= of.height ? border : image + there * of.width * of.from;
      }
      if (of.from % LANES == 0) {
        Vectors<LANES>::template call<transform_line<LANES>>(pixels, &of, wide, v, apart);
      } else {
        Vectors<LANES>::template call<transform_line<1>>(pixels, &of, wide, v, apart);
      }
    }
  }

  // `kernel` as it is packed.
  static void convolve_image(int64_t image, const float* x, const float* kernel, const Addition& with, float* y, const Convolution& of) {
    const Squares cut(of);
    const int64_t most = cut.wide * cut.lines, numbers = Room::whole(of.width * of.from), top = image * of.height * of.width;
    const int64_t v_apart = Room::apart(most * of.from), m_apart = Room::apart(most * GROUP);
    float *border = Room::of_thread(numbers + PLACES * (v_apart + m_apart)), *v = border + numbers, *m = v + PLACES * v_apart;
    std::fill_n(border, numbers, 0.0f);
    for (int64_t first = 0; first < cut.high; first += cut.lines) {
      const int64_t lines = std::min(cut.lines, cut.high - first), begin = top + 2 * first * of.width;
      transform(x + top * of.from, of, first, lines, cut.wide, border, v, v_apart);
      // Memory is idle while products are made. What the next transform reads and this set writes comes meanwhile, a part at each place.
      // Inlined, for GCC leaves out a function that does nothing else.
      const auto fetch_part = [&](int place) __attribute__((always_inline)) {
        const int64_t pixels = 2 * lines * of.width, read = pixels * of.from / PLACES, written = pixels * of.to / PLACES;
        fetch(x + (begin + pixels + of.width) * of.from + place * read, read);
        fetch<true>(y + begin * of.to + place * written, written);
        if (with.numbers != nullptr && with.step > 0) fetch(with.at(begin, 0) + place * written, written);
      };
      for (int64_t channel = 0; channel < of.to; channel += GROUP) {
        for (int place = 0; place < PLACES; ++place) {
          if (channel == 0) fetch_part(place);
          const float* u = kernel + (channel * PLACES + place * GROUP) * of.from;
          multiply({v + place * v_apart, of.from, 1, u, GROUP, m + place * m_apart, of.from, false}, lines * cut.wide);
        }
        for (int64_t line = 0; line < lines; ++line) {
          const int64_t down = 2 * (first + line), pixel = top + down * of.width;
          Vectors<LANES>::template call<finish_line<LANES, VECTORS>>(m + line * cut.wide * GROUP, m_apart, with.at(pixel, channel), with.step,
                                                                     y + pixel * of.to + channel, &of, cut.wide, of.height - down);
        }
      }
    }
  }
};

// Calls `call` with the tiles for this processor.
template <typename Call>
auto with_tiles(const Convolution& of, const Call& call) {
  switch (lanes()) {
    case 16: return of.to % 32 == 0 ? call(Tiles<16, 2, 8>()) : call(Tiles<16, 1, 16>());
    case 8: return call(Tiles<8, 2, 6>());
    default: return call(Tiles<4, 4, 4>());
  }
}

// Whether it is computed here, faster than by libtorch. Four squares are enough for the registers, and more than 32 in a line too many for the
// caches.
inline bool is_known(const Convolution& of) {
  const Squares cut(of);
  return of.to % 16 == 0 && cut.wide * cut.high >= 4 && cut.wide <= 32 && (lanes() > 4 || FOUR_LANES_FUSE);
}

// G g for each channel of a group: of three numbers, `apart` numbers apart, four.
HVD_INLINE void transform_kernel(const float* __restrict g, int64_t apart, float* __restrict u, int64_t u_apart, int64_t group) {
  for (int64_t to = 0; to < group; ++to) {
    const float a = g[to], b = g[apart + to], c = g[2 * apart + to], ends = a + c;
    u[to] = a, u[u_apart + to] = 0.5f * (ends + b), u[2 * u_apart + to] = 0.5f * (ends - b), u[3 * u_apart + to] = c;
  }
}

// G g G' of a kernel, in the order in which it is read: for each group of channels of the result place by place, channel by channel.
inline Room packed(const Convolution& of, const Kernel& kernel) {
  const int64_t group = with_tiles(of, [](auto tiles) { return decltype(tiles)::GROUP; });
  Room room(of.to * of.from * PLACES);
  const Room window(9 * group), half(12 * group);
  float *g = window.begin(), *down = half.begin(), *u = room.begin();
  for (int64_t first = 0; first < of.to; first += group, u += group * of.from * PLACES) {
    for (int64_t from = 0; from < of.from; ++from) {
      const float* at = kernel.numbers + first * kernel.to + from * kernel.from;
      for (int64_t to = 0; to < group; ++to, at += kernel.to) {
        for (int place = 0; place < 9; ++place) g[place * group + to] = at[place / 3 * kernel.line + place % 3 * kernel.column];
      }
      run(HVD_LOOP {
        for (int column = 0; column < 3; ++column) transform_kernel(g + column * group, 3 * group, down + column * group, 3 * group, group);
        for (int line = 0; line < 4; ++line) {
          transform_kernel(down + 3 * line * group, group, u + (4 * line * of.from + from) * group, of.from * group, group);
        }
      });
    }
  }
  return room;
}

// `kernel` as it is packed.
inline void convolve_image(int64_t image, const float* x, const float* kernel, const Addition& with, float* y, const Convolution& of) {
  with_tiles(of, [&](auto tiles) { tiles.convolve_image(image, x, kernel, with, y, of); });
}

}  // namespace hvd
