// A libcuda.so.1 that pretends to be one GPU: queries answer, images load, memory is the host's,
// launches do nothing. With it the real cuDNN makes plans for GPUs that it is told of, where there
// is none. A library of its own, for a process of its own: whatever asks for a GPU there is given
// this one.
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace {

using Address = void*;
constexpr int kNotFound = 500;  // CUDA_ERROR_NOT_FOUND

int object;  // what all handles point to
char globals[1 << 16];

int attribute(int number) {
  switch (number) {  // of CUdevice_attribute; an H200's
    case 1:
    case 2:
    case 3:
      return 1024;  // threads of a block
    case 4:
      return 64;
    case 5:
    case 11:
      return 2147483647;
    case 6:
    case 7:
      return 65535;
    case 8:
      return 49152;  // shared memory of a block
    case 9:
    case 12:
    case 82:
      return 65536;  // registers
    case 10:
    case 106:
      return 32;
    case 13:
      return 1980000;
    case 14:
      return 512;
    case 16:
      return 132;  // multiprocessors
    case 36:
      return 3201000;
    case 37:
      return 6144;
    case 38:
      return 52428800;  // second-level cache
    case 39:
      return 2048;
    case 75:
      return 9;  // compute capability
    case 81:
      return 233472;
    case 97:
      return 232448;
    case 111:
      return 1024;
    case 15:
    case 19:
    case 31:
    case 32:
    case 33:
    case 40:
    case 41:
    case 78:
    case 79:
    case 80:
    case 83:
    case 95:
    case 115:
    case 119:
    case 120:
      return 1;  // what it can do
    default:
      return 0;
  }
}

int function_attribute(int number) {
  return number == 0 ? 1024 : number == 4 ? 128 : number == 8 ? 232448 : 0;
}

int give_object(Address* to) {
  *to = &object;
  return 0;
}
int give(int* to, int value) {
  *to = value;
  return 0;
}

int nothing() {
  return 0;
}

// The function with that name in its newest form; one that does nothing for others.
Address find(const char* name) {
  Dl_info info;
  dladdr(reinterpret_cast<Address>(&find), &info);
  static Address const self = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  for (const char* const suffix : {"_v4", "_v3", "_v2", ""}) {
    char symbol[200];
    std::snprintf(symbol, sizeof(symbol), "%s%s", name, suffix);
    if (Address const found = dlsym(self, symbol)) return found;
  }
  return reinterpret_cast<Address>(&nothing);
}

}  // namespace

// NOLINTBEGIN: the driver's names
#define SN_DRIVER extern "C" __attribute__((visibility("default"))) int
#define SN_NOTHING(name) \
  SN_DRIVER name() {     \
    return 0;            \
  }
#define SN_OBJECT(name)         \
  SN_DRIVER name(Address* to) { \
    return give_object(to);     \
  }

