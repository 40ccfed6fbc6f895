// Loops over float32 and bfloat16 numbers with the widest vectors that the processor has. Knows nothing of libtorch.
//
// The compiler makes each loop three times. All three compute every number by the same operations in the same order, so the
// processor changes how long a loop takes and no bit of its result.
#pragma once

#include <cstdint>
#include <cstring>

namespace hvd {

#if defined(__x86_64__) && defined(__GNUC__)
#define HVD_CHOOSES_VECTORS
#endif
#define HVD_INLINE __attribute__((always_inline)) inline

// The upper half of a float32.
struct Bf16 {
  uint16_t bits;
};

HVD_INLINE float load(float number) { return number; }
HVD_INLINE float load(Bf16 number) {
  const uint32_t bits = static_cast<uint32_t>(number.bits) << 16;
  float result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}
HVD_INLINE void store(float& to, float number) { to = number; }
// To the nearest, to the even one of two that are as near.
HVD_INLINE void store(Bf16& to, float number) {
  uint32_t bits;
  std::memcpy(&bits, &number, sizeof bits);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  to.bits = static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : rounded);
}

#if defined(HVD_CHOOSES_VECTORS)
// 16 numbers at a time.
template <typename Loop>
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512"))) void run_widest(const Loop& loop) { loop(); }
// 8 numbers at a time.
template <typename Loop>
__attribute__((target("avx2"))) void run_wide(const Loop& loop) { loop(); }
#endif

// Runs a loop, which is written as `HVD_LOOP { ... }`.
template <typename Loop>
void run(const Loop& loop) {
#if defined(HVD_CHOOSES_VECTORS)
  static const bool widest = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (widest) return run_widest(loop);
  static const bool wide = __builtin_cpu_supports("avx2");
  if (wide) return run_wide(loop);
#endif
  loop();
}
#define HVD_LOOP [&]() __attribute__((always_inline))

}  // namespace hvd
