// The highest level of the instruction set that the processor has: 2, 3 or 4 of x86-64, else 0.
#include "vec.h"

namespace suffice {

static int64_t cpu_level() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
    return v4 ? 4 : v3 ? 3 : 2;
#else
    return 0;
#endif
}

static int64_t lanes() { return LANES; }

KERNEL(cpu_level, cpu_level)
KERNEL(lanes, lanes)

}  // namespace suffice
