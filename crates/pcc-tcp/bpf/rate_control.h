/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The rate control of a profile. It is called between acknowledgements only, with results in the order of the plans. */
#pragma once

#include "allegro.h"
#include "vivace.h"

/* Begins with a control of zeros. */
static inline void control_init(struct control *c, u32 profile, u64 seed)
{
	c->profile = profile;
	c->random = seed;
	c->probe_step = ALLEGRO.min_step;
}

/* The next interval to send. Sending never pauses: while results are awaited the rate is held. */
static inline void control_plan(struct control *c, const struct path *path, struct plan *plan)
{
	if (c->profile == ALLEGRO_2015)
		allegro_plan(c, path, plan);
	else
		vivace_plan(c, path, plan);
}

/*
 * Takes the result of an interval, and filters it. Returns whether the rate changes at once, which makes all
 * intervals that are still in flight useless.
 */
static inline bool control_on_result(struct control *c, const struct plan *plan, struct measurement *result)
{
	return c->profile == ALLEGRO_2015 ? allegro_on_result(c, plan, result) : vivace_on_result(c, plan, result);
}

/* Halves the rate, on a restart not below that of the first start, and forgets what led to it. */
static inline void control_cut(struct control *c, enum cut cut)
{
	if (c->profile == ALLEGRO_2015)
		allegro_cut(c, cut);
	else
		vivace_cut(c, cut);
}

/* Lowers the rate to a ceiling, because it is more than was ever delivered. What is in flight is abandoned. */
static inline void control_limit(struct control *c, u64 ceiling)
{
	if (c->profile == ALLEGRO_2015)
		allegro_limit(c, ceiling);
	else
		vivace_limit(c, ceiling);
}
