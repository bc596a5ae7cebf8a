#include "shapes.h"

#include <charconv>
#include <cmath>
#include <random>

#include "core/base/error.h"

namespace softneuro::bench {
namespace {

constexpr std::string_view kResnet50[] = {"conv:3x224x224,o64,k7,s2,relu",
                                          "conv:64x56x56,o64,relu",
                                          "conv:64x56x56,o64,k3,relu",
                                          "conv:64x56x56,o256,add,relu",
                                          "conv:256x56x56,o64,relu",
                                          "conv:256x56x56,o128,relu",
                                          "conv:128x56x56,o128,k3,s2,relu",
                                          "conv:256x56x56,o512,s2",
                                          "conv:128x28x28,o512,add,relu",
                                          "conv:512x28x28,o128,relu",
                                          "conv:512x28x28,o256,relu",
                                          "conv:256x28x28,o256,k3,s2,relu",
                                          "conv:512x28x28,o1024,s2",
                                          "conv:256x14x14,o1024,add,relu",
                                          "conv:1024x14x14,o256,relu",
                                          "conv:1024x14x14,o512,relu",
                                          "conv:512x14x14,o512,k3,s2,relu",
                                          "conv:1024x14x14,o2048,s2",
                                          "conv:512x7x7,o2048,add,relu",
                                          "conv:2048x7x7,o512,relu",
                                          "dense:1x2048,o1000"};
constexpr std::string_view kMobilenetV2[] = {"conv:3x224x224,o32,k3,s2,clip",
                                             "conv:32x112x112,o32,k3,g32,clip",
                                             "conv:32x112x112,o16",
                                             "conv:16x112x112,o96,clip",
                                             "conv:96x112x112,o96,k3,s2,g96,clip",
                                             "conv:96x56x56,o24",
                                             "conv:24x56x56,o144,clip",
                                             "conv:144x56x56,o144,k3,g144,clip",
                                             "conv:144x56x56,o24,add",
                                             "conv:144x56x56,o144,k3,s2,g144,clip",
                                             "conv:32x28x28,o192,clip",
                                             "conv:192x28x28,o192,k3,g192,clip",
                                             "conv:192x28x28,o32,add",
                                             "conv:64x14x14,o384,clip",
                                             "conv:384x14x14,o384,k3,g384,clip",
                                             "conv:384x14x14,o64,add",
                                             "conv:576x14x14,o576,k3,g576,clip",
                                             "conv:576x14x14,o96,add",
                                             "conv:576x14x14,o576,k3,s2,g576,clip",
                                             "conv:160x7x7,o960,clip",
                                             "conv:960x7x7,o960,k3,g960,clip",
                                             "conv:960x7x7,o320",
                                             "conv:320x7x7,o1280,clip"};
constexpr std::string_view kMobilenetV3[] = {"conv:3x224x224,o16,k3,s2,hswish",
                                             "conv:16x112x112,o16,k3,g16,relu",
                                             "conv:64x112x112,o64,k3,s2,g64,relu",
                                             "conv:72x56x56,o72,k5,s2,g72,relu",
                                             "conv:24x56x56,o72,relu",
                                             "conv:120x28x28,o120,k5,g120,relu",
                                             "conv:40x28x28,o240,hswish",
                                             "conv:240x28x28,o240,k3,s2,g240,hswish",
                                             "conv:80x14x14,o200,hswish",
                                             "conv:200x14x14,o200,k3,g200,hswish",
                                             "conv:672x14x14,o672,k5,s2,g672,hswish",
                                             "conv:160x7x7,o960,hswish",
                                             "conv:960x7x7,o960,k5,g960,hswish"};
constexpr std::string_view kEfficientnetB0[] = {"conv:3x224x224,o32,k3,s2,silu",
                                                "conv:32x112x112,o32,k3,g32,silu",
                                                "conv:16x112x112,o96,silu",
                                                "conv:96x112x112,o96,k3,s2,g96,silu",
                                                "conv:144x56x56,o144,k5,s2,g144,silu",
                                                "conv:240x28x28,o240,k5,g240,silu",
                                                "conv:240x28x28,o40,add",
                                                "conv:80x14x14,o480,silu",
                                                "conv:480x14x14,o480,k5,g480,silu",
                                                "conv:672x14x14,o672,k5,g672,silu",
                                                "conv:672x1x1,o28,silu",
                                                "conv:1152x7x7,o1152,k5,g1152,silu",
                                                "conv:1152x7x7,o192,add",
                                                "conv:320x7x7,o1280,silu"};
constexpr std::string_view kRegnetY400[] = {"conv:3x224x224,o32,k3,s2,relu",
                                            "conv:48x112x112,o48,k3,s2,g6,relu",
                                            "conv:48x56x56,o104,relu",
                                            "conv:104x56x56,o104,k3,s2,g13,relu",
                                            "conv:104x28x28,o104,k3,g13,relu",
                                            "conv:208x28x28,o208,k3,s2,g26,relu",
                                            "conv:208x14x14,o208,k3,g26,relu",
                                            "conv:208x14x14,o208,add,relu",
                                            "conv:440x14x14,o440,k3,s2,g55,relu",
                                            "conv:440x7x7,o440,k3,g55,relu",
                                            "conv:440x7x7,o440,add,relu"};
constexpr std::string_view kShufflenetV2[] = {
    "conv:3x224x224,o24,k3,s2,relu", "conv:24x56x56,o24,k3,s2,g24", "conv:24x56x56,o58,relu",
    "conv:58x56x56,o58,k3,s2,g58",   "conv:58x28x28,o58,relu",      "conv:58x28x28,o58,k3,g58",
    "conv:116x14x14,o116,relu",      "conv:116x14x14,o116,k3,g116", "conv:232x7x7,o232,relu",
    "conv:232x7x7,o232,k3,g232",     "conv:464x7x7,o1024,relu"};
constexpr std::string_view kSqueezenet[] = {
    "conv:3x224x224,o64,k3,s2,p0,relu", "conv:64x55x55,o16,relu",     "conv:16x55x55,o64,relu",
    "conv:16x55x55,o64,k3,relu",        "conv:32x27x27,o128,k3,relu", "conv:64x13x13,o256,k3,relu",
    "conv:512x13x13,o64,relu",          "conv:512x13x13,o1000,relu"};
constexpr std::string_view kAlexnet[] = {
    "conv:3x224x224,o64,k11,s4,p2,relu", "conv:64x27x27,o192,k5,relu",
    "conv:192x13x13,o384,k3,relu",       "conv:384x13x13,o256,k3,relu",
    "dense:1x9216,o4096,relu",           "dense:1x4096,o4096,relu"};
constexpr std::string_view kInception[] = {"conv:3x299x299,o32,k3,s2,p0,relu",
                                           "conv:32x149x149,o32,k3,p0,relu",
                                           "conv:80x73x73,o192,k3,p0,relu",
                                           "conv:48x35x35,o64,k5,relu",
                                           "conv:288x35x35,o64,relu",
                                           "conv:288x35x35,o384,k3,s2,p0,relu",
                                           "conv:128x17x17,o128,k1x7,p0x3,relu",
                                           "conv:160x17x17,o160,k7x1,p3x0,relu",
                                           "conv:768x17x17,o192,relu",
                                           "conv:448x8x8,o384,k3,relu",
                                           "conv:384x8x8,o384,k1x3,p0x1,relu",
                                           "conv:2048x8x8,o320,relu"};
constexpr std::string_view kTransformers[] = {
    "dense:128x768,o768",       "dense:128x768,o3072,gelu", "dense:128x3072,o768,add",
    "dense:197x768,o3072,gelu", "dense:197x3072,o768,add",  "matmul:12x128x64,o128",
    "matmul:12x128x128,o64",    "dense:1x4096,o4096,relu",  "dense:1x25088,o4096,relu"};

constexpr NamedShapes kNets[] = {
    {"resnet50", kResnet50},         {"mobilenet_v2", kMobilenetV2},
    {"mobilenet_v3", kMobilenetV3},  {"efficientnet_b0", kEfficientnetB0},
    {"regnet_y_400mf", kRegnetY400}, {"shufflenet_v2", kShufflenetV2},
    {"squeezenet", kSqueezenet},     {"alexnet", kAlexnet},
    {"inception_v3", kInception},    {"transformers", kTransformers}};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

Result<std::vector<std::int64_t>> numbers(std::string_view text) {
  std::vector<std::int64_t> result;
  for (const std::string_view part : split(text, 'x')) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || value < 0)
      return invalid_argument("'{}' is no list of sizes like 64x56x56", text);
    result.push_back(value);
  }
  return result;
}

