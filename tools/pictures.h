// Pictures as samples: what an application does before it runs a net on a photograph.
#pragma once

#include <string>
#include <vector>

#include "softneuro/softneuro.h"

namespace softneuro::tool {

struct PictureOptions {
  // The input gets (byte − mean) · scale, of red, green and blue; one number stands for all three.
  std::vector<double> mean = {0};
  std::vector<double> scale = {1};
  bool is_bgr = false;   // the input's channels are blue, green, red
  bool is_crop = false;  // what is too wide or too high is cut off on both sides, not squeezed
};

// The JPEG, PNG and BMP files of a folder, in the order of their names.
std::vector<std::string> pictures_in(const std::string& folder);

// One sample per picture, scaled to the net's only input: [1,C,H,W] or [1,H,W,C] of float32, or of
// uint8 without mean and scale; C is 3, or 1 for luminance. Sizes that the net leaves open come
// from `shapes`; an open batch is 1. Errors: invalid_argument (another kind of net, open sizes,
// numbers of values), and those of decode_picture.
Result<std::vector<NamedTensors>> read_pictures(const std::vector<std::string>& files,
                                                const Net& net, const NamedShapes& shapes,
                                                const PictureOptions& options);

}  // namespace softneuro::tool
