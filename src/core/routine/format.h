// Format: where and how one tensor is stored as a routine wants it – device, data type and layout
// (the paper's schema, seen from a tensor). The tensor itself, its shape and its meaning, stays the
// same.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/routine/problem.h"

namespace softneuro {

struct Format {
  DataType type = DataType::undefined;  // undefined: a left-out tensor
  Layout layout = Layout::plain;
  DeviceId device;

  bool present() const { return type != DataType::undefined; }
  // "float32", "qint8:nhwc", "cuda:float16"; "-" if left out. parse(str(f)) == f.
  SN_INTREE std::string str() const;
  SN_INTREE static Result<Format> parse(std::string_view text);
  bool operator==(const Format&) const = default;
};

// What a routine takes and gives for one problem: a format for each input (those of post-ops
// included) and each output. Constants keep the model's format: routines reorder them in pack().
struct FormatTuple {
  std::vector<Format> inputs;
  std::vector<Format> outputs;

  // "float32:nhwc,float32 -> float32:nhwc". parse(str(t)) == t.
  SN_INTREE std::string str() const;
  SN_INTREE static Result<FormatTuple> parse(std::string_view text);
  bool operator==(const FormatTuple&) const = default;
};

// Where any of the tensors is that is not on the host; the host if none is.
SN_INTREE DeviceId device_of(const FormatTuple& formats);
// Real numbers: the tensors whose data type a schema may change.
SN_INTREE bool is_real(DataType type);

// The format that a spec has now.
inline Format format_of(const TensorSpec& spec) {
  return {spec.type, spec.layout, spec.device};
}
inline void set_format(TensorSpec& spec, const Format& format) {
  spec.type = format.type;
  spec.layout = format.layout;
  spec.device = format.device;
}
// The formats that the problem's specs have now.
SN_INTREE FormatTuple formats_of(const Problem& problem);
// The function that rounds to the levels of a per-tensor quantisation.
SN_INTREE PostOp fake_quantize_to(const Quantization& quantization);
// The problem in other formats, without post-ops that an output in qint8 makes superfluous.
// Precondition: `formats` has an entry for every tensor.
SN_INTREE Problem with_formats(const Problem& problem, const FormatTuple& formats);
// Every non-constant tensor on `device`, the real ones in `type`, and in `layout` where that layout
// exists for it (rank 3 and more). Outputs whose type is the layer's meaning
// (LayerType::rounds_to_type) keep it. Nothing if no tensor would be in that type, or none in that
// layout, or if `type` is qint8 and one of the tensors has no quantisation.
SN_INTREE std::vector<FormatTuple> uniform_formats(const Problem& problem, DataType type,
                                                   Layout layout, DeviceId device = {});

}  // namespace softneuro
