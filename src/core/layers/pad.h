// What shape inference and routines of pad share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace softneuro {

enum class PadMode { constant, reflect, edge, wrap };
inline constexpr std::string_view kPadModes[] = {"constant", "reflect", "edge", "wrap"};

// Elements added in front of and behind an axis; negative ones are cut off instead.
struct PadAmount {
  std::int64_t before = 0;
  std::int64_t after = 0;
};

// One per axis, from pads (all befores, then all afters) of `axes`, or of all axes. invalid_model
// if the lengths do not fit or an axis is out of range or named twice.
SN_INTREE Result<std::vector<PadAmount>> pad_amounts(
    int rank, std::span<const std::int64_t> pads,
    const std::optional<std::vector<std::int64_t>>& axes);

}  // namespace softneuro
