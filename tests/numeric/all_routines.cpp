// The built-in routines, those of the library plugins that this program is linked with, and those
// of the test device.
#include <catch2/catch.hpp>

#if defined(__linux__)
#include "device/test_device.h"
#endif
#include "numeric/check_routine.h"
#include "numeric/library_routines.h"
#include "routines/builtin.h"

namespace softneuro::test {
namespace {

Registry make_all_routines() {
  Registry registry = make_builtin_registry().value();
  for (const std::string& line : add_library_routines(registry)) WARN(line);
#if defined(__linux__)
  const auto control = std::make_shared<TestControl>();
  control->delay_us = 0;
  if (const Status status = add_test_device(registry, control); !status.ok())
    FAIL(status.message());
#endif
  return registry;
}

}  // namespace

const Registry& all_routines() {
  static const Registry registry = make_all_routines();
  return registry;
}

}  // namespace softneuro::test
