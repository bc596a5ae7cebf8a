#include "plugins/cuda/device/staging.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "core/base/error.h"

namespace softneuro::cuda {

Result<std::unique_ptr<Staging>> Staging::create(const Driver& driver) {
  std::unique_ptr<Staging> staging(new Staging(driver));
  SN_RETURN_IF_ERROR(staging->open());
  return staging;
}

Status Staging::open() {
  SN_RETURN_IF_ERROR(
      driver_.check(driver_.cuMemHostAlloc(&memory_, kChunks * kChunkBytes + sizeof(Fault), 0),
                    "cuMemHostAlloc"));
  fault_ = new (static_cast<std::byte*>(memory_) + kChunks * kChunkBytes) Fault();
  for (std::size_t i = 0; i < kChunks; ++i) {
    chunks_[i].bytes = static_cast<std::byte*>(memory_) + i * kChunkBytes;
    SN_RETURN_IF_ERROR(driver_.check(
        driver_.cuEventCreate(&chunks_[i].is_free, CU_EVENT_DISABLE_TIMING), "cuEventCreate"));
  }
  return {};
}

Staging::~Staging() {
  for (const Chunk& chunk : chunks_)
    if (chunk.is_free != nullptr) driver_.cuEventDestroy_v2(chunk.is_free);
  if (memory_ != nullptr) driver_.cuMemFreeHost(memory_);
}

CUresult Staging::upload(CUstream stream, void* to, const void* from, std::size_t bytes) noexcept {
  for (std::size_t at = 0; at < bytes; at += kChunkBytes) {
    Chunk& chunk = chunks_[next_chunk_];
    next_chunk_ = (next_chunk_ + 1) % kChunks;
    const std::size_t count = std::min(kChunkBytes, bytes - at);
    // At once where it was never recorded.
    CUresult result = driver_.cuEventSynchronize(chunk.is_free);
    if (result != CUDA_SUCCESS) return result;
    std::memcpy(chunk.bytes, static_cast<const std::byte*>(from) + at, count);
    result = driver_.cuMemcpyHtoDAsync_v2(reinterpret_cast<CUdeviceptr>(to) + at, chunk.bytes,
                                          count, stream);
    if (result == CUDA_SUCCESS) result = driver_.cuEventRecord(chunk.is_free, stream);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

}  // namespace softneuro::cuda
