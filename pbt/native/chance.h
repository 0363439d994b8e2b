/* Random numbers of a game from its seed: those of pbt/seeding.py:generator. A stream's key is a
BLAKE2b hash (RFC 7693) of the seed and a word; its numbers are blocks of Philox4x64-10 (Salmon et
al. 2011, "Parallel random numbers: as easy as 1, 2, 3"), as numpy draws them. */
#ifndef PBT_CHANCE_H
#define PBT_CHANCE_H
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { DIGEST_BYTES = 32, BLOCK_BYTES = 128, BLOCK_WORDS = 16, PHILOX_WORDS = 4 };

static inline uint64_t rotated(uint64_t word, int right) {
    return word >> right | word << (64 - right);
}

static inline void mix(uint64_t *v, int a, int b, int c, int d, uint64_t x, uint64_t y) {
    v[a] += v[b] + x;
    v[d] = rotated(v[d] ^ v[a], 32);
    v[c] += v[d];
    v[b] = rotated(v[b] ^ v[c], 24);
    v[a] += v[b] + y;
    v[d] = rotated(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = rotated(v[b] ^ v[c], 63);
}

/* The first 16 bytes of the hash of a text shorter than a block. block: the text, then zeros */
static inline void blake2b_key(const uint8_t *block, int64_t length, uint64_t *key) {
    static const uint64_t start[] = {
        UINT64_C(0x6a09e667f3bcc908), UINT64_C(0xbb67ae8584caa73b), UINT64_C(0x3c6ef372fe94f82b),
        UINT64_C(0xa54ff53a5f1d36f1), UINT64_C(0x510e527fade682d1), UINT64_C(0x9b05688c2b3e6c1f),
        UINT64_C(0x1f83d9abfb41bd6b), UINT64_C(0x5be0cd19137e2179)};
    static const uint8_t order[10][BLOCK_WORDS] = {
        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
        {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
        {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
        {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
        {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
        {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
        {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
        {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
        {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
        {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};
    uint64_t words[BLOCK_WORDS], v[BLOCK_WORDS], first = start[0] ^ 0x01010000 ^ DIGEST_BYTES;
    for (int i = 0; i < BLOCK_WORDS; i++) {
        words[i] = 0;
        for (int byte = 7; byte >= 0; byte--) {
            words[i] = words[i] << 8 | block[8 * i + byte];
        }
    }
    memcpy(v, start, sizeof start);
    memcpy(v + 8, start, sizeof start);
    v[0] = first;
    v[12] ^= (uint64_t)length;
    v[14] = ~v[14];
    for (int round = 0; round < 12; round++) {
        const uint8_t *at = order[round % 10];
        for (int i = 0; i < 4; i++) {
            mix(v, i, 4 + i, 8 + i, 12 + i, words[at[2 * i]], words[at[2 * i + 1]]);
        }
        for (int i = 0; i < 4; i++) {
            int b = 4 + (i + 1) % 4, c = 8 + (i + 2) % 4, d = 12 + (i + 3) % 4;
            mix(v, i, b, c, d, words[at[8 + 2 * i]], words[at[9 + 2 * i]]);
        }
    }
    key[0] = first ^ v[0] ^ v[8];
    key[1] = start[1] ^ v[1] ^ v[9];
}

static inline uint64_t upper_half(uint64_t a, uint64_t b) {
    uint64_t low = (a & 0xffffffff) * (b & 0xffffffff), across = (a >> 32) * (b & 0xffffffff);
    uint64_t back = (a & 0xffffffff) * (b >> 32) + (across & 0xffffffff) + (low >> 32);
    return (a >> 32) * (b >> 32) + (across >> 32) + (back >> 32);
}

static inline void philox_block(const uint64_t *key, uint64_t count, uint64_t *words) {
    const uint64_t m0 = UINT64_C(0xd2e7470ee14c6c93), m1 = UINT64_C(0xca5a826395121157);
    uint64_t k0 = key[0], k1 = key[1], c[PHILOX_WORDS] = {count, 0, 0, 0};
    for (int round = 0; round < 10; round++) {
        uint64_t high0 = upper_half(m0, c[0]), low0 = m0 * c[0];
        uint64_t high1 = upper_half(m1, c[2]), low1 = m1 * c[2];
        c[0] = high1 ^ c[1] ^ k0;
        c[1] = low1;
        c[2] = high0 ^ c[3] ^ k1;
        c[3] = low0;
        k0 += UINT64_C(0x9e3779b97f4a7c15);
        k1 += UINT64_C(0xbb67ae8584caa73b);
    }
    memcpy(words, c, sizeof c);
}

/* Writes the first numbers in [0, 1) of `generator(seed, stream)`. */
static inline void draw_uniforms(int64_t seed, const char *stream, int count, double *uniforms) {
    char text[BLOCK_BYTES] = {0};
    uint64_t key[2], words[PHILOX_WORDS];
    int length = snprintf(text, sizeof text, "(%" PRId64 ", '%s')", seed, stream);
    blake2b_key((const uint8_t *)text, length, key);
    for (int i = 0; i < count; i++) {
        if (i % PHILOX_WORDS == 0) {
            philox_block(key, (uint64_t)(i / PHILOX_WORDS + 1), words);
        }
        uniforms[i] = (double)(words[i % PHILOX_WORDS] >> 11) * 0x1.0p-53;
    }
}
#endif
