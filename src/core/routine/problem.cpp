#include "core/routine/problem.h"

namespace softneuro {
namespace {

std::string describe(const TensorSpec& spec) {
  if (!spec.present()) return "-";
  std::string text;
  if (!spec.device.is_host()) text = std::string(spec.device.c_str()) + ':';
  text += to_string(spec.type);
  if (spec.layout != Layout::plain) text += std::string(":") + to_string(spec.layout);
  if (spec.constant) text += '*';
  return text + '[' + spec.shape.str() + ']';
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

}  // namespace softneuro
