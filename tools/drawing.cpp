#include "drawing.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/layer_type.h"

extern char** environ;

namespace softneuro::tool {
namespace {

// Text inside a quoted DOT string.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

struct Kind {
  const char* prefix;
  const char* colour;
};
// The first prefix that fits the layer type's name.
constexpr Kind kKinds[] = {
    {"conv", "#9ecae1"},       {"dense", "#9ecae1"},         {"matmul", "#9ecae1"},
    {"max_pool", "#c7e9c0"},   {"avg_pool", "#c7e9c0"},      {"lp_pool", "#c7e9c0"},
    {"reduce", "#c7e9c0"},     {"softmax", "#fdd0a2"},       {"unary", "#fdd0a2"},
    {"binary", "#fdd0a2"},     {"clip", "#fdd0a2"},          {"batch_norm", "#dadaeb"},
    {"layer_norm", "#dadaeb"}, {"instance_norm", "#dadaeb"}, {"group_norm", "#dadaeb"},
    {"rms_norm", "#dadaeb"},   {"lstm", "#fbb4b9"},          {"gru", "#fbb4b9"},
    {"rnn", "#fbb4b9"},        {"quantize", "#ffffb3"},      {"dequantize", "#ffffb3"},
    {"", "#eeeeee"},
};

const char* colour_of(const std::string& type) {
  for (const Kind& kind : kKinds)
    if (type.starts_with(kind.prefix)) return kind.colour;
  return "#eeeeee";
}

std::string label_of(const Graph& graph, const Layer& layer) {
  std::string label = layer.type->name;
  if (layer.params.has("op")) label += std::string(" ") + std::string(layer.params.text("op"));
  for (const PostOp& op : layer.post_ops) label += " + " + op.str();
  label += '\n' + layer.name;
  std::size_t weights = 0;
  for (const TensorId id : layer.inputs)
    if (id != kNoTensor && graph.tensor(id).is_constant())
      weights += graph.tensor(id).constant.bytes();
  if (weights > 0)
    label += fmt::format("\n{:.1f} kB of weights", static_cast<double>(weights) * 1e-3);
  return label;
}

}  // namespace

std::string to_dot(const Graph& graph) {
  std::string dot =
      "digraph net {\n  node [shape=box style=\"filled,rounded\" fontname=\"Helvetica\" "
      "fontsize=10];\n  edge [fontname=\"Helvetica\" fontsize=9];\n";
  const std::vector<std::int32_t> producers = graph.producers();
  const auto edge_from = [&](TensorId id) {
    return producers[id] >= 0 ? fmt::format("l{}", producers[id]) : fmt::format("t{}", id);
  };
  for (const TensorId id : graph.inputs)
    dot += fmt::format("  t{} [label={} shape=ellipse fillcolor=\"#ffffff\"];\n", id,
                       quoted(graph.tensor(id).name + '\n' + graph.tensor(id).shape.str()));
  for (std::size_t i = 0; i < graph.layers().size(); ++i) {
    const Layer& layer = graph.layers()[i];
    dot += fmt::format("  l{} [label={} fillcolor=\"{}\"];\n", i, quoted(label_of(graph, layer)),
                       colour_of(layer.type->name));
    for (const TensorId id : layer.inputs) {
      if (id == kNoTensor || graph.tensor(id).is_constant()) continue;
      dot += fmt::format("  {} -> l{} [label={}];\n", edge_from(id), i,
                         quoted(graph.tensor(id).shape.str()));
    }
  }
  for (std::size_t o = 0; o < graph.outputs.size(); ++o) {
    const TensorDef& def = graph.tensor(graph.outputs[o]);
    dot += fmt::format("  o{} [label={} shape=ellipse fillcolor=\"#ffffff\"];\n  {} -> o{};\n", o,
                       quoted(def.name + '\n' + def.shape.str()), edge_from(graph.outputs[o]), o);
  }
  return dot + "}\n";
}

Status write_text(const std::string& text, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) return Status(StatusCode::io_error, fmt::format("cannot write {}", path));
  return {};
}

Status write_svg(const std::string& dot, const std::string& path) {
  const std::string source = path + ".dot";
  if (Status status = write_text(dot, source); !status.ok()) return status;
  std::string program = "dot", format = "-Tsvg", flag = "-o", from = source, to = path;
  char* const arguments[] = {program.data(), format.data(), flag.data(),
                             to.data(),      from.data(),   nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, "dot", nullptr, nullptr, arguments, environ);
  int state = 0;
  if (error == 0) waitpid(child, &state, 0);
  std::error_code ignored;
  std::filesystem::remove(source, ignored);
  if (error != 0)
    return Status(StatusCode::not_found,
                  fmt::format("cannot start Graphviz' dot ({}): install graphviz, or use --dot",
                              std::strerror(error)));
  if (!WIFEXITED(state) || WEXITSTATUS(state) != 0)
    return Status(StatusCode::io_error, fmt::format("Graphviz' dot could not draw {}", path));
  return {};
}

}  // namespace softneuro::tool
