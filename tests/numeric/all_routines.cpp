// The built-in routines and those of the library plugins that this program is linked with.
#include <catch2/catch.hpp>

#include "numeric/check_routine.h"
#include "numeric/library_routines.h"
#include "routines/builtin.h"

namespace softneuro::test {
namespace {

Registry make_all_routines() {
  Registry registry = make_builtin_registry().value();
  for (const std::string& line : add_library_routines(registry)) WARN(line);
  return registry;
}

}  // namespace

const Registry& all_routines() {
  static const Registry registry = make_all_routines();
  return registry;
}

}  // namespace softneuro::test
