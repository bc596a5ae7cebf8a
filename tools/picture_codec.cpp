#include "picture_codec.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#if SOFTNEURO_HAS_STB
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wcast-align"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
// The analyser reads the declarations alone: what it finds in a library is not ours to mend.
#ifndef __clang_analyzer__
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_RESIZE_STATIC
#define STB_IMAGE_RESIZE_IMPLEMENTATION
#endif
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_ONLY_BMP
#define STBI_NO_STDIO
#define STBI_MAX_DIMENSIONS (1 << 15)
#include <stb_image.h>
#include <stb_image_resize.h>
#pragma GCC diagnostic pop
#endif

namespace softneuro::tool {

Result<Picture> decode_picture(const std::string& path, int channels) {
#if SOFTNEURO_HAS_STB
  std::ifstream file(path, std::ios::binary);
  if (!file) return Status(StatusCode::io_error, fmt::format("cannot read '{}'", path));
  const std::string coded{std::istreambuf_iterator<char>(file), {}};
  Picture picture;
  picture.channels = channels;
  int file_channels = 0;
  stbi_uc* const bytes = stbi_load_from_memory(reinterpret_cast<const stbi_uc*>(coded.data()),
                                               static_cast<int>(coded.size()), &picture.width,
                                               &picture.height, &file_channels, channels);
  if (bytes == nullptr)
    return Status(StatusCode::invalid_argument,
                  fmt::format("'{}' cannot be read as an image: {}", path, stbi_failure_reason()));
  picture.bytes.assign(bytes, bytes + std::size_t(picture.width) * std::size_t(picture.height) *
                                          std::size_t(channels));
  stbi_image_free(bytes);
  return picture;
#else
  (void)channels;
  return Status(StatusCode::unsupported,
                fmt::format("'{}': this tool was built without stb and reads no pictures; give "
                            ".npy files",
                            path));
#endif
}

Picture scaled_part(const Picture& picture, int left, int top, int part_width, int part_height,
                    int width, int height) {
  Picture scaled{width, height, picture.channels, {}};
  scaled.bytes.resize(std::size_t(width) * std::size_t(height) * std::size_t(picture.channels));
#if SOFTNEURO_HAS_STB
  const int row = picture.width * picture.channels;
  // Linear, over as many pixels as become one: what most preprocessing does. Without effect at 1:1.
  stbir_resize_uint8_generic(picture.bytes.data() + top * row + left * picture.channels, part_width,
                             part_height, row, scaled.bytes.data(), width, height, 0,
                             picture.channels, STBIR_ALPHA_CHANNEL_NONE, 0, STBIR_EDGE_CLAMP,
                             STBIR_FILTER_TRIANGLE, STBIR_COLORSPACE_LINEAR, nullptr);
#else
  (void)left, (void)top, (void)part_width, (void)part_height;
#endif
  return scaled;
}

}  // namespace softneuro::tool
