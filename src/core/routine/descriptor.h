// What a routine is called, and whether it takes a problem.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/graph/params.h"
#include "core/routine/precision.h"
#include "softneuro/types.h"

namespace softneuro {

// device[:precision[:layout]]/algorithm. parse(str(d)) == d; left-out parts mean float32 and plain.
// The precision is that of the arithmetic on real-valued tensors: a data type, or arithmetic that
// has a name of its own ("cuda:tf32"); tensors of integers and booleans keep the model's type in
// every schema.
struct RoutineDescriptor {
  DeviceId device;
  DataType type = DataType::float32;  // of real-valued tensors
  Layout layout = Layout::plain;
  std::string algorithm;  // "naive", "wg", "onednn"
  Arithmetic arithmetic = Arithmetic::of_type;

  SN_INTREE std::string str() const;
  // The part before the slash, canonical: "cpu", "cpu:qint8", "cpu:float32:nchw16c".
  SN_INTREE std::string schema() const;
  // The same as a pattern, where "cpu" would mean every precision: "cpu:float32".
  SN_INTREE std::string schema_pattern() const;
  Precision precision() const { return {arithmetic, type}; }
  SN_INTREE static Result<RoutineDescriptor> parse(std::string_view text);
  bool operator==(const RoutineDescriptor&) const = default;
};
// Why a routine has no formats (Routine::formats) for the tensors of a layer.
SN_INTREE std::string no_format_reason(const RoutineDescriptor& descriptor);

// Whether a routine can compute a problem *correctly*; if not, why (one short sentence).
// Speed does not count: the profiler measures it.
class Applicability {
 public:
  static Applicability yes() { return {}; }
  static Applicability no(std::string reason) {
    Applicability a;
    a.reason_ = std::move(reason);
    if (a.reason_.empty()) a.reason_ = "refused without a reason";
    return a;
  }
  bool ok() const { return reason_.empty(); }
  explicit operator bool() const { return ok(); }
  const std::string& reason() const { return reason_; }
  // Ok, or unsupported with the reason.
  Status status() const { return ok() ? Status() : Status(StatusCode::unsupported, reason_); }

 private:
  std::string reason_;
};

// Chosen values of a routine's own parameters (tile_size, impl…): the paper's Table III.
using RoutineParams = Params;

}  // namespace softneuro
