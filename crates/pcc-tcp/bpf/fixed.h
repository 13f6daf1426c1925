/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Fixed point for a machine without floats, signed division and 128-bit integers.
 *
 * A `fixed` is a real number times 2^30. Rates are whole bit/s, times whole ns, both as u64. Everything
 * saturates instead of overflowing. Bounds of errors are asserted by src/tests/fixed.rs over the whole domain.
 */
#pragma once

#include <stdbool.h>

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed int s32;
typedef signed long long s64;
typedef s64 fixed;

#define ONE (1LL << 30)
#define MEGA 1000000ULL
#define SECOND 1000000000ULL
#define MICROSECOND 1000ULL
#define U64_MAX (~0ULL)
#define S64_MAX ((s64)(U64_MAX >> 1))

/* ln 2 and log2 e */
#define LN_2 744261118LL
#define LOG2_E 1549082005LL

/* The kernel's verifier takes a global function once, but a static one at every call again. */
#ifdef __bpf__
#define SHARED __attribute__((noinline))
#else
#define SHARED static inline
#endif

static inline u64 min_u64(u64 a, u64 b)
{
	return a < b ? a : b;
}

static inline u64 max_u64(u64 a, u64 b)
{
	return a > b ? a : b;
}

static inline u64 clamp_u64(u64 x, u64 low, u64 high)
{
	return max_u64(min_u64(x, high), low);
}

static inline u64 magnitude(s64 x)
{
	return x < 0 ? -(u64)x : (u64)x;
}

static inline s64 with_sign_of(s64 sign, u64 x)
{
	s64 bounded = (s64)min_u64(x, S64_MAX);

	return sign < 0 ? -bounded : bounded;
}

/* a * b / c, rounded down: exact for b * c < 2^64. */
SHARED u64 mul_div(u64 a, u64 b, u64 c)
{
	if (!b)
		return 0;
	if (!c || a / c >= U64_MAX / b)
		return U64_MAX;
	return a / c * b + a % c * b / c;
}

/* amount * factor, for factors below 16. */
SHARED u64 scale(u64 amount, u64 factor)
{
	return mul_div(amount, factor, ONE);
}

/* scale() of a number with a sign. */
SHARED s64 signed_scale(s64 amount, u64 factor)
{
	return with_sign_of(amount, scale(magnitude(amount), factor));
}

/* The position of the highest bit, counted from 1; clang 14 has no such instruction for BPF. */
SHARED u32 bits(u64 x)
{
	u32 count = 0;

	for (u32 half = 32; half; half /= 2) {
		if (x >> half) {
			x >>= half;
			count += half;
		}
	}
	return count + (u32)x;
}

/* part / whole, with an error below 2^-29 + 2^-32 * part / whole: of a large whole only the 33 highest bits count. */
SHARED fixed ratio(u64 part, u64 whole)
{
	u32 excess = bits(whole) > 33 ? bits(whole) - 33 : 0;

	return (s64)min_u64(mul_div(part >> excess, ONE, whole >> excess), S64_MAX);
}

/* log2 of a whole number from 1 on: each squaring of the mantissa gives a bit. Error below 2^-28. */
SHARED fixed fixed_log2(u64 x)
{
	u32 exponent = bits(x | 1) - 1;
	u64 mantissa = x << (63 - exponent) >> 32;
	fixed log = (fixed)exponent * ONE;

	for (fixed bit = ONE / 2; bit; bit >>= 1) {
		mantissa = mantissa * mantissa >> 31;
		if (mantissa >> 32) {
			mantissa >>= 1;
			log += bit;
		}
	}
	return log;
}

/* 2^x: Taylor's series of the fraction, shifted by the whole part. Relative error below 2^-27, or 2^-29 absolute. */
SHARED fixed fixed_exp2(fixed x)
{
	s64 shift = x >> 30;
	u64 t = scale((u64)(x & (ONE - 1)), LN_2);
	u64 sum = ONE;

	if (shift >= 32)
		return S64_MAX;
	if (shift < -31)
		return 0;
	for (u32 n = 12; n; n--)
		sum = ONE + scale(sum, t) / n;
	return (fixed)(shift < 0 ? sum >> -shift : sum << shift);
}

/* (x / unit)^power, for powers of 0 to 1. */
SHARED fixed fixed_power(u64 x, u64 unit, fixed power)
{
	return x ? fixed_exp2(signed_scale(fixed_log2(x) - fixed_log2(unit), (u64)power)) : 0;
}

/* 1 / (1 + e^(steepness * y)) for |y| below 16. Error below 2^-28. */
SHARED fixed sigmoid(fixed steepness, fixed y)
{
	/* e^-21 is below the resolution. */
	u64 z = min_u64(scale((u64)steepness, magnitude(y)), 21 * ONE);

	return ONE * ONE / (u64)(ONE + fixed_exp2(signed_scale(with_sign_of(y, z), LOG2_E)));
}
