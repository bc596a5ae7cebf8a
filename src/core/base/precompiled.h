// The headers that are costly to read and included nearly everywhere. Precompiled by CMake; never
// included by hand, and no file may rely on it: files include what they use.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>
