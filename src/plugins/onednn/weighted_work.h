// One way to compute a layer with weights, worked out: its primitives, and where the weights of
// each are in packed bytes.
#pragma once

#include <memory>

#include "plugins/onednn/partitioned_kernel.h"
#include "plugins/onednn/weighted_layer.h"

namespace softneuro::onednn {

class WeightedWork {
 public:
  // `ops`: those that the choice fuses. WeightedChoice::descs, if any, are of this task.
  // unsupported if the library does not have it (any more).
  static Result<WeightedWork> make(const WeightedLayer& layer, const Problem& problem,
                                   const WeightedTask& task, const WeightedChoice& choice,
                                   const FusedOps& ops);

  // Differs where the packed weights do.
  std::string pack_key() const;
  std::size_t packed_bytes() const { return packed_bytes_; }
  // Reorders the layer's weights, plain and of the type that they are stored in, to `packed`.
  Status pack(const void* weights, std::byte* packed) const;

  struct Constants {
    Tensor packed;            // begins with what pack() wrote
    Tensor bias;              // float32 per output channel, if the task has one …
    std::size_t bias_at = 0;  // … from this byte on
  };
  Result<std::unique_ptr<Kernel>> kernel(Constants constants, const FusedOps& ops,
                                         PostOpProgram tail) const;

 private:
  struct Part {
    WeightedPart part;
    dnnl::primitive_desc_base desc;
    dnnl::memory::desc weights;
    std::size_t weights_at = 0;  // in the packed bytes
  };

  Chunk chunk_of(const Part& part, const FusedOps& ops, std::size_t bias_at) const;
  // Where the library takes factors and zero points as arguments, and adds bias behind the factors:
  // those arguments, and all constants of the kernel, in the order of weighted_work.cpp.
  void add_numbers(Chunk& chunk, const WeightedPart& part) const;
  Status make_numbers(const FusedOps& ops, Constants& constants, std::vector<Tensor>& made) const;

  WeightedTask task_;
  bool packs_ = true;
  std::vector<Part> parts_;
  std::size_t packed_bytes_ = 0;
};

}  // namespace softneuro::onednn
