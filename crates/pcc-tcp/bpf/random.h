/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The generator of the Rust core, so that the same seed makes the same choices: wyrand, as in fastrand 2. */
#pragma once

#include "fixed.h"

static inline u64 random_u64(u64 *state)
{
	u64 a = *state += 0x2d358dccaa6c78a5ULL;
	u64 b = a ^ 0x8bb84b93962eacc9ULL;
	/* The product of a and b has 128 bits, here of four products of halves. */
	u64 low_a = (u32)a, high_a = a >> 32;
	u64 low_b = (u32)b, high_b = b >> 32;
	u64 middle = high_a * low_b + (low_a * low_b >> 32);
	u64 other = low_a * high_b + (u32)middle;

	return a * b ^ (high_a * high_b + (middle >> 32) + (other >> 32));
}

static inline bool random_bool(u64 *state)
{
	return random_u64(state) % 2 == 0;
}

/* Evenly from 0 to 1. */
static inline fixed random_fraction(u64 *state)
{
	return (fixed)(random_u64(state) >> 34);
}
