// Loops over float32 and bfloat16 numbers with the widest vectors that the processor has. Knows nothing of libtorch.
//
// The compiler makes each loop for vectors of 16, 8 and 4 numbers. All of them compute every number by the same operations in the same
// order, so the processor changes how long a loop takes and no bit of its result.
#pragma once

#include <cstdint>
#include <cstdlib>
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

// Vectors anywhere in memory.
template <typename Vector, typename T>
HVD_INLINE Vector read(const T* from) {
  Vector vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}
template <typename Vector, typename T>
HVD_INLINE void write(T* to, const Vector& vector) {
  std::memcpy(to, &vector, sizeof vector);
}

// A processor's vectors of LANES numbers of float32: a function of HVD_INLINE is compiled for them.
template <int LANES>
struct Vectors {
  template <auto FUNCTION, typename... Arguments>
  static void call(Arguments... arguments) { FUNCTION(arguments...); }
};
#if defined(HVD_CHOOSES_VECTORS)
template <>
struct Vectors<16> {
  template <auto FUNCTION, typename... Arguments>
  __attribute__((noinline, target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")))
  static void call(Arguments... arguments) { FUNCTION(arguments...); }
};
template <>
struct Vectors<8> {
  template <auto FUNCTION, typename... Arguments>
  __attribute__((noinline, target("avx2,fma")))
  static void call(Arguments... arguments) { FUNCTION(arguments...); }
};
#endif

// How many numbers the vectors have that are used here: those of the processor. For tests and benchmarks, HVD_LAB_VECTORS=8 or 4 allows
// no more than that; any other value changes nothing.
inline int lanes() {
  static const int lanes = [] {
#if defined(HVD_CHOOSES_VECTORS)
    const char* limit = std::getenv("HVD_LAB_VECTORS");
    const auto is_limit = [&](const char* number) { return limit != nullptr && std::strcmp(limit, number) == 0; };
    const bool wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool widest = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (!is_limit("4") && wide) return widest && !is_limit("8") ? 16 : 8;
#endif
    return 4;
  }();
  return lanes;
}

// Runs a loop, which is written as `HVD_LOOP { ... }`.
template <typename Loop>
HVD_INLINE void run_loop(const Loop* loop) { (*loop)(); }
template <typename Loop>
void run(const Loop& loop) {
  switch (lanes()) {
    case 16: return Vectors<16>::call<run_loop<Loop>>(&loop);
    case 8: return Vectors<8>::call<run_loop<Loop>>(&loop);
    default: return Vectors<4>::call<run_loop<Loop>>(&loop);
  }
}
#define HVD_LOOP [&]() __attribute__((always_inline))

}  // namespace hvd
