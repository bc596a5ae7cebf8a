#include "drawing.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "core/base/printable.h"
#include "core/graph/layer_type.h"
#include "core/routine/routine.h"
#include "output.h"

extern char** environ;

namespace softneuro::tool {
namespace {

// A label of some lines as a quoted DOT string. Names may hold anything: Graphviz reads backslashes
// and entities, and the SVG must stay XML.
std::string quoted(const std::string& label) {
  std::string out = "\"";
  for (std::size_t begin = 0; begin <= label.size();) {
    const std::size_t end = std::min(label.find('\n', begin), label.size());
    for (const char c : printable_text(label.substr(begin, end - begin))) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
      if (c == '&') out += "amp;";
    }
    if (end < label.size()) out += '\n';
    begin = end + 1;
  }
  return out + '"';
}

const char* colour_of(LayerCategory category) {
  switch (category) {
    case LayerCategory::product:
      return "#9ecae1";
    case LayerCategory::reduction:
      return "#c7e9c0";
    case LayerCategory::activation:
      return "#fdd0a2";
    case LayerCategory::normalization:
      return "#dadaeb";
    case LayerCategory::recurrent:
      return "#fbb4b9";
    case LayerCategory::quantization:
      return "#ffffb3";
    case LayerCategory::other:
      break;
  }
  return "#eeeeee";
}

const char* name_of(LayerCategory category) {
  switch (category) {
    case LayerCategory::product:
      return "products";
    case LayerCategory::reduction:
      return "reductions and pools";
    case LayerCategory::activation:
      return "functions";
    case LayerCategory::normalization:
      return "normalisation";
    case LayerCategory::recurrent:
      return "recurrent";
    case LayerCategory::quantization:
      return "quantisation";
    case LayerCategory::other:
      break;
  }
  return "others";
}

// Hue by data type, depth by layout: what differs most to a reader differs most to the eye.
const char* colour_of(const RoutineDescriptor& routine) {
  const int depth = routine.layout == Layout::plain           ? 0
                    : routine.layout == Layout::channels_last ? 1
                                                              : 2;
  switch (routine.type) {
    case DataType::float32: {
      constexpr const char* kBlues[] = {"#deebf7", "#9ecae1", "#6baed6"};
      return kBlues[depth];
    }
    case DataType::float16: {
      constexpr const char* kOranges[] = {"#feedde", "#fdbe85", "#fd8d3c"};
      return kOranges[depth];
    }
    case DataType::bfloat16: {
      constexpr const char* kPurples[] = {"#f2f0f7", "#cbc9e2", "#9e9ac8"};
      return kPurples[depth];
    }
    case DataType::qint8: {
      constexpr const char* kGreens[] = {"#e5f5e0", "#a1d99b", "#74c476"};
      return kGreens[depth];
    }
    default:
      return "#eeeeee";
  }
}

constexpr const char* kAdaptColour = "#fff3b0";

bool is_adapt(const Layer& layer) {
  return layer.type->is_adapt();
}

std::string time_of(double us) {
  return us >= 1000 ? fmt::format("{:.2f} ms", us * 1e-3) : fmt::format("{:.1f} µs", us);
}

std::string weights_of(const Graph& graph, const Layer& layer) {
  std::size_t weights = 0;
  for (const TensorId id : layer.inputs)
    if (id != kNoTensor && graph.tensor(id).is_constant())
      weights += graph.tensor(id).constant.bytes();
  return weights > 0 ? fmt::format("\n{:.1f} KiB of weights", kibibytes(weights)) : "";
}

std::string label_of(const Graph& graph, const Layer& layer, const LayerNote* note) {
  std::string label = layer.type->name;
  if (layer.params.has("op")) label += std::string(" ") + std::string(layer.params.text("op"));
  for (const PostOp& op : layer.post_ops) label += " + " + op.str();
  if (note == nullptr || !is_adapt(layer)) label += '\n' + layer.name + weights_of(graph, layer);
  if (note == nullptr) return label;
  label += '\n' + note->routine;
  if (!note->params.empty()) label += " (" + note->params + ')';
  if (!note->description.empty()) label += '\n' + note->description;
  if (note->us > 0) label += '\n' + time_of(note->us);
  return label;
}

// The attributes of a layer's box. `slowest`: the longest time of any layer.
std::string look_of(const Layer& layer, const LayerNote* note, const DrawingNotes& notes,
                    double slowest) {
  if (notes.empty()) return fmt::format("fillcolor=\"{}\"", colour_of(layer.type->category));
  if (note == nullptr) return "fillcolor=\"#ffffff\" color=\"#aaaaaa\" fontcolor=\"#888888\"";
  if (is_adapt(layer))
    return fmt::format("fillcolor=\"{}\" style=\"filled,dashed\" fontsize=8 margin=\"0.06,0.02\"",
                       kAdaptColour);
  const auto routine = RoutineDescriptor::parse(note->routine);
  const double weight = slowest > 0 ? note->us / slowest : 0;
  return fmt::format("fillcolor=\"{}\" penwidth={:.1f}",
                     routine.ok() ? colour_of(*routine) : "#eeeeee", 1 + 4 * weight);
}

// What the legend says of a layer's colour.
std::pair<std::string, const char*> meaning_of(const Layer& layer, const LayerNote* note) {
  if (note == nullptr) return {name_of(layer.type->category), colour_of(layer.type->category)};
  if (is_adapt(layer)) return {"adapt", kAdaptColour};
  const auto routine = RoutineDescriptor::parse(note->routine);
  if (!routine.ok()) return {"other", "#eeeeee"};
  return {routine->schema(), colour_of(*routine)};
}

// Layers by colour, and with notes their time, as a table in a node of its own.
std::string legend(const Graph& graph, const DrawingNotes& notes) {
  struct Row {
    const char* colour = "";
    std::size_t layers = 0;
    double us = 0;
  };
  std::map<std::string, Row> rows;
  for (const Layer& layer : graph.layers()) {
    const auto found = notes.layers.find(layer.id);
    const LayerNote* const note = found == notes.layers.end() ? nullptr : &found->second;
    if (note == nullptr && !notes.empty()) continue;  // pale
    const auto [name, colour] = meaning_of(layer, note);
    Row& row = rows[name];
    row.colour = colour;
    ++row.layers;
    if (note != nullptr) row.us += note->us;
  }
  if (rows.empty()) return "";
  std::string table = "<table border=\"0\" cellborder=\"1\" cellspacing=\"0\" cellpadding=\"4\">";
  for (const auto& [name, row] : rows)
    table += fmt::format(
        "<tr><td align=\"left\" bgcolor=\"{}\">{}</td><td align=\"right\">{} layer{}</td>"
        "<td align=\"right\">{}</td></tr>",
        row.colour, name, row.layers, row.layers == 1 ? "" : "s",
        row.us > 0 ? time_of(row.us) : "");
  return "  legend [shape=plain style=\"\" label=<" + table + "</table>>];\n";
}

double longest(const DrawingNotes& notes) {
  double us = 0;
  for (const auto& [layer, note] : notes.layers) us = std::max(us, note.us);
  return us;
}

}  // namespace

