// The highest level of the instruction set that the processor has and the system lets programs use: 2, 3 or 4 of
// x86-64, else 0. By cpuid itself: the compilers' own questions need a library that not all of them link.
#include <initializer_list>

#include "vec.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace suffice {

#if defined(__x86_64__)
static bool has(unsigned flags, std::initializer_list<int> bits) {
    for (const int bit : bits)
        if (!(flags >> bit & 1u)) return false;
    return true;
}

static uint64_t saved_registers() {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low | static_cast<uint64_t>(high) << 32;
}

static int64_t cpu_level() {
    unsigned a, b, first = 0, seventh = 0, more = 0, d;
    __get_cpuid(1, &a, &b, &first, &d);
    __get_cpuid_count(7, 0, &a, &seventh, &b, &d);
    __get_cpuid(0x80000001u, &a, &b, &more, &d);
    if (!has(first, {12, 22, 27, 28, 29}) || !has(seventh, {3, 5, 8}) || !has(more, {5})) return 2;
    const uint64_t saved = saved_registers();
    if ((saved & 0x6) != 0x6) return 2;
    return has(seventh, {16, 17, 28, 30, 31}) && (saved & 0xe6) == 0xe6 ? 4 : 3;
}
#else
static int64_t cpu_level() { return 0; }
#endif

static int64_t lanes() { return LANES; }

KERNEL(cpu_level, cpu_level)
KERNEL(lanes, lanes)

}  // namespace suffice
