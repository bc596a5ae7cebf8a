#include "core/routine/problem.h"

#include <algorithm>

#include "core/graph/graph_key.h"
#include "core/routine/format.h"

namespace softneuro {
namespace {

std::string describe(const TensorSpec& spec) {
  if (!spec.present()) return "-";
  return format_of(spec).str() + (spec.constant ? "*[" : "[") + spec.shape.str() + ']';
}

}  // namespace

std::vector<std::int64_t> Problem::integers(std::size_t i) const {
  if (i >= inputs.size() || inputs[i].value.empty()) return {};
  return integers_of(inputs[i].value).value_or(std::vector<std::int64_t>{});
}

std::string Problem::str() const {
  std::string text = type->name + '{' + params.str();
  for (std::size_t i = 0; i < post_ops.size(); ++i)
    text += (i == 0 ? ";post=" : "+") + post_ops[i].str();
  text += '}';
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    text += ' ' + describe(inputs[i]);
    // Value inputs shape the work, so they are part of the problem (abridged when long).
    if (type->needs_value(i) && !inputs[i].value.empty()) {
      const auto values = integers(i);
      text += '(';
      for (std::size_t k = 0; k < values.size() && k < 16; ++k)
        text += (k == 0 ? "" : ",") + std::to_string(values[k]);
      text += ')';
    }
  }
  text += " ->";
  for (const TensorSpec& output : outputs) text += ' ' + describe(output);
  return text;
}

Problem without_post_ops(const Problem& problem) {
  Problem base = problem;
  base.post_ops.clear();
  base.inputs.resize(std::min<std::size_t>(base.layer_inputs, base.inputs.size()));
  return base;
}

std::string quantization_key(const Problem& problem) {
  std::string key;
  const auto add = [&](const TensorSpec& spec) {
    if (spec.type == DataType::qint8 && spec.quantization)
      key += '|' + digest_of(*spec.quantization);
  };
  for (const TensorSpec& spec : problem.inputs) add(spec);
  for (const TensorSpec& spec : problem.outputs) add(spec);
  return key;
}

}  // namespace softneuro
