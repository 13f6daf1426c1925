/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* From a utility gradient to a change of rate: the released sender's amplifier and the dynamic change boundary. */
#pragma once

#include "config.h"

/* Reversals that the swing buffer counts at most. */
#define MAX_SWING 2
/* Where the counters stop, so that no product overflows: the rate is at its bounds long before. */
#define MAX_RUN (2 * 1000)
#define MAX_GROWTHS 100

struct step {
	/* The sign of the last decision, 0 before the first. */
	s32 direction;
	/* The amplifier's counter, in halves. */
	u32 run;
	u32 swing;
	/* How often the boundary has grown. */
	u32 growths;
};

static inline void step_reset(struct step *step)
{
	*step = (struct step){};
}

/* The smallest amount by which a rate is varied. */
static inline u64 least_step(const struct least_step *config, u64 rate)
{
	return min_u64(config->rate, scale(rate, (u64)config->most));
}

static inline void step_count(struct step *step, bool same)
{
	if (!same) {
		step->swing = step->direction ? (u32)min_u64(step->swing + 1, MAX_SWING) : 0;
		step->run = 0;
		step->growths = 0;
	} else if (step->swing) {
		step->swing--;
	} else if (step->run < MAX_RUN) {
		step->run += step->run > 2 * 3 ? 1 : 2;
	}
}

/* The multiplier, in halves as the counter. */
static inline u32 multiplier(u32 run)
{
	if (run < 2 * 3)
		return run + 2;
	if (run < 2 * 6)
		return 2 * run - 2 * 2;
	if (run < 2 * 9)
		return 4 * run - 2 * 14;
	return 8 * run - 2 * 50;
}

/* Applies the change boundary to a wanted change, and lets it grow or shrink. */
static inline u64 step_bound(struct step *step, const struct step_config *config, u64 wanted, u64 rate)
{
	u64 limit = scale(rate, (u64)config->boundary + step->growths * (u64)config->boundary_growth);

	if (wanted > limit) {
		if (step->growths < MAX_GROWTHS)
			step->growths++;
		return limit;
	}
	if (step->growths)
		step->growths--;
	return wanted;
}

/* The change of rate for a utility gradient at a rate, and whether its direction is that of the decision before. */
static inline s64 step_advance(struct step *step, const struct step_config *config, fixed gradient, u64 rate,
			       bool *same)
{
	s32 sign = gradient < 0 ? -1 : 1;
	u64 wanted;

	*same = sign == step->direction;
	step_count(step, *same);
	step->direction = sign;
	wanted = mul_div(scale(magnitude(gradient), (u64)config->theta), MEGA * multiplier(step->run), 2 * ONE);
	wanted = step_bound(step, config, wanted, rate);
	return with_sign_of(gradient, max_u64(wanted, least_step(&config->min_change, rate)));
}
