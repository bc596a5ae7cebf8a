#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "support/skip.h"

namespace softneuro::test {
namespace {

// What ctest takes for "skipped" (SKIP_RETURN_CODE).
constexpr int skip_status = 77;

int skipped = 0;

std::string from_environment(const char* name, const std::string& fallback) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : fallback;
}

}  // namespace

void note_skip(const std::string& reason) {
  ++skipped;
  std::fprintf(stderr, "skipped: %s\n", reason.c_str());
}

int skipped_tests() {
  return skipped;
}

std::string source_dir() {
  return from_environment("SOFTNEURO_SOURCE_DIR", ".");
}

std::string build_dir() {
  return from_environment("SOFTNEURO_BUILD_DIR", "build/release");
}

std::string shared_dir() {
  const std::string dir = from_environment("SOFTNEURO_SHARED_DIR", source_dir() + "/../shared");
  return std::filesystem::exists(dir) ? dir : "";
}

}  // namespace softneuro::test

namespace {

struct CaseCounter : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;
  static inline int cases = 0;
  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    TestEventListenerBase::testCaseStarting(info);
    ++cases;
  }
};
CATCH_REGISTER_LISTENER(CaseCounter)

}  // namespace

int main(int argc, char** argv) {
  const int status = Catch::Session().run(argc, argv);
  const int skipped = softneuro::test::skipped_tests();
  if (status == 0 && skipped > 0) {
    std::fprintf(stderr, "%d of %d test cases skipped\n", skipped, CaseCounter::cases);
    if (skipped == CaseCounter::cases) return softneuro::test::skip_status;
  }
  return status;
}
