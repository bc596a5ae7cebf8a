// Features of processors, the words of SOFTNEURO_MAX_ISA, and what files are compiled for.
#include "core/base/cpu.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

#include "core/base/isa_variants.h"
#include "core/routine/registry.h"
#include "net/make_runtime.h"
#include "routines/builtin.h"

using namespace softneuro;

TEST_CASE("cpu: a mask is a level or a processor, without single features") {
  CHECK(to_string(allowed_features("baseline")).empty());
  CHECK(to_string(allowed_features("avx2")) == "avx2");
  CHECK(to_string(allowed_features("avx512")) == "avx2 avx512");
  CHECK(to_string(allowed_features("alder-lake")) == "avx2 avx_vnni");
  CHECK(to_string(allowed_features("zen4")) == "avx2 avx512 avx512_vnni avx512_bf16");
  CHECK(to_string(allowed_features("zen4,-avx512_bf16")) == "avx2 avx512 avx512_vnni");
  CHECK(allowed_features("").has(allowed_features("sapphire-rapids")));
  CHECK(allowed_features("-amx_int8,-amx_bf16,-avx_vnni") ==
        allowed_features("") -
            CpuFeatures{CpuFeature::amx_int8, CpuFeature::amx_bf16, CpuFeature::avx_vnni});
}

TEST_CASE("cpu: what needs a masked level is masked with it") {
  CHECK(allowed_features("sapphire-rapids,-avx512") == allowed_features("alder-lake"));
  CHECK(to_string(allowed_features("zen5,-avx2")).empty());
  CHECK(!allowed_features("-sve").has(CpuFeature::sve2));
}

TEST_CASE("cpu: a mask with a word that is not known leaves the plain processor") {
  for (const char* const mask : {"zen", "-vnni", "zen4,amx", "avx512_vnni", "zen4,,", "-"}) {
    INFO(mask);
    CHECK(allowed_features(mask) == CpuFeatures{});
    CHECK(!mask_problem(mask).empty());
  }
  CHECK(mask_problem("zen4,amx").find("'amx'") != std::string::npos);
  for (const char* const mask : {"", "baseline", "zen4,-avx512_bf16", "-asimddp"})
    CHECK(mask_problem(mask).empty());
}

// tests/CMakeLists.txt runs the numeric tests for one of each.
TEST_CASE("cpu: processors that are alike for routines") {
  for (const char* const name : {"haswell", "zen2", "zen3"})
    CHECK(allowed_features(name) == allowed_features("avx2"));
  CHECK(allowed_features("skylake-x") == allowed_features("avx512"));
  CHECK(allowed_features("ice-lake") == allowed_features("cascade-lake"));
}

TEST_CASE("cpu: what may be used is there, with all that it needs") {
  CHECK(processor_features().has(usable_features()));
  CHECK(closed(usable_features()) == usable_features());
#if defined(__aarch64__)
  CHECK(processor_features().has(CpuFeature::asimd));
#endif
}

TEST_CASE("cpu: the best variant is the last whose features are all there") {
  CHECK(std::string(best_variant({}).name) == "baseline");
#if defined(__x86_64__)
  CHECK(std::string(best_variant(allowed_features("zen3")).name) == "avx2");
  CHECK(std::string(best_variant(allowed_features("zen4")).name) == "avx512");
  CHECK(std::string(best_variant({CpuFeature::avx512}).name) == "baseline");  // without avx2
#else
  CHECK(std::string(best_variant(allowed_features("")).name) == "baseline");
#endif
}

TEST_CASE("cpu: what a set of files requires is what one processor can have") {
  for (const IsaSet& set : kIsaSets) {
    INFO(set.name);
    CHECK(closed(set.needs) == set.needs);
  }
  CHECK(isa::avx512vnni ==
        CpuFeatures{CpuFeature::avx2, CpuFeature::avx512, CpuFeature::avx512_vnni});
}

TEST_CASE("cpu: a routine whose features are missing is refused, and the refusal names them") {
  const Registry registry = make_builtin_registry().value();
  int refused = 0, demanding = 0;
  for (const Routine* routine : registry.all()) {
    if (routine->facts().needs.empty()) continue;
    ++demanding;
    const CpuFeatures missing = routine->facts().needs - usable_features();
    if (missing.empty()) continue;
    ++refused;
    INFO(routine->layer_type() << ' ' << routine->descriptor().str());
    CHECK(RoutineContext(registry).check(*routine, Problem()).reason() ==
          "needs " + to_string(missing));
  }
#if SN_HAS_AVX512FP16 && SN_HAS_AMXBF16
  CHECK(demanding >= 12);
  if (!usable_features().has(CpuFeature::amx_bf16)) CHECK(refused > 0);
#endif
}

TEST_CASE("cpu: an unknown word in SOFTNEURO_MAX_ISA is one warning in the log, not one per net") {
  usable_features();  // those of this process, whatever the environment says from here on
  const char* const before = std::getenv("SOFTNEURO_MAX_ISA");
  const std::string mask = before == nullptr ? "" : before;
  setenv("SOFTNEURO_MAX_ISA", "zen4,avx1024", 1);
  int warnings = 0;
  NetOptions options;
  options.threads = 1;
  options.log = [&](LogLevel level, std::string_view line) {
    warnings += level == LogLevel::warning && line.find("'avx1024'") != std::string_view::npos;
  };
  for (int i = 0; i < 2; ++i) CHECK(make_runtime(options).ok());
  if (before == nullptr)
    unsetenv("SOFTNEURO_MAX_ISA");
  else
    setenv("SOFTNEURO_MAX_ISA", mask.c_str(), 1);
  CHECK(warnings == 1);
}
