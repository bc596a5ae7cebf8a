// Which data types the built-in routines serve.
#include <algorithm>
#include <catch2/catch.hpp>

#include "numeric/check_routine.h"

namespace softneuro::test {
namespace {

bool is_served(const Registry& registry, const std::string& layer_type, DataType type,
               Layout layout) {
  const auto routines = registry.routines(layer_type);
  return std::any_of(routines.begin(), routines.end(), [&](const Routine* routine) {
    return routine->descriptor().type == type && routine->descriptor().layout == layout &&
           routine->facts().needs.empty();
  });
}

}  // namespace

TEST_CASE("numeric: bfloat16 is served on every processor where float16 is", "[numeric]") {
  const Registry& registry = builtin_registry();
  int served = 0;
  for (const Routine* routine : registry.all()) {
    const RoutineDescriptor& descriptor = routine->descriptor();
    if (descriptor.type != DataType::float16 || !routine->facts().needs.empty()) continue;
    INFO(routine->layer_type() << " " << descriptor.str());
    CHECK(is_served(registry, std::string(routine->layer_type()), DataType::bfloat16,
                    descriptor.layout));
    ++served;
  }
#ifndef SOFTNEURO_EDGE
  CHECK(served > 50);
#endif
}

}  // namespace softneuro::test
