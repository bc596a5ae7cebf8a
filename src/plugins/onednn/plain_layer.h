// Layers without packed weights as oneDNN is asked for them: one primitive per chunk of the work.
#pragma once

#include <initializer_list>
#include <vector>

#include "core/routine/registry.h"
#include "plugins/onednn/partitioned_kernel.h"
#include "plugins/partition/chunks.h"

namespace softneuro::onednn {

struct PlainPart {
  Operation operation;
  Chunk chunk;  // but for the primitive and its scratchpad
};

// One layer type. float32, or qint8 where the layer moves elements: then the library sees bytes.
struct PlainLayer {
  const char* layer_type = nullptr;
  // Whether there is an operation that means the same, apart from what code the library has for it;
  // the data types of inputs and outputs included. There is something to compute.
  Applicability (*applicable)(const Problem& problem) = nullptr;
  // For `threads` threads. Never empty. Precondition: applicable(problem). May throw dnnl::error,
  // too: then the library does not know the operation.
  std::vector<PlainPart> (*parts)(const Problem& problem, int threads) = nullptr;
  // An input that the primitives read exactly where they write output 0; −1, or null: there is
  // none.
  int (*in_place_input)(const Problem& problem) = nullptr;
};

// The routines of `layer` in each descriptor's layout. `impl` names the implementation; the
// library's reference code is never one.
Status add_plain_routines(Registry& registry, const PlainLayer& layer,
                          std::initializer_list<const char*> descriptors);
inline constexpr std::initializer_list<const char*> kFloatLayouts = {
    "cpu/onednn", "cpu:float32:nhwc/onednn", "cpu:float32:nchw8c/onednn",
    "cpu:float32:nchw16c/onednn"};

// Inputs and outputs that are present and real are float32; else why not.
Applicability takes_float32(const Problem& problem);
// In a blocked layout there are no padding channels, which would not stay zero; else why not.
Applicability fills_blocks(const TensorSpec& spec);

// Makes `count` elements of output 0 from `first` on.
PlainPart plain_part(Operation operation, std::vector<Argument> arguments, std::int64_t first,
                     std::int64_t count);

// An input, or output 0, from element `at` of float32 on.
Argument input_argument(int id, std::size_t input, std::int64_t at, const dnnl::memory::desc& desc);
Argument output_argument(std::int64_t at, const dnnl::memory::desc& desc);

// [rows, columns] of float32.
dnnl::memory::desc matrix_desc(std::int64_t rows, std::int64_t columns);

}  // namespace softneuro::onednn
