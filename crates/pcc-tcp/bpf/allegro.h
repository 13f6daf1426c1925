/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Allegro's rate control: starting, decision making by randomised controlled trials, rate adjusting. */
#pragma once

#include "control.h"

/* Where k stops, so that no product overflows: the rate is at its bounds long before. */
#define MAX_K 1000

static inline void allegro_set_rate(struct control *c, u64 rate)
{
	c->rate = clamp_u64(rate, ALLEGRO.bounds.min, ALLEGRO.bounds.max);
}

static inline void allegro_decide(struct control *c)
{
	control_probe(c, ALLEGRO.pairs);
}

static inline void allegro_plan(struct control *c, const struct path *path, struct plan *plan)
{
	fixed range = ALLEGRO.interval_rtts_to - ALLEGRO.interval_rtts_from;

	if (!c->rate) {
		allegro_set_rate(c, initial_rate(&ALLEGRO.start, path->mtu, path->rtt));
		c->first_rate = c->rate;
	}
	control_assign(c, &ALLEGRO.start, plan);
	allegro_set_rate(c, c->rate);
	plan->rate = c->rate;
	if (plan->role == ROLE_PROBE) {
		u64 step = scale(c->rate, (u64)c->probe_step);

		plan->rate = clamp_u64(plan->faster ? c->rate + step : c->rate - step, ALLEGRO.bounds.min,
				       ALLEGRO.bounds.max);
	}
	plan->length = scale(path->rtt, (u64)ALLEGRO.interval_rtts_from +
						scale((u64)range, (u64)random_fraction(&c->random)));
	plan->min_packets = ALLEGRO.min_packets;
	plan->max_packets = ~0U;
}

/* rate * (1 + fraction * direction) */
static inline u64 allegro_changed(u64 rate, fixed fraction, s32 direction)
{
	u64 change = scale(rate, (u64)fraction);

	return direction > 0 ? rate + change : rate - min_u64(change, rate);
}

/* Takes the next adjusting step. At the end of the range of rates, where no result is worse than the one before, it looks
 * around again.
 */
static inline void allegro_adjust(struct control *c)
{
	struct adjusting *adjusting = &c->adjusting;
	u64 before = c->rate;

	if (adjusting->k < MAX_K)
		adjusting->k++;
	allegro_set_rate(c, allegro_changed(before, adjusting->k * ALLEGRO.min_step, adjusting->direction));
	if (c->rate == before)
		allegro_decide(c);
	else
		control_move(c);
}

static inline void allegro_limit(struct control *c, u64 ceiling)
{
	allegro_set_rate(c, min_u64(c->rate, ceiling));
	if (c->phase == PHASE_STARTING)
		c->starting.tried = false;
	else
		allegro_decide(c);
}

/* Which probe of a pair was worth more: 1 the faster, -1 the slower, 0 neither. */
static inline s32 preference(u32 profile, const struct pair *pair)
{
	fixed faster = utility(profile, &pair->faster), slower = utility(profile, &pair->slower);

	return (faster > slower) - (faster < slower);
}

/* All pairs of a round are in: move if they agree, else look again with a larger step. */
static inline bool allegro_on_round(struct control *c)
{
	const struct probes *probes = &c->probes;
	bool reached = true;
	s32 sum = 0;
	u64 arrived;

	if (arrived_in_spite(probes, &arrived)) {
		allegro_limit(c, arrived);
		return true;
	}
	for (u32 i = 0; i < MAX_PAIRS && i < probes->pairs; i++) {
		reached = reached && rate_difference(&probes->results[i]);
		sum += preference(c->profile, &probes->results[i]);
	}
	if (!reached || (sum != (s32)probes->pairs && -sum != (s32)probes->pairs)) {
		/* A pair that couldn't be sent as planned is no reason to look further away. */
		if (reached)
			c->probe_step = (fixed)min_u64((u64)(c->probe_step + ALLEGRO.min_step), (u64)ALLEGRO.max_step);
		allegro_decide(c);
		return false;
	}
	c->adjusting = (struct adjusting){ .direction = sum > 0 ? 1 : -1 };
	allegro_set_rate(c, allegro_changed(c->rate, c->probe_step, c->adjusting.direction));
	c->probe_step = ALLEGRO.min_step;
	allegro_adjust(c);
	return true;
}

static inline void allegro_on_adjusted(struct control *c, const struct measurement *result)
{
	struct adjusting *adjusting = &c->adjusting;
	fixed value;

	if (is_limited(result)) {
		allegro_decide(c);
		return;
	}
	value = utility(c->profile, result);
	if (adjusting->has_previous && value < adjusting->previous_utility) {
		allegro_set_rate(c, adjusting->previous_rate);
		allegro_decide(c);
		return;
	}
	adjusting->has_previous = true;
	adjusting->previous_rate = c->rate;
	adjusting->previous_utility = value;
	allegro_adjust(c);
}

static inline bool allegro_on_started(struct control *c, const struct measurement *result)
{
	u64 before = c->rate, rate = before;
	enum start_step step = starting_on_result(&c->starting, &ALLEGRO.start, c->profile, result, &rate);

	if (step == START_STAY)
		return false;
	allegro_set_rate(c, rate);
	if (step == START_LEAVE || c->rate <= before)
		allegro_decide(c);
	return true;
}

/* Takes the result of an interval; returns whether the rate changes at once. */
static inline bool allegro_on_result(struct control *c, const struct plan *plan, const struct measurement *result)
{
	if (c->phase == PHASE_STARTING)
		return plan->role == ROLE_START && allegro_on_started(c, result);
	if (c->phase == PHASE_PROBING)
		return plan->role == ROLE_PROBE && probes_on_result(&c->probes, plan, result) && allegro_on_round(c);
	if (plan->role != ROLE_MOVE)
		return false;
	allegro_on_adjusted(c, result);
	return true;
}

static inline void allegro_cut(struct control *c, enum cut cut)
{
	allegro_set_rate(c, c->rate / 2);
	c->probe_step = ALLEGRO.min_step;
	if (cut == CUT_RESTART) {
		allegro_set_rate(c, max_u64(c->rate, c->first_rate));
		control_start(c);
	} else {
		allegro_decide(c);
	}
}
