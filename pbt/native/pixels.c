/* Pixels on their way into the first convolution. */
#include <string.h>

#include "bf16.h"

enum { LINE = 2048 };

/* Copies items of `run` values that lie side by side to places that are `stride` values apart. */
INLINE void spread(const uint16_t *restrict from, uint16_t *restrict to, int64_t items, int64_t run,
                   int64_t stride) {
    for (int64_t item = 0; item < items; item++) {
        memcpy(to + item * stride, from + item * run, (size_t)run * sizeof(uint16_t));
    }
}

/* images [count, height, row] bytes -> [count, height / block, row / run, block, run] bfloat16. The
 * pixels that a convolution with stride `block` takes together lie together.
 *
 * factor, shift [height, row]: the result is image * factor + shift, clipped at +-limit. Where
 * factor is a null pointer it is the bytes as they are. block divides height, and run <= LINE
 * divides row. The rows of one height are done for all images in turn, so that their factors
 * stay in the cache.
 */
INLINE void pixel_blocks_bf16_loop(
    const uint8_t *restrict images, const float *restrict factor, const float *restrict shift,
    float limit, uint16_t *restrict to, int64_t count, int64_t height, int64_t row, int64_t block,
    int64_t run) {
    uint16_t line[LINE];
    const int64_t items = LINE / run;
    for (int64_t top = 0; top < height; top += block) {
        for (int64_t image = 0; image < count; image++) {
            for (int64_t y = top; y < top + block; y++) {
                const uint8_t *values = images + (image * height + y) * row;
                uint16_t *target = to + (image * height + top) * row + (y - top) * run;
                for (int64_t x = 0; x < row; x += items * run) {
                    const int64_t length = row - x < items * run ? row - x : items * run;
                    if (factor) {
                        const float *times = factor + y * row + x, *plus = shift + y * row + x;
                        for (int64_t i = 0; i < length; i++) {
                            float value = (float)values[x + i] * times[i] + plus[i];
                            value = value > limit ? limit : value;
                            line[i] = rounded(value < -limit ? -limit : value);
                        }
                    } else {
                        for (int64_t i = 0; i < length; i++) {
                            line[i] = rounded((float)values[x + i]);
                        }
                    }
                    if (run == 12) { /* four RGB pixels: a copy whose length the compiler knows */
                        spread(line, target + x * block, length / 12, 12, block * 12);
                    } else {
                        spread(line, target + x * block, length / run, run, block * run);
                    }
                }
            }
        }
    }
}

FOR_EACH_CPU(
    pixel_blocks_bf16,
    (const uint8_t *images, const float *factor, const float *shift, float limit, uint16_t *to,
     int64_t count, int64_t height, int64_t row, int64_t block, int64_t run),
    (images, factor, shift, limit, to, count, height, row, block, run))
