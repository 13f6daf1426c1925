/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Rounds of probes: pairs of intervals above and below the base rate, in random order. */
#pragma once

#include "measurement.h"
#include "random.h"

#define MAX_PAIRS 2

/* The results at the faster and the slower rate of one pair. */
struct pair {
	struct measurement faster;
	struct measurement slower;
};

/* One round: planned, then collected. */
struct probes {
	u32 pairs;
	u32 planned;
	/* A bit for each probe whose result is in. */
	u32 done;
	/* Per pair, whether its first probe is the faster one. */
	bool faster_first[MAX_PAIRS];
	struct pair results[MAX_PAIRS];
};

static inline void probes_begin(struct probes *probes, u32 pairs, u64 *random)
{
	probes->pairs = pairs;
	probes->planned = 0;
	probes->done = 0;
	probes->faster_first[0] = random_bool(random);
	probes->faster_first[1] = random_bool(random);
}

/* Makes the plan the next probe; without one left it stays as it is. */
static inline void probes_plan(struct probes *probes, struct plan *plan)
{
	u32 index = probes->planned;

	if (index >= 2 * probes->pairs)
		return;
	probes->planned++;
	plan->role = ROLE_PROBE;
	plan->index = index;
	plan->faster = probes->faster_first[index / 2 % MAX_PAIRS] == (index % 2 == 0);
}

/* Takes the result of one probe; returns whether the round is complete. */
static inline bool probes_on_result(struct probes *probes, const struct plan *plan, const struct measurement *result)
{
	struct pair *pair = &probes->results[plan->index / 2 % MAX_PAIRS];

	if (plan->faster)
		pair->faster = *result;
	else
		pair->slower = *result;
	probes->done |= 1U << plan->index % (2 * MAX_PAIRS);
	return probes->done == (1U << 2 * probes->pairs) - 1;
}

/* The difference of the achieved rates; 0 if it is less than half of what was asked for, which proves nothing. */
static inline u64 rate_difference(const struct pair *pair)
{
	u64 asked = pair->faster.target - pair->slower.target, achieved;

	if (is_limited(&pair->faster) || is_limited(&pair->slower) || pair->faster.rate <= pair->slower.rate)
		return 0;
	achieved = pair->faster.rate - pair->slower.rate;
	return achieved * 2 < asked ? 0 : achieved;
}

/* Whether a pair says nothing about the rate but lost too much to go on; what arrived of it is the rate to go to. */
static inline bool arrived_in_spite(const struct probes *probes, u64 *arrived)
{
	for (u32 i = 0; i < MAX_PAIRS && i < probes->pairs; i++) {
		const struct pair *pair = &probes->results[i];

		if (!rate_difference(pair) && pair->slower.loss > LIMITED_LOSS) {
			*arrived = throughput(&pair->slower);
			return true;
		}
	}
	return false;
}
