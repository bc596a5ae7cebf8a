// The features' names, processors that this one may be taken for, and the words of
// SOFTNEURO_MAX_ISA.
#include <algorithm>
#include <iterator>
#include <optional>

#include "core/base/cpu.h"

namespace softneuro {
namespace {

using enum CpuFeature;

constexpr CpuFeatures kNone;
constexpr CpuFeatures kAvx2 = {avx2};
constexpr CpuFeatures kAvx512 = {avx2, avx512};

struct Feature {
  std::string_view name;
  CpuFeature feature;
  CpuFeatures needs = {};  // of the rows above
};
constexpr Feature kFeatures[] = {
    {"avx2", avx2},
    {"avx512", avx512, {avx2}},
    {"avx_vnni", avx_vnni, {avx2}},
    {"avx512_vnni", avx512_vnni, {avx512}},
    {"avx512_bf16", avx512_bf16, {avx512}},
    {"avx512_fp16", avx512_fp16, {avx512}},
    {"amx_int8", amx_int8, {avx512}},
    {"amx_bf16", amx_bf16, {avx512}},
    {"asimd", asimd},
    {"fphp", fphp},
    {"asimdhp", asimdhp},
    {"asimddp", asimddp},
    {"sve", sve},
    {"sve2", sve2, {sve}},
    {"i8mm", i8mm},
    {"bf16", bf16},
    {"sme", sme},
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
    {"cascade-lake", {avx2, avx512, avx512_vnni}},
    {"ice-lake", {avx2, avx512, avx512_vnni}},
    {"alder-lake", {avx2, avx_vnni}},
    {"sapphire-rapids",
     {avx2, avx512, avx_vnni, avx512_vnni, avx512_bf16, avx512_fp16, amx_int8, amx_bf16}},
    {"zen2", kAvx2},
    {"zen3", kAvx2},
    {"zen4", {avx2, avx512, avx512_vnni, avx512_bf16}},
    {"zen5", {avx2, avx512, avx_vnni, avx512_vnni, avx512_bf16}},
};

// What a mask leaves; the word that is not known is put into `unknown`.
CpuFeatures read_mask(std::string_view mask, std::optional<std::string_view>& unknown) noexcept {
  const auto named = [](const auto& table, std::string_view name) {
    return std::find_if(std::begin(table), std::end(table),
                        [&](const auto& row) { return row.name == name; });
  };
  CpuFeatures allowed;
  for (const Feature& row : kFeatures) allowed = allowed | CpuFeatures{row.feature};
  for (std::size_t at = 0; at < mask.size();) {
    const std::size_t end = std::min(mask.find(',', at), mask.size());
    const std::string_view word = mask.substr(at, end - at);
    at = end + 1;
    const auto* const processor = named(kProcessors, word);
    const auto* const feature = named(kFeatures, word.substr(word.starts_with('-')));
    if (processor != std::end(kProcessors)) {
      allowed = allowed & processor->features;
    } else if (word.starts_with('-') && feature != std::end(kFeatures)) {
      allowed = allowed - CpuFeatures{feature->feature};
    } else {
      unknown = word;
      return kNone;
    }
  }
  return closed(allowed);
}

}  // namespace

CpuFeatures closed(CpuFeatures features) noexcept {
  for (const Feature& row : kFeatures)
    if (!features.has(row.needs)) features = features - CpuFeatures{row.feature};
  return features;
}

CpuFeatures allowed_features(std::string_view mask) noexcept {
  std::optional<std::string_view> unknown;
  return read_mask(mask, unknown);
}

std::string mask_problem(std::string_view mask) {
  std::optional<std::string_view> unknown;
  read_mask(mask, unknown);
  if (!unknown) return {};
  std::string words;
  for (const Processor& row : kProcessors) words += std::string(row.name) + ", ";
  words += "-FEATURE with one of";
  for (const Feature& row : kFeatures) words += ' ' + std::string(row.name);
  return "SOFTNEURO_MAX_ISA: '" + std::string(*unknown) +
         "' is not known: all features of this processor are hidden, and nets run without SIMD, "
         "many times slower; known are " +
         words;
}

std::string to_string(CpuFeatures features) {
  std::string text;
  for (const Feature& row : kFeatures)
    if (features.has(row.feature)) text += (text.empty() ? "" : " ") + std::string(row.name);
  return text;
}

}  // namespace softneuro
