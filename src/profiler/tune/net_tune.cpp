// Net::tune: the tuned path becomes the net's.
#include <cmath>

#include "core/base/error.h"
#include "core/base/machine.h"
#include "net/net_impl.h"
#include "profiler/tune/tuner.h"
#include "softneuro/net.h"

namespace softneuro {
namespace {

// For nets that fail on all synthetic inputs: default choices stay.
TuneReport untuned_report(const TuneJob& job) {
  TuneReport report;
  report.threads = job.runtime->pool().concurrency();
  report.machine = machine_name(report.threads);
  report.complete = false;
  report.warnings = job.warnings;
  return report;
}

void warn(const TuneJob& job, std::string message, std::vector<std::string>& warnings) {
  job.runtime->log(LogLevel::warning, message);
  warnings.push_back(std::move(message));
}

// " (40 dB)": an error in the unit that callers give limits in; "" where there is no other.
std::string in_other_unit(const TuneOptions& options, double error) {
  if (options.criteria.score) return "";
  switch (options.criteria.metric) {
    case ErrorMetric::relative_rms:
      return fmt::format(" ({:.3g} dB)", 20 * std::log10(1 / error));
    case ErrorMetric::cosine:
      return fmt::format(" (cosine {:.4g})", 1 - error);
    case ErrorMetric::top1:
      return fmt::format(" (top-1 agreement {:.4g})", 1 - error);
  }
  return "";
}

// Whether the patterns let every float32 routine of the host in.
bool allows_float32(const Registry& registry, const std::vector<std::string>& schemas) {
  return std::ranges::all_of(registry.all(), [&](const Routine* routine) {
    const RoutineDescriptor& descriptor = routine->descriptor();
    return !matches_schema(descriptor, "cpu:float32") || matches_any_schema(descriptor, schemas);
  });
}

// Tunes; where no path in the schemas meets the limit, float32 may be taken as well.
Result<TuneResult> tune_within_limit(const TuneJob& job) {
  const TuneOptions& options = *job.options;
  SN_ASSIGN_OR_RETURN(TuneResult result, tune(job));
  if (result.report.within_limit) return result;
  if (!allows_float32(job.runtime->registry(), options.schemas)) {
    TuneJob wider = job;
    warn(
        job,
        fmt::format("no path in {} keeps the error below {}, the least is {:.3g}: layers may be in "
                    "cpu:float32 as well",
                    fmt::join(options.schemas, ","), options.max_error.value_or(kDefaultMaxError),
                    result.least_error),
        wider.warnings);
    wider.rules.schemas.emplace_back("cpu:float32");
    SN_ASSIGN_OR_RETURN(result, tune(wider));
    if (result.report.within_limit) return result;
  }
  if (options.max_error)
    return unsupported(
        "no path{} was found that keeps the error below {}{}: the least is {:.3g}{}{}; allow a "
        "larger error (max_error, --max-error, or --limit in the unit of --metric)",
        options.criteria.max_memory > 0 ? " within max_memory" : "", *options.max_error,
        in_other_unit(options, *options.max_error), result.least_error,
        in_other_unit(options, result.least_error),
        options.selection.pin.empty() ? "" : ", with pinned layers as they are");
  warn(job,
       fmt::format("the error is {:.3g}: no path keeps it below {}, so that the fastest one is "
                   "kept; a max_error of your own is an error where none keeps it",
                   result.report.error, kDefaultMaxError),
       result.report.warnings);
  return result;
}

}  // namespace

std::optional<RoutinePath> Net::Impl::tuned_path(const Runtime& tuning_runtime,
                                                 std::span<const Shape> shapes) const {
  const int threads = tuning_runtime.pool().concurrency();
  const std::lock_guard<std::mutex> lock(mutex);
  for (const RoutinePath& path : paths)
    if (path.threads == threads &&
        path.machine == machine_of(path, tuning_runtime.registry(), threads) &&
        has_shapes(path, shapes))
      return path;
  return std::nullopt;
}

Result<TuneReport> Net::Impl::tune(const TuneOptions& options) {
  SN_ASSIGN_OR_RETURN(const TuneJob job, prepare_tuning(options));
  if (job.verification_inputs.empty()) return untuned_report(job);
  SN_ASSIGN_OR_RETURN(TuneResult result, tune_within_limit(job));
  const std::size_t dropped = keep_path(std::move(result.path), job.graph, job.is_model);
  if (dropped > 0)
    warn(job,
         fmt::format(
             "{} dropped: 8-bit layers use ranges of an earlier calibration; tune again "
             "for the machines, thread counts and shapes that are missing",
             dropped == 1 ? "one tuned path is" : fmt::format("{} tuned paths are", dropped)),
         result.report.warnings);
  return std::move(result.report);
}

Result<TuneReport> Net::tune(const TuneOptions& options) noexcept {
  return guarded([&] { return impl_->tune(options); });
}

}  // namespace softneuro
