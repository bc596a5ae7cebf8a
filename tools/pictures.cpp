#include "pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>

#include "open_sizes.h"
#include "picture_codec.h"

namespace softneuro::tool {
namespace {

namespace fs = std::filesystem;

// Where an input has its channels, rows and columns.
struct Place {
  std::string name;
  DataType type = DataType::float32;
  Shape shape;
  int channels = 0, height = 0, width = 0;
  bool is_channels_last = false;
};

Status refuse(const std::string& why) {
  return Status(StatusCode::invalid_argument, "pictures as samples: " + why);
}

bool is_picture_channels(std::int64_t count) {
  return count == 1 || count == 3;
}

Result<Place> find_place(const Net& net, NamedShapes shapes) {
  if (net.inputs().size() != 1)
    return refuse(fmt::format("the net has {} inputs, one is needed", net.inputs().size()));
  const TensorInfo& info = net.inputs()[0];
  const OpenSizes sizes = complete_shapes(net.inputs(), shapes);
  if (!sizes.missing.empty()) return refuse(sizes.missing);
  Place place;
  place.name = info.name;
  place.type = info.type;
  if (const auto given = shapes.find(info.name); given != shapes.end())
    place.shape = given->second;
  else  // static: complete_shapes has given all others
    for (const Dim& dim : info.shape.dims()) place.shape.push_back(dim.value);
  const Shape& shape = place.shape;
  if (shape.rank() != 4 || shape[0] != 1)
    return refuse(fmt::format("input '{}' is {}, not 1xCxHxW or 1xHxWxC", info.name, shape.str()));
  if (info.type != DataType::float32 && info.type != DataType::uint8)
    return refuse(
        fmt::format("input '{}' is {}, not float32 or uint8", info.name, to_string(info.type)));
  place.is_channels_last = !is_picture_channels(shape[1]);
  const std::size_t channels = place.is_channels_last ? 3 : 1;
  if (!is_picture_channels(shape[channels]))
    return refuse(
        fmt::format("input '{}' is {}: neither 1 nor 3 channels", info.name, shape.str()));
  place.channels = static_cast<int>(shape[channels]);
  place.height = static_cast<int>(shape[place.is_channels_last ? 1 : 2]);
  place.width = static_cast<int>(shape[place.is_channels_last ? 2 : 3]);
  return place;
}

// The whole picture, or its middle in the proportions of the input.
Picture fitted(const Picture& picture, const Place& place, bool is_crop) {
  int width = picture.width, height = picture.height;
  if (is_crop) {
    const double scale = std::min(static_cast<double>(picture.width) / place.width,
                                  static_cast<double>(picture.height) / place.height);
    width = std::clamp(static_cast<int>(std::lround(place.width * scale)), 1, picture.width);
    height = std::clamp(static_cast<int>(std::lround(place.height * scale)), 1, picture.height);
  }
  return scaled_part(picture, (picture.width - width) / 2, (picture.height - height) / 2, width,
                     height, place.width, place.height);
}

Result<Tensor> tensor_of(const Picture& picture, const Place& place,
                         const PictureOptions& options) {
  auto made = Tensor::create(place.type, place.shape);
  if (!made.ok()) return made.status();
  Tensor tensor = *std::move(made);
  const auto at = [](const std::vector<double>& values, int channel) {
    return values[values.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
  };
  const auto channels = static_cast<std::size_t>(place.channels);
  const std::size_t pixels = picture.bytes.size() / channels;
  for (int c = 0; c < place.channels; ++c) {
    const int colour = options.is_bgr ? place.channels - 1 - c : c;
    for (std::size_t i = 0; i < pixels; ++i) {
      const std::uint8_t byte = picture.bytes[i * channels + static_cast<std::size_t>(colour)];
      const std::size_t to = place.is_channels_last ? i * channels + static_cast<std::size_t>(c)
                                                    : static_cast<std::size_t>(c) * pixels + i;
      if (place.type == DataType::uint8)
        tensor.mutable_values<std::uint8_t>()[to] = byte;
      else
        tensor.mutable_values<float>()[to] =
            static_cast<float>((byte - at(options.mean, colour)) * at(options.scale, colour));
    }
  }
  return tensor;
}

}  // namespace

std::vector<std::string> pictures_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    std::string end = entry.path().extension().string();
    std::transform(end.begin(), end.end(), end.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (end == ".jpg" || end == ".jpeg" || end == ".png" || end == ".bmp")
      files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Result<std::vector<NamedTensors>> read_pictures(const std::vector<std::string>& files,
                                                const Net& net, const NamedShapes& shapes,
                                                const PictureOptions& options) {
  const auto place = find_place(net, shapes);
  if (!place.ok()) return place.status();
  for (const auto& [what, values] :
       {std::pair("mean", &options.mean), std::pair("scale", &options.scale)})
    if (values->size() != 1 && values->size() != static_cast<std::size_t>(place->channels))
      return refuse(fmt::format(
          "--picture-{} has {} values, input '{}' {} channels: give one for all, or one "
          "for each",
          what, values->size(), place->name, place->channels));
  if (place->type == DataType::uint8 &&
      (options.mean != std::vector<double>{0} || options.scale != std::vector<double>{1}))
    return refuse(fmt::format("input '{}' takes bytes: no mean, no scale", place->name));
  std::vector<NamedTensors> samples;
  for (const std::string& file : files) {
    const auto picture = decode_picture(file, place->channels);
    if (!picture.ok()) return picture.status();
    auto tensor = tensor_of(fitted(*picture, *place, options.is_crop), *place, options);
    if (!tensor.ok()) return tensor.status();
    samples.push_back({{place->name, *std::move(tensor)}});
  }
  return samples;
}

}  // namespace softneuro::tool
