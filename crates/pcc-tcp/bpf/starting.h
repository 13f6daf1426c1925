/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The start-up phase of both controllers: double the rate until the utility falls. */
#pragma once

#include "config.h"
#include "utility.h"

enum start_step {
	/* Go on at the rate, at once. */
	START_GO,
	/* Stay at the rate of now. */
	START_STAY,
	/* Leave at the rate. */
	START_LEAVE,
};

struct starting {
	/* The rate and utility of the interval before. */
	u64 previous_rate;
	fixed previous_utility;
	bool has_previous;
	/* Whether an interval has been sent at the rate of now. */
	bool tried;
};

/* The rate of the first interval on a path. */
static inline u64 initial_rate(const struct start_config *config, u64 mtu, u64 rtt)
{
	return max_u64(config->rate, mul_div(config->packets_per_rtt * mtu * 8, MEGA, max_u64(rtt / MICROSECOND, 1)));
}

/* Sets the rate of the next interval to try; false while a result is awaited. */
static inline bool starting_next_rate(struct starting *s, const struct start_config *config, u64 *rate)
{
	if (!s->tried) {
		s->tried = true;
		return true;
	}
	if (config->await_results)
		return false;
	*rate *= 2;
	return true;
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

/* Judges an interval of this phase; *rate is the rate of now, which it changes if it returns START_GO or START_LEAVE. */
static inline enum start_step starting_on_result(struct starting *s, const struct start_config *config, u32 profile,
						 const struct measurement *result, u64 *rate)
{
	struct measurement counted = *result;
	bool limited = is_limited(result);
	fixed value;

	if (limited && result->loss <= LIMITED_LOSS) {
		s->tried = false;
		return START_STAY;
	}
	overlook(config, &counted);
	value = utility(profile, &counted);
	if (s->has_previous && value < s->previous_utility) {
		*rate = max_u64(s->previous_rate, scale(arrival_rate(result), (u64)config->exit_arrived));
		return START_LEAVE;
	}
	if (limited) {
		s->tried = false;
		return START_STAY;
	}
	s->has_previous = true;
	s->previous_rate = result->target;
	s->previous_utility = value;
	/* The next interval has doubled it already. */
	if (*rate > result->target + result->target / 2)
		return START_STAY;
	s->tried = false;
	*rate *= 2;
	return START_GO;
}
