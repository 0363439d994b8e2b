/* ELU with alpha = 1 over bfloat16, in place: x > 0 ? x : expm1(x), computed in float32, rounded to nearest even.
 *
 * One loop without branches or calls, so that the compiler makes vectors of it. On x86-64 three versions of it stand in the one library and the
 * machine chooses when it is called; not target_clones, which needs a C library with ifuncs.
 */
#include <stdint.h>

static inline float float_of(uint32_t bits) {
    union { uint32_t bits; float number; } both = {bits};
    return both.number;
}

static inline uint32_t bits_of(float number) {
    union { float number; uint32_t bits; } both = {number};
    return both.bits;
}

/* x = n ln 2 + r with |r| <= ln(2) / 2, and expm1(x) = 2^n expm1(r) + (2^n - 1). Near zero n = 0, so nothing cancels and tiny x stay x. */
static inline __attribute__((always_inline)) uint16_t elu_one(uint16_t value) {
    const float round = 12582912.0f; /* 1.5 * 2^23: what is added to it is rounded to an integer, which stands in its low bits */
    const uint32_t sign = UINT32_C(0x8000), minus_infinity = UINT32_C(0xff80);
    uint32_t bits = value;
    float given = float_of(bits << 16);
    float x = given < -32.0f ? -32.0f : given; /* expm1 is -1 long before; 2^n stays a normal number */
    float shifted = x * 1.44269504f + round;
    float n = shifted - round;
    float r = x - n * 0.693147181f; /* ln 2 to 2^-25 is enough: where n is large, the result is nearly -1 */
    float scale = float_of((bits_of(shifted) + 127) << 23);
    /* Taylor to r^5; r^6 / 720 is spread over r^2 and r^4 (Chebyshev). An error of 7e-7, bfloat16 rounds at 2e-3. */
    float p = 0.0418751911f + r * (1.0f / 120.0f);
    p = 1.0f / 6.0f + r * p;
    p = 0.499993738f + r * p;
    p = r + (r * r) * p;
    uint32_t result = bits_of(scale * p + (scale - 1.0f));
    result = (result + UINT32_C(0x7fff) + ((result >> 16) & 1)) >> 16;
    /* Zeros, positive numbers and NaN stay as they are. */
    return (uint16_t)(bits > sign && bits <= minus_infinity ? result : bits);
}

#define ELU_LOOP                                \
    for (int64_t i = 0; i < count; i++) {       \
        values[i] = elu_one(values[i]);         \
    }

#if defined(__x86_64__)
__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,fma"))) static void elu_avx512(uint16_t *values, int64_t count) { ELU_LOOP }
__attribute__((target("avx2,fma"))) static void elu_avx2(uint16_t *values, int64_t count) { ELU_LOOP }
#endif
/* Visible for its test: no machine with better instructions would come here. */
void elu_bf16_plain(uint16_t *values, int64_t count) { ELU_LOOP }

void elu_bf16(uint16_t *values, int64_t count) {
#if defined(__x86_64__)
    int has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    if (has_avx512 && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma")) {
        elu_avx512(values, count);
        return;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        elu_avx2(values, count);
        return;
    }
#endif
    elu_bf16_plain(values, count);
}
