/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Least-squares fit of round-trip times against send times, from running sums, as in the Rust core but in whole
 * microseconds, which is what the kernel measures.
 */
#pragma once

#include "fixed.h"

/* Samples count that are less than 16 s after the first one, and less than 8 s above or below it ... */
#define MAX_SENT (1ULL << 24)
#define MAX_CHANGE (1ULL << 23)
/* ... and so many of them, so that no sum reaches 2^63. */
#define MAX_SAMPLES (1ULL << 14)

struct regression {
	u64 samples;
	u64 first_rtt;
	u64 sum_s;
	/* Of round-trip times relative to the first one less MAX_CHANGE. */
	u64 sum_r;
	u64 sum_ss;
	u64 sum_sr;
	u64 sum_rr;
};

/* Adds a packet sent so many ns after the interval's first one, with its round-trip time in ns. */
static inline void regression_add(struct regression *fit, u64 sent, u64 rtt)
{
	u64 s = sent / MICROSECOND, r = rtt / MICROSECOND;

	if (!fit->samples)
		fit->first_rtt = r;
	r += MAX_CHANGE - fit->first_rtt;
	if (s >= MAX_SENT || r >= 2 * MAX_CHANGE || fit->samples >= MAX_SAMPLES)
		return;
	fit->samples++;
	fit->sum_s += s;
	fit->sum_r += r;
	fit->sum_ss += s * s;
	fit->sum_sr += s * r;
	fit->sum_rr += r * r;
}

/* The mean round-trip time in ns; there must be samples. */
static inline u64 regression_mean(const struct regression *fit)
{
	return (fit->sum_r * MICROSECOND / fit->samples) + (fit->first_rtt - MAX_CHANGE) * MICROSECOND;
}

/* The sum of products of deviations from the means of a and b, from the sums of a * b, a and b. */
static inline s64 covariation(u64 sum_ab, u64 sum_a, u64 sum_b, u64 samples)
{
	return (s64)(sum_ab - mul_div(sum_a, sum_b, samples));
}

/* The gradient in seconds per second, and the share of the variance that it explains; 0 where they aren't defined. */
static inline fixed regression_gradient(const struct regression *fit, fixed *explained)
{
	u64 n = fit->samples;
	s64 ss = covariation(fit->sum_ss, fit->sum_s, fit->sum_s, n);
	s64 sr = covariation(fit->sum_sr, fit->sum_s, fit->sum_r, n);
	s64 rr = covariation(fit->sum_rr, fit->sum_r, fit->sum_r, n);
	fixed steepness, inverse;

	*explained = 0;
	if (n < 3 || ss <= 0 || rr <= 0)
		return 0;
	steepness = ratio(magnitude(sr), (u64)ss);
	inverse = ratio(magnitude(sr), (u64)rr);
	/* The smaller one goes second, where it must be below 16: their product is at most 1. */
	*explained = (fixed)min_u64(scale(max_u64((u64)steepness, (u64)inverse), min_u64((u64)steepness, (u64)inverse)), ONE);
	return with_sign_of(sr, (u64)steepness);
}
