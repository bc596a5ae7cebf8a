// A net as a picture: the DOT language, and SVG through Graphviz.
#pragma once

#include <string>

#include "core/graph.h"

namespace softneuro::tool {

// Layers as boxes coloured by kind, tensors as arrows labelled with their shapes. Weights are
// left out; their sizes stand in the boxes.
std::string to_dot(const Graph& graph);

// Runs Graphviz' `dot` on it. not_found, with advice, if that is not installed.
Status write_svg(const std::string& dot, const std::string& path);
Status write_text(const std::string& text, const std::string& path);

}  // namespace softneuro::tool
