/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The parts of the core as functions that tests can call. */
#include "reordering.h"
#include "sender.h"

fixed pcc_log2(u64 x)
{
	return fixed_log2(x);
}

fixed pcc_exp2(fixed x)
{
	return fixed_exp2(x);
}

fixed pcc_power(u64 x, u64 unit, fixed power)
{
	return fixed_power(x, unit, power);
}

fixed pcc_sigmoid(fixed steepness, fixed y)
{
	return sigmoid(steepness, y);
}

u64 pcc_mul_div(u64 a, u64 b, u64 c)
{
	return mul_div(a, b, c);
}

fixed pcc_ratio(u64 part, u64 whole)
{
	return ratio(part, whole);
}

u64 pcc_random_u64(u64 *state)
{
	return random_u64(state);
}

fixed pcc_utility(u32 profile, const struct measurement *m)
{
	return utility(profile, m);
}

/* The gradient of samples given as pairs of send and round-trip times. */
fixed pcc_gradient(const u64 *samples, u64 count, u64 *mean, fixed *explained)
{
	struct regression fit = {};

	for (u64 i = 0; i < count; i++)
		regression_add(&fit, samples[2 * i], samples[2 * i + 1]);
	*mean = fit.samples ? regression_mean(&fit) : 0;
	return regression_gradient(&fit, explained);
}

u32 pcc_reordering_discount(struct reordering *r, u32 lost, u32 dsacks)
{
	return reordering_discount(r, lost, dsacks);
}

void pcc_reordering_age(struct reordering *r)
{
	reordering_age(r);
}

u64 pcc_control_size(void)
{
	return sizeof(struct control);
}

void pcc_control_init(struct control *c, u32 profile, u64 seed)
{
	control_init(c, profile, seed);
}

void pcc_control_plan(struct control *c, const struct path *path, struct plan *plan)
{
	control_plan(c, path, plan);
}

bool pcc_control_on_result(struct control *c, const struct plan *plan, const struct measurement *result)
{
	struct measurement filtered = *result;

	return control_on_result(c, plan, &filtered);
}

void pcc_control_cut(struct control *c, u32 cut)
{
	control_cut(c, cut);
}

void pcc_control_limit(struct control *c, u64 ceiling)
{
	control_limit(c, ceiling);
}

u64 pcc_control_rate(const struct control *c)
{
	return c->rate;
}

u32 pcc_control_phase(const struct control *c)
{
	return c->phase;
}
