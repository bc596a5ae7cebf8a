#include "dprs/topologies.h"

#include <algorithm>
#include <cstdlib>

namespace softneuro::dprs {
namespace {

// What a machine of one CPU and as many GPUs as the formats need takes. The GPU of an embedded
// board is not much faster than its CPU, so that neither is always right.
struct Device {
  double macs_per_us;   // in float32
  double bytes_per_us;  // of memory
  double launch_us;
  double layout_factor[4];  // plain, channels last, blocks of 8 and of 16 channels
};
constexpr Device kCpu = {2e5, 2e4, 0.5, {1.5, 1.15, 1.0, 0.9}};
constexpr Device kGpu = {6e5, 6e4, 8, {1.0, 0.8, 1.2, 1.3}};
constexpr double kCopyBytesPerUs = 1e4;  // between devices
constexpr double kCopyUs = 10;

// A format's parts: layouts vary the fastest, then data types, then devices.
class Formats {
 public:
  explicit Formats(int count) : types_(count > 16 ? 3 : 2) {}
  int layout(int format) const { return format % 4; }
  int device(int format) const { return format / 4 / types_; }
  const Device& machine(int format) const { return device(format) == 0 ? kCpu : kGpu; }
  double bytes(int format) const { return 4 >> type(format); }  // per element
  double speed(int format) const { return 1 + 0.8 * type(format); }

 private:
  int type(int format) const { return format / 4 % types_; }  // float32, float16, 8 bits
  int types_;
};

// Layers one after the other; a tensor is the number that its layer's call returned.
class Builder {
 public:
  Builder(const Richness& richness, std::uint64_t seed)
      : richness_(richness), formats_(richness.formats), state_(seed) {
    problem_.formats = richness.formats;
  }

  int input(double channels, double positions) {
    const int tensor = add_tensor({channels, positions});
    problem_.tensors.back().fixed_format = 0;
    return tensor;
  }
  int conv(int x, double channels, int kernel = 3, int stride = 1) {
    const Size in = size(x);
    const Size out = {channels, in.positions / (stride * stride)};
    return layer({x}, out, {out.elements() * in.channels * kernel * kernel, 100});
  }
  // Pooling, activation, normalisation.
  int light(int x, int stride = 1) {
    const Size in = size(x);
    return layer({x}, {in.channels, in.positions / (stride * stride)}, {});
  }
  int convs(int x, int count, double channels) {
    for (int i = 0; i < count; ++i) x = conv(x, channels);
    return x;
  }
  // A transposed convolution of stride 2.
  int upsample(int x, double channels) {
    const Size in = size(x);
    return layer({x}, {channels, 4 * in.positions}, {4 * in.elements() * channels, 100});
  }
  // A convolution of all inputs together.
  int join(const std::vector<int>& inputs, double channels) {
    double macs = 0;
    for (const int tensor : inputs) macs += 9 * channels * size(tensor).elements();
    return layer(inputs, {channels, size(inputs[0]).positions}, {macs, 100});
  }
  int add(int a, int b) { return layer({a, b}, size(a), {}); }
  int product(int a, int b, double channels, double positions) {
    return layer({a, b}, {channels, positions}, {channels * positions * size(a).channels, 100});
  }
  // All inputs in one format, as copies into one tensor need it.
  int concat(const std::vector<int>& inputs) {
    Size out = {0, size(inputs[0]).positions};
    for (const int tensor : inputs) out.channels += size(tensor).channels;
    return layer(inputs, out, {}, false);
  }
  Problem finish(int output) {
    problem_.tensors[static_cast<std::size_t>(output)].wanted = {0};
    return std::move(problem_);
  }
  double unit() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }
  int below(int n) { return static_cast<int>(unit() * n); }

 private:
  struct Size {
    double channels = 0;
    double positions = 0;  // pixels or tokens
    double elements() const { return channels * positions; }
  };
  struct Work {
    double macs = 0;
    double scale = 10;  // mean of its random times
  };

