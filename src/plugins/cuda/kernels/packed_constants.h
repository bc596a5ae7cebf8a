// The constant inputs of a layer on the GPU, one behind the other as they are.
#pragma once

#include <vector>

#include "core/routine/routine.h"

namespace softneuro::cuda {

class PackedConstants {
 public:
  // For Implementation::packing() and pack().
  static std::size_t bytes(const Problem& problem);
  static void pack(const Problem& problem, std::byte* packed);

  // `packed` of the same problem, uploaded.
  PackedConstants(const Problem& problem, const PackedWeights& packed);

  // Where input i is: here if it is constant, else where the context says. Null if left out.
  const void* data(const Context& context, std::size_t i) const noexcept {
    return offsets_[i] < 0 ? context.input(i).data : constant(i);
  }
  // Where constant i is. Precondition: it is one.
  const void* constant(std::size_t i) const noexcept { return base() + offsets_[i]; }

 private:
  const std::byte* base() const noexcept {
    return packed_ == nullptr ? nullptr : static_cast<const std::byte*>(packed_->data());
  }

  std::shared_ptr<const DeviceMemory> packed_;
  std::vector<std::ptrdiff_t> offsets_;  // by input; −1: not constant
};

// Whose kernels take constants from there.
class PackingImplementation : public Implementation {
 public:
  using Implementation::Implementation;
  Result<Packing> packing(const RoutineParams&) const override {
    return Packing{PackedConstants::bytes(problem()), {}};
  }
  Status pack(const RoutineParams&, Allocator&, std::byte* packed) const override {
    PackedConstants::pack(problem(), packed);
    return {};
  }
};

}  // namespace softneuro::cuda
