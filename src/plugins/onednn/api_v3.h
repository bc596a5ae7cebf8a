// oneDNN 3; see api.h, which includes it.
#pragma once

namespace softneuro::onednn {

constexpr const char* kExpectedVersions = "3.1 or a later 3.x";
inline bool is_expected(const dnnl_version_t& version) {
  return version.major == 3 && version.minor >= 1;
}

// Faults of 3.2.0 that were seen; see libraries.md.
namespace workarounds {
constexpr bool kOneStepOfAKind = false;
constexpr bool kFewFusedOperands = false;
constexpr bool kNoSiluOfBytes = false;
}  // namespace workarounds

// From fp16 on the library's sets hold AVX-VNNI, too.
constexpr CpuFeatures kBf16Features = kVnniFeatures | CpuFeatures{CpuFeature::avx512_bf16};
constexpr CpuFeatures kFp16Features =
    kBf16Features | CpuFeatures{CpuFeature::avx512_fp16, CpuFeature::avx_vnni};
constexpr CpuFeatures kAmxFeatures =
    kFp16Features | CpuFeatures{CpuFeature::amx_int8, CpuFeature::amx_bf16};
constexpr IsaSet kIsaSets[] = {{dnnl_cpu_isa_default, kAmxFeatures},
                               {dnnl_cpu_isa_avx512_core_fp16, kFp16Features},
                               {dnnl_cpu_isa_avx512_core_bf16, kBf16Features},
                               {dnnl_cpu_isa_avx512_core_vnni, kVnniFeatures},
                               {dnnl_cpu_isa_avx512_core, {CpuFeature::avx2, CpuFeature::avx512}},
                               {dnnl_cpu_isa_avx2_vnni, {CpuFeature::avx2, CpuFeature::avx_vnni}},
                               {dnnl_cpu_isa_avx2, {CpuFeature::avx2}},
                               {dnnl_cpu_isa_sse41, {}}};

// The library has no descriptors of operations any more: the arguments are kept.
class Operation {
 public:
  Operation() = default;
  // `arguments`: of Primitive::primitive_desc, between the engine and the attributes.
  template <class Primitive, class... Arguments>
  static Operation of(const Arguments&... arguments) {
    Operation made;
    made.first_ = [=](const dnnl::primitive_attr& attributes) -> dnnl::primitive_desc {
      constexpr bool kMayBeEmpty = true;
      return typename Primitive::primitive_desc(engine(), arguments..., attributes, kMayBeEmpty);
    };
    return made;
  }

  void for_each_implementation(const dnnl::primitive_attr& attributes,
                               const VisitImplementation& visit) const {
    dnnl::primitive_desc desc = first_(attributes);
    if (!desc) return;
    while (visit(desc) && desc.next_impl()) {
    }
  }

 private:
  std::function<dnnl::primitive_desc(const dnnl::primitive_attr&)> first_;
};

// With given mean and variance, scale and shift.
inline Operation batch_norm_operation(const dnnl::memory::desc& desc, float epsilon) {
  using dnnl::normalization_flags;
  return Operation::of<dnnl::batch_normalization_forward>(
      dnnl::prop_kind::forward_inference, desc, desc, epsilon,
      normalization_flags::use_global_stats | normalization_flags::use_scale |
          normalization_flags::use_shift);
}

inline Operation eltwise_operation(dnnl::algorithm algorithm, const dnnl::memory::desc& desc,
                                   float alpha, float beta) {
  return Operation::of<dnnl::eltwise_forward>(dnnl::prop_kind::forward_inference, algorithm, desc,
                                              desc, alpha, beta);
}

using PoolingForward = dnnl::pooling_forward;
using SoftmaxForward = dnnl::softmax_forward;

inline void append_eltwise(dnnl::post_ops& chain, dnnl::algorithm algorithm, float alpha,
                           float beta) {
  chain.append_eltwise(algorithm, alpha, beta);
}

inline dnnl::memory::dims dims_of(const dnnl::memory::desc& desc) {
  return desc.get_dims();
}
inline dnnl::memory::data_type type_of(const dnnl::memory::desc& desc) {
  return desc.get_data_type();
}
// The same places, in elements, of another type. Precondition: it is of that type, or its format
// has no inner blocks.
inline dnnl::memory::desc with_type(const dnnl::memory::desc& desc, dnnl::memory::data_type type) {
  if (desc.get_data_type() == type) return desc;
  return {desc.get_dims(), type, desc.get_strides()};
}
// Differs where the formats do, as far as the library tells: not by what is added behind weights
// for the types and zero points of what they are multiplied with.
inline std::string format_key(const dnnl::memory::desc& desc) {
  std::string key = std::to_string(static_cast<int>(desc.get_format_kind())) + ' ' +
                    std::to_string(static_cast<int>(desc.get_data_type())) + ' ' +
                    std::to_string(desc.get_size());
  for (const auto& numbers : {desc.get_dims(), desc.get_padded_dims(), desc.get_strides(),
                              desc.get_inner_blks(), desc.get_inner_idxs()}) {
    key += ' ';
    for (const auto number : numbers) key += std::to_string(number) + ',';
  }
  return key;
}

constexpr int kFactorsArgument = DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS;     // float32
constexpr int kZeroPointArgument = DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC;  // int32, one

// y = sum · factor + bias, per channel.
inline void set_numbers(dnnl::primitive_attr& attributes, std::span<const float> factors,
                        int /*channel*/, int weights_mask, std::int32_t zero_point) {
  if (!factors.empty()) attributes.set_scales_mask(DNNL_ARG_WEIGHTS, weights_mask);
  if (zero_point != 0) attributes.set_zero_points_mask(DNNL_ARG_SRC, 0);
}

}  // namespace softneuro::onednn
