#include "cpu/post_ops/qint8_post_ops.h"

#include "core/base/parallel.h"
#include "core/routine/format.h"
#include "cpu/simd/span_ops.h"
#include "cpu/tensor/broadcast_walk.h"

namespace softneuro {
namespace {

constexpr std::int64_t kGrain = 16384;  // bytes

// What moves bytes, then tables on the outputs.
class RequantizedMove final : public Kernel {
 public:
  RequantizedMove(std::unique_ptr<Kernel> base, std::vector<Qint8Table> tables)
      : base_(std::move(base)), tables_(std::move(tables)) {}
  std::size_t workspace_bytes() const noexcept override { return base_->workspace_bytes(); }
  int in_place_input() const noexcept override { return base_->in_place_input(); }
  Result<std::unique_ptr<KernelState>> make_state() const override { return base_->make_state(); }

  Status run(Context& context) const noexcept override {
    if (Status status = base_->run(context); !status.ok()) return status;
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      if (!context.has_output(i)) continue;
      const TensorView& y = context.output(i);
      if (!is_identity(tables_[i]))
        map_bytes(context.pool(), tables_[i], y.data, y.data, stored_elements(y.shape, y.layout));
    }
    return {};
  }

 private:
  std::unique_ptr<Kernel> base_;
  std::vector<Qint8Table> tables_;  // one for each output
};

}  // namespace

Applicability supports_qint8_post_ops(const Problem& problem) {
  for (const PostOp& op : problem.post_ops)
    if (op.kind != PostOp::Kind::unary || !is_span_op(op.unary))
      return Applicability::no("post-op " + op.str() + " is not a unary floating-point function");
  return Applicability::yes();
}

Applicability supports_qint8_bounds(const Problem& problem) {
  for (const PostOp& op : problem.post_ops)
    if (op.kind != PostOp::Kind::unary || (op.unary != UnaryOp::relu && op.unary != UnaryOp::clip))
      return Applicability::no("post-op " + op.str() +
                               " needs values outside the output's quantised range (only relu and "
                               "clip can be applied after quantisation)");
  return Applicability::yes();
}

float apply_unary_post_ops(const Problem& problem, float value) noexcept {
  for (const PostOp& op : problem.post_ops)
    value = static_cast<float>(apply(op.unary, static_cast<double>(value),
                                     static_cast<double>(op.alpha), static_cast<double>(op.beta)));
  return value;
}

Applicability check_qint8(const Problem& problem) {
  const auto check = [](const TensorSpec& spec, const char* what, std::size_t i) -> std::string {
    if (!spec.present() || spec.constant || !is_real(spec.type)) return {};
    if (spec.type != DataType::qint8) return fmt::format("{} {} is not qint8", what, i);
    if (!spec.quantization) return fmt::format("{} {} has no quantisation", what, i);
    if (!is_per_tensor(*spec.quantization))
      return fmt::format("{} {} has a scale for each channel", what, i);
    return {};
  };
  for (std::size_t i = 0; i < problem.layer_inputs; ++i)
    if (auto reason = check(problem.inputs[i], "input", i); !reason.empty())
      return Applicability::no(std::move(reason));
  for (std::size_t i = 0; i < problem.outputs.size(); ++i)
    if (auto reason = check(problem.outputs[i], "output", i); !reason.empty())
      return Applicability::no(std::move(reason));
  return supports_qint8_post_ops(problem);
}

Qint8Table make_output_table(const Problem& problem, std::size_t input, std::size_t output) {
  return make_qint8_table(*problem.inputs[input].quantization,
                          *problem.outputs[output].quantization,
                          [&](float x) { return apply_unary_post_ops(problem, x); });
}

bool is_identity(const Qint8Table& table) noexcept {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i] != i) return false;
  return true;
}

void map_bytes(ThreadPool& pool, const Qint8Table& table, const void* from, void* to,
               std::int64_t count) noexcept {
  parallel_ranges(pool, count, kGrain, [&](std::int64_t first, std::int64_t last) {
    qint8_rows().map(table, static_cast<const std::uint8_t*>(from) + first,
                     static_cast<std::uint8_t*>(to) + first, last - first);
  });
}

std::unique_ptr<Kernel> make_requantized_move(std::unique_ptr<Kernel> base,
                                              const Problem& problem) {
  std::vector<Qint8Table> tables;
  bool all_same = true;
  for (std::size_t i = 0; i < problem.outputs.size(); ++i) {
    Qint8Table table{};
    if (problem.outputs[i].present()) {
      table = make_output_table(problem, 0, i);
      all_same = all_same && is_identity(table);
    }
    tables.push_back(table);
  }
  if (all_same) return base;
  return std::make_unique<RequantizedMove>(std::move(base), std::move(tables));
}

std::unique_ptr<Kernel> make_qint8_post_ops(std::unique_ptr<Kernel> base, const Problem& problem) {
  if (problem.post_ops.empty()) return base;
  const Quantization& q = *problem.outputs[0].quantization;
  std::vector<Qint8Table> tables = {
      make_qint8_table(q, q, [&](float x) { return apply_unary_post_ops(problem, x); })};
  return std::make_unique<RequantizedMove>(std::move(base), std::move(tables));
}

}  // namespace softneuro
