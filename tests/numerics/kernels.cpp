// Computes with the trainer's kernels, by the vectors that HVD_LAB_VECTORS allows: prints how many numbers these have, and digests of the
// results. Fails if a bit of a convolution differs from a plain loop.
#include <cstdio>

#include "batch_norm.hpp"
#include "bias_relu.hpp"
#include "convolution.hpp"

namespace {

using Numbers = std::vector<float>;

constexpr auto each = [](int64_t blocks, const auto& task) {
  for (int64_t block = 0; block < blocks; ++block) task(block);
};

// Between -1 and 1, the same on every machine.
Numbers random(int64_t count) {
  static uint32_t state = 1;
  Numbers numbers(count);
  for (float& number : numbers) number = static_cast<int32_t>(state = state * 1664525 + 1013904223) / 2147483648.0f;
  return numbers;
}

template <typename T>
std::vector<T> random_of(int64_t count) {
  std::vector<T> numbers(count);
  const Numbers from = random(count);
  for (int64_t at = 0; at < count; ++at) hvd::store(numbers[at], from[at]);
  return numbers;
}

struct Digest {
  uint64_t bits = 14695981039346656037u;
  template <typename T>
  void add(const std::vector<T>& numbers) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(numbers.data());
    for (size_t at = 0; at < numbers.size() * sizeof(T); ++at) bits = (bits ^ bytes[at]) * 1099511628211u;
  }
};

// Pixel by pixel, channel by channel: line by line of the window, its channels, and their columns.
Numbers plain(const hvd::Convolution& of, const Numbers& x, const hvd::Kernel& kernel, const hvd::Beginning& with) {
  Numbers y;
  for (int64_t pixel = 0; pixel < of.images * of.height * of.width; ++pixel) {
    const int64_t line = pixel / of.width % of.height, column = pixel % of.width;
    for (int64_t to = 0; to < of.to; ++to) {
      float sum = with.numbers == nullptr ? 0 : *with.at(pixel, to);
      for (int64_t down = -1; down <= 1; ++down) {
        for (int64_t from = 0; from < of.from; ++from) {
          for (int64_t right = -1; right <= 1; ++right) {
            if (line + down < 0 || line + down >= of.height || column + right < 0 || column + right >= of.width) continue;
            const float* weight = kernel.numbers + to * kernel.to + from * kernel.from;
            weight += (down + 1) * kernel.line + (right + 1) * kernel.column;
            sum = std::fma(x[(pixel + down * of.width + right) * of.from + from], *weight, sum);
          }
        }
      }
      y.push_back(sum);
    }
  }
  return y;
}

bool is_plain(const hvd::Convolution& of, const Numbers& x, const hvd::Kernel& kernel, const hvd::Beginning& with) {
  const Numbers weights = hvd::packed(of, kernel), expected = plain(of, x, kernel, with);
  Numbers y(expected.size());
  for (int64_t image = 0; image < of.images; ++image) hvd::convolve_image(image, x.data(), weights.data(), with, y.data(), of);
  const bool is_same = std::memcmp(y.data(), expected.data(), y.size() * sizeof(float)) == 0;
  if (!is_same) std::printf("%ld to %ld channels, %ld x %ld: not as the plain loop\n", of.from, of.to, of.height, of.width);
  return is_same;
}

bool convolutions_are_plain() {
  bool is_right = true;
  // Lines of one tile and of several, of each size; one line; one channel; channels that are no whole vector of the image.
  const int64_t shapes[][5] = {{2, 5, 28, 1, 16}, {1, 6, 14, 16, 48}, {2, 7, 7, 5, 32},  {1, 1, 8, 3, 64},
                               {1, 3, 16, 7, 16}, {1, 2, 15, 32, 32}, {1, 4, 24, 16, 96}};
  for (const auto& [images, height, width, from, to] : shapes) {
    const hvd::Convolution of{images, height, width, from, to}, back{images, height, width, to, from};
    const int64_t pixels = images * height * width;
    const Numbers kernel = random(to * from * 9), bias = random(to), x = random(pixels * from), dy = random(pixels * to);
    const Numbers like_y = random(pixels * to), like_x = random(pixels * from);
    // In the order of libtorch, and with the channels last.
    for (const hvd::Kernel& weights : {hvd::Kernel{kernel.data(), from * 9, 9, 3, 1}, hvd::Kernel{kernel.data(), from * 9, 1, 3 * from, from}}) {
      for (const hvd::Beginning& with : {hvd::Beginning{nullptr, 0}, hvd::Beginning{bias.data(), 0}, hvd::Beginning{like_y.data(), to}}) {
        if (hvd::with_tiles(of, [&](auto tiles) { return tiles.can_cut(width); })) is_right &= is_plain(of, x, weights, with);
      }
      // The gradient by the image.
      if (from % 16 > 0 || !hvd::with_tiles(back, [&](auto tiles) { return tiles.can_cut(width); })) continue;
      is_right &= is_plain(back, dy, weights.turned(), {like_x.data(), from});
    }
  }
  return is_right;
}

template <typename T>
void other_kernels(const char* kind) {
  for (const int64_t channels : {8, 16, 24, 64}) {
    const int64_t images = 3, side = 7, pixels = images * side * side, numbers = pixels * channels;
    const hvd::Cut cut(numbers, channels);
    const hvd::Pooling pooling{images, side, side, channels};
    const std::vector<T> x = random_of<T>(numbers), other = random_of<T>(numbers), dy = random_of<T>(numbers);
    const Numbers scale = random(channels), shift = random(channels);
    Digest norm, pool, bias;
    for (int after = 0; after <= 4; ++after) {
      const auto what = static_cast<hvd::After>(after);
      const hvd::Statistics found = hvd::statistics(x.data(), cut, each, hvd::nothing_to_make);
      const hvd::Line line(cut, found, scale.data(), shift.data(), 0.5, 1e-5);
      std::vector<T> y(numbers), dx(numbers), d_other(numbers);
      Numbers d_scale(channels), d_shift(channels);
      hvd::forward(x.data(), other.data(), y.data(), cut, line, what, each);
      hvd::backward(dy.data(), y.data(), x.data(), dx.data(), d_other.data(), d_scale.data(), d_shift.data(), cut, found, line,
                    scale.data(), 0.5, 1e-5, what, each);
      norm.add(found.mean), norm.add(found.variance), norm.add(y), norm.add(dx), norm.add(d_other), norm.add(d_scale), norm.add(d_shift);
    }
    std::vector<T> y(pooling.lines() * pooling.windows() * channels), places(y.size()), dx(numbers), sum = x;
    hvd::pool(x.data(), y.data(), places.data(), pooling, each);
    hvd::unpool(dy.data(), places.data(), dx.data(), pooling, each);
    pool.add(y), pool.add(places), pool.add(dx);
    hvd::add_bias_relu(sum.data(), shift.data(), cut, each);
    Numbers d_bias(channels);
    hvd::bias_relu_gradient(dy.data(), sum.data(), dx.data(), d_bias.data(), cut, each);
    bias.add(sum), bias.add(dx), bias.add(d_bias);
    std::printf("%s, %ld channels: norm %016lx, pool %016lx, bias %016lx\n", kind, channels, norm.bits, pool.bits, bias.bits);
  }
}

}  // namespace

int main() {
  std::printf("%d numbers\n", hvd::lanes());
  const bool is_right = convolutions_are_plain();
  other_kernels<float>("float32");
  other_kernels<hvd::Bf16>("bfloat16");
  return is_right ? 0 : 1;
}
