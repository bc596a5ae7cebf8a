// NVRTC over the host's C++ compiler: an image is the path of a library.
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "core/base/error.h"
#include "device/fake_cuda.h"
#include "support/skip.h"

namespace softneuro::test {
namespace {

constexpr int kArchitecture = 90;

// What CUDA C++ has and C++ has not. No header is read: a kernel compiles in a tenth of the time.
constexpr const char* kBefore = R"(
#define SOFTNEURO_HOST
#define __device__
#define __launch_bounds__(threads)
#define __global__
#define __shared__ static
#define __align__(bytes) __attribute__((aligned(bytes)))
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf(x)
struct Dimensions { unsigned x; };
static Dimensions blockIdx, blockDim, gridDim, threadIdx;
static inline float __uint_as_float(unsigned bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}
static inline unsigned __float_as_uint(float value) {
  unsigned bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  return bits;
}
static inline unsigned __umulhi(unsigned a, unsigned b) {
  return (unsigned)((unsigned long long)a * b >> 32);
}
static inline float half_to_float(unsigned short bits) {
  const unsigned magnitude = (bits & 0x7fffu) << 13, sign = (bits & 0x8000u) << 16;
  if ((bits & 0x7c00) == 0x7c00) return __uint_as_float(sign | magnitude | 0x7f800000u);
  return __uint_as_float(sign | __float_as_uint(__uint_as_float(magnitude) * 0x1p112f));
}
static inline unsigned short float_to_half(float x) {
  const unsigned bits = __float_as_uint(x), magnitude = bits & 0x7fffffffu;
  const unsigned sign = bits >> 16 & 0x8000u;
  if (magnitude > 0x7f800000u) return (unsigned short)(sign | 0x7e00);
  if (magnitude >= 0x477ff000u) return (unsigned short)(sign | 0x7c00);
  if (magnitude < 0x38800000u)  // the sum is rounded where a subnormal number is
    return (unsigned short)(sign |
                            (__float_as_uint(__uint_as_float(magnitude) + 0.5f) - 0x3f000000u));
  return (unsigned short)(sign |
                          ((magnitude - 0x38000000u + 0xfff + (magnitude >> 13 & 1)) >> 13));
}
extern "C" {
#define FUNCTION(name) float name(float);
FUNCTION(expm1f) FUNCTION(log1pf) FUNCTION(tanhf) FUNCTION(fabsf) FUNCTION(erff) FUNCTION(erfcf)
FUNCTION(sqrtf) FUNCTION(expf) FUNCTION(logf) FUNCTION(floorf) FUNCTION(ceilf) FUNCTION(rintf)
FUNCTION(sinf) FUNCTION(cosf) FUNCTION(tanf) FUNCTION(asinf) FUNCTION(acosf) FUNCTION(atanf)
FUNCTION(sinhf) FUNCTION(coshf) FUNCTION(asinhf) FUNCTION(acoshf) FUNCTION(atanhf)
#undef FUNCTION
#define FUNCTION(name) double name(double);
FUNCTION(expm1) FUNCTION(log1p) FUNCTION(tanh) FUNCTION(fabs) FUNCTION(erf) FUNCTION(erfc)
FUNCTION(sqrt) FUNCTION(exp) FUNCTION(log) FUNCTION(floor) FUNCTION(ceil) FUNCTION(rint)
FUNCTION(sin) FUNCTION(cos) FUNCTION(tan) FUNCTION(asin) FUNCTION(acos) FUNCTION(atan)
FUNCTION(sinh) FUNCTION(cosh) FUNCTION(asinh) FUNCTION(acosh) FUNCTION(atanh)
double copysign(double, double);
double pow(double, double);
double fmod(double, double);
float copysignf(float, float);
float powf(float, float);
float fmodf(float, float);
float fmaf(float, float, float);
}
static inline float fmaxf(float a, float b) { return a > b || b != b ? a : b; }
static inline float fminf(float a, float b) { return a < b || b != b ? a : b; }
static inline float rsqrtf(float x) { return 1 / sqrtf(x); }
static inline float __ldg(const float* x) { return *x; }
template <class T> static inline T min(T a, T b) { return b < a ? b : a; }
template <class T> static inline T max(T a, T b) { return a < b ? b : a; }
template <class T> static inline T atomicAdd(T* to, T value) {
  return __atomic_fetch_add(to, value, __ATOMIC_SEQ_CST);
}
template <class T> static inline T atomicOr(T* to, T value) {
  return __atomic_fetch_or(to, value, __ATOMIC_SEQ_CST);
}
template <class T> static inline T atomicExch(T* to, T value) {
  return __atomic_exchange_n(to, value, __ATOMIC_SEQ_CST);
}
template <class T> static inline T atomicCAS(T* to, T expected, T value) {
  __atomic_compare_exchange_n(to, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return expected;
}
template <class T> static inline T atomicMax(T* to, T value) {
  T old = *to;
  while (old < value && !__atomic_compare_exchange_n(to, &old, value, false, __ATOMIC_SEQ_CST,
                                                     __ATOMIC_SEQ_CST)) {
  }
  return old;
}

struct BlockFunctions {
  void (*run)(unsigned threads, void (*thread)(unsigned));
  void (*yield)();
  void (*pass)();
  unsigned (*nth)(unsigned k, unsigned count);
};
static const BlockFunctions* softneuro_block;
struct Barrier {
  unsigned arrived, passed;
};
// All `threads` of a block, or of a warp, come here before one goes on.
static inline void softneuro_wait(Barrier& barrier, unsigned threads) {
  const unsigned thread = threadIdx.x, passed = barrier.passed;
  if (++barrier.arrived == threads) {
    barrier.arrived = 0;
    ++barrier.passed;
    softneuro_block->pass();
    return;
  }
  while (barrier.passed == passed) softneuro_block->yield();
  threadIdx.x = thread;
}
static Barrier softneuro_of_block, softneuro_of_warps[32];
static inline void __syncthreads() { softneuro_wait(softneuro_of_block, blockDim.x); }
static inline void __syncwarp(unsigned mask = 0xffffffffu) {
  if (mask != 0xffffffffu || blockDim.x % 32 != 0) __builtin_trap();  // whole warps alone
  softneuro_wait(softneuro_of_warps[threadIdx.x / 32], 32);
}
static inline void __threadfence() {}
static inline void __threadfence_block() {}
// What lane `from` of the warp has.
template <class T> static inline T softneuro_from_lane(unsigned mask, T value, unsigned from) {
  static T values[1024];
  values[threadIdx.x] = value;
  __syncwarp(mask);
  const T other = values[threadIdx.x / 32 * 32 + from];
  __syncwarp(mask);
  return other;
}
template <class T> static inline T __shfl_sync(unsigned mask, T value, int lane) {
  return softneuro_from_lane(mask, value, (unsigned)lane % 32);
}
template <class T> static inline T __shfl_xor_sync(unsigned mask, T value, int lanes) {
  return softneuro_from_lane(mask, value, threadIdx.x % 32 ^ (unsigned)lanes);
}
template <class T> static inline T __shfl_down_sync(unsigned mask, T value, unsigned lanes) {
  const unsigned from = threadIdx.x % 32 + lanes;
  return softneuro_from_lane(mask, value, from < 32 ? from : threadIdx.x % 32);
}
)";
constexpr const char* kBehind = R"(
extern "C" unsigned long softneuro_argument_bytes() { return sizeof(Arguments); }
static const Arguments* softneuro_arguments;
static void softneuro_thread(unsigned thread) {
  threadIdx.x = thread;
  softneuro_kernel(*softneuro_arguments);
}
extern "C" void softneuro_run(const void* arguments, unsigned blocks, unsigned threads,
                              const BlockFunctions* block) {
  softneuro_block = block;
  softneuro_arguments = (const Arguments*)arguments;
  gridDim.x = blocks;
  blockDim.x = threads;
  for (unsigned b = 0; b < blocks; ++b) {
    blockIdx.x = block->nth(b, blocks);
    if (SOFTNEURO_WAITS)
      block->run(threads, softneuro_thread);
    else
      for (unsigned t = 0; t < threads; ++t) softneuro_thread(block->nth(t, threads));
  }
}
)";

struct FakeProgram {
  std::string source, image, log;
};

FakeProgram& of(nvrtcProgram program) {
  return *reinterpret_cast<FakeProgram*>(program);
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Compiled kernels stay in the build's folder: a second run of the tests compiles nothing.
std::string kernel_folder() {
  const std::string folder = build_dir() + "/fake_kernels";
  std::filesystem::create_directories(folder);
  return folder;
}

// 16 hexadecimal digits.
std::string digest(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return fmt::format("{:016x}", hash);
}

// The library of a kernel, made the first time. Whoever comes first, of all threads and processes,
// makes it under a name of its own.
Result<std::string> library_of(const std::string& source) {
  static std::atomic<int> count;
  const std::string command = fmt::format(
      "'{}' -std=c++17 -w -O1 -ffp-contract=off -fno-exceptions "
      "-fno-asynchronous-unwind-tables -nostdlib -shared -fPIC",
      SOFTNEURO_HOST_COMPILER);
  const bool waits =
      source.find("__sync") != std::string::npos || source.find("__shfl") != std::string::npos;
  const std::string text = fmt::format("// {} {}\n#define SOFTNEURO_WAITS {}\n{}{}{}", __VERSION__,
                                       command, waits ? 1 : 0, kBefore, source, kBehind);
  const std::string made = kernel_folder() + "/" + digest(text);
  if (std::filesystem::exists(made + ".so") && text_of(made + ".cpp") == text) return made + ".so";
  const std::string own = fmt::format("{}.{}.{}", made, getpid(), ++count);
  std::ofstream(own + ".cpp") << text;
  const int status =
      std::system(fmt::format("{0} '{1}.cpp' -o '{1}.so' 2>'{1}.log'", command, own).c_str());
  const std::string log = text_of(own + ".log");
  std::filesystem::remove(own + ".log");
  if (status != 0) return Status(StatusCode::internal, log);
  std::filesystem::rename(own + ".cpp", made + ".cpp");
  std::filesystem::rename(own + ".so", made + ".so");
  return made + ".so";
}

const char* error_string(nvrtcResult) {
  return "an error of the test's compiler";
}
nvrtcResult version(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return NVRTC_SUCCESS;
}
nvrtcResult architecture_count(int* count) {
  *count = 1;
  return NVRTC_SUCCESS;
}
nvrtcResult architectures(int* known) {
  *known = kArchitecture;
  return NVRTC_SUCCESS;
}
nvrtcResult create(nvrtcProgram* program, const char* source, const char*, int, const char* const*,
                   const char* const*) {
  *program = reinterpret_cast<nvrtcProgram>(new FakeProgram{source, {}, {}});
  return NVRTC_SUCCESS;
}
nvrtcResult destroy(nvrtcProgram* program) {
  delete &of(*program);
  return NVRTC_SUCCESS;
}
nvrtcResult compile(nvrtcProgram program, int, const char* const*) {
  Result<std::string> library = library_of(of(program).source);
  if (library.ok()) {
    of(program).image = *library;
    return NVRTC_SUCCESS;
  }
  of(program).log = library.status().message();
  return NVRTC_ERROR_COMPILATION;
}
nvrtcResult log_size(nvrtcProgram program, std::size_t* size) {
  *size = of(program).log.size() + 1;
  return NVRTC_SUCCESS;
}
nvrtcResult log(nvrtcProgram program, char* text) {
  std::strcpy(text, of(program).log.c_str());
  return NVRTC_SUCCESS;
}
nvrtcResult image_size(nvrtcProgram program, std::size_t* size) {
  *size = of(program).image.size() + 1;
  return NVRTC_SUCCESS;
}
nvrtcResult image(nvrtcProgram program, char* text) {
  std::strcpy(text, of(program).image.c_str());
  return NVRTC_SUCCESS;
}

cuda::Nvrtc make_nvrtc() {
  cuda::Nvrtc nvrtc;
  nvrtc.nvrtcGetErrorString = error_string;
  nvrtc.nvrtcVersion = version;
  nvrtc.nvrtcGetNumSupportedArchs = architecture_count;
  nvrtc.nvrtcGetSupportedArchs = architectures;
  nvrtc.nvrtcCreateProgram = create;
  nvrtc.nvrtcDestroyProgram = destroy;
  nvrtc.nvrtcCompileProgram = compile;
  nvrtc.nvrtcGetProgramLogSize = log_size;
  nvrtc.nvrtcGetProgramLog = log;
  nvrtc.nvrtcGetCUBINSize = nvrtc.nvrtcGetPTXSize = image_size;
  nvrtc.nvrtcGetCUBIN = nvrtc.nvrtcGetPTX = image;
  nvrtc.path = "the test's compiler";
  return nvrtc;
}

}  // namespace

Result<const cuda::Nvrtc*> fake_nvrtc() {
  static const cuda::Nvrtc nvrtc = make_nvrtc();
  if (access(SOFTNEURO_HOST_COMPILER, X_OK) != 0)
    return unsupported("there is no compiler for the host here");
  return &nvrtc;
}

}  // namespace softneuro::test
