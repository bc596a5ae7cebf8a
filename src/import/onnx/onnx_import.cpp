#include "import/onnx/onnx_import.h"

#include <google/protobuf/arena.h>

#include <limits>

#include "core/base/error.h"
#include "import/onnx/graph_importer.h"

namespace softneuro::onnx {
namespace {

// What a walk over the fields of a message's outermost level finds.
struct Outline {
  bool known = true;       // only fields of ModelProto, each of its kind
  bool truncated = false;  // the last one is cut off
  bool graph = false;
  bool version = false;
};

bool read_varint(std::span<const std::byte> bytes, std::size_t& at, std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (at >= bytes.size()) return false;
    const auto byte = std::to_integer<std::uint64_t>(bytes[at++]);
    value |= (byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return true;
}

Outline outline_of(std::span<const std::byte> bytes) {
  Outline outline;
  std::size_t at = 0;
  while (at < bytes.size() && outline.known && !outline.truncated) {
    std::uint64_t tag = 0;
    std::uint64_t value = 0;
    outline.truncated = !read_varint(bytes, at, tag);
    if (outline.truncated) break;
    const std::uint64_t field = tag >> 3;
    const std::uint64_t kind = tag & 7;
    const bool number = field == 1 || field == 5;  // ir_version, model_version
    const bool message =
        (field >= 2 && field <= 4) || (field >= 6 && field <= 8) || (field >= 9 && field <= 64);
    outline.known = (number && kind == 0) || (message && kind == 2);
    if (!outline.known) break;
    outline.truncated = !read_varint(bytes, at, value);
    if (outline.truncated) break;
    outline.version |= field == 1;
    outline.graph |= field == 7;
    if (kind != 2) continue;
    outline.truncated = value > bytes.size() - at;
    if (!outline.truncated) at += static_cast<std::size_t>(value);
  }
  return outline;
}

// The model is in `arena`: what protobuf has made of it when memory runs out is freed with that,
// while it loses messages and texts that it takes from the heap.
Result<ModelProto*> parse(std::span<const std::byte> bytes, google::protobuf::Arena& arena) {
  if (bytes.empty()) return invalid_model("not an ONNX model: it is empty");
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    return unsupported(
        "the model has {} bytes: at most 2 GiB are possible, larger ones keep their "
        "weights in external files",
        bytes.size());
  const Outline outline = outline_of(bytes);
  if (!outline.known) return invalid_model("not an ONNX model");
  if (outline.truncated)
    return invalid_model("not an ONNX model, or one that is truncated after {} bytes",
                         bytes.size());
  auto* const model = google::protobuf::Arena::CreateMessage<ModelProto>(&arena);
  // Partial: no field is required, and protobuf has nothing to say on its log. Nesting is
  // limited to protobuf's 100 levels.
  if (!model->ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return invalid_model("not an ONNX model, or one that is damaged");
  return model;
}

Status import(build::ModelBuilder& model) {
  google::protobuf::Arena arena;
  SN_ASSIGN_OR_RETURN(ModelProto* const proto, parse(model.source().bytes, arena));
  return GraphImporter(*proto, model).run();
}

bool looks_like_onnx(std::span<const std::byte> bytes) noexcept {
  const Outline outline = outline_of(bytes);
  return outline.known && outline.version && (outline.graph || outline.truncated);
}

}  // namespace

build::Format format() {
  return {"ONNX", looks_like_onnx, import};
}

}  // namespace softneuro::onnx
