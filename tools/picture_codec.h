// Decoding and scaling pictures, by stb.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "softneuro/status.h"

namespace softneuro::tool {

struct Picture {
  int width = 0, height = 0, channels = 0;
  std::vector<std::uint8_t> bytes;  // rows from the top, channels (red, green, blue) innermost
};

// A JPEG, PNG or BMP file, as `channels` channels: 1 (luminance) or 3. Errors: io_error,
// invalid_argument (no picture that can be read), unsupported (built without stb).
Result<Picture> decode_picture(const std::string& path, int channels);

// The part of it that begins at (left, top), scaled.
Picture scaled_part(const Picture& picture, int left, int top, int part_width, int part_height,
                    int width, int height);

}  // namespace softneuro::tool
