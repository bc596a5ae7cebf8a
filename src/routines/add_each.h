// Registering one class of routines several times.
#pragma once

#include "core/routine/registry.h"

namespace softneuro {

// Those of routines that go over memory in any layout.
inline constexpr std::initializer_list<const char*> kFloatSchemas = {
    "cpu",         "cpu:float32:nhwc", "cpu:float32:nchw8c", "cpu:float32:nchw16c",
    "cpu:float16", "cpu:float16:nhwc", "cpu:bfloat16",       "cpu:bfloat16:nhwc"};
inline constexpr std::initializer_list<const char*> kSchemas = {
    "cpu",         "cpu:float32:nhwc", "cpu:float32:nchw8c", "cpu:float32:nchw16c",
    "cpu:float16", "cpu:float16:nhwc", "cpu:bfloat16",       "cpu:bfloat16:nhwc",
    "cpu:qint8",   "cpu:qint8:nhwc"};

// R(name + end) for each name: a schema, descriptor or layer type.
template <class R>
Status add_each(Registry& registry, std::initializer_list<const char*> names,
                const char* end = "") {
  for (const char* name : names)
    SN_RETURN_IF_ERROR(registry.add(std::make_unique<R>((std::string(name) + end).c_str())));
  return {};
}

}  // namespace softneuro
