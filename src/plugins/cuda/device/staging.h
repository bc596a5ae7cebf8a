// Where bytes of the host wait for the way to the GPU.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "plugins/cuda/device/fault.h"
#include "plugins/cuda/libraries/driver.h"

namespace softneuro::cuda {

// Page-locked memory in chunks that are used in turn. The GPU reads them when it comes to it; a
// copy from any other memory may read its source later than the call, or not, as that memory is.
// The GPU's context must be current in every call. One thread at a time.
class Staging {
 public:
  static Result<std::unique_ptr<Staging>> create(const Driver& driver);
  ~Staging();  // once no copy out of it is under way
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Of the stream that has this; kernels write it.
  Fault& fault() noexcept { return *fault_; }
  // Puts a copy into the stream. The bytes at `from` may change as soon as the call returns.
  CUresult upload(CUstream stream, void* to, const void* from, std::size_t bytes) noexcept;

 private:
  struct Chunk {
    std::byte* bytes = nullptr;
    CUevent is_free = nullptr;  // recorded behind the copy out of it
  };
  static constexpr std::size_t kChunkBytes = std::size_t{1} << 18;  // the bus is busy with one well
  static constexpr std::size_t kChunks = 8;                         // small inputs take one each

  explicit Staging(const Driver& driver) : driver_(driver) {}
  Status open();

  const Driver& driver_;
  void* memory_ = nullptr;
  Fault* fault_ = nullptr;  // behind the chunks
  std::array<Chunk, kChunks> chunks_;
  std::size_t next_chunk_ = 0;
};

}  // namespace softneuro::cuda
