/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The start-up phase of both controllers: double the rate until the utility falls. */
#pragma once

#include "config.h"
#include "utility.h"

enum start_step {
	/* Go on at the rate, at once. */
	START_GO,
	/* The rate couldn't be reached: measure it again. */
	START_REPEAT,
	/* Leave at the rate. */
	START_LEAVE,
};

/* One interval is tried at a time: its result is awaited at an unchanged rate. */
struct starting {
	/* The rate and utility of the interval before. */
	u64 previous_rate;
	fixed previous_utility;
	bool has_previous;
	/* Whether an interval of this phase is in flight. */
	bool awaiting;
};

/* The rate of the first interval on a path. */
static inline u64 initial_rate(const struct start_config *config, u64 mtu, u64 rtt)
{
	return max_u64(config->rate, mul_div(config->packets_per_rtt * mtu * 8, MEGA, max_u64(rtt / MICROSECOND, 1)));
}

/* The rate at which an interval arrived at the receiver: growing delay stretches it. */
static inline u64 arrival_rate(const struct measurement *m)
{
	return m->rtt_gradient > 0 ? mul_div(throughput(m), ONE, (u64)(ONE + m->rtt_gradient)) : throughput(m);
}

/* Removes what start-up overlooks: a random loss among the few packets of an early interval would end it. */
static inline void overlook(const struct start_config *config, struct measurement *m)
{
	if (m->packets_lost <= config->ignored_losses)
		m->loss = 0;
	else
		m->loss = (fixed)mul_div((u64)m->loss, m->packets_lost - config->ignored_losses, m->packets_lost);
	if (magnitude(m->rtt_gradient) <= (u64)config->ignored_gradient)
		m->rtt_gradient = 0;
}

/* Judges the interval that was tried at *rate, and changes that. */
static inline enum start_step starting_on_result(struct starting *s, const struct start_config *config, u32 profile,
						 const struct measurement *result, u64 *rate)
{
	struct measurement counted = *result;
	fixed value;

	s->awaiting = false;
	if (is_limited(result) && result->loss <= LIMITED_LOSS)
		return START_REPEAT;
	overlook(config, &counted);
	value = utility(profile, &counted);
	if (s->has_previous && value < s->previous_utility) {
		*rate = max_u64(s->previous_rate, scale(arrival_rate(result), (u64)config->exit_arrived));
		return START_LEAVE;
	}
	if (is_limited(result))
		return START_REPEAT;
	s->has_previous = true;
	s->previous_rate = *rate;
	s->previous_utility = value;
	*rate *= 2;
	return START_GO;
}
