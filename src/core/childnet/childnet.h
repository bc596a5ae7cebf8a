// Childnet: a routine that is itself a net (the paper's section III-D, figure 1): Winograd is
// wgenc → wgconv → wgdec, dense is reshape → conv2 → reshape. The layers inside have routines and
// parameters of their own, so that they can be measured and chosen one by one.
//
// To write one, derive from ChildnetRoutine, add the layers in build(), and register it like any
// routine. Everything else is done here: what depends on constants alone is computed in pack() and
// kept in the packed bytes; all that runs shares one workspace, planned at creation; views cost
// nothing; nothing is allocated while running.
//
// The routine parameter `inner` says what is chosen inside, innermost first:
//   {wgenc=cpu:float32:nhwc/direct;wgconv=cpu:float32:nhwc/gemm{block=8}}
// names layers, descriptors and, in braces, parameters (of a childnet: `inner` again). Layers that
// are not named take the routine of highest default rank with its default parameters.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/routine/registry.h"

namespace softneuro {

// How deep childnets may stand in childnets.
inline constexpr int kMaxChildnetDepth = 4;

// One layer of a childnet that is computed while running.
struct ChildnetLayer {
  std::size_t index = 0;             // in ExpandedChildnet::graph.layers()
  Problem problem;                   // in the formats that it has inside
  bool view = false;                 // its output is its input's bytes: no routine
  ImplementationPtr implementation;  // of `problem`; folded constants have no value yet
  RoutineParams params;
};

// A childnet for one problem: what a tuner measures and solves.
struct ExpandedChildnet {
  Graph graph;                             // topologically ordered
  std::vector<TensorSpec> specs;           // of the graph's tensors, as they are stored inside
  std::vector<std::int32_t> outer_inputs;  // per tensor: the outer input that it is, or −1
  std::vector<std::size_t> folded;         // layers computed in pack()
  std::vector<ChildnetLayer> layers;       // the others, in order
};

class SN_INTREE ChildnetRoutine : public Routine {
 public:
  using Routine::Routine;
  // Raise the version when packed bytes or results change.
  RoutineFacts facts() const override {
    return {.default_rank = 5, .version = 2, .is_childnet = true};
  }

 protected:
  friend class ChildnetImplementation;
  // Whether there is such a net at all; the layers inside are asked afterwards.
  virtual Applicability fits(const Problem& problem) const = 0;
  // Adds the layers, in topological order, and the outputs. `inputs`: tensors of the problem's
  // layer inputs, kNoTensor where left out. No post-ops: they join the layer that makes output 0,
  // or are a tail if that is a view.
  virtual Status build(const Problem& problem, const RoutineParams& params, Graph& graph,
                       const std::vector<TensorId>& inputs) const = 0;
  // The parameters outside: all but `inner`.
  virtual RoutineParams outer_params(const Problem&) const { return {}; }
  virtual std::vector<ParamAxis> outer_axes(const Problem&) const { return {}; }
  // Layout of the tensors inside that have three dimensions or more.
  virtual Layout inner_layout(const RoutineParams&) const { return descriptor().layout; }
  // Whether output 0 is made by a layer that may carry the problem's post-ops.
  virtual bool carries_post_ops() const { return false; }

 private:
  bool supports_post_ops(const Problem&) const final { return carries_post_ops(); }
  Applicability applicable(const Problem& problem) const final { return fits(problem); }
  Result<std::shared_ptr<Implementation>> make_implementation(
      ProblemPtr problem, const RoutineContext& context) const final;
};

class SN_INTREE ChildnetImplementation final
    : public Implementation,
      public std::enable_shared_from_this<ChildnetImplementation> {
 public:
  // The routine outlives it.
  ChildnetImplementation(ProblemPtr problem, const RoutineContext& context,
                         const ChildnetRoutine& childnet)
      : Implementation(std::move(problem), context), childnet_(childnet) {}

  // unsupported, or invalid_argument for a malformed `inner`, if nothing can run inside. What was
  // asked for last is kept.
  Result<std::shared_ptr<const ExpandedChildnet>> expand(const RoutineParams& params) const;
  // The outer parameters with the inside left open (`inner` is empty): one net for each.
  ParamSpace outer_space() const;

  const ChildnetImplementation* as_childnet() const override { return this; }
  Applicability applicable() const override;
  RoutineParams default_params() const override;
  // One layer at a time is given another routine, for tests; a tuner names whole paths instead, and
  // check_params() takes them.
  ParamSpace param_space() const override;
  // Whether `params` can be taken: outer ones of outer_space(), and any path inside that can run.
  Applicability check_params(const RoutineParams& params) const override;
  Result<Packing> packing(const RoutineParams& params) const override;
  Status pack(const RoutineParams& params, Allocator& scratch, std::byte* packed) const override;

 protected:
  Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams& params,
                                                const PackedWeights& packed) const override;

 private:
  Result<ExpandedChildnet> expand_anew(const RoutineParams& params) const;

  const ChildnetRoutine& childnet_;
  mutable std::mutex mutex_;
  mutable RoutineParams last_params_;
  mutable std::shared_ptr<const ExpandedChildnet> last_;
};

}  // namespace softneuro
