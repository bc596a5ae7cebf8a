// NVRTC over the host's C++ compiler: an image is the path of a library.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>

#include "core/base/error.h"
#include "device/fake_cuda.h"
#include "support/temporary_folder.h"

namespace softneuro::test {
namespace {

constexpr int kArchitecture = 90;

// What CUDA C++ has and C++ has not. No header is read: a kernel compiles in a tenth of the time.
constexpr const char* kBefore = R"(
#define SOFTNEURO_HOST
#define __device__
#define __launch_bounds__(threads)
#define __global__
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf(x)
struct Dimensions { unsigned x; };
static thread_local Dimensions blockIdx, blockDim, gridDim, threadIdx;
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
}
)";
constexpr const char* kBehind = R"(
extern "C" unsigned long softneuro_argument_bytes() { return sizeof(Arguments); }
extern "C" void softneuro_run(const void* argument, unsigned blocks, unsigned threads) {
  gridDim.x = blocks;
  blockDim.x = threads;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
    for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x)
      softneuro_kernel(*(const Arguments*)argument);
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

// Libraries by source, for as long as the process lives.
Result<std::string> library_of(const std::string& source) {
  static const TemporaryFolder folder;
  static std::mutex mutex;
  static std::map<std::string, std::string> libraries;
  const std::lock_guard<std::mutex> lock(mutex);
  if (const auto known = libraries.find(source); known != libraries.end()) return known->second;
  const std::string base = (folder.path() / std::to_string(libraries.size())).string();
  std::ofstream(base + ".cpp") << kBefore << source << kBehind;
  const std::string command = fmt::format(
      "'{}' -std=c++17 -w -O1 -ffp-contract=off -shared -fPIC '{}.cpp' -o '{}.so' 2>'{}.log'",
      SOFTNEURO_HOST_COMPILER, base, base, base);
  if (std::system(command.c_str()) != 0)
    return Status(StatusCode::internal, text_of(base + ".log"));
  return libraries.emplace(source, base + ".so").first->second;
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
