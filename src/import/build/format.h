// Format: a kind of model file, as a row of the table of those that can be imported.
#pragma once

#include "import/build/model_builder.h"

namespace softneuro::build {

struct Format {
  std::string_view name;  // "ONNX"
  // Whether the bytes have the outline of such a file, which may be cut short. Never true for a
  // file of another format.
  bool (*looks_like)(std::span<const std::byte> bytes) noexcept;
  // Builds model.source(). Tensors and layers keep the model's names. What is unsupported goes into
  // the report; an error (invalid_model as a rule) is of a file that is damaged or contradicts
  // itself.
  Status (*import)(ModelBuilder& model);
};

}  // namespace softneuro::build
