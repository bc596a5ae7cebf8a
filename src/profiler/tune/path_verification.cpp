#include "profiler/tune/path_verification.h"

#include <algorithm>
#include <cmath>

#include "core/base/checksum.h"
#include "core/base/error.h"
#include "core/graph/graph_key.h"
#include "profiler/cache/loaded_code.h"
#include "verify/verification.h"

namespace softneuro {
namespace {

// What the outputs of `path`, and those that they are compared with, depend on, and the bits of one
// run's; none if that is not known or nothing is compared.
std::optional<RowKey> key_of(const TuneContext& context, const RoutinePath& path,
                             std::span<const Tensor> outputs) {
  const TuneJob& job = context.job;
  const std::uint64_t code = loaded_code();
  if (context.options.cache.disabled || context.is_time_limited() || code == 0 ||
      job.verification_inputs.empty())
    return std::nullopt;
  std::string text;
  for (const std::vector<Tensor>& set : job.verification_inputs)
    for (const Tensor& tensor : set)
      text += fmt::format("{:x} ", checksum(tensor.data(), tensor.bytes()));
  for (const AdaptChoice& adapt : path.adapts)
    text += fmt::format("{} {} {} {} {} ", adapt.tensor, adapt.from.str(), adapt.to.str(),
                        adapt.routine, adapt.params.str());
  text += fmt::format("{}", fmt::join(job.runtime->schemas(), ","));
  const std::uint64_t graph = content_key(*job.graph);
  const std::uint64_t model = job.graph == job.model ? graph : content_key(*job.model);
  return row_key(RowKind::verification, code, model, graph, checksum(text.data(), text.size()),
                 output_digest(outputs), context.path_key(path));
}

}  // namespace

Result<Verified> verify_path(TuneContext& context, const std::shared_ptr<const Plan>& plan,
                             const RoutinePath& path, std::span<const Tensor> outputs) {
  const TuneJob& job = context.job;
  const std::size_t total = job.verification_inputs.size();
  Verified verified;
  context.report_progress("verify", 0, total);
  SN_RETURN_IF_ERROR(context.check_cancelled());
  const std::optional<RowKey> key = key_of(context, path, outputs);
  if (const Profile* const known = key ? context.cache.find(*key) : nullptr; known != nullptr) {
    context.report_progress("verify", total, total);
    return Verified{known->error, total};
  }
  VerificationJob verification;
  verification.runtime = job.runtime;
  verification.model = job.model;
  verification.is_same_graph = job.is_model;
  verification.shapes = job.shapes;
  verification.cancel = context.options.cancel;
  verification.tuned = plan;
  const auto begin = std::chrono::steady_clock::now();
  verification.on_set = [&] {
    context.report_progress("verify", ++verified.inputs, total);
    const auto now = std::chrono::steady_clock::now();
    const auto each = (now - begin) / static_cast<std::int64_t>(verified.inputs);
    return !context.is_time_limited() || now + each <= job.end;
  };
  const Result<double> difference = verify_plan(verification, job.verification_inputs);
  if (!difference.ok() && job.overflows && difference.status().code() == StatusCode::internal) {
    job.runtime->log(LogLevel::info, difference.status().message());
    context.warn(
        "not verified: the model overflows on all synthetic inputs, and outputs differ there; give "
        "calibration samples");
    return Verified{};
  }
  if (!difference.ok())
    return Status(difference.status()).with_context("not tuned, the net stays as it was");
  verified.difference = *difference;
  if (key && std::isfinite(verified.difference))
    context.cache.put(*key, Profile{.error = verified.difference});
  return verified;
}

}  // namespace softneuro
