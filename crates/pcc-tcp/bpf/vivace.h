/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Vivace's rate control: gradient ascent on the utility, and the released sender's mechanisms. */
#pragma once

#include "control.h"

/* The pairs of a round when nothing is known of the direction; they must agree. */
#define CAUTIOUS_PAIRS 2

/* Sets the base rate so that the probes around it stay within the bounds. */
static inline void vivace_set_rate(struct control *c, u64 rate)
{
	c->rate = clamp_u64(rate, VIVACE.bounds.min, mul_div(VIVACE.bounds.max, ONE, (u64)(ONE + VIVACE.probe_step)));
}

/* How far probes are from the base rate. */
static inline u64 vivace_probe_step(u64 rate)
{
	return max_u64(least_step(&VIVACE.min_probe_step, rate), scale(rate, (u64)VIVACE.probe_step));
}

static inline void vivace_plan(struct control *c, const struct path *path, struct plan *plan)
{
	if (!c->rate) {
		vivace_set_rate(c, initial_rate(&VIVACE.start, path->mtu, path->rtt));
		c->first_rate = c->rate;
	}
	control_assign(c, &VIVACE.start, plan);
	vivace_set_rate(c, c->rate);
	plan->rate = c->rate;
	if (plan->role == ROLE_PROBE) {
		u64 step = vivace_probe_step(c->rate);

		plan->rate = plan->faster ? c->rate + step : c->rate - step;
	}
	plan->rate = min_u64(plan->rate, VIVACE.bounds.max);
	plan->length = path->rtt;
	plan->min_packets = VIVACE.min_packets;
	plan->max_packets = VIVACE.max_packets;
}

/* A falling round-trip time is no reward, and small trends are none. */
static inline fixed vivace_filter(fixed gradient)
{
	u64 quantum = (u64)VIVACE.gradient_quantum;

	return gradient < 0 ? 0 : (fixed)((u64)gradient / quantum * quantum);
}

/* The packets that the probes of a round lost. */
struct round_loss {
	u64 sent;
	u64 lost_faster;
	u64 lost_slower;
};

static inline struct round_loss round_loss_of(const struct probes *probes)
{
	struct round_loss loss = {};

	for (u32 i = 0; i < MAX_PAIRS && i < probes->pairs; i++) {
		const struct pair *pair = &probes->results[i];

		loss.sent += (u64)pair->faster.packets_sent + pair->slower.packets_sent;
		loss.lost_faster += pair->faster.packets_lost;
		loss.lost_slower += pair->slower.packets_lost;
	}
	return loss;
}

static inline fixed round_loss_total(const struct round_loss *loss)
{
	return ratio(loss->lost_faster + loss->lost_slower, max_u64(loss->sent, 1));
}

static inline bool is_suspicious(const struct round_loss *loss)
{
	return round_loss_total(loss) >= ONE / 20 && loss->lost_slower > loss->lost_faster + 2 && loss->lost_faster;
}

static inline bool queue_stands(const struct measurement *m)
{
	u64 standing = scale(m->min_rtt, (u64)(ONE + VIVACE.loss_significance.standing_queue));

	return m->rtt > standing;
}

/* Gives both probes of a pair their common loss, unless a queue stands or the faster one clearly lost more. */
static inline void pool_chance(struct pair *pair)
{
	struct measurement *faster = &pair->faster, *slower = &pair->slower;
	const struct loss_significance *test = &VIVACE.loss_significance;
	u64 n = faster->packets_sent, m = slower->packets_sent;
	u64 common = ((u64)faster->loss * n + (u64)slower->loss * m) / max_u64(n + m, 1);
	u64 variance = mul_div(common * (ONE - common), n + m, n * m);
	s64 excess = faster->loss - slower->loss;

	if (common > (u64)test->max_loss || queue_stands(faster) || queue_stands(slower))
		return;
	/* excess <= z * sqrt(variance) */
	if (excess > 0 && (u64)excess * (u64)excess > scale(scale(variance, (u64)test->z), (u64)test->z))
		return;
	faster->loss = (fixed)common;
	slower->loss = (fixed)common;
}

/* The mean utility gradient of a round; 0 if its pairs disagree, or one says nothing. */
static inline fixed common_gradient(const struct control *c)
{
	fixed sum = 0;

	for (u32 i = 0; i < MAX_PAIRS && i < c->probes.pairs; i++) {
		const struct pair *pair = &c->probes.results[i];
		u64 difference = rate_difference(pair);
		fixed gradient;

		if (!difference)
			return 0;
		gradient = utility_gradient(utility(c->profile, &pair->faster), utility(c->profile, &pair->slower),
					    (s64)difference);
		if (!gradient || (sum && (gradient ^ sum) < 0))
			return 0;
		sum += with_sign_of(gradient, magnitude(gradient) / c->probes.pairs);
	}
	return sum;
}

