#include "core/routine/quantization_key.h"

#include "core/base/quantization_digest.h"

namespace softneuro {

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
