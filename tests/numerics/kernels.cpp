// Computes with the trainer's kernels, by the vectors that HVD_LAB_VECTORS allows: prints how many numbers these have, and digests of the
// results. Fails if a bit of a convolution differs from a plain loop.
#include <cmath>
#include <cstdio>
#include <vector>

#include "batch_norm.hpp"
#include "bias_relu.hpp"
#include "kernel_gradient.hpp"

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

// The number of the image, or of the border of zeros.
float pixel(const hvd::Convolution& of, const Numbers& x, int64_t image, int64_t line, int64_t column, int64_t from) {
  const bool is_in = line >= 0 && line < of.height && column >= 0 && column < of.width;
  return is_in ? x[((image * of.height + line) * of.width + column) * of.from + from] : 0;
}

float weight(const hvd::Kernel& kernel, int64_t to, int64_t from, int64_t line, int64_t column) {
  return kernel.numbers[to * kernel.to + from * kernel.from + line * kernel.line + column * kernel.column];
}

// One number of a product with B', G or A'.
float image_place(int place, float a, float b, float c, float d) {
  return place == 0 ? a - c : place == 1 ? b + c : place == 2 ? c - b : b - d;
}
float kernel_place(int place, float a, float b, float c) {
  return place == 0 ? a : place == 3 ? c : 0.5f * (place == 1 ? (a + c) + b : (a + c) - b);
}
float result_place(int place, float a, float b, float c, float d) { return place == 0 ? (a + b) + c : (b - c) - d; }

// Number by number, as convolution.hpp defines it.
Numbers plain(const hvd::Convolution& of, const Numbers& x, const hvd::Kernel& kernel, const hvd::Addend& with) {
  Numbers y;
  for (int64_t at = 0; at < of.images * of.height * of.width; ++at) {
    const int64_t image = at / of.width / of.height, line = at / of.width % of.height, column = at % of.width;
    for (int64_t to = 0; to < of.to; ++to) {
      float half[4];
      for (int right = 0; right < 4; ++right) {
        float sums[4] = {};
        for (int64_t from = 0; from < of.from; ++from) {
          for (int down = 0; down < 4; ++down) {
            float d[4], g[3];
            for (int place = 0; place < 4; ++place) {
              const auto there = [&](int below) { return pixel(of, x, image, line / 2 * 2 - 1 + below, column / 2 * 2 - 1 + place, from); };
              d[place] = image_place(down, there(0), there(1), there(2), there(3));
            }
            for (int place = 0; place < 3; ++place) {
              const auto there = [&](int below) { return weight(kernel, to, from, below, place); };
              g[place] = kernel_place(down, there(0), there(1), there(2));
            }
            sums[down] = std::fma(image_place(right, d[0], d[1], d[2], d[3]), kernel_place(right, g[0], g[1], g[2]), sums[down]);
          }
        }
        half[right] = result_place(line % 2, sums[0], sums[1], sums[2], sums[3]);
      }
      const float sum = result_place(column % 2, half[0], half[1], half[2], half[3]);
      y.push_back(with.numbers == nullptr ? sum : sum + *with.at(at, to));
    }
  }
  return y;
}

// The greatest difference from the sum of all products, as a part of what that may be at most.
double difference(const hvd::Convolution& of, const Numbers& x, const hvd::Kernel& kernel, const hvd::Addend& with, const Numbers& y) {
  double greatest = 0;
  for (int64_t at = 0; at < of.images * of.height * of.width; ++at) {
    const int64_t image = at / of.width / of.height, line = at / of.width % of.height, column = at % of.width;
    for (int64_t to = 0; to < of.to; ++to) {
      double sum = with.numbers == nullptr ? 0 : *with.at(at, to);
      for (int64_t product = 0; product < 9 * of.from; ++product) {
        const int64_t down = product / 3 % 3, right = product % 3, from = product / 9;
        sum += static_cast<double>(pixel(of, x, image, line + down - 1, column + right - 1, from)) * weight(kernel, to, from, down, right);
      }
      greatest = std::max(greatest, std::abs(sum - y[at * of.to + to]) / (9 * of.from + 1));
    }
  }
  return greatest;
}

bool is_plain(const hvd::Convolution& of, const Numbers& x, const hvd::Kernel& kernel, const hvd::Addend& with) {
  const hvd::AlignedBuffer weights = hvd::packed(of, kernel, each);
  const Numbers expected = plain(of, x, kernel, with);
  Numbers y(expected.size());
  for (int64_t image = 0; image < of.images; ++image) hvd::convolve_image(image, x.data(), weights.data(), with, y.data(), of);
  const bool is_same = std::memcmp(y.data(), expected.data(), y.size() * sizeof(float)) == 0;
  const bool is_near = difference(of, x, kernel, with, y) < 2e-7;
  if (!is_same) std::printf("%ld to %ld channels, %ld x %ld: not as the plain loop\n", of.from, of.to, of.height, of.width);
  if (!is_near) std::printf("%ld to %ld channels, %ld x %ld: no convolution\n", of.from, of.to, of.height, of.width);
  return is_same && is_near;
}

// One number of a product with A or G'.
float spread_place(int place, float a, float b) { return place == 0 ? a : place == 1 ? a + b : place == 2 ? a - b : -b; }
float gathered_place(int place, float a, float b, float c, float d) {
  return place == 0 ? a + 0.5f * (b + c) : place == 1 ? 0.5f * (b - c) : d + 0.5f * (b + c);
}

