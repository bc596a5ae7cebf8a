// Pass: one named change of a graph that keeps what it computes (up to the rounding of floats).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/routine/registry.h"

namespace softneuro {

struct PassContext;

// In the order of the rows of pass_list.cpp.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct Pass {
  const char* name = nullptr;
  int version = 0;            // raised whenever the resulting graph may change
  const char* doc = nullptr;  // one line
  // Takes a sorted graph with inferred shapes that passes verify(), and leaves such a graph.
  Status (*run)(Graph& graph, PassContext& context) = nullptr;
  // Waits for a round in which no pass before it finds anything.
  bool when_settled = false;
};

struct PassOptions {
  std::vector<std::string> disabled;  // names of passes to leave out; "all" leaves out every one
  Allocator* allocator = nullptr;     // for new constants; null: default_allocator()
  // Looked at between passes and folded layers; once true: the status cancelled. May be null.
  const std::atomic<bool>* cancel = nullptr;
  std::vector<Pass> added;  // further ones, which run behind the others
  // Called after each run of a pass that found something. May be null.
  std::function<void(const Pass&, const Graph&)> on_change = {};
};

struct PassContext {
  const Registry& registry;
  const PassOptions& options;
  std::int64_t changes = 0;  // how often the pass found something; passes add to it

  // Null where this build has no such layer type; a pass then leaves its pattern alone.
  const LayerType* type(std::string_view name) const { return registry.layer_types().find(name); }
  Allocator& allocator() const {
    return options.allocator == nullptr ? default_allocator() : *options.allocator;
  }
};

// All passes, in the order in which they run.
SN_INTREE std::span<const Pass> all_passes();

// What one pass did, all rounds together.
struct PassReport {
  std::string name;
  std::int64_t microseconds = 0;
  std::int64_t changes = 0;
  std::size_t layers_before = 0;  // at the pass's first run
  std::size_t layers_after = 0;   // after its last
};

// Sorts the graph, infers shapes, and runs the passes in rounds until none finds anything. Notes
// them in graph.applied_passes. invalid_argument names an unknown pass in `disabled`; after any
// error the graph is in an undefined state. `reports` may be null.
SN_INTREE Status run_passes(Graph& graph, const Registry& registry, const PassOptions& options = {},
                            std::vector<PassReport>* reports = nullptr);

}  // namespace softneuro
