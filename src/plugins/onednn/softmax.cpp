// softmax cpu/onednn and cpu:float32:nhwc/onednn, along the last axis in memory.
#include "core/base/error.h"
#include "core/routine/registry.h"
#include "plugins/onednn/plain_layer.h"
#include "plugins/onednn/routines.h"

namespace softneuro::onednn {
namespace {

Applicability applicable(const Problem& problem) {
  if (Applicability types = takes_float32(problem); !types) return types;
  const auto columns = columns_along_axis(problem);
  if (!columns.ok()) return Applicability::no(columns.status().message());
  return Applicability::yes();
}

std::vector<PlainPart> parts(const Problem& problem, int threads) {
  const std::int64_t columns = *columns_along_axis(problem);
  const std::int64_t elements = problem.inputs[0].shape.elements();
  const auto algorithm = problem.params.integer("log") != 0 ? dnnl::algorithm::softmax_log
                                                            : dnnl::algorithm::softmax_accurate;
  std::vector<PlainPart> parts;
  for_chunks(elements / columns, chunk_count(threads, elements), 1,
             [&](std::int64_t first, std::int64_t last) {
               const std::int64_t rows = last - first, at = first * columns;
               const auto desc = matrix_desc(rows, columns);
               PlainPart& part = parts.emplace_back(plain_part(
                   Operation::of<SoftmaxForward>(dnnl::prop_kind::forward_inference, algorithm,
                                                 desc, desc, 1),
                   {input_argument(DNNL_ARG_SRC, 0, at, desc), output_argument(at, desc)}, at,
                   rows * columns));
               part.chunk.repair = [=](float* y) { spread_nan(y, rows, columns); };
             });
  return parts;
}

}  // namespace

Status register_softmax(Registry& registry) {
  return add_plain_routines(registry,
                            {.layer_type = "softmax",
                             .applicable = applicable,
                             .parts = parts,
                             .in_place_input = [](const Problem&) { return 0; }},
                            {"cpu/onednn", "cpu:float32:nhwc/onednn"});
}

}  // namespace softneuro::onednn
