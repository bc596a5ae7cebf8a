// That oneDNN, which is masked through its own switch, keeps to SOFTNEURO_MAX_ISA: by the names of
// its kernels, which end with the set that they are made for.
#if defined(SOFTNEURO_HAS_ONEDNN_PLUGIN)
#include <catch2/catch.hpp>
#include <set>

#include "core/base/isa_variants.h"
#include "plugins/onednn/library.h"

namespace softneuro::test {
namespace {

// What a kernel of that name needs.
CpuFeatures needs_of(std::string_view info) {
  using enum CpuFeature;
  constexpr struct {
    std::string_view set;
    CpuFeatures needs;
  } kSets[] = {{":avx512_core_amx", {amx_int8, avx512}},
               {":avx512_core_bf16", {avx512_bf16, avx512}},
               {":avx512_core_vnni", {avx512_vnni, avx512}},
               {":avx512_core", {avx512, avx2}},
               {":avx2_vnni", {avx_vnni, avx2}},
               {":avx2", {avx2}}};
  for (const auto& set : kSets)
    if (info.find(set.set) != std::string_view::npos) return set.needs;
  return {};
}

// The names of all kernels that the library has for a convolution of bytes.
std::set<std::string> kernels() {
  using dnnl::memory;
  const memory::dims x = {1, 64, 9, 9}, w = {64, 64, 1, 1};
  const auto conv = onednn::Operation::of<dnnl::convolution_forward>(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
      memory::desc(x, memory::data_type::u8, memory::format_tag::nhwc),
      memory::desc(w, memory::data_type::s8, memory::format_tag::any),
      memory::desc(x, memory::data_type::f32, memory::format_tag::nhwc), memory::dims{1, 1},
      memory::dims{0, 0}, memory::dims{0, 0});
  std::set<std::string> names;
  conv.for_each_implementation({}, [&](const dnnl::primitive_desc_base& desc) {
    names.insert(desc.impl_info_str());
    return true;
  });
  return names;
}

}  // namespace

TEST_CASE("numeric: no kernel of oneDNN is for what SOFTNEURO_MAX_ISA hides", "[numeric]") {
  REQUIRE(onednn::prepare_library().ok());
  const std::string level = best_variant(usable_features()).name;
  bool has_highest_level = level == "baseline";
  for (const std::string& name : kernels()) {
    INFO(name << " needs " << to_string(needs_of(name)) << ", usable are "
              << to_string(usable_features()));
    CHECK(usable_features().has(needs_of(name)));
    has_highest_level = has_highest_level || name.find(level) != name.npos;
  }
  CHECK(has_highest_level);
}

}  // namespace softneuro::test
#endif