struct Description {
  std::string_view type;
  std::vector<std::int64_t> x;
  std::vector<std::int64_t> kernel = {1, 1}, stride = {1, 1}, dilation = {1, 1}, padding;
  std::int64_t out = 0, group = 1, batch = 1;
  bool add = false;
  std::vector<PostOp> activations;
};

Result<PostOp> activation(std::string_view name) {
  PostOp op;
  const auto with = [&](UnaryOp unary, float alpha = 0, float beta = 0) {
    op.unary = unary;
    op.alpha = alpha;
    op.beta = beta;
    return op;
  };
  if (name == "relu") return with(UnaryOp::relu);
  if (name == "clip") return with(UnaryOp::clip, 0, 6);
  if (name == "silu") return with(UnaryOp::silu, 1);
  if (name == "gelu") return with(UnaryOp::gelu);
  if (name == "hswish") return with(UnaryOp::hard_swish, 1.0f / 6, 0.5f);
  return invalid_argument("'{}' is neither an activation nor a size with its letter", name);
}

Status read_part(std::string_view part, Description& d) {
  if (part == "add") {
    d.add = true;
    return {};
  }
  const std::string_view letters = "ksdpogn";
  if (part.size() < 2 || letters.find(part[0]) == letters.npos || part[1] < '0' || part[1] > '9') {
    SN_ASSIGN_OR_RETURN(const PostOp op, activation(part));
    d.activations.push_back(op);
    return {};
  }
  SN_ASSIGN_OR_RETURN(std::vector<std::int64_t> sizes, numbers(part.substr(1)));
  const std::int64_t first = sizes[0];
  if (sizes.size() == 1) sizes.push_back(first);
  switch (part[0]) {
    case 'k':
      d.kernel = sizes;
      break;
    case 's':
      d.stride = sizes;
      break;
    case 'd':
      d.dilation = sizes;
      break;
    case 'p':
      d.padding = sizes;
      break;
    case 'o':
      d.out = first;
      break;
    case 'g':
      d.group = first;
      break;
    default:
      d.batch = first;
  }
  return {};
}

