// ONNX model → Graph.
//
// Reads models of IR version 3 to 14 and operator sets 6 to 28 of the default domain. Nothing of
// the file is trusted: sizes, counts, references and paths are verified before anything is made of
// them, and what cannot be imported is refused with a message that names node and operator.
// A branch is imported where its condition follows from constants and shapes; other control flow,
// sequences, optionals and strings are refused.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "softneuro/allocator.h"
#include "softneuro/tensor.h"

namespace softneuro {

struct OnnxImportOptions {
  // Weights are taken from here, except those that stay mapped in external data files.
  Allocator* allocator = nullptr;  // null: default_allocator()
  // False: models that keep weights in files beside them are refused.
  bool external_data = true;
  // Sizes of inputs that the model leaves open: input name → shape. Where an input's dimension
  // carries a symbol, other inputs with that symbol get the size as well.
  std::map<std::string, Shape, std::less<>> shapes;
  std::map<std::string, Tensor, std::less<>> constants;  // ImportOptions::constants
  // Sparse constants that would together be larger than this as dense tensors are refused: a file
  // of some bytes may claim any size.
  std::int64_t max_sparse_bytes = std::int64_t{256} << 20;
  // Nodes after the model's own functions are expanded: a small file may claim billions.
  std::int64_t max_nodes = 1'000'000;
  // Looked at between nodes; once it is true: the status cancelled. May be null.
  const std::atomic<bool>* cancel = nullptr;
};

// A node that cannot be imported, and why.
struct UnsupportedNode {
  std::string node;        // its name, or the name that stands for it if it has none
  std::string op;          // "Conv"
  std::string domain;      // empty: the default domain
  std::int64_t opset = 0;  // of that domain, as the model says
  std::string types;       // of its inputs: "float32[1x3x224x224], int64[?]"
  std::string reason;
};

// What `softneuro import --check` shows.
struct OnnxReport {
  std::int64_t ir_version = 0;
  std::int64_t opset = 0;  // of the default domain
  std::string producer;
  std::size_t nodes = 0;
  std::vector<UnsupportedNode> unsupported;  // empty: the model can be imported
};

// The graph is verified and sorted; its tensors' types and shapes are filled in as far as they
// are known without running anything. Tensors and layers keep the model's names.
//   not_found / io_error   the file cannot be read
//   invalid_model          not an ONNX file, truncated, or it contradicts itself
//   unsupported            names the first node that cannot be imported and counts the others
SN_INTREE Result<Graph> import_onnx_file(const std::string& path,
                                         const OnnxImportOptions& options = {}) noexcept;
// `base_folder`: where external data files lie; empty: there are none.
SN_INTREE Result<Graph> import_onnx_memory(std::span<const std::byte> bytes,
                                           const std::string& base_folder,
                                           const OnnxImportOptions& options = {}) noexcept;

// Everything that is unsupported, at once. Fails only where the file itself cannot be read.
SN_INTREE Result<OnnxReport> check_onnx_file(const std::string& path,
                                             const OnnxImportOptions& options = {}) noexcept;
SN_INTREE Result<OnnxReport> check_onnx_memory(std::span<const std::byte> bytes,
                                               const std::string& base_folder,
                                               const OnnxImportOptions& options = {}) noexcept;

// Whether the bytes have the outline of an ONNX model: a list of its fields, perhaps cut short.
SN_INTREE bool looks_like_onnx(std::span<const std::byte> bytes) noexcept;

}  // namespace softneuro