  Size size(int tensor) const { return sizes_[static_cast<std::size_t>(tensor)]; }
  bool is_random() const { return richness_.costs == Richness::Costs::random; }
  double random(double scale) { return scale * (0.5 + unit()); }

  int layer(const std::vector<int>& inputs, Size size, Work work, bool may_mix = true) {
    Layer layer;
    layer.inputs = inputs;
    layer.outputs = {add_tensor(size)};
    const int formats = richness_.formats;
    for (int in = 0; in < formats; ++in)
      for (int out = 0; out < formats; ++out) {
        if (in != out && unit() >= richness_.crossing) continue;
        if (!is_random() && formats_.device(in) != formats_.device(out)) continue;
        layer.candidates.push_back({std::vector<int>(inputs.size(), in), {out}});
        layer.candidates.back().time = time(layer, in, out, work);
        add_memory(layer.candidates.back(), size, work);
      }
    if (may_mix && richness_.mixed > 0 && inputs.size() > 1 && inputs.size() <= 3)
      add_mixed(layer, work);
    problem_.layers.push_back(std::move(layer));
    return problem_.layers.back().outputs[0];
  }

  // Of a routine: bound by arithmetic or by memory, more or less well written.
  double time(const Layer& layer, int in, int out, Work work) {
    if (is_random()) return random(work.scale);
    const Device& machine = formats_.machine(in);
    double bytes = size(layer.outputs[0]).elements() * formats_.bytes(out);
    for (const int tensor : layer.inputs) bytes += size(tensor).elements() * formats_.bytes(in);
    const double arithmetic = work.macs / (machine.macs_per_us * formats_.speed(in)) *
                              machine.layout_factor[formats_.layout(in)];
    const double memory = bytes / machine.bytes_per_us;
    return machine.launch_us + std::max(arithmetic, memory) * (0.6 + 0.8 * unit());
  }

  // Some layouts need their inputs unrolled, others their weights packed.
  void add_memory(Candidate& candidate, Size size, Work work) const {
    const int layout = formats_.layout(candidate.inputs[0]);
    const double bytes = formats_.bytes(candidate.inputs[0]);
    const double unrolled = work.macs / size.channels * bytes;
    const double weights = work.macs / size.positions * bytes;
    if (layout < 2) candidate.workspace = static_cast<std::size_t>(unrolled);
    if (layout > 0) candidate.resident = static_cast<std::size_t>(weights * (layout == 3 ? 2 : 1));
  }

  double adapt_time(double elements, int from, int to) {
    if (is_random()) return random(15);
    const double read = elements * formats_.bytes(from);
    const double written = elements * formats_.bytes(to);
    const Device& machine = formats_.machine(from);
    double us = machine.launch_us + (read + written) / machine.bytes_per_us * (0.8 + 0.4 * unit());
    if (formats_.device(from) != formats_.device(to))
      us += kCopyUs + std::min(read, written) / kCopyBytesPerUs;
    return us;
  }

  int add_tensor(Size size) {
    Tensor tensor;
    sizes_.push_back(size);
    for (int from = 0; from < richness_.formats; ++from)
      for (int to = 0; to < richness_.formats; ++to)
        tensor.adapt.push_back(from == to ? 0 : adapt_time(size.elements(), from, to));
    for (int format = 0; format < richness_.formats; ++format)
      tensor.bytes.push_back(static_cast<std::size_t>(size.elements() * formats_.bytes(format)));
    problem_.tensors.push_back(std::move(tensor));
    return static_cast<int>(problem_.tensors.size()) - 1;
  }

  void add_mixed(Layer& layer, Work work) {
    const int formats = richness_.formats;
    int combinations = 1;
    for (std::size_t i = 0; i < layer.inputs.size(); ++i) combinations *= formats;
    for (int c = 0; c < combinations; ++c) {
      std::vector<int> inputs;
      for (int rest = c; inputs.size() < layer.inputs.size(); rest /= formats)
        inputs.push_back(rest % formats);
      const bool uniform = std::count(inputs.begin(), inputs.end(), inputs[0]) ==
                           static_cast<std::ptrdiff_t>(inputs.size());
      if (uniform || unit() >= richness_.mixed) continue;
      const int out = below(formats);
      layer.candidates.push_back({inputs, {out}});
      layer.candidates.back().time = time(layer, inputs[0], out, work);
    }
  }

