// Sums over all pixels, channel by channel. Knows nothing of libtorch.
//
// Channels lie side by side in memory, pixel after pixel. A "line" is one pixel, or several where a pixel has few channels:
// then a line is long enough for the processor's vectors. Sums are made for each block of lines, and the blocks are added up
// in their order. The blocks depend on the shape alone, so any number of threads gives the same numbers.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "vectors.hpp"

namespace hvd {

// How `numbers` numbers of `channels` channels are cut into lines and blocks. If a number of images is given, each is a block.
struct Cut {
  Cut(int64_t numbers, int64_t channels, int64_t images = 0) : channels(channels), pixels(numbers / channels) {
    const int64_t together = images > 0 ? pixels / images : pixels;
    while (pixels_per_line * channels < 64 && together % (2 * pixels_per_line) == 0) pixels_per_line *= 2;
    width = pixels_per_line * channels;
    lines = pixels / pixels_per_line;
    lines_per_block = images > 0                  ? together / pixels_per_line
                      : lines / MOST_BLOCKS < 64 ? 64
                                                 : (lines + MOST_BLOCKS - 1) / MOST_BLOCKS;
    blocks = (lines + lines_per_block - 1) / lines_per_block;
  }
  int64_t first_line(int64_t block) const { return block * lines_per_block; }
  int64_t lines_of(int64_t block) const {
    const int64_t left = lines - first_line(block);
    return left < lines_per_block ? left : lines_per_block;
  }
  // One number a channel, repeated for each pixel of a line.
  std::vector<float> line(const std::vector<double>& of_channel) const {
    std::vector<float> line;
    line.reserve(width);
    for (int64_t pixel = 0; pixel < pixels_per_line; ++pixel) line.insert(line.end(), of_channel.begin(), of_channel.end());
    return line;
  }

  static constexpr int64_t MOST_BLOCKS = 64;
  int64_t channels, pixels, pixels_per_line = 1, width, lines, lines_per_block, blocks;
};

// Two sums a channel.
struct Sums {
  explicit Sums(const Cut& cut) : cut(cut), of_blocks(2 * cut.blocks * cut.width) {}
  double* block(int64_t index) { return &of_blocks[2 * index * cut.width]; }
  // Block by block, so in the same order whoever made them.
  void total(std::vector<double>& first, std::vector<double>& second) const {
    first.assign(cut.channels, 0);
    second.assign(cut.channels, 0);
    for (int64_t index = 0; index < cut.blocks; ++index) {
      const double* sums = &of_blocks[2 * index * cut.width];
      for (int64_t pixel = 0; pixel < cut.pixels_per_line; ++pixel, sums += cut.channels) {
        for (int64_t at = 0; at < cut.channels; ++at) {
          first[at] += sums[at];
          second[at] += sums[cut.width + at];
        }
      }
    }
  }
  const Cut cut;
  std::vector<double> of_blocks;
};

// Lines that are added up in float32 before the sum goes on in double precision.
constexpr int64_t FLOAT_LINES = 64;

// Calls `add(first line, lines, float sums)` for some lines at a time, and adds what it finds to `sums`.
template <typename Add>
HVD_INLINE void add_up(const Cut& cut, int64_t block, double* sums, Add add) {
  std::vector<float> some(2 * cut.width);
  const int64_t begin = cut.first_line(block), end = begin + cut.lines_of(block);
  for (int64_t line = begin; line < end; line += FLOAT_LINES) {
    std::memset(some.data(), 0, some.size() * sizeof(float));
    add(line, end - line < FLOAT_LINES ? end - line : FLOAT_LINES, some.data());
    for (int64_t at = 0; at < 2 * cut.width; ++at) sums[at] += some[at];
  }
}

}  // namespace hvd
