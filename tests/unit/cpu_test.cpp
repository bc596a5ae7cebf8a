// The words of SOFTNEURO_MAX_ISA.
#include "core/base/cpu.h"

#include <catch2/catch.hpp>

using namespace softneuro;

TEST_CASE("cpu: a mask is a level or a processor, without single features") {
  CHECK(to_string(allowed_features("baseline")).empty());
  CHECK(to_string(allowed_features("avx2")) == "avx2");
  CHECK(to_string(allowed_features("avx512")) == "avx2 avx512");
  CHECK(to_string(allowed_features("alder-lake")) == "avx2 avx_vnni");
  CHECK(to_string(allowed_features("zen4")) == "avx2 avx512 avx512_vnni avx512_bf16");
  CHECK(to_string(allowed_features("zen4,-avx512_bf16")) == "avx2 avx512 avx512_vnni");
  CHECK(to_string(allowed_features("-amx_int8,-amx_bf16,-avx_vnni")) ==
        "avx2 avx512 avx512_vnni avx512_bf16 avx512_fp16");
  CHECK(allowed_features("") == allowed_features("sapphire-rapids"));
}

TEST_CASE("cpu: what needs a masked level is masked with it") {
  CHECK(to_string(allowed_features("-avx512")) == "avx2 avx_vnni");
  CHECK(to_string(allowed_features("zen5,-avx2")).empty());
}

TEST_CASE("cpu: a mask with a word that is not known leaves the plain processor") {
  for (const char* const mask : {"zen", "-vnni", "zen4,amx", "avx512_vnni", "zen4,,", "-"}) {
    INFO(mask);
    CHECK(allowed_features(mask) == CpuFeatures{});
  }
}

// tests/CMakeLists.txt runs the numeric tests for one of each.
TEST_CASE("cpu: processors that are alike for routines") {
  for (const char* const name : {"haswell", "zen2", "zen3"})
    CHECK(allowed_features(name) == allowed_features("avx2"));
  CHECK(allowed_features("skylake-x") == allowed_features("avx512"));
  CHECK(allowed_features("ice-lake") == allowed_features("cascade-lake"));
}

TEST_CASE("cpu: what may be used is there, and questions agree with it") {
  CHECK(processor_features().has(usable_features()));
  CHECK(closed(usable_features()) == usable_features());
  CHECK(has_avx512_vnni() == usable_features().has(CpuFeature::avx512_vnni));
  CHECK((!has_amx_bf16() || usable_features().has(CpuFeature::amx_bf16)));
  CHECK((current_isa() == Isa::avx512) == usable_features().has(CpuFeature::avx512));
}