Result<Description> read(std::string_view text) {
  Description d;
  const std::size_t colon = text.find(':');
  if (colon == text.npos) return invalid_argument("'{}' names no layer type (conv:…)", text);
  d.type = text.substr(0, colon);
  const std::vector<std::string_view> parts = split(text.substr(colon + 1), ',');
  SN_ASSIGN_OR_RETURN(d.x, numbers(parts[0]));
  for (std::size_t i = 1; i < parts.size(); ++i) SN_RETURN_IF_ERROR(read_part(parts[i], d));
  const std::size_t rank = d.type == "dense" ? 2 : 3;
  if (d.x.size() != rank || d.out <= 0 || d.group <= 0)
    return invalid_argument("'{}' lacks sizes: see bench/routines/shapes.h", text);
  if (d.padding.empty()) d.padding = {(d.kernel[0] - 1) / 2, (d.kernel[1] - 1) / 2};
  return d;
}

// Normal numbers, scaled so that sums of `depth` products stay near one.
Result<TensorSpec> spec_of(const Shape& shape, bool constant, std::int64_t depth) {
  TensorSpec spec;
  spec.type = DataType::float32;
  spec.shape = shape;
  spec.constant = constant;
  if (!constant) return spec;
  SN_ASSIGN_OR_RETURN(spec.value, Tensor::create(spec.type, shape));
  std::mt19937 random(7);
  std::normal_distribution<float> normal(
      0, 1 / std::sqrt(static_cast<float>(std::max<std::int64_t>(depth, 1))));
  auto* const data = static_cast<float*>(spec.value.mutable_data());
  for (std::int64_t i = 0; i < shape.elements(); ++i) data[i] = normal(random);
  return spec;
}

void describe_conv(const Description& d, Layer& layer, std::vector<Shape>& shapes, Shape& y) {
  const auto& [k, s, p, l] = std::tie(d.kernel, d.stride, d.padding, d.dilation);
  layer.params.set("strides", s);
  layer.params.set("dilations", l);
  layer.params.set("pads", std::vector<std::int64_t>{p[0], p[1], p[0], p[1]});
  layer.params.set("group", d.group);
  shapes = {{d.batch, d.x[0], d.x[1], d.x[2]}, {d.out, d.x[0] / d.group, k[0], k[1]}, {d.out}};
  y = {d.batch, d.out, 0, 0};
  for (std::size_t i = 0; i < 2; ++i)
    y[static_cast<int>(i) + 2] = (d.x[i + 1] + 2 * p[i] - l[i] * (k[i] - 1) - 1) / s[i] + 1;
}

}  // namespace

std::span<const NamedShapes> named_shapes() {
  return kNets;
}

Result<Problem> parse_problem(const Registry& registry, std::string_view text) {
  SN_ASSIGN_OR_RETURN(const Description d, read(text));
  Layer layer;
  layer.name = std::string(text);
  std::vector<Shape> shapes;
  Shape y;
  bool constants = true;
  if (d.type == "conv") {
    describe_conv(d, layer, shapes, y);
  } else if (d.type == "dense") {
    shapes = {{d.x[0], d.x[1]}, {d.x[1], d.out}, {d.out}};
    y = {d.x[0], d.out};
  } else if (d.type == "matmul") {
    shapes = {{d.x[0], d.x[1], d.x[2]}, {d.x[0], d.x[2], d.out}};
    y = {d.x[0], d.x[1], d.out};
    constants = false;
  } else {
    return invalid_argument("'{}': conv, dense and matmul are known", d.type);
  }
  layer.type = registry.layer_types().find(d.type == "conv" ? "conv2" : d.type);
  layer.layer_inputs = static_cast<std::uint32_t>(shapes.size());
  if (d.add) {
    PostOp op;
    op.kind = PostOp::Kind::binary;
    op.input = layer.layer_inputs;
    layer.post_ops.push_back(op);
    shapes.push_back(y);
  }
  layer.post_ops.insert(layer.post_ops.end(), d.activations.begin(), d.activations.end());
  layer.outputs.push_back(0);
  std::vector<TensorSpec> specs;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const bool constant = constants && (i == 1 || i == 2);
    const std::int64_t depth = d.type == "conv" ? shapes[1].elements(1, 4) : d.x.back();
    SN_ASSIGN_OR_RETURN(TensorSpec spec, spec_of(shapes[i], constant, depth));
    specs.push_back(std::move(spec));
  }
  return make_problem(layer, std::move(specs));
}

}  // namespace softneuro::bench
