// The numeric tests on processors other than this one: SOFTNEURO_MAX_ISA names one, and ctest sets
// SOFTNEURO_TEST_MASKED, which skips the program where that would be nothing but a repetition.
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/base/cpu.h"
#include "support/skip.h"

namespace softneuro::test {
namespace {

// Why the processor of the mask cannot be shown here; "": it can.
std::string obstacle(const std::string& mask) {
  const CpuFeatures wanted = allowed_features(mask), here = processor_features();
  if (wanted - here != CpuFeatures{})
    return "this processor is no " + mask + ", it lacks " + to_string(wanted - here);
  if (wanted == here) return mask + " hides nothing of this processor";
  return {};
}

struct ProcessorMask : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;

  void testRunStarting(const Catch::TestRunInfo&) override {
    constexpr int kSkipped = 77;  // what ctest takes for "skipped"
    const char* const mask = std::getenv("SOFTNEURO_MAX_ISA");
    if (mask == nullptr || std::getenv("SOFTNEURO_TEST_MASKED") == nullptr) return;
    const std::string reason = obstacle(mask);
    if (reason.empty()) {
      std::printf("%s: %s\n", mask, to_string(usable_features()).c_str());
      return;
    }
    note_skip(reason);
    std::fflush(nullptr);
    std::_Exit(kSkipped);
  }
};
CATCH_REGISTER_LISTENER(ProcessorMask)

}  // namespace
}  // namespace softneuro::test
