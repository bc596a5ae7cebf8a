// Processors that this one may be taken for, and the words of SOFTNEURO_MAX_ISA.
#include <algorithm>
#include <iterator>

#include "core/base/cpu.h"

namespace softneuro {
namespace {

using enum CpuFeature;

constexpr CpuFeatures kNone{};
constexpr CpuFeatures kAvx2 = kNone | avx2;
constexpr CpuFeatures kAvx512 = kAvx2 | avx512;

struct FeatureName {
  std::string_view name;
  CpuFeature feature;
};
constexpr FeatureName kFeatures[] = {
    {"avx2", avx2},
    {"avx512", avx512},
    {"avx_vnni", avx_vnni},
    {"avx512_vnni", avx512_vnni},
    {"avx512_bf16", avx512_bf16},
    {"avx512_fp16", avx512_fp16},
    {"amx_int8", amx_int8},
    {"amx_bf16", amx_bf16},
};

struct Processor {
  std::string_view name;
  CpuFeatures features;
};
constexpr Processor kProcessors[] = {
    {"baseline", kNone},
    {"avx2", kAvx2},
    {"avx512", kAvx512},
    {"haswell", kAvx2},
    {"skylake-x", kAvx512},
    {"cascade-lake", kAvx512 | avx512_vnni},
    {"ice-lake", kAvx512 | avx512_vnni},
    {"alder-lake", kAvx2 | avx_vnni},
    {"sapphire-rapids",
     kAvx512 | avx_vnni | avx512_vnni | avx512_bf16 | avx512_fp16 | amx_int8 | amx_bf16},
    {"zen2", kAvx2},
    {"zen3", kAvx2},
    {"zen4", kAvx512 | avx512_vnni | avx512_bf16},
    {"zen5", kAvx512 | avx_vnni | avx512_vnni | avx512_bf16},
};

CpuFeatures all_features() noexcept {
  CpuFeatures all;
  for (const FeatureName& feature : kFeatures) all = all | feature.feature;
  return all;
}

}  // namespace

CpuFeatures allowed_features(std::string_view mask) noexcept {
  const auto named = [](const auto& table, std::string_view name) {
    return std::find_if(std::begin(table), std::end(table),
                        [&](const auto& row) { return row.name == name; });
  };
  CpuFeatures allowed = all_features();
  for (std::size_t at = 0; at < mask.size();) {
    const std::size_t end = std::min(mask.find(',', at), mask.size());
    const std::string_view word = mask.substr(at, end - at);
    at = end + 1;
    const auto* const processor = named(kProcessors, word);
    const auto* const feature = named(kFeatures, word.substr(word.starts_with('-')));
    if (processor != std::end(kProcessors))
      allowed = allowed & processor->features;
    else if (word.starts_with('-') && feature != std::end(kFeatures))
      allowed = allowed - (kNone | feature->feature);
    else
      return kNone;
  }
  return closed(allowed);
}

std::string to_string(CpuFeatures features) {
  std::string text;
  for (const FeatureName& feature : kFeatures)
    if (features.has(feature.feature))
      text += (text.empty() ? "" : " ") + std::string(feature.name);
  return text;
}

}  // namespace softneuro
