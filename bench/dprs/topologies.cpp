#include "dprs/topologies.h"

#include <algorithm>
#include <cstdlib>

namespace softneuro::dprs {
namespace {

// Layers one after the other; a tensor is the number that its layer's call returned.
class Builder {
 public:
  Builder(const Richness& richness, std::uint64_t seed) : richness_(richness), state_(seed) {
    problem_.formats = richness.formats;
  }

  int input() {
    const int tensor = add_tensor();
    problem_.tensors.back().fixed_format = 0;
    return tensor;
  }
  int layer(const std::vector<int>& inputs, double scale = 100, bool may_mix = true) {
    Layer layer;
    layer.inputs = inputs;
    layer.outputs = {add_tensor()};
    const int formats = richness_.formats;
    for (int in = 0; in < formats; ++in)
      for (int out = 0; out < formats; ++out) {
        if (in != out && unit() >= richness_.crossing) continue;
        layer.candidates.push_back({std::vector<int>(inputs.size(), in), {out}, time(scale)});
      }
    if (may_mix && richness_.mixed > 0 && inputs.size() > 1 && inputs.size() <= 3)
      add_mixed(layer, scale);
    problem_.layers.push_back(std::move(layer));
    return problem_.layers.back().outputs[0];
  }
  int conv(int x) { return layer({x}, 100); }
  int light(int x) { return layer({x}, 10); }  // pooling, activation, normalisation
  int convs(int x, int count) {
    for (int i = 0; i < count; ++i) x = conv(x);
    return x;
  }
  int add(int a, int b) { return layer({a, b}, 10); }
  // All inputs in one format, as copies into one tensor need it.
  int concat(const std::vector<int>& inputs) { return layer(inputs, 10, false); }
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
  double time(double scale) { return scale * (0.5 + unit()); }

  int add_tensor() {
    Tensor tensor;
    for (int from = 0; from < richness_.formats; ++from)
      for (int to = 0; to < richness_.formats; ++to)
        tensor.adapt.push_back(from == to ? 0 : time(15));
    problem_.tensors.push_back(std::move(tensor));
    return static_cast<int>(problem_.tensors.size()) - 1;
  }

  void add_mixed(Layer& layer, double scale) {
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
      layer.candidates.push_back({inputs, {below(formats)}, time(scale)});
    }
  }

  Richness richness_;
  std::uint64_t state_;
  Problem problem_;
};

// Convolutions with their activation fused, as after the passes.
Problem resnet50(Builder net) {
  int x = net.light(net.conv(net.input()));
  for (const int blocks : {3, 4, 6, 3})
    for (int b = 0; b < blocks; ++b) {
      const int shortcut = b == 0 ? net.conv(x) : x;
      x = net.add(net.convs(x, 3), shortcut);
    }
  return net.finish(net.light(net.conv(net.light(x))));
}

Problem inception_v3(Builder net) {
  int x = net.light(net.convs(net.light(net.convs(net.input(), 3)), 2));
  for (int i = 0; i < 3; ++i)  // A
    x = net.concat({net.conv(x), net.convs(x, 2), net.convs(x, 3), net.conv(net.light(x))});
  x = net.concat({net.conv(x), net.convs(x, 3), net.light(x)});  // B
  for (int i = 0; i < 4; ++i)                                    // C
    x = net.concat({net.conv(x), net.convs(x, 3), net.convs(x, 5), net.conv(net.light(x))});
  x = net.concat({net.convs(x, 2), net.convs(x, 4), net.light(x)});  // D
  for (int i = 0; i < 2; ++i) {                                      // E
    const int first = net.conv(x);
    const int left = net.conv(x);
    const int split = net.concat({net.conv(left), net.conv(left)});
    const int right = net.convs(x, 2);
    const int wide = net.concat({net.conv(right), net.conv(right)});
    x = net.concat({first, split, wide, net.conv(net.light(x))});
  }
  return net.finish(net.light(net.conv(net.light(x))));
}

// Attention with its own projections; `pre`: normalisation before it (ViT) or after (BERT).
int transformer_block(Builder& net, int x, bool pre) {
  const int in = pre ? net.light(x) : x;
  const int query = net.light(net.conv(in));
  const int key = net.light(net.conv(in));
  const int value = net.light(net.conv(in));
  const int weights = net.light(net.layer({query, key}));
  int y = net.add(net.conv(net.light(net.layer({weights, value}))), x);
  if (!pre) y = net.light(y);
  const int inner = net.conv(net.light(net.conv(pre ? net.light(y) : y)));
  y = net.add(inner, y);
  return pre ? y : net.light(y);
}
Problem transformer(Builder net, bool pre) {
  int x = net.light(net.conv(net.input()));
  for (int i = 0; i < 12; ++i) x = transformer_block(net, x, pre);
  return net.finish(net.conv(net.light(x)));
}

Problem densenet121(Builder net) {
  int x = net.light(net.conv(net.input()));
  bool first = true;
  for (const int layers : {6, 12, 24, 16}) {
    if (!first) x = net.light(net.conv(net.light(x)));
    first = false;
    std::vector<int> block = {x};
    for (int l = 0; l < layers; ++l) {
      const int in = block.size() == 1 ? block[0] : net.concat(block);
      block.push_back(net.convs(net.light(in), 2));
    }
    x = net.concat(block);
  }
  return net.finish(net.conv(net.light(net.light(x))));
}

Problem unet(Builder net) {
  int x = net.input();
  std::vector<int> skips;
  for (int level = 0; level < 4; ++level) {
    skips.push_back(net.convs(x, 2));
    x = net.light(skips.back());
  }
  x = net.convs(x, 2);
  for (int level = 4; level-- > 0;)
    x = net.convs(net.concat({skips[static_cast<std::size_t>(level)], net.conv(x)}), 2);
  return net.finish(net.conv(x));
}

Problem unetpp(Builder net) {
  std::vector<std::vector<int>> rows(5);  // [level][column]
  int x = net.input();
  for (std::size_t level = 0; level < 5; ++level) {
    rows[level].push_back(net.convs(level == 0 ? x : net.light(rows[level - 1][0]), 2));
    x = rows[level][0];
  }
  for (std::size_t column = 1; column < 5; ++column)
    for (std::size_t level = 0; level + column < 5; ++level) {
      std::vector<int> inputs = rows[level];
      inputs.push_back(net.conv(rows[level + 1][column - 1]));
      rows[level].push_back(net.convs(net.concat(inputs), 2));
    }
  return net.finish(net.conv(rows[0][4]));
}

Problem chain(Builder net, int layers) {
  return net.finish(net.convs(net.input(), layers));
}

// Each layer reads one to three of the last `window` tensors.
Problem random_window(Builder net, int layers, int window) {
  std::vector<int> tensors = {net.input()};
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
    tensors.push_back(net.layer(inputs));
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
