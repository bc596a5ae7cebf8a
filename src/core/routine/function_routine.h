// Routines that are a table of functions: they have no parameters.
#pragma once

#include <initializer_list>
#include <memory>
#include <vector>

#include "core/routine/function_kernel.h"
#include "core/routine/registry.h"

namespace softneuro {

// The kernel for a problem, or why there is none.
using MakeKernel = Result<std::unique_ptr<Kernel>> (*)(const Problem& problem);

// What the functions of these names of Routine and Implementation return. Null: as by default.
struct RoutineFunctions {
  RoutineFacts facts = {};
  std::vector<FormatTuple> (*formats)(const Problem&, const RoutineDescriptor&) = nullptr;
  Applicability (*applicable)(const Problem&) = nullptr;
  Applicability (*supports_post_ops)(const Problem&) = nullptr;
  double (*speed)(const Problem&) = nullptr;
  // Either `create`, …
  MakeKernel create = nullptr;
  // … or these, of a kernel that reads packed weights, or depends on the number of threads.
  std::size_t (*packed_bytes)(const Problem&) = nullptr;  // of Packing, whose key is empty
  Status (*pack)(const Problem&, Allocator& scratch, std::byte* packed) = nullptr;
  Result<std::unique_ptr<Kernel>> (*create_with)(const Problem&, const RoutineContext&,
                                                 const PackedWeights&) = nullptr;
};

// Registers <schema>/<name> of each layer type for each schema.
SN_INTREE Status add_routines(Registry& registry, std::initializer_list<const char*> layer_types,
                              std::initializer_list<const char*> schemas, const char* name,
                              const RoutineFunctions& functions);

}  // namespace softneuro
