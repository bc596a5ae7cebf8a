// The graph part of a .dnn file → Graph. Checks what must hold to make a Graph at all;
// Graph::verify checks the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/dnn/file.h"
#include "core/graph/graph.h"
#include "core/graph/layer_type.h"
#include "core/routine/routine_path.h"
#include "schemas/softneuro_generated.h"

namespace softneuro {

// One use: graph() once, whose result is not verified yet. Everything that it is given must have
// passed the FlatBuffers verifier.
class DnnDecoder {
 public:
  // `segments` and `types` must outlive this object; constants of the result keep `owner`.
  // `graph_bytes` is the size of the graph part.
  DnnDecoder(const LayerTypes& types, std::span<const std::span<const std::byte>> segments,
             std::shared_ptr<const void> owner, std::uint64_t graph_bytes)
      : types_(types), segments_(segments), owner_(std::move(owner)), budget_(graph_bytes) {}

  Result<Graph> graph(const schema::Graph& source) { return graph(source, 0); }
  // The tuned paths of `graph`, which comes from the same file. Adds those that
  // can be read to `paths`, and to `unread` a line for each one that names layers or tensors that
  // do not exist, or that cannot be read.
  Status paths(const schema::File& source, const Graph& graph, std::vector<RoutinePath>& paths,
               std::vector<std::string>& unread);
  // The packed weights: opaque bytes, interpreted by the routine that the key names.
  Result<PackedByKey> packed(const schema::File& source);

 private:
  using Texts = flatbuffers::Vector<flatbuffers::Offset<schema::Text>>;

  Status charge(std::uint64_t bytes);
  Result<std::string> text(const flatbuffers::String* source);
  Result<std::vector<std::string>> texts(const Texts* source);
  template <class T>
  Result<std::vector<T>> numbers(const flatbuffers::Vector<T>* source);
  template <class T>
  Status count(const flatbuffers::Vector<T>* source);

  Result<Graph> graph(const schema::Graph& source, int nesting);
  Status tensors(const schema::Graph& source, Graph& graph);
  Result<TensorDef> tensor(const schema::Tensor& source);
  Result<DynamicShape> shape(const schema::Tensor& source);
  Result<Tensor> constant(std::uint32_t segment, DataType type, const DynamicShape& shape);
  static Result<Tensor> left_out(DataType type, const DynamicShape& shape);
  Result<Quantization> quantization(const schema::Quantization& source);
  Status layer(const schema::Layer& source, int nesting, Layer& layer);
  Status params(const flatbuffers::Vector<flatbuffers::Offset<schema::Param>>* source,
                Params& params);
  Result<ParamValue> param_value(const schema::Param& source);
  Result<PostOp> post_op(const schema::PostOp& source);
  Status path(const schema::TunedPath& source, const Graph& graph, RoutinePath& path);
  Status path_shapes(const schema::TunedPath& source, RoutinePath& path);
  Result<Choice> choice(const schema::TunedLayer& source, const Layer& layer);
  Result<AdaptChoice> adapt(const schema::TunedAdapt& source, const Graph& graph);

  const LayerTypes& types_;
  std::span<const std::span<const std::byte>> segments_;
  std::shared_ptr<const void> owner_;
  // Bytes of the graph part that were not read yet. A file that refers to one piece many times
  // would need far more memory than its size; the writer never does that.
  std::uint64_t budget_;
};

}  // namespace softneuro
