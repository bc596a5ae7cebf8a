// A net as a picture: the DOT language, and SVG through Graphviz.
#pragma once

#include <string>
#include <unordered_map>

#include "core/graph/graph.h"
#include "core/plan/plan_impl.h"

namespace softneuro::tool {

// How a layer is computed, as far as the picture shows it.
struct LayerNote {
  std::string routine;      // descriptor
  std::string params;       // of the routine; empty: none
  std::string description;  // further line; empty: none
  double us = 0;            // 0: not known
};

struct DrawingNotes {
  std::unordered_map<LayerId, LayerNote> layers;      // a layer without one does no work: pale
  std::unordered_map<TensorId, std::string> tensors;  // on their arrows, instead of the shape
  std::string title;                                  // one line above the picture

  bool empty() const { return layers.empty(); }
};

// What a plan says of its own graph: routines, parameters, shapes and formats; times as far as its
// choices have them.
DrawingNotes notes_of(const PlanImpl& plan);

// Layers as boxes, tensors as arrows labelled with their shapes. Weights are left out; their sizes
// stand in the boxes. Without notes colours stand for kinds of layers; with notes for schemas. A
// legend lists them with their layers and times; thick borders are the layers that take longest;
// adapt layers are small and dashed.
std::string to_dot(const Graph& graph, const DrawingNotes& notes = {});

// Runs Graphviz' `dot` on it. not_found, with advice, if that is not installed.
Status write_svg(const std::string& dot, const std::string& path);
Status write_text(const std::string& text, const std::string& path);

}  // namespace softneuro::tool
