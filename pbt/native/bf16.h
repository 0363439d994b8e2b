/* bfloat16 is the upper half of a float32. A compiler can vectorise each function here. */
#ifndef PBT_BF16_H
#define PBT_BF16_H
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))

INLINE float float_of(uint32_t bits) {
    union { uint32_t bits; float number; } both = {bits};
    return both.number;
}

INLINE uint32_t bits_of(float number) {
    union { float number; uint32_t bits; } both = {number};
    return both.bits;
}

INLINE float widened(uint16_t value) { return float_of((uint32_t)value << 16); }

/* Rounds to nearest, ties to even. A NaN stays one, except for those whose upper half is all ones,
which no computation makes. */
INLINE uint16_t rounded(float number) {
    uint32_t bits = bits_of(number);
    return (uint16_t)((bits + UINT32_C(0x7fff) + ((bits >> 16) & 1)) >> 16);
}

/* FOR_EACH_CPU(name, (typed parameters), (arguments)): puts three versions of `name_loop`, an
 * INLINE function, into the library; `name` calls the best that the machine has. It does not use
 * target_clones, which needs a C library with ifuncs. `name_plain` is visible for its test, since
 * no machine with better instructions would call it. */
#if defined(__x86_64__)
#define FOR_EACH_CPU(name, parameters, arguments)                                                  \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,fma")))                              \
    static void name##_avx512 parameters { name##_loop arguments; }                                \
    __attribute__((target("avx2,fma")))                                                            \
    static void name##_avx2 parameters { name##_loop arguments; }                                  \
    void name##_plain parameters { name##_loop arguments; }                                        \
    void name parameters {                                                                         \
        int has_fma = __builtin_cpu_supports("fma");                                               \
        int has_avx512 = __builtin_cpu_supports("avx512f") &&                                      \
                         __builtin_cpu_supports("avx512bw") &&                                     \
                         __builtin_cpu_supports("avx512vl");                                       \
        if (has_fma && has_avx512 && __builtin_cpu_supports("avx512dq")) {                         \
            name##_avx512 arguments;                                                               \
        } else if (has_fma && __builtin_cpu_supports("avx2")) {                                    \
            name##_avx2 arguments;                                                                 \
        } else {                                                                                   \
            name##_plain arguments;                                                                \
        }                                                                                          \
    }
#else
#define FOR_EACH_CPU(name, parameters, arguments)              \
    void name##_plain parameters { name##_loop arguments; }    \
    void name parameters { name##_plain arguments; }
#endif
#endif
