#include "plugins/cuda/convolution/cudnn_plan.h"

#include <algorithm>

#include "core/base/error.h"

namespace softneuro::cuda {

Status CudnnConvolution::add_ways(const ConvolutionSpec& spec, const Precision& precision) {
  Result<CudnnGraph> graph = CudnnGraph::create(card_, spec);
  if (graph.status().code() == StatusCode::unsupported) return {};
  SN_RETURN_IF_ERROR(graph.status());
  SN_ASSIGN_OR_RETURN(std::vector<CudnnEngine> engines, find_engines(card_, *graph, precision));
  graphs_.push_back(std::move(*graph));
  for (CudnnEngine& engine : engines) {
    names_.push_back((spec.steps.empty() ? "" : "fused_") + engine.name);
    ways_.push_back({std::move(engine), spec.steps.size(), nullptr, {}});
  }
  return {};
}

Result<std::shared_ptr<CudnnConvolution>> CudnnConvolution::create(const CudnnCard& card,
                                                                   const ConvolutionSpec& spec,
                                                                   const Precision& precision) {
  std::shared_ptr<CudnnConvolution> made(new CudnnConvolution(card));
  SN_RETURN_IF_ERROR(made->add_ways(spec, precision));
  if (!spec.steps.empty()) {
    ConvolutionSpec alone = spec;
    alone.steps.clear();
    SN_RETURN_IF_ERROR(made->add_ways(alone, precision));
  }
  if (made->names_.empty())
    return unsupported("cuDNN has no engine that computes this in {}", to_string(precision));
  return made;
}

Result<std::shared_ptr<const CudnnPlan>> CudnnConvolution::make(Way& way) {
  SN_ASSIGN_OR_RETURN(CudnnDescriptor plan, make_plan(card_, way.engine));
  std::int64_t bytes = 0;
  SN_RETURN_IF_ERROR(
      plan.read(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &bytes).status());
  if (bytes > kMostCudnnWorkspaceBytes)
    return unsupported("cuDNN's engine {} wants {} bytes of workspace, more than {}",
                       way.engine.name, bytes, kMostCudnnWorkspaceBytes);
  return std::shared_ptr<const CudnnPlan>(std::make_shared<CudnnPlan>(
      CudnnPlan{std::move(plan), way.steps, static_cast<std::size_t>(bytes)}));
}

Result<std::shared_ptr<const CudnnPlan>> CudnnConvolution::plan(std::string_view name) {
  const auto found = std::ranges::find(names_, name);
  if (found == names_.end()) return unsupported("cuDNN has no engine {} for this", name);
  const std::lock_guard<std::mutex> lock(mutex_);
  Way& way = ways_[static_cast<std::size_t>(found - names_.begin())];
  if (way.plan != nullptr) return way.plan;
  SN_RETURN_IF_ERROR(way.problem);
  Result<std::shared_ptr<const CudnnPlan>> made = make(way);
  if (made.ok())
    way.plan = *made;
  else if (made.status().code() == StatusCode::unsupported)
    way.problem = made.status();
  return made;
}

// An engine that fails to compile for another reason than that it refuses is no better.
Result<std::shared_ptr<const CudnnPlan>> CudnnConvolution::default_plan() {
  Status first;
  for (const std::string& name : names_) {
    auto made = plan(name);
    if (made.ok() || made.status().code() == StatusCode::out_of_memory) return made;
    if (first.ok()) first = made.status();
  }
  return first;
}

Result<CudnnGpu*> CudnnGpu::find(Gpu& gpu, const Cudnn& cudnn) {
  static std::mutex mutex;
  static auto& known = *new std::map<std::pair<Gpu*, const Cudnn*>, CudnnGpu*>;  // never destroyed
  SN_ASSIGN_OR_RETURN(const CUcontext context, gpu.context());
  const std::lock_guard<std::mutex> lock(mutex);
  CudnnGpu*& found = known[{&gpu, &cudnn}];
  if (found != nullptr) return found;
  const CurrentContext current(gpu.driver(), context);
  SN_RETURN_IF_ERROR(current.status());
  auto made = std::unique_ptr<CudnnGpu, void (*)(CudnnGpu*)>(
      new CudnnGpu(gpu, cudnn), [](CudnnGpu* unfinished) { delete unfinished; });
  SN_RETURN_IF_ERROR(cudnn.check(cudnn.cudnnCreate(&made->handle_), "cudnnCreate"));
  return found = made.release();
}

Result<std::shared_ptr<CudnnConvolution>> CudnnGpu::convolution(const ConvolutionSpec& spec,
                                                                const Precision& precision) {
  SN_ASSIGN_OR_RETURN(const CUcontext context, gpu_.context());
  const CurrentContext current(gpu_.driver(), context);
  SN_RETURN_IF_ERROR(current.status());
  const std::string key = fmt::format("{} {}", to_string(precision), spec.str());
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [entry, is_new] = known_.try_emplace(key);
  Known& known = entry->second;
  if (is_new) {
    const CudnnCard card = {&cudnn_, handle_, nullptr};
    auto made = CudnnConvolution::create(card, spec, precision);
    known.problem = made.status();
    if (made.ok()) known.convolution = std::move(*made);
  }
  SN_RETURN_IF_ERROR(known.problem);
  return known.convolution;
}

Status CudnnGpu::execute(const CudnnPlan& plan, CudaStream& stream,
                         std::span<const std::int64_t> ids, std::span<const void* const> places,
                         void* workspace) noexcept {
  const CurrentContext current(gpu_.driver(), stream.context());
  SN_RETURN_IF_ERROR(current.status());
  CudnnDescriptor tensors(cudnn_, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  tensors
      .set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64,
           static_cast<std::int64_t>(ids.size()), ids.data())
      .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
           static_cast<std::int64_t>(places.size()), places.data())
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  SN_RETURN_IF_ERROR(tensors.finalize());
  const std::lock_guard<std::mutex> lock(execution_);
  SN_RETURN_IF_ERROR(
      cudnn_.check(cudnn_.cudnnSetStream(handle_, stream.handle()), "cudnnSetStream"));
  return cudnn_.check(cudnn_.cudnnBackendExecute(handle_, plan.plan.get(), tensors.get()),
                      "cudnnBackendExecute");
}

}  // namespace softneuro::cuda
