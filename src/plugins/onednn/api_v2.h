// oneDNN 2.6 and later 2.x; see api.h, which includes it.
#pragma once

#include "core/base/checksum.h"

namespace softneuro::onednn {

constexpr const char* kExpectedVersions = "2.6 or a later 2.x";
inline bool is_expected(const dnnl_version_t& version) {
  return version.major == 2 && version.minor >= 6;
}

// Faults of 2.6.3 that were seen; see libraries.md.
namespace workarounds {
// Of two fused steps of a kind, both have the first one's constants.
constexpr bool kOneStepOfAKind = true;
// Fused operands in "gemm", and operands of 8 bits, other than beside simple steps in brgemm
// kernels, give wrong results.
constexpr bool kFewFusedOperands = true;
// Some primitives of 8 bits cannot be made with a silu, which their descriptors accept.
constexpr bool kNoSiluOfBytes = true;
}  // namespace workarounds

// No set of AVX-512 with AVX-VNNI but "all": AVX-VNNI is hidden with anything beyond it.
constexpr CpuFeatures kAmxFeatures =
    kVnniFeatures |
    CpuFeatures{CpuFeature::avx512_bf16, CpuFeature::amx_int8, CpuFeature::amx_bf16};
constexpr IsaSet kIsaSets[] = {
    {dnnl_cpu_isa_all, kAmxFeatures | CpuFeatures{CpuFeature::avx_vnni}},
    {dnnl_cpu_isa_avx512_core_amx, kAmxFeatures},
    {dnnl_cpu_isa_avx512_core_bf16, kVnniFeatures | CpuFeatures{CpuFeature::avx512_bf16}},
    {dnnl_cpu_isa_avx512_core_vnni, kVnniFeatures},
    {dnnl_cpu_isa_avx512_core, {CpuFeature::avx2, CpuFeature::avx512}},
    {dnnl_cpu_isa_avx2_vnni, {CpuFeature::avx2, CpuFeature::avx_vnni}},
    {dnnl_cpu_isa_avx2, {CpuFeature::avx2}},
    {dnnl_cpu_isa_sse41, {}}};

// A dnnl_*_desc_t of any kind, kept.
class Operation {
 public:
  Operation() = default;
  // `arguments`: of Primitive::desc. Throws dnnl::error where the library refuses them.
  template <class Primitive, class... Arguments>
  static Operation of(const Arguments&... arguments) {
    Operation made;
    auto held = std::make_shared<const typename Primitive::desc>(arguments...);
    made.desc_ = &held->data;
    made.held_ = std::move(held);
    return made;
  }

  void for_each_implementation(const dnnl::primitive_attr& attributes,
                               const VisitImplementation& visit) const {
    dnnl_primitive_desc_iterator_t made = nullptr;
    if (dnnl_primitive_desc_iterator_create(&made, desc_, attributes.get(), engine().get(),
                                            nullptr) != dnnl_success)
      return;
    const std::unique_ptr<dnnl_primitive_desc_iterator, IteratorDeleter> iterator(made);
    do {
      dnnl::primitive_desc_base desc;
      desc.reset(dnnl_primitive_desc_iterator_fetch(made));
      if (!desc || !visit(desc)) return;
    } while (dnnl_primitive_desc_iterator_next(made) == dnnl_success);
  }

 private:
  struct IteratorDeleter {
    void operator()(dnnl_primitive_desc_iterator_t iterator) const {
      dnnl_primitive_desc_iterator_destroy(iterator);
    }
  };

  std::shared_ptr<const void> held_;
  const_dnnl_op_desc_t desc_ = nullptr;
};

// With given mean and variance, scale and shift.
inline Operation batch_norm_operation(const dnnl::memory::desc& desc, float epsilon) {
  using dnnl::normalization_flags;
  return Operation::of<dnnl::batch_normalization_forward>(
      dnnl::prop_kind::forward_inference, desc, epsilon,
      normalization_flags::use_global_stats | normalization_flags::use_scale |
          normalization_flags::use_shift);
}

inline Operation eltwise_operation(dnnl::algorithm algorithm, const dnnl::memory::desc& desc,
                                   float alpha, float beta) {
  return Operation::of<dnnl::eltwise_forward>(dnnl::prop_kind::forward_inference, algorithm, desc,
                                              alpha, beta);
}

using PoolingForward = dnnl::pooling_v2_forward;
using SoftmaxForward = dnnl::softmax_v2_forward;

inline void append_eltwise(dnnl::post_ops& chain, dnnl::algorithm algorithm, float alpha,
                           float beta) {
  constexpr float kScale = 1;
  chain.append_eltwise(kScale, algorithm, alpha, beta);
}

inline dnnl::memory::dims dims_of(const dnnl::memory::desc& desc) {
  return desc.dims();
}
inline dnnl::memory::data_type type_of(const dnnl::memory::desc& desc) {
  return desc.data_type();
}
// The same places, in elements, of another type.
inline dnnl::memory::desc with_type(dnnl::memory::desc desc, dnnl::memory::data_type type) {
  desc.data.data_type = static_cast<dnnl_data_type_t>(type);
  return desc;
}
// Differs where the formats do.
inline std::string format_key(const dnnl::memory::desc& desc) {
  return std::to_string(checksum(&desc.data, sizeof desc.data));
}

constexpr int kFactorsArgument = 0, kZeroPointArgument = 0;

// y = (sum + bias) · factor, per channel, which is the dimension `channel` of y. Sums leave out
// what `zero_point` of x makes.
inline void set_numbers(dnnl::primitive_attr& attributes, std::span<const float> factors,
                        int channel, int /*weights_mask*/, std::int32_t zero_point) {
  if (!factors.empty())
    attributes.set_output_scales(1 << channel, {factors.begin(), factors.end()});
  if (zero_point != 0) attributes.set_zero_points(DNNL_ARG_SRC, 0, {zero_point});
}

}  // namespace softneuro::onednn