// clang-format off
SN_NOTHING(cuInit) SN_NOTHING(cuCtxSetCurrent) SN_NOTHING(cuCtxPushCurrent)
SN_NOTHING(cuCtxPushCurrent_v2) SN_NOTHING(cuCtxPopCurrent) SN_NOTHING(cuDevicePrimaryCtxRelease_v2)
SN_NOTHING(cuLinkCreate) SN_NOTHING(cuLinkAddData) SN_NOTHING(cuLinkComplete) SN_NOTHING(cuLinkDestroy)
SN_NOTHING(cuLaunchKernel) SN_NOTHING(cuLaunchKernelEx) SN_NOTHING(cuLaunchCooperativeKernel)
SN_NOTHING(cuLibraryLoadFromFile) SN_NOTHING(cuLibraryUnload) SN_NOTHING(cuKernelSetAttribute)
SN_NOTHING(cuFuncSetAttribute) SN_NOTHING(cuModuleUnload) SN_NOTHING(cuStreamSynchronize)
SN_OBJECT(cuCtxGetCurrent) SN_OBJECT(cuCtxPopCurrent_v2) SN_OBJECT(cuDevicePrimaryCtxRetain)
SN_OBJECT(cuLibraryLoadData) SN_OBJECT(cuLibraryGetKernel) SN_OBJECT(cuLibraryGetModule)
SN_OBJECT(cuKernelGetFunction) SN_OBJECT(cuModuleLoadData) SN_OBJECT(cuModuleLoadDataEx)
SN_OBJECT(cuModuleLoadFatBinary) SN_OBJECT(cuModuleGetFunction) SN_OBJECT(cuStreamCreate)
SN_OBJECT(cuStreamCreateWithPriority) SN_OBJECT(cuEventCreate) SN_OBJECT(cuDeviceGetDefaultMemPool)
SN_OBJECT(cuDeviceGetMemPool)
    // clang-format on

    SN_DRIVER cuDriverGetVersion(int* to) {
  return give(to, 13000);
}
SN_DRIVER cuDeviceGetCount(int* to) {
  return give(to, 1);
}
SN_DRIVER cuCtxGetDevice(int* to) {
  return give(to, 0);
}
SN_DRIVER cuCtxGetFlags(int* to) {
  return give(to, 0);
}
SN_DRIVER cuCtxGetApiVersion(Address, int* to) {
  return give(to, 13000);
}
SN_DRIVER cuDeviceGet(int* to, int ordinal) {
  return give(to, ordinal);
}
SN_DRIVER cuDeviceGetAttribute(int* to, int number, int) {
  return give(to, attribute(number));
}
SN_DRIVER cuKernelGetAttribute(int* to, int number) {
  return give(to, function_attribute(number));
}
SN_DRIVER cuFuncGetAttribute(int* to, int number) {
  return give(to, function_attribute(number));
}
SN_DRIVER cuStreamIsCapturing(Address, int* to) {
  return give(to, 0);
}
SN_DRIVER cuStreamGetCtx(Address, Address* to) {
  return give_object(to);
}
SN_DRIVER cuLibraryGetKernelCount(int* to) {
  return give(to, 1);
}
SN_DRIVER cuOccupancyMaxActiveBlocksPerMultiprocessor(int* to) {
  return give(to, 2);
}
SN_DRIVER cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* to) {
  return give(to, 2);
}
SN_DRIVER cuOccupancyMaxActiveClusters(int* to) {
  return give(to, 66);
}
SN_DRIVER cuOccupancyMaxPotentialClusterSize(int* to) {
  return give(to, 8);
}
SN_DRIVER cuDevicePrimaryCtxGetState(int, int* flags, int* active) {
  give(flags, 0);
  return give(active, 1);
}
SN_DRIVER cuDeviceComputeCapability(int* major, int* minor) {
  give(minor, attribute(76));
  return give(major, attribute(75));
}
SN_DRIVER cuDeviceGetName(char* to, int bytes) {
  std::snprintf(to, static_cast<std::size_t>(bytes), "a pretended GPU");
  return 0;
}
SN_DRIVER cuCtxGetLimit(std::size_t* to) {
  *to = 1024;
  return 0;
}
SN_DRIVER cuDeviceTotalMem_v2(std::size_t* to) {
  *to = 150000000000;
  return 0;
}
SN_DRIVER cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  *free = *total = 150000000000;
  return 0;
}
SN_DRIVER cuDeviceGetUuid_v2(void* to) {
  std::memset(to, 7, 16);
  return 0;
}
SN_DRIVER cuMemAlloc_v2(Address* to, std::size_t bytes) {
  *to = std::malloc(bytes);
  return *to == nullptr ? 2 : 0;
}
SN_DRIVER cuMemFree_v2(Address memory) {
  std::free(memory);
  return 0;
}
SN_DRIVER cuModuleGetGlobal_v2(Address* to, std::size_t* bytes) {
  *to = globals;
  if (bytes != nullptr) *bytes = sizeof(globals);
  return 0;
}
SN_DRIVER cuLibraryGetGlobal(Address* to, std::size_t* bytes) {
  return cuModuleGetGlobal_v2(to, bytes);
}
SN_DRIVER cuTensorMapEncodeTiled(void* to) {
  std::memset(to, 0, 128);
  return 0;
}
SN_DRIVER cuTensorMapEncodeIm2col(void* to) {
  return cuTensorMapEncodeTiled(to);
}
SN_DRIVER cuGetErrorString(int, const char** to) {
  *to = "a pretended error";
  return 0;
}
SN_DRIVER cuGetErrorName(int, const char** to) {
  *to = "PRETENDED";
  return 0;
}
SN_DRIVER cuGetExportTable() {
  return kNotFound;
}
SN_DRIVER cuGetProcAddress(const char* name, Address* to) {
  *to = find(name);
  return 0;
}
SN_DRIVER cuGetProcAddress_v2(const char* name, Address* to, int, std::uint64_t, int* found) {
  *to = find(name);
  if (found != nullptr) *found = 0;
  return 0;
}
// NOLINTEND
