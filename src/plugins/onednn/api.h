// What differs between oneDNN 2 and 3, chosen by the headers that are found. Everything else of the
// plugin is written once. Both files declare:
//
//   Operation             what a primitive is to do, whatever implementation does it
//   batch_norm_operation() eltwise_operation()
//   PoolingForward        the primitive with dilation
//   SoftmaxForward        the primitive with an algorithm
//   append_eltwise()      to post-ops
//   dims_of() type_of() with_type() format_key()   of a memory::desc
//   set_numbers()         factors of sums, zero points: what attributes take of them
//   kFactorsArgument kZeroPointArgument   the arguments of a run that they are otherwise, or 0
//   kIsaSets              the library's instruction sets and what they ask for, highest first
//   is_expected()         whether the library that was loaded has the interface of the headers
//   workarounds           of known faults, see there
#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "core/base/cpu.h"

namespace softneuro::onednn {

// The CPU. Precondition: prepare_library() is ok.
const dnnl::engine& engine();

// Called with one implementation after another. Returns whether to go on; the descriptor may be
// kept only by who returns false.
using VisitImplementation = std::function<bool(const dnnl::primitive_desc_base& desc)>;

// A mask of the library, and the features without which it would be too much.
struct IsaSet {
  dnnl_cpu_isa_t isa{};
  CpuFeatures asks;
};
constexpr CpuFeatures kVnniFeatures = {CpuFeature::avx2, CpuFeature::avx512,
                                       CpuFeature::avx512_vnni};

}  // namespace softneuro::onednn

#if DNNL_VERSION_MAJOR >= 3
#include "plugins/onednn/api_v3.h"
#else
#include "plugins/onednn/api_v2.h"
#endif
