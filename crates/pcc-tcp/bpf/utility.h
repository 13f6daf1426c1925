/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What an interval was worth. */
#pragma once

#include "constants.h"
#include "measurement.h"

enum profile { VIVACE_LATENCY, VIVACE_LOSS, ALLEGRO_2015 };

/* Loss below which the safe utility hardly punishes. */
#define LOSS_TOLERANCE (ONE / 20)

/* Allegro's default: T * S(L - 0.05) - x * L, with x and T = x * (1 - L) in Mbit/s. */
static inline fixed safe_utility(const struct measurement *m)
{
	u64 mbps = mul_div(m->rate, ONE, MEGA);
	u64 gain = scale(scale(mbps, (u64)(ONE - m->loss)), (u64)sigmoid(SAFE_UTILITY.alpha, m->loss - LOSS_TOLERANCE));

	return (fixed)(gain - scale(mbps, (u64)m->loss));
}

/* Vivace's: x^t - x * (b * gradient + c * L), with x in Mbit/s. */
static inline fixed vivace_utility(const struct vivace_utility_config *config, const struct measurement *m)
{
	fixed loss_weight = m->loss <= config->small_loss_up_to ? config->small_loss_weight : config->loss;
	fixed latency = with_sign_of(m->rtt_gradient, scale((u64)config->latency, magnitude(m->rtt_gradient)));
	fixed penalty = latency + (fixed)scale((u64)loss_weight, (u64)m->loss);

	return fixed_power(m->rate, MEGA, config->exponent) -
	       with_sign_of(penalty, mul_div(magnitude(penalty), m->rate, MEGA));
}

static inline fixed utility(u32 profile, const struct measurement *m)
{
	if (profile == ALLEGRO_2015)
		return safe_utility(m);
	return vivace_utility(profile == VIVACE_LATENCY ? &VIVACE_LATENCY_UTILITY : &VIVACE_LOSS_UTILITY, m);
}

/* The slope between two utilities that lie `difference` bit/s apart, per Mbit/s. */
static inline fixed utility_gradient(fixed higher, fixed lower, s64 difference)
{
	fixed gain = higher - lower;

	return with_sign_of(gain ^ difference, mul_div(magnitude(gain), MEGA, magnitude(difference)));
}