  Richness richness_;
  Formats formats_;
  std::uint64_t state_;
  Problem problem_;
  std::vector<Size> sizes_;  // per tensor
};

// Convolutions with their activation fused, as after the passes.
Problem resnet50(Builder net) {
  int x = net.light(net.conv(net.input(3, 224 * 224), 64, 7, 2), 2);
  double width = 64;
  for (const int blocks : {3, 4, 6, 3}) {
    for (int b = 0; b < blocks; ++b) {
      const int stride = b == 0 && width > 64 ? 2 : 1;
      const int shortcut = b == 0 ? net.conv(x, 4 * width, 1, stride) : x;
      const int inner = net.conv(net.conv(x, width, 1), width, 3, stride);
      x = net.add(net.conv(inner, 4 * width, 1), shortcut);
    }
    width *= 2;
  }
  return net.finish(net.light(net.conv(net.light(x, 7), 1000, 1)));
}

Problem inception_v3(Builder net) {
  int x = net.conv(net.convs(net.conv(net.input(3, 299 * 299), 32, 3, 2), 1, 32), 64);
  x = net.light(net.convs(net.light(x, 2), 2, 192), 2);
  for (int i = 0; i < 3; ++i)  // A
    x = net.concat({net.conv(x, 64, 1), net.conv(net.conv(x, 48, 1), 64, 5),
                    net.convs(net.conv(x, 64, 1), 2, 96), net.conv(net.light(x), 64, 1)});
  x = net.concat(
      {net.conv(x, 384, 3, 2), net.conv(net.convs(x, 2, 96), 96, 3, 2), net.light(x, 2)});  // B
  for (int i = 0; i < 4; ++i)                                                               // C
    x = net.concat({net.conv(x, 192, 1), net.convs(x, 3, 160), net.convs(x, 5, 160),
                    net.conv(net.light(x), 192, 1)});
  x = net.concat({net.conv(net.conv(x, 192, 1), 320, 3, 2),
                  net.conv(net.convs(x, 3, 192), 192, 3, 2), net.light(x, 2)});  // D
  for (int i = 0; i < 2; ++i) {                                                  // E
    const int first = net.conv(x, 320, 1);
    const int left = net.conv(x, 384, 1);
    const int split = net.concat({net.conv(left, 384), net.conv(left, 384)});
    const int right = net.conv(net.conv(x, 448, 1), 384);
    const int wide = net.concat({net.conv(right, 384), net.conv(right, 384)});
    x = net.concat({first, split, wide, net.conv(net.light(x), 192, 1)});
  }
  return net.finish(net.light(net.conv(net.light(x, 8), 1000, 1)));
}

// Attention with its own projections; `pre`: normalisation before it (ViT) or after (BERT).
int transformer_block(Builder& net, int x, bool pre) {
  constexpr double kTokens = 197, kWidth = 768;
  const int in = pre ? net.light(x) : x;
  const int query = net.light(net.conv(in, kWidth, 1));
  const int key = net.light(net.conv(in, kWidth, 1));
  const int value = net.light(net.conv(in, kWidth, 1));
  const int weights = net.light(net.product(query, key, kTokens, kTokens));
  const int mixed = net.light(net.product(weights, value, kWidth, kTokens));
  int y = net.add(net.conv(mixed, kWidth, 1), x);
  if (!pre) y = net.light(y);
  const int inner = net.light(net.conv(pre ? net.light(y) : y, 4 * kWidth, 1));
  y = net.add(net.conv(inner, kWidth, 1), y);
  return pre ? y : net.light(y);
}
Problem transformer(Builder net, bool pre) {
  int x = net.light(net.conv(net.input(768, 197), 768, 1));
  for (int i = 0; i < 12; ++i) x = transformer_block(net, x, pre);
  return net.finish(net.conv(net.light(x), 1000, 1));
}

Problem densenet121(Builder net) {
  int x = net.light(net.conv(net.input(3, 224 * 224), 64, 7, 2), 2);
  double channels = 64;
  bool first = true;
  for (const int layers : {6, 12, 24, 16}) {
    if (!first) x = net.light(net.conv(net.light(x), channels /= 2, 1), 2);
    first = false;
    std::vector<int> block = {x};
    for (int l = 0; l < layers; ++l, channels += 32) {
      const int in = block.size() == 1 ? block[0] : net.concat(block);
      block.push_back(net.conv(net.conv(net.light(in), 128, 1), 32));
    }
    x = net.concat(block);
  }
  return net.finish(net.conv(net.light(net.light(x), 7), 1000, 1));
}

Problem unet(Builder net) {
  int x = net.input(3, 256 * 256);
  std::vector<int> skips;
  double channels = 32;
  for (int level = 0; level < 4; ++level, channels *= 2) {
    skips.push_back(net.convs(x, 2, channels));
    x = net.light(skips.back(), 2);
  }
  x = net.convs(x, 2, channels);
  for (int level = 4; level-- > 0;) {
    channels /= 2;
    const int up = net.upsample(x, channels);
    x = net.convs(net.concat({skips[static_cast<std::size_t>(level)], up}), 2, channels);
  }
  return net.finish(net.conv(x, 1, 1));
}

Problem unetpp(Builder net) {
  std::vector<std::vector<int>> rows(5);  // [level][column]
  int x = net.input(3, 256 * 256);
  for (std::size_t level = 0; level < 5; ++level) {
    rows[level].push_back(net.convs(level == 0 ? x : net.light(x, 2), 2, 32 << level));
    x = rows[level][0];
  }
  for (std::size_t column = 1; column < 5; ++column)
    for (std::size_t level = 0; level + column < 5; ++level) {
      std::vector<int> inputs = rows[level];
      inputs.push_back(net.upsample(rows[level + 1][column - 1], 32 << level));
      rows[level].push_back(net.convs(net.concat(inputs), 2, 32 << level));
    }
  return net.finish(net.conv(rows[0][4], 1, 1));
}

Problem chain(Builder net, int layers) {
  return net.finish(net.convs(net.input(64, 56 * 56), layers, 64));
}

// Each layer reads one to three of the last `window` tensors.
Problem random_window(Builder net, int layers, int window) {
  std::vector<int> tensors = {net.input(64, 56 * 56)};
  for (int l = 0; l < layers; ++l) {
    std::vector<int> inputs = {tensors.back()};
    const int count = 1 + net.below(3);
    while (static_cast<int>(inputs.size()) < count) {
      const int reach = std::min(window, static_cast<int>(tensors.size()));
      const int tensor = tensors[tensors.size() - 1 - static_cast<std::size_t>(net.below(reach))];
      if (std::find(inputs.begin(), inputs.end(), tensor) != inputs.end()) {
        if (reach < 4) break;
        continue;
      }
      inputs.push_back(tensor);
    }
    tensors.push_back(net.join(inputs, 64));
  }
  return net.finish(tensors.back());
}

}  // namespace

std::vector<std::string> topology_names() {
  return {"resnet50", "inception_v3", "vit_b_16",  "bert_base", "densenet121",
          "unet",     "unetpp",       "chain1000", "window10",  "window20"};
}

Problem make_topology(const std::string& name, const Richness& richness, std::uint64_t seed) {
  const Builder net(richness, seed);
  if (name == "resnet50") return resnet50(net);
  if (name == "inception_v3") return inception_v3(net);
  if (name == "vit_b_16") return transformer(net, true);
  if (name == "bert_base") return transformer(net, false);
  if (name == "densenet121") return densenet121(net);
  if (name == "unet") return unet(net);
  if (name == "unetpp") return unetpp(net);
  if (name == "chain1000") return chain(net, 1000);
  if (name.rfind("window", 0) == 0) return random_window(net, 300, std::atoi(name.c_str() + 6));
  return {};
}

}  // namespace softneuro::dprs
