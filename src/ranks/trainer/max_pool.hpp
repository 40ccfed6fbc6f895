// Max-pooling over windows of 2 x 2 that do not overlap, and its gradient. Knows nothing of libtorch.
//
// libtorch's pooling can do any window, so it remembers 8 bytes for each result, sets all gradients to 0 and then adds to them.
// Here each pixel is in one window only, and backward writes each gradient once. For each result forward remembers which of the four
// pixels it was: in as many bytes as the result has, for vectors are fast where all numbers have the same size.
#pragma once

#include <cstdint>

#include "vectors.hpp"

namespace hvd {

// Images of `height` times `width` pixels. The channels of a pixel lie side by side; their number is a multiple of LANES. An odd last
// line or column is in no window.
struct Pooling {
  int64_t images, height, width, channels;
  // Lines of windows, of all images.
  int64_t lines() const { return images * (height / 2); }
  int64_t windows() const { return width / 2; }
  // Where the first pixel of a line of windows is in `x`, and its first window in `y`.
  int64_t in_x(int64_t line) const { return (line / (height / 2) * height + line % (height / 2) * 2) * width * channels; }
  int64_t in_y(int64_t line) const { return line * windows() * channels; }
};

// Channels that are taken at a time. The compiler finds no vectors by itself in a loop over only 16 channels.
constexpr int64_t LANES = 8;
typedef float Floats __attribute__((vector_size(4 * LANES)));
typedef uint32_t Words __attribute__((vector_size(4 * LANES)));
typedef uint16_t Halves __attribute__((vector_size(2 * LANES)));

// The bits of LANES numbers of a kind, what numbers they are, and how they are read and written.
template <typename T>
struct Lanes;
template <>
struct Lanes<float> {
  using Bits = Words;
  static HVD_INLINE Floats numbers(const Words& bits) { return (Floats)bits; }
};
template <>
struct Lanes<Bf16> {
  using Bits = Halves;
  static HVD_INLINE Floats numbers(const Halves& bits) { return (Floats)(__builtin_convertvector(bits, Words) << 16); }
};

// One line of windows: `x` and `below` are its two lines of pixels.
template <typename T>
HVD_INLINE void pool(const T* x, const T* below, T* y, T* places, int64_t windows, int64_t channels) {
  using Bits = typename Lanes<T>::Bits;
  for (int64_t window = 0; window < windows; ++window, x += 2 * channels, below += 2 * channels, y += channels, places += channels) {
    for (int64_t at = 0; at < channels; at += LANES) {
      // In the order in which libtorch looks at them: the first of equal numbers wins, and what is not a number is greater than all.
      const Bits pixels[4] = {read<Bits>(x + at), read<Bits>(x + channels + at), read<Bits>(below + at), read<Bits>(below + channels + at)};
      Bits best = pixels[0], place = {};
      for (uint16_t pixel = 1; pixel < 4; ++pixel) {
        const Floats mine = Lanes<T>::numbers(best), other = Lanes<T>::numbers(pixels[pixel]);
        const Bits takes = __builtin_convertvector((other > mine) | (other != other), Bits);
        best = (takes & pixels[pixel]) | (~takes & best);
        place = (takes & pixel) | (~takes & place);
      }
      write(y + at, best);
      write(places + at, place);
    }
  }
}

template <typename T>
HVD_INLINE void unpool(const T* dy, const T* places, T* dx, T* below, int64_t windows, int64_t channels) {
  using Bits = typename Lanes<T>::Bits;
  for (int64_t window = 0; window < windows; ++window, dy += channels, places += channels, dx += 2 * channels, below += 2 * channels) {
    for (int64_t at = 0; at < channels; at += LANES) {
      const Bits gradient = read<Bits>(dy + at), place = read<Bits>(places + at);
      T* const to[4] = {dx + at, dx + channels + at, below + at, below + channels + at};
      for (uint16_t pixel = 0; pixel < 4; ++pixel) write(to[pixel], (Bits)(place == pixel) & gradient);
    }
  }
}

// `each(lines, task)` calls `task(line)` for every line of windows, on any thread.
template <typename T, typename Each>
void pool(const T* x, T* y, T* places, const Pooling& of, Each each) {
  each(of.lines(), [&](int64_t line) {
    const T* pixels = x + of.in_x(line);
    const int64_t windows = of.in_y(line);
    run(HVD_LOOP {
      pool(pixels, pixels + of.width * of.channels, y + windows, places + windows, of.windows(), of.channels);
    });
  });
}

// Leaves the gradients alone of pixels that are in no window.
template <typename T, typename Each>
void unpool(const T* dy, const T* places, T* dx, const Pooling& of, Each each) {
  each(of.lines(), [&](int64_t line) {
    T* pixels = dx + of.in_x(line);
    const int64_t windows = of.in_y(line);
    run(HVD_LOOP {
      unpool(dy + windows, places + windows, pixels, pixels + of.width * of.channels, of.windows(), of.channels);
    });
  });
}

}  // namespace hvd
