#include "routines/typed_constants.h"

#include "cpu/simd/float_span.h"

namespace softneuro {
namespace {

bool is_converted(const TensorSpec& spec, DataType type) {
  return spec.constant && !spec.value.empty() && spec.type != type && is_span_float(spec.type) &&
         is_span_float(type);
}

}  // namespace

Result<TypedConstants> TypedConstants::create(const Problem& problem, DataType type) {
  TypedConstants constants;
  for (std::size_t i = 0; i < problem.layer_inputs; ++i) {
    const TensorSpec& spec = problem.inputs[i];
    if (!is_converted(spec, type)) continue;
    SN_ASSIGN_OR_RETURN(Tensor typed, as_float32(spec.value, default_allocator()));
    if (type != DataType::float32) {
      const Tensor floats = std::move(typed);
      SN_ASSIGN_OR_RETURN(typed, Tensor::create(type, spec.shape));
      write_floats(typed.mutable_data(), type, 0, spec.shape.elements(),
                   static_cast<const float*>(floats.data()));
    }
    constants.converted_.resize(problem.layer_inputs);
    constants.converted_[i] = std::move(typed);
  }
  return constants;
}

bool becomes_float32(const TensorSpec& spec) {
  return spec.type == DataType::float32 || is_converted(spec, DataType::float32);
}

Applicability takes_float32(const Problem& problem) {
  Applicability no = Applicability::no("needs float32");
  for (std::size_t i = 0; i < problem.layer_inputs; ++i) {
    if (is_float(problem.inputs[i].type) && !becomes_float32(problem.inputs[i])) return no;
  }
  for (const TensorSpec& spec : problem.outputs)
    if (spec.present() && spec.type != DataType::float32) return no;
  return Applicability::yes();
}

}  // namespace softneuro
