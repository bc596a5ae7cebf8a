#include "plugins/cuda/kernels/packed_constants.h"

#include <cstring>

#include "core/base/alignment.h"

namespace softneuro::cuda {
namespace {

// Calls f(i, spec, offset) for each constant; returns the bytes of all.
template <class F>
std::size_t for_each_constant(const Problem& problem, F&& f) {
  std::size_t offset = 0;
  for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
    const TensorSpec& spec = problem.inputs[i];
    if (!spec.present() || !spec.constant) continue;
    f(i, spec, offset);
    offset +=
        aligned(static_cast<std::size_t>(storage_bytes(spec.type, spec.shape, Layout::plain)));
  }
  return offset;
}

}  // namespace

std::size_t PackedConstants::bytes(const Problem& problem) {
  return for_each_constant(problem, [](std::size_t, const TensorSpec&, std::size_t) {});
}

void PackedConstants::pack(const Problem& problem, std::byte* packed) {
  std::memset(packed, 0, bytes(problem));  // the gaps
  for_each_constant(problem, [&](std::size_t, const TensorSpec& spec, std::size_t offset) {
    if (spec.value.bytes() > 0) std::memcpy(packed + offset, spec.value.data(), spec.value.bytes());
  });
}

PackedConstants::PackedConstants(const Problem& problem, const PackedWeights& packed)
    : packed_(packed.on_device), offsets_(problem.inputs.size(), -1) {
  for_each_constant(problem, [&](std::size_t i, const TensorSpec&, std::size_t offset) {
    offsets_[i] = static_cast<std::ptrdiff_t>(offset);
  });
}

}  // namespace softneuro::cuda
