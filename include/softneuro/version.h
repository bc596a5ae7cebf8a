// The version of the headers, and of the library that is linked.
#pragma once

#include "softneuro/export.h"

#define SOFTNEURO_VERSION_MAJOR 0
#define SOFTNEURO_VERSION_MINOR 1
#define SOFTNEURO_VERSION_PATCH 0
#define SOFTNEURO_VERSION "0.1.0"

namespace softneuro {

// "0.1.0": of the library at run time.
SN_API const char* version() noexcept;

}  // namespace softneuro
