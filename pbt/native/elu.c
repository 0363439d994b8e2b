/* ELU with alpha = 1 over bfloat16, computed in float32: x > 0 ? x : expm1(x). One loop without
branches or calls. */
#include "bf16.h"

/* x = n ln 2 + r with |r| <= ln(2) / 2, and expm1(x) = 2^n expm1(r) + (2^n - 1). Near zero n = 0,
so nothing cancels and tiny x stay x. */
INLINE uint16_t elu_one(uint16_t value) {
    /* 1.5 * 2^23: a number added to it is rounded to an integer, which stands in the low bits. */
    const float round = 12582912.0f;
    const uint32_t sign = UINT32_C(0x8000), minus_infinity = UINT32_C(0xff80);
    uint32_t bits = value;
    float given = widened(value);
    /* expm1 is -1 long before -32; 2^n stays a normal number. */
    float x = given < -32.0f ? -32.0f : given;
    float shifted = x * 1.44269504f + round;
    float n = shifted - round;
    /* ln 2 to 2^-25 is enough: where n is large, the result is nearly -1. */
    float r = x - n * 0.693147181f;
    float scale = float_of((bits_of(shifted) + 127) << 23);
    /* Taylor to r^5; r^6 / 720 is spread over r^2 and r^4 (Chebyshev). The error is 7e-7, and
    bfloat16 rounds at 2e-3. */
    float p = 0.0418751911f + r * (1.0f / 120.0f);
    p = 1.0f / 6.0f + r * p;
    p = 0.499993738f + r * p;
    p = r + (r * r) * p;
    uint16_t result = rounded(scale * p + (scale - 1.0f));
    /* Zeros, positive numbers and NaN stay as they are. */
    return (uint16_t)(bits > sign && bits <= minus_infinity ? result : bits);
}

INLINE void elu_bf16_loop(uint16_t *values, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        values[i] = elu_one(values[i]);
    }
}

FOR_EACH_CPU(elu_bf16, (uint16_t *values, int64_t count), (values, count))
