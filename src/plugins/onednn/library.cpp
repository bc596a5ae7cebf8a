#include "plugins/onednn/library.h"

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl_debug.h>

#include <algorithm>
#include <iterator>

#include "core/base/cpu.h"
#include "core/base/error.h"
#include "core/plugin/loaded_file.h"

namespace softneuro::onednn {
namespace {

// Of the OpenMP runtime that oneDNN itself is bound to, whichever that is (this library's scope is
// the same). Looked up, so that nothing here has to be linked with one.
struct OpenMp {
  int (*get_max_threads)() = nullptr;
  void (*set_num_threads)(int) = nullptr;
};

const OpenMp& open_mp() noexcept {
  static const OpenMp functions = [] {
    OpenMp found;
    found.get_max_threads = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
    found.set_num_threads =
        reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
    return found;
  }();
  return functions;
}

// The library has a mask of its own, which can be set until it is first used: the highest of its
// sets that asks for nothing that SOFTNEURO_MAX_ISA hides.
void mask_instruction_sets() {
  const CpuFeatures hidden = processor_features() - usable_features();
  const auto* const best =
      std::find_if(std::begin(kIsaSets), std::end(kIsaSets),
                   [&](const IsaSet& set) { return (set.asks & hidden).empty(); });
  if (best != std::begin(kIsaSets)) (void)dnnl_set_max_cpu_isa(best->isa);
}

Status prepare() {
  const dnnl_version_t* const version = dnnl_version();
  if (!is_expected(*version))
    return unsupported("oneDNN {}.{}.{} is loaded, {} is needed", version->major, version->minor,
                       version->patch, kExpectedVersions);
  const bool is_omp = version->cpu_runtime == DNNL_RUNTIME_OMP;
  if (!is_omp && version->cpu_runtime != DNNL_RUNTIME_SEQ)
    return unsupported(
        "the CPU runtime of this oneDNN is neither OpenMP nor sequential ({}): its number of "
        "threads cannot be limited",
        version->cpu_runtime);
  if (is_omp && (open_mp().get_max_threads == nullptr || open_mp().set_num_threads == nullptr))
    return unsupported("this oneDNN uses OpenMP, whose runtime was not found");
  mask_instruction_sets();
  return guarded([]() -> Status {
    (void)engine();
    return {};
  });
}

std::string library_version() {
  const dnnl_version_t* const version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

}  // namespace

Status prepare_library() {
  static const Status status = prepare();
  return status;
}

std::string library_name() {
  return "onednn " + library_version();
}

std::vector<PluginLibrary> libraries() {
  std::vector<PluginLibrary> all(1);
  all[0].name = "oneDNN";
  all[0].version = library_version();
  all[0].path = file_of(&dnnl_version);
  all[0].problem = prepare_library().message();
  if (dnnl_version()->cpu_runtime != DNNL_RUNTIME_OMP || open_mp().set_num_threads == nullptr)
    return all;
  PluginLibrary& threads = all.emplace_back();
  threads.name = "OpenMP";
  threads.path = file_of(open_mp().set_num_threads);
  threads.note = "the threads of oneDNN";
  return all;
}

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

bool may_use_vnni() {
  const int isa = dnnl_get_effective_cpu_isa();
  return (isa & dnnl_cpu_isa_avx2_vnni) == dnnl_cpu_isa_avx2_vnni ||
         (isa & dnnl_cpu_isa_avx512_core_vnni) == dnnl_cpu_isa_avx512_core_vnni;
}

OneThread::OneThread() noexcept : before_(1) {
  const OpenMp& functions = open_mp();
  if (functions.set_num_threads == nullptr) return;
  before_ = functions.get_max_threads();
  if (before_ != 1) functions.set_num_threads(1);
}

OneThread::~OneThread() {
  if (before_ != 1) open_mp().set_num_threads(before_);
}

Status status_of(dnnl_status_t status, const char* what) {
  if (status == dnnl_success) return {};
  const StatusCode code =
      status == dnnl_out_of_memory ? StatusCode::out_of_memory : StatusCode::internal;
  return make_error(code, "oneDNN: {} failed ({})", what, dnnl_status2str(status));
}

}  // namespace softneuro::onednn
