#include "plugins/cuda/generate/prelude.h"

namespace softneuro::cuda {
namespace {

// SOFTNEURO_HOST: a compiler of the host, which has these functions already.
constexpr const char* kTypes = R"(
struct Half {
  unsigned short bits;
};
struct BFloat16 {
  unsigned short bits;
};
#if !defined(SOFTNEURO_HOST)
__device__ inline float half_to_float(unsigned short bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}
__device__ inline unsigned short float_to_half(float x) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
#endif
__device__ inline unsigned short float_to_bfloat16(float x) {
  const unsigned bits = __float_as_uint(x);
  if (isnan(x)) return (unsigned short)((bits >> 16) | 0x40);
  return (unsigned short)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
__device__ inline float get(float x) { return x; }
__device__ inline float get(Half x) { return half_to_float(x.bits); }
__device__ inline float get(BFloat16 x) { return __uint_as_float((unsigned)x.bits << 16); }
__device__ inline double get(double x) { return x; }
__device__ inline long long get(signed char x) { return x; }
__device__ inline long long get(unsigned char x) { return x; }
__device__ inline long long get(short x) { return x; }
__device__ inline long long get(unsigned short x) { return x; }
__device__ inline long long get(int x) { return x; }
__device__ inline long long get(unsigned x) { return x; }
__device__ inline long long get(long long x) { return x; }
__device__ inline unsigned long long get(unsigned long long x) { return x; }
__device__ inline void put(Half& to, float x) { to.bits = float_to_half(x); }
__device__ inline void put(BFloat16& to, float x) { to.bits = float_to_bfloat16(x); }
template <class T, class Number>
__device__ inline void put(T& to, Number x) { to = (T)x; }
)";

// A division by `size` of numbers below 2^31 is a multiplication.
constexpr const char* kWalk32 = R"(
struct Size {
  unsigned size, multiplier, shift;
};
__device__ inline Index quotient(Index i, const Size& by) {
  return (__umulhi(i, by.multiplier) + i) >> by.shift;
}
)";
constexpr const char* kWalk64 = R"(
struct Size {
  unsigned long long size;
};
__device__ inline Index quotient(Index i, const Size& by) { return i / by.size; }
)";
constexpr const char* kWalk = R"(
template <int rank>
struct Walk {
  Size sizes[rank];
  long long strides[rank];
};
template <int rank>
__device__ inline long long at(Index i, const Walk<rank>& walk) {
  long long offset = 0;
#pragma unroll
  for (int d = rank - 1; d > 0; --d) {
    const Index rest = quotient(i, walk.sizes[d]);
    offset += (long long)(i - rest * (Index)walk.sizes[d].size) * walk.strides[d];
    i = rest;
  }
  return offset + (long long)i * walk.strides[0];
}
)";

constexpr const char* kReport = R"(
struct Fault {
  unsigned claimed;
  long long index, place, size;
};
__device__ inline void report(Fault* fault, long long index, long long place, long long size) {
  if (atomicCAS(&fault->claimed, 0u, 1u) != 0u) return;
  fault->index = index;
  fault->place = place;
  fault->size = size;
}
)";

constexpr const char* kFunctions = R"(
__device__ inline float clamp(float x, float low, float high) {
  if (x < low) x = low;
  if (x > high) x = high;
  return x;
}
__device__ inline float sigmoid(float x) {
  const float e = expf(-fabsf(x));
  return (x < 0 ? e : 1) / (1 + e);
}
__device__ inline float softplus(float x) {
  return isnan(x) ? x : (x > 0 ? x : 0) + log1pf(expf(-fabsf(x)));
}
__device__ inline float floor_mod(float p, float q) {
  const float r = fmodf(p, q);
  if (r == 0) return copysignf(0.0f, q);
  return (r < 0) != (q < 0) ? r + q : r;
}
)";

}  // namespace

std::string prelude(bool is_wide) {
  return std::string("typedef unsigned ") + (is_wide ? "long long" : "int") + " Index;\n" + kTypes +
         (is_wide ? kWalk64 : kWalk32) + kWalk + kReport + kFunctions;
}

const char* float_functions() {
  return kFunctions;
}

const char* stored_type(DataType type, bool is_signed) {
  switch (type) {
    case DataType::float32:
      return "float";
    case DataType::float16:
      return "Half";
    case DataType::bfloat16:
      return "BFloat16";
    case DataType::float64:
      return "double";
    case DataType::int8:
      return "signed char";
    case DataType::uint8:
    case DataType::boolean:
      return "unsigned char";
    case DataType::int16:
      return "short";
    case DataType::uint16:
      return "unsigned short";
    case DataType::int32:
      return "int";
    case DataType::uint32:
      return "unsigned";
    case DataType::int64:
      return "long long";
    case DataType::uint64:
      return "unsigned long long";
    case DataType::qint8:
      return is_signed ? "signed char" : "unsigned char";
    case DataType::undefined:
      break;
  }
  return "void";
}

bool is_narrow_float(DataType type) {
  return is_float(type) && type != DataType::float64;
}

const char* number_type(DataType type) {
  switch (type) {
    case DataType::float32:
    case DataType::float16:
    case DataType::bfloat16:
      return "float";
    case DataType::float64:
      return "double";
    case DataType::uint64:
      return "unsigned long long";
    default:
      return "long long";
  }
}

}  // namespace softneuro::cuda
