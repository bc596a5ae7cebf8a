// .dnn → Graph. In this order, each step before anything relies on it: sizes, checksums, the
// FlatBuffer's structure, the meaning of every field, Graph::verify.
#include <flatbuffers/flatbuffers.h>

#include <cstring>
#include <span>
#include <vector>

#include "core/base/checksum.h"
#include "core/base/error.h"
#include "core/base/file_mapping.h"
#include "core/base/tensor_view.h"
#include "core/dnn/decoder.h"
#include "core/dnn/file.h"
#include "core/dnn/file_header.h"
#include "schemas/softneuro_generated.h"

namespace softneuro {
namespace {

template <class... A>
Status corrupt(fmt::format_string<A...> format, A&&... args) {
  return make_error(StatusCode::corrupt_file, format, std::forward<A>(args)...);
}

// The header, if it is whole and fits the file.
Result<DnnHeader> read_header(std::span<const std::byte> file) {
  if (!looks_like_dnn(file.data(), file.size())) {
    if (file.size() < sizeof(kDnnMagic))
      return corrupt("truncated: {} bytes are too few for a .dnn file", file.size());
    return corrupt(
        "not a .dnn file: it does not begin with the signature of one (models are imported: "
        "Net::import, sn_net_import, softneuro import)");
  }
  DnnHeader header{};
  if (file.size() < sizeof(header))
    return corrupt("truncated: the header is {} bytes long, but there are {}", sizeof(header),
                   file.size());
  std::memcpy(&header, file.data(), sizeof(header));
  if (header.header_checksum != checksum(&header, offsetof(DnnHeader, header_checksum)))
    return corrupt("damaged: the header does not match its checksum");
  if (header.format == 0) return corrupt("the format number is 0");
  if (header.format > kDnnFormat)
    return make_error(StatusCode::incompatible,
                      "written by a newer SoftNeuro (format {}, this library reads up to {}): "
                      "update the library, or save the net again with an older one",
                      header.format, kDnnFormat);
  if (file.size() < header.file_bytes)
    return corrupt("truncated: it should have {} bytes, but has {}", header.file_bytes,
                   file.size());
  if (file.size() > header.file_bytes)
    return corrupt("{} bytes follow the end of the file", file.size() - header.file_bytes);
  if (header.header_bytes != sizeof(header) || header.graph_offset != sizeof(header))
    return corrupt(
        "the header says that it ends at byte {} and the graph begins at {}; both are "
        "{} in this format",
        header.header_bytes, header.graph_offset, sizeof(header));
  if (header.graph_bytes > kDnnMaxGraphBytes || header.graph_bytes > file.size())
    return corrupt("the graph part has {} bytes, more than the file or {} MiB", header.graph_bytes,
                   kDnnMaxGraphBytes >> 20);
  const std::uint64_t end =
      header.graph_offset + header.graph_bytes + dnn_padding(header.graph_bytes);
  if (header.segments_offset != end || end > file.size())
    return corrupt("segments begin at byte {}, but the graph part ends at {} of {}",
                   header.segments_offset, end, file.size());
  return header;
}

// The graph part's root, if its structure holds. `graph` is what `header` speaks of, with padding.
Result<const schema::File*> read_root(std::span<const std::byte> graph, const DnnHeader& header) {
  if (header.graph_checksum != checksum(graph.data(), graph.size()))
    return corrupt("damaged: the graph part does not match its checksum");
  flatbuffers::Verifier::Options limits;
  limits.max_depth = 4 * kDnnMaxNesting + 8;  // a subgraph is two tables deeper
  // Each table takes at least four bytes, and the verifier counts those that are used twice.
  limits.max_tables = static_cast<flatbuffers::uoffset_t>(header.graph_bytes / 4);
  const auto* const data = reinterpret_cast<const std::uint8_t*>(graph.data());
  const auto size = static_cast<std::size_t>(header.graph_bytes);
  flatbuffers::Verifier verifier(data, size, limits);
  if (!schema::VerifyFileBuffer(verifier))
    return corrupt(
        "the graph part is not a valid FlatBuffer of schemas/softneuro.fbs, or nests "
        "subgraphs more than {} deep",
        kDnnMaxNesting);
  return schema::GetFile(data);
}

// The segments: in order, aligned, without gaps, up to the end of the file.
Result<std::vector<std::span<const std::byte>>> read_segments(std::span<const std::byte> file,
                                                              const DnnHeader& header,
                                                              const schema::File& root,
                                                              Verify verify) {
  const std::span<const std::byte> rest =
      file.subspan(static_cast<std::size_t>(header.segments_offset));
  std::vector<std::span<const std::byte>> segments;
  std::uint64_t end = 0;
  if (root.segments() != nullptr) {
    segments.reserve(root.segments()->size());
    for (const schema::Segment* row : *root.segments()) {
      const std::size_t index = segments.size();
      if (row->offset() != end)
        return corrupt("segment {} begins at {} instead of {}: segments overlap or leave a gap",
                       index, row->offset(), end);
      const std::uint64_t room = rest.size() - end;
      if (row->bytes() > room || dnn_padding(row->bytes()) > room - row->bytes())
        return corrupt("segment {} of {} bytes leaves the file, where {} are left", index,
                       row->bytes(), room);
      const std::uint64_t padded = row->bytes() + dnn_padding(row->bytes());
      const auto bytes = rest.subspan(static_cast<std::size_t>(end));
      if (verify == Verify::full &&
          row->checksum() != checksum(bytes.data(), static_cast<std::size_t>(padded)))
        return corrupt("damaged: segment {} does not match its checksum", index);
      segments.push_back(bytes.first(static_cast<std::size_t>(row->bytes())));
      end += padded;
    }
  }
  if (end != rest.size())
    return corrupt("the segments end at byte {} of {}", header.segments_offset + end, file.size());
  return segments;
}

// Precondition: file is aligned to kDnnAlignment. `shared`: another process may write to the file
// while it is read, so that what was verified must be a copy; weights are mere numbers and may
// change without harm.
Result<DnnContents> decode(std::span<const std::byte> file, std::shared_ptr<const void> owner,
                           const LayerTypes& types, Verify verify, bool shared,
                           Allocator& allocator) {
  SN_ASSIGN_OR_RETURN(const DnnHeader header, read_header(file));
  auto graph = file.subspan(static_cast<std::size_t>(header.graph_offset),
                            static_cast<std::size_t>(header.segments_offset - header.graph_offset));
  Tensor copy;
  if (shared) {
    SN_ASSIGN_OR_RETURN(copy, allocate_bytes(graph.size(), allocator));
    std::memcpy(copy.mutable_data(), graph.data(), graph.size());
    graph = {static_cast<const std::byte*>(copy.data()), graph.size()};
  }
  SN_ASSIGN_OR_RETURN(const schema::File* const root, read_root(graph, header));
  SN_ASSIGN_OR_RETURN(const auto segments, read_segments(file, header, *root, verify));
  return decode_dnn(*root, types, segments, std::move(owner), header.graph_bytes);
}

}  // namespace

bool looks_like_dnn(const void* data, std::size_t bytes) noexcept {
  return bytes >= sizeof(kDnnMagic) && std::memcmp(data, kDnnMagic, sizeof(kDnnMagic)) == 0;
}

Result<DnnContents> load_dnn_contents(const std::string& path, const LayerTypes& types,
                                      Verify verify, Allocator& allocator) {
  return guarded([&]() -> Result<DnnContents> {
    SN_ASSIGN_OR_RETURN(FileBytes file, map_file(path, allocator));
    Result<DnnContents> contents =
        decode(file.bytes, std::move(file.owner), types, verify, file.mapped, allocator);
    if (!contents.ok()) return Status(contents.status()).with_context(path);
    return contents;
  });
}

Result<DnnContents> load_dnn_contents_memory(const void* data, std::size_t bytes,
                                             std::shared_ptr<const void> owner,
                                             const LayerTypes& types, Verify verify,
                                             Allocator& allocator) {
  return guarded([&]() -> Result<DnnContents> {
    if (data == nullptr && bytes > 0) return invalid_argument("load_memory: the bytes are null");
    std::span<const std::byte> file(static_cast<const std::byte*>(data), bytes);
    const bool aligned = reinterpret_cast<std::uintptr_t>(data) % kTensorAlignment == 0;
    if (!aligned && looks_like_dnn(data, bytes)) {
      SN_ASSIGN_OR_RETURN(Tensor copy, allocate_bytes(bytes, allocator));
      std::memcpy(copy.mutable_data(), data, bytes);
      file = {static_cast<const std::byte*>(copy.data()), bytes};
      owner = std::make_shared<const Tensor>(std::move(copy));
    }
    return decode(file, std::move(owner), types, verify, false, allocator);
  });
}

}  // namespace softneuro
