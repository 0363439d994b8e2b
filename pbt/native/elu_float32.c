/* ELU with alpha = 1 over float32: x > 0 ? x : expm1(x), as elu.c computes it, to the last bits of
float32. Products and sums are rounded one by one, so that every machine, and the twin in
pbt/models/activations.py, has the same bits. */
#include "bf16.h"

/* x = n ln 2 + r with |r| <= ln(2) / 2, and expm1(x) = 2^n expm1(r) + (2^n - 1). */
INLINE float elu_one(float given) {
    /* 1.5 * 2^23: a number added to it is rounded to an integer, which stands in the low bits. */
    const float round = 12582912.0f;
    /* expm1 is -1 long before -32; 2^n stays a normal number. */
    float x = given < -32.0f ? -32.0f : given;
    float shifted = x * 1.44269504f + round;
    float n = shifted - round;
    /* ln 2 in two parts: the first has few bits, so its product with n is exact. */
    float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float scale = float_of((bits_of(shifted) + 127) << 23);
    /* exp(r) = 1 + r + r^2 p(r), with the polynomial of Cephes' expf (Moshier 1992). The relative
    error of the whole is 8e-8; torch's is 6e-8. */
    float p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = (r * r) * p + r;
    float result = scale * p + (scale - 1.0f);
    /* Zeros, positive numbers and NaN stay as they are. */
    return given < 0.0f ? result : given;
}

INLINE void elu_float32_loop(float *values, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        values[i] = elu_one(values[i]);
    }
}

FOR_EACH_CPU(elu_float32, (float *values, int64_t count), (values, count))
