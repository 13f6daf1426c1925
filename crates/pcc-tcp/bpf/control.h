/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Rate control: which rates to try, and where to go from what they were worth. What Vivace and Allegro share. */
#pragma once

#include "constants.h"
#include "probes.h"
#include "starting.h"
#include "step.h"

enum phase { PHASE_STARTING, PHASE_PROBING, PHASE_MOVING };

/* Why the rate is cut outside of the controller's own decisions; as in the Rust core. */
enum cut { CUT_LOSS, CUT_SILENCE, CUT_RESTART };

/* What is known of the path when an interval is planned. */
struct path {
	/* In bytes. */
	u64 mtu;
	/* The mean round-trip time of the interval that closed last, in ns. */
	u64 rtt;
};

/* Allegro's adjusting: each step k goes to rate * (1 + k * min_step * direction) of the rate before. */
struct adjusting {
	s32 direction;
	u32 k;
	/* The rate and utility of the step before. The first step has none. */
	u64 previous_rate;
	fixed previous_utility;
	bool has_previous;
};

struct control {
	u32 profile;
	u32 phase;
	/* The generator's state. */
	u64 random;
	/* The base rate; 0 until the first plan. */
	u64 rate;
	/* The rate of the first plan. */
	u64 first_rate;
	struct starting starting;
	struct probes probes;
	/* Whether the interval of a move is in flight. */
	bool awaiting;

	/* Vivace: the step, what a move is compared with, and a gradient that waits for its double check. */
	struct step step;
	struct measurement reference;
	bool unchecked;

	/* Allegro: epsilon, and its moves. */
	fixed probe_step;
	struct adjusting adjusting;
};

static inline void control_start(struct control *c)
{
	c->phase = PHASE_STARTING;
	c->starting = (struct starting){};
}

static inline void control_probe(struct control *c, u32 pairs)
{
	c->phase = PHASE_PROBING;
	probes_begin(&c->probes, pairs, &c->random);
}

static inline void control_move(struct control *c)
{
	c->phase = PHASE_MOVING;
	c->awaiting = false;
}

/* Gives the plan the role that the phase asks for; while results are awaited that is to hold the rate. Start-up may double
 * the rate, beyond its bounds.
 */
static inline void control_assign(struct control *c, const struct start_config *start, struct plan *plan)
{
	plan->role = ROLE_HOLD;
	plan->index = 0;
	plan->faster = 0;
	if (c->phase == PHASE_PROBING) {
		probes_plan(&c->probes, plan);
	} else if (c->phase == PHASE_STARTING) {
		if (starting_next_rate(&c->starting, start, &c->rate))
			plan->role = ROLE_START;
	} else if (c->phase == PHASE_MOVING && !c->awaiting) {
		c->awaiting = true;
		plan->role = ROLE_MOVE;
	}
}
