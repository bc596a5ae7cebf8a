// How many threads can really work at once in this process: physical cores, not processors that
// share one, within the affinity that the process was given and the quota of its cgroup.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/system_text.h"
#include "softneuro/export.h"

namespace softneuro {

// The numbers of a kernel list, "0-3,8": empty if the text is not one.
SN_INTREE std::vector<int> parse_processor_list(std::string_view text);

// What a cpu.max file of cgroup v2 allows, "150000 100000" (µs of work in each period of µs): whole
// processors, rounded up; 0: no limit ("max 100000"), or the text is of another form.
SN_INTREE int parse_cpu_max(std::string_view text);

// This process's group in cgroup v2, from /proc/self/cgroup: "/a/b" of the line "0::/a/b"; empty if
// there is none.
SN_INTREE std::string parse_cgroup(std::string_view text);

// Physical cores that `processors`, in ascending order, belong to. One whose siblings the system
// does not tell counts as a core of its own.
SN_INTREE int count_cores(std::span<const int> processors, const TextReader& read);

// The least that the process's cgroup and those above it allow; 0: no limit.
SN_INTREE int cpu_quota(const TextReader& read);

// Numbers of the processors that the calling thread may use, in ascending order; none where the
// system does not tell.
SN_INTREE std::vector<int> usable_processors();
SN_INTREE int count_usable_processors() noexcept;  // 0: the system does not tell

// Cores that this process may use now; at least 1.
SN_INTREE int physical_cores();

}  // namespace softneuro
