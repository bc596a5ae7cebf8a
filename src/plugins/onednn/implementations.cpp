#include "plugins/onednn/implementations.h"

#include <algorithm>
#include <mutex>

namespace softneuro::onednn {
namespace {

// Locked while the library is asked. The brgemm convolutions of 2.6 keep what the type of the
// weights decides in a global variable (one per thread since 2.7): of two questions at once, one
// for float32 and one for 8 bits, the latter may find that an implementation declines, and get the
// next one of the same name, whose weights are stored differently.
std::mutex& asking() {
  static std::mutex one;
  return one;
}

// Whether an implementation adds up products of bytes in 32 bits, by what the library calls it
// ("jit_int8:avx512_core_vnni", "brgconv:avx512_core_amx", "jit_uni_int8:avx2"). Without VNNI
// or AMX there is vpmaddubsw, which adds two products in 16 bits and saturates; against that the
// library halves the weights of signed inputs (wei_adj_scale), which rounds them, and those of
// unsigned ones not at all. Kernels name the set that they are made for: "avx2" and "sse41" stand
// for vpmaddubsw even where AVX512-VNNI is there, since they look for AVX-VNNI alone. (With it
// "sse41" is exact, too, but the name is the same, and "avx2_vnni" always comes before it.) Matrix
// products name none, and take the best that there is.
bool sums_bytes_exactly(std::string_view info) {
  if (info.find("gemm:") != std::string_view::npos ||
      info.find("gemm_s8") != std::string_view::npos)
    return may_use_vnni();
  return info.find("_vnni") != std::string_view::npos ||
         info.find("_amx_int8") != std::string_view::npos || info.ends_with("_amx");
}

bool has_byte_weights(const dnnl::primitive_desc_base& desc) {
  const dnnl::memory::desc weights = desc.query_md(dnnl::query::weights_md, 0);
  return !weights.is_zero() && type_of(weights) == dnnl::memory::data_type::s8;
}

// visit(name, descriptor) → whether to go on; must not ask in turn.
template <class F>
void for_each_implementation(const Operation& operation, const dnnl::primitive_attr& attributes,
                             bool with_reference, F&& visit) {
  const OneThread one;
  const std::lock_guard asked(asking());
  operation.for_each_implementation(attributes, [&](const dnnl::primitive_desc_base& desc) {
    const std::string_view info = desc.impl_info_str();
    const std::string name = implementation_name(info);
    if (has_byte_weights(desc) && !sums_bytes_exactly(info)) return true;
    if (is_reference(name) && !with_reference) return true;
    return static_cast<bool>(visit(name, desc));
  });
}

}  // namespace

std::string implementation_name(std::string_view info) {
  if (info.starts_with("x64:")) info.remove_prefix(4);
  return std::string(info.substr(0, info.find(':')));
}

bool is_reference(std::string_view name) {
  return name.starts_with("ref") || name.starts_with("simple") || name.ends_with("_ref");
}

std::vector<std::string> implementation_names(const Operation& operation,
                                              const dnnl::primitive_attr& attributes,
                                              bool with_reference) {
  std::vector<std::string> names;
  for_each_implementation(operation, attributes, with_reference,
                          [&](const std::string& name, const dnnl::primitive_desc_base&) {
                            if (std::find(names.begin(), names.end(), name) == names.end())
                              names.push_back(name);
                            return true;
                          });
  return names;
}

std::optional<dnnl::primitive_desc_base> find_implementation(const Operation& operation,
                                                             const dnnl::primitive_attr& attributes,
                                                             std::string_view name,
                                                             bool with_reference) {
  std::optional<dnnl::primitive_desc_base> found;
  for_each_implementation(operation, attributes, with_reference,
                          [&](const std::string& seen, const dnnl::primitive_desc_base& desc) {
                            if (seen != name) return true;
                            found = desc;
                            return false;
                          });
  return found;
}

bool has_implementation(const Operation& operation, const dnnl::primitive_attr& attributes,
                        const std::function<bool(std::string_view name)>& is_wanted) {
  bool found = false;
  for_each_implementation(operation, attributes, false,
                          [&](const std::string& name, const dnnl::primitive_desc_base&) {
                            found = is_wanted(name);
                            return !found;
                          });
  return found;
}

RoutineParams impl_params(const std::vector<std::string>& names) {
  RoutineParams params;
  if (!names.empty()) params.set("impl", names.front());
  return params;
}

ParamSpace impl_space(const std::vector<std::string>& names) {
  ParamAxis impl{"impl", {}};
  for (const std::string& name : names) impl.values.push_back(name);
  ParamSpace space;
  space.axes = {std::move(impl)};
  return space;
}

}  // namespace softneuro::onednn