// One number of the gradient by the kernel, as kernel_gradient.hpp defines it.
float plain_gradient(const hvd::Convolution& of, const Numbers& x, const Numbers& dy, int64_t to, int64_t from, int line, int column) {
  const hvd::ImageBlocks blocks(of);
  const hvd::Convolution result{of.images, of.height, of.width, of.to, of.to};
  float places[4][4];
  for (int64_t block = 0; block < blocks.count; ++block) {
    float sums[4][4] = {};
    for (int64_t image = blocks.first(block); image < blocks.first(block + 1); ++image) {
      for (int64_t down = 0; down < of.height; down += 2) {
        for (int64_t right = 0; right < of.width; right += 2) {
          for (int place = 0; place < 16; ++place) {
            float d[4], e[2];
            for (int beside = 0; beside < 4; ++beside) {
              const auto there = [&](int below) { return pixel(of, x, image, down - 1 + below, right - 1 + beside, from); };
              d[beside] = image_place(place / 4, there(0), there(1), there(2), there(3));
            }
            for (int beside = 0; beside < 2; ++beside) {
              const auto there = [&](int below) { return pixel(result, dy, image, down + below, right + beside, to); };
              e[beside] = spread_place(place / 4, there(0), there(1));
            }
            float& sum = sums[place / 4][place % 4];
            sum = std::fma(image_place(place % 4, d[0], d[1], d[2], d[3]), spread_place(place % 4, e[0], e[1]), sum);
          }
        }
      }
    }
    for (int place = 0; place < 16; ++place) {
      float& total = places[place / 4][place % 4];
      total = block == 0 ? sums[place / 4][place % 4] : total + sums[place / 4][place % 4];
    }
  }
  float half[4];
  for (int at = 0; at < 4; ++at) half[at] = gathered_place(line, places[0][at], places[1][at], places[2][at], places[3][at]);
  return gathered_place(column, half[0], half[1], half[2], half[3]);
}

bool is_plain_gradient(const hvd::Convolution& of, const Numbers& x, const Numbers& dy, const hvd::Kernel& kernel) {
  Numbers gradient(of.to * of.from * 9);
  hvd::kernel_gradient(x.data(), dy.data(), gradient.data(), kernel, of, each);
  const hvd::Convolution result{of.images, of.height, of.width, of.to, of.to};
  hvd::Kernel found = kernel;
  found.numbers = gradient.data();
  bool is_same = true, is_near = true;
  // Not all of them: that would take minutes.
  for (int64_t to = 0; to < of.to; to += 5) {
    for (int64_t from = 0; from < of.from; from += 3) {
      for (int place = 0; place < 9; ++place) {
        const float number = weight(found, to, from, place / 3, place % 3);
        is_same &= number == plain_gradient(of, x, dy, to, from, place / 3, place % 3);
        double sum = 0;
        for (int64_t at = 0; at < of.images * of.height * of.width; ++at) {
          const int64_t image = at / of.width / of.height, line = at / of.width % of.height, column = at % of.width;
          sum += static_cast<double>(pixel(of, x, image, line + place / 3 - 1, column + place % 3 - 1, from)) *
                 pixel(result, dy, image, line, column, to);
        }
        is_near &= std::abs(sum - number) < 2e-6 * std::sqrt(of.images * of.height * of.width);
      }
    }
  }
  if (!is_same) std::printf("gradient of %ld to %ld channels, %ld x %ld: not as the plain loop\n", of.from, of.to, of.height, of.width);
  if (!is_near) std::printf("gradient of %ld to %ld channels, %ld x %ld: it is another one\n", of.from, of.to, of.height, of.width);
  return is_same && is_near;
}

bool convolutions_are_plain() {
  bool is_right = true;
  // One part of a product and several, one row of tiles and several together; one row, one column, one pixel; odd heights and widths; one
  // channel; channels that are no whole vector of the image; more tiles in a row than are computed together.
  const int64_t shapes[][5] = {{7, 6, 8, 16, 32}, {2, 5, 28, 1, 16}, {1, 6, 14, 16, 48}, {2, 7, 7, 5, 32},   {1, 1, 8, 3, 64},  {1, 3, 16, 7, 16},
                               {1, 2, 15, 32, 32}, {1, 4, 24, 16, 96}, {2, 1, 1, 32, 32}, {1, 9, 1, 8, 16}, {1, 3, 41, 16, 16}};
  for (const auto& [images, height, width, from, to] : shapes) {
    const hvd::Convolution of{images, height, width, from, to}, back{images, height, width, to, from};
    const int64_t pixels = images * height * width;
    const Numbers kernel = random(to * from * 9), bias = random(to), x = random(pixels * from), dy = random(pixels * to);
    const Numbers like_y = random(pixels * to), like_x = random(pixels * from);
    // In the order of libtorch, and with the channels last.
    for (const hvd::Kernel& weights : {hvd::Kernel{kernel.data(), from * 9, 9, 3, 1}, hvd::Kernel{kernel.data(), from * 9, 1, 3 * from, from}}) {
      for (const hvd::Addend& with : {hvd::Addend{nullptr, 0}, hvd::Addend{bias.data(), 0}, hvd::Addend{like_y.data(), to}}) {
        is_right &= is_plain(of, x, weights, with);
      }
      // The gradient by the image.
      is_right &= is_plain_gradient(of, x, dy, weights);
      if (from % 16 == 0) is_right &= is_plain(back, dy, weights.turned(), {like_x.data(), from});
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
