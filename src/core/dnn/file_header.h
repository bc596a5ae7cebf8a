// The fixed part of a .dnn file, for its reader and its writer. docs/file-format.md has the prose.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace softneuro {

static_assert(std::endian::native == std::endian::little, ".dnn files are little-endian");

// Not text, and destroyed by transfers that rewrite line ends or stop at an end-of-file character.
inline constexpr unsigned char kDnnMagic[8] = {0x89, 'D', 'N', 'N', '\r', '\n', 0x1a, '\n'};
// Raised only where an older library would misread a file; writers use the lowest that fits.
inline constexpr std::uint32_t kDnnFormat = 1;
inline constexpr std::uint64_t kDnnAlignment = 64;
// The graph part holds names, shapes and parameters; far below what FlatBuffers can address.
inline constexpr std::uint64_t kDnnMaxGraphBytes = std::uint64_t{1} << 30;
inline constexpr int kDnnMaxNesting = 8;  // of subgraphs, as in Graph::verify

struct DnnHeader {
  unsigned char magic[8];
  std::uint32_t format;
  std::uint32_t header_bytes;     // 64
  std::uint64_t file_bytes;       // a multiple of 64
  std::uint64_t graph_offset;     // 64
  std::uint64_t graph_bytes;      // without the padding to the next multiple of 64
  std::uint64_t graph_checksum;   // of the graph part and its padding
  std::uint64_t segments_offset;  // where the first segment starts, or would
  std::uint64_t header_checksum;  // of the 56 bytes before it; here in every format
};
static_assert(sizeof(DnnHeader) == kDnnAlignment);

// Zero bytes between `bytes` and the next multiple of kDnnAlignment.
constexpr std::uint64_t dnn_padding(std::uint64_t bytes) {
  return (kDnnAlignment - bytes % kDnnAlignment) % kDnnAlignment;
}

}  // namespace softneuro