/* What a pair says about the rate between its probes: the reference of a move that follows. */
static inline void average(const struct pair *pair, struct measurement *reference)
{
	const struct measurement *a = &pair->faster, *b = &pair->slower;

	*reference = *b;
	reference->rate = (a->rate + b->rate) / 2;
	reference->target = (a->target + b->target) / 2;
	reference->loss = (a->loss + b->loss) >> 1;
	reference->rtt_gradient = (a->rtt_gradient + b->rtt_gradient) >> 1;
}

/* Takes a step along the gradient; returns whether it is so large that it goes on with moves. */
static inline bool vivace_step(struct control *c, fixed gradient, bool *same)
{
	u64 before = c->rate;
	s64 change = step_advance(&c->step, &VIVACE.step, gradient, before, same);

	vivace_set_rate(c, change < 0 ? before - min_u64(magnitude(change), before) : before + (u64)change);
	return change > 0 && (u64)change > scale(before, (u64)VIVACE.moves_above);
}

/* A round is complete: turn it into a step, or look again. */
static inline void vivace_on_round(struct control *c)
{
	struct probes *probes = &c->probes;
	struct round_loss loss = round_loss_of(probes);
	bool checked = c->unchecked, same;
	fixed gradient;

	c->unchecked = false;
	for (u32 i = 0; i < MAX_PAIRS && i < probes->pairs; i++) {
		struct pair *pair = &probes->results[i];

		if (round_loss_total(&loss) <= VIVACE.pool_loss_below)
			pair->faster.loss = pair->slower.loss = round_loss_total(&loss);
		pool_chance(pair);
	}
	gradient = common_gradient(c);
	if (!gradient) {
		/* Also when the rate couldn't be reached. The released sender looks again with a single pair. */
		control_probe(c, 1);
		return;
	}
	if (!checked && gradient > 0 && is_suspicious(&loss)) {
		c->unchecked = true;
		control_probe(c, probes->pairs);
		return;
	}
	if (vivace_step(c, gradient, &same)) {
		average(&probes->results[probes->pairs == 1 ? 0 : 1], &c->reference);
		control_move(c);
	} else {
		control_probe(c, same ? 1 : CAUTIOUS_PAIRS);
	}
}

static inline void vivace_on_moved(struct control *c, const struct measurement *result)
{
	s64 difference = (s64)(result->rate - c->reference.rate);
	s64 asked = (s64)(result->target - c->reference.target);
	bool same;

	if (is_limited(result) || !difference || magnitude(difference) < magnitude(asked) / 2) {
		control_probe(c, CAUTIOUS_PAIRS);
		return;
	}
	if (vivace_step(c,
			utility_gradient(utility(c->profile, result), utility(c->profile, &c->reference), difference),
			&same)) {
		c->reference = *result;
		control_move(c);
	} else {
		control_probe(c, CAUTIOUS_PAIRS);
	}
}

static inline void vivace_limit(struct control *c, u64 ceiling)
{
	vivace_set_rate(c, min_u64(c->rate, ceiling));
	c->unchecked = false;
	if (c->phase == PHASE_STARTING)
		c->starting.tried = false;
	else
		control_probe(c, CAUTIOUS_PAIRS);
}

static inline bool vivace_on_started(struct control *c, const struct measurement *result)
{
	u64 before = c->rate, rate = before;
	enum start_step step = starting_on_result(&c->starting, &VIVACE.start, c->profile, result, &rate);

	if (step == START_STAY)
		return false;
	vivace_set_rate(c, rate);
	if (step == START_LEAVE || c->rate <= before)
		control_probe(c, CAUTIOUS_PAIRS);
	return true;
}

/* Takes the result of an interval; returns whether the rate changes at once. */
static inline bool vivace_on_result(struct control *c, const struct plan *plan, struct measurement *result)
{
	u64 arrived;

	if (result->rtt_fit < VIVACE.min_fit)
		result->rtt_gradient = 0;
	if (c->phase == PHASE_STARTING)
		return plan->role == ROLE_START && vivace_on_started(c, result);
	result->rtt_gradient = vivace_filter(result->rtt_gradient);
	if (c->phase == PHASE_MOVING) {
		if (plan->role != ROLE_MOVE)
			return false;
		vivace_on_moved(c, result);
		return true;
	}
	if (plan->role != ROLE_PROBE || !probes_on_result(&c->probes, plan, result))
		return false;
	if (arrived_in_spite(&c->probes, &arrived))
		vivace_limit(c, arrived);
	else
		vivace_on_round(c);
	return true;
}

static inline void vivace_cut(struct control *c, enum cut cut)
{
	vivace_set_rate(c, c->rate / 2);
	step_reset(&c->step);
	c->unchecked = false;
	if (cut == CUT_RESTART) {
		vivace_set_rate(c, max_u64(c->rate, c->first_rate));
		control_start(c);
	} else {
		control_probe(c, CAUTIOUS_PAIRS);
	}
}
