// The .dnn file: a graph and its weights. docs/file-format.md describes it byte by byte.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "core/graph/graph.h"
#include "core/graph/layer_type.h"
#include "core/routine/routine_path.h"
#include "softneuro/net.h"

namespace softneuro {

// Packed weights by PackedCache::key_of().
using PackedByKey = std::map<std::string, Tensor, std::less<>>;

// Writes `graph` to `path`, whole or not at all (see AtomicFile). Equal graphs give equal bytes.
// Equal constants are stored once. Parameters at their default are left out, so that libraries that
// do not know them yet can still read the file.
// `paths` are tuned paths of this graph, `packed` packed weights by PackedCache::key_of().
SN_INTREE Status save_dnn(const Graph& graph, const std::string& path,
                          std::span<const RoutinePath> paths = {}, const PackedByKey& packed = {});
// The same bytes in memory (data type uint8, one dimension).
SN_INTREE Result<Tensor> serialize_dnn(const Graph& graph,
                                       Allocator& allocator = default_allocator(),
                                       std::span<const RoutinePath> paths = {});

struct DnnContents {
  Graph graph;
  // Checked against the graph, not yet against the routines and the machine.
  std::vector<RoutinePath> paths;
  std::vector<std::string> unread_paths;  // a line for each path that is left out, and why
  PackedByKey packed;                     // opaque bytes; PackedCache checks their size
};

// Reads a file. Constants share the mapping of the file, which lives as long as any of them does;
// where mapping is impossible, the file is read into memory of `allocator`. The result has passed
// Graph::verify; its types are pointers into `types`.
// Verify::full compares every byte with its checksum. Verify::structure does so for header and
// graph; weights then stay on disk until they are read.
// Errors, each naming the place: not_found and io_error from the system; corrupt_file if bytes are
// missing or do not match their checksum; incompatible if a newer SoftNeuro wrote it; unsupported
// if a layer type is not in `types`; invalid_model if the contents contradict themselves;
// out_of_memory.
SN_INTREE Result<DnnContents> load_dnn_contents(const std::string& path, const LayerTypes& types,
                                                Verify verify = Verify::full,
                                                Allocator& allocator = default_allocator());
// Reads a file's bytes from memory. Constants refer to that memory and keep `owner` alive; without
// an owner the caller keeps it alive and unchanged. Memory that is not aligned to kTensorAlignment
// is copied once into memory of `allocator`.
SN_INTREE Result<DnnContents> load_dnn_contents_memory(const void* data, std::size_t bytes,
                                                       std::shared_ptr<const void> owner,
                                                       const LayerTypes& types,
                                                       Verify verify = Verify::full,
                                                       Allocator& allocator = default_allocator());

// Whether the bytes begin like a .dnn file; says nothing about the rest.
SN_INTREE bool looks_like_dnn(const void* data, std::size_t bytes) noexcept;

}  // namespace softneuro
