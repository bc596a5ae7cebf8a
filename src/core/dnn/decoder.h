// The graph part of a .dnn file → what it says. Checks what must hold to make a Graph at all;
// Graph::verify, which it calls, checks the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/dnn/file.h"
#include "schemas/softneuro_generated.h"

namespace softneuro {

// `file`, which must have passed the FlatBuffers verifier, in a graph part of `graph_bytes`.
// Constants are shared with `segments` and keep `owner`. A tuned path that names layers or tensors
// that do not exist, or that cannot be read, is left out and told of in unread_paths.
Result<DnnContents> decode_dnn(const schema::File& file, const LayerTypes& types,
                               std::span<const std::span<const std::byte>> segments,
                               std::shared_ptr<const void> owner, std::uint64_t graph_bytes);

}  // namespace softneuro