DrawingNotes notes_of(const PlanImpl& plan) {
  DrawingNotes notes;
  for (const Step& step : plan.steps) {
    LayerNote note;
    note.routine = step.routine_name;
    note.params = step.params.str();
    if (const auto choice = plan.choices.find(step.layer->id); choice != plan.choices.end())
      note.us = choice->second.time_us;
    notes.layers.emplace(step.layer->id, std::move(note));
  }
  for (TensorId id = 0; id < plan.tensors.size(); ++id) {
    const PlannedTensor& planned = plan.tensors[id];
    if (planned.storage == Storage::none) continue;
    const std::string shape =
        planned.storage == Storage::data_dependent ? "?" : planned.shape.str();
    notes.tensors[id] = shape + '\n' + planned.format.str();
  }
  return notes;
}

std::string to_dot(const Graph& graph, const DrawingNotes& notes) {
  std::string dot =
      "digraph net {\n  node [shape=box style=\"filled,rounded\" fontname=\"Helvetica\" "
      "fontsize=10];\n  edge [fontname=\"Helvetica\" fontsize=9];\n";
  if (!notes.title.empty())
    dot += fmt::format("  labelloc=t; fontname=\"Helvetica\"; label={};\n", quoted(notes.title));
  dot += legend(graph, notes);
  const double slowest = longest(notes);
  const std::vector<std::int32_t> producers = graph.producers();
  const auto edge_from = [&](TensorId id) {
    return producers[id] >= 0 ? fmt::format("l{}", producers[id]) : fmt::format("t{}", id);
  };
  const auto tensor_label = [&](TensorId id) {
    const auto noted = notes.tensors.find(id);
    return noted == notes.tensors.end() ? graph.tensor(id).shape.str() : noted->second;
  };
  for (const TensorId id : graph.inputs)
    dot += fmt::format("  t{} [label={} shape=ellipse fillcolor=\"#ffffff\"];\n", id,
                       quoted(graph.tensor(id).name + '\n' + graph.tensor(id).shape.str()));
  for (std::size_t i = 0; i < graph.layers().size(); ++i) {
    const Layer& layer = graph.layers()[i];
    const auto found = notes.layers.find(layer.id);
    const LayerNote* note = found == notes.layers.end() ? nullptr : &found->second;
    dot += fmt::format("  l{} [label={} {}];\n", i, quoted(label_of(graph, layer, note)),
                       look_of(layer, note, notes, slowest));
    for (const TensorId id : layer.inputs) {
      if (id == kNoTensor || graph.tensor(id).is_constant()) continue;
      dot += fmt::format("  {} -> l{} [label={}];\n", edge_from(id), i, quoted(tensor_label(id)));
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
  if (!file)
    return Status(StatusCode::io_error,
                  fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
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
    return Status(StatusCode::io_error,
                  fmt::format("Graphviz' dot could not draw '{}': it says why above", path));
  return {};
}

}  // namespace softneuro::tool
