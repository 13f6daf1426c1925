/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* For tests: a sender that reports each call of its rate control. */
#include "rate_control.h"

enum call_kind { CALL_PLAN, CALL_RESULT, CALL_CUT, CALL_LIMIT };

/* A call, and what came of it. */
struct call {
	u32 kind;
	u32 cut;
	u64 ceiling;
	struct path path;
	struct plan plan;
	/* As it was before the rate control filtered it. */
	struct measurement result;
	u64 rate;
	u32 phase;
	u32 realigned;
};

/* An event makes a few. */
#define MAX_CALLS 16

struct calls {
	struct call calls[MAX_CALLS];
	u64 count;
};

/* As asserted in src/ffi/traced.rs too. */
_Static_assert(sizeof(struct calls) == MAX_CALLS * 152 + 8, "struct calls is not what Rust takes it for");

static _Thread_local struct calls *told;

static void tell(const struct control *c, struct call call)
{
	call.rate = c->rate;
	call.phase = c->phase;
	if (told->count < MAX_CALLS)
		told->calls[told->count++] = call;
}

static void traced_plan(struct control *c, const struct path *path, struct plan *plan)
{
	control_plan(c, path, plan);
	tell(c, (struct call){ .kind = CALL_PLAN, .path = *path, .plan = *plan });
}

static bool traced_on_result(struct control *c, const struct plan *plan, struct measurement *result)
{
	struct call call = { .kind = CALL_RESULT, .plan = *plan, .result = *result };

	call.realigned = control_on_result(c, plan, result);
	tell(c, call);
	return call.realigned;
}

static void traced_cut(struct control *c, enum cut cut)
{
	control_cut(c, cut);
	tell(c, (struct call){ .kind = CALL_CUT, .cut = cut, .realigned = true });
}

static void traced_limit(struct control *c, u64 ceiling)
{
	control_limit(c, ceiling);
	tell(c, (struct call){ .kind = CALL_LIMIT, .ceiling = ceiling, .realigned = true });
}

#define control_plan traced_plan
#define control_on_result traced_on_result
#define control_cut traced_cut
#define control_limit traced_limit
#include "sender.h"

void pcc_traced_init(struct sender *s, u32 profile, u64 seed, const struct ack *ack, struct calls *calls)
{
	told = calls;
	sender_init(s, profile, seed, ack);
}

void pcc_traced_on_ack(struct sender *s, const struct ack *ack, struct calls *calls)
{
	told = calls;
	sender_on_ack(s, ack);
}

void pcc_traced_on_timeout(struct sender *s, const struct ack *ack, struct calls *calls)
{
	told = calls;
	sender_on_timeout(s, ack);
}

void pcc_traced_on_first_sent(struct sender *s, const struct ack *ack, struct calls *calls)
{
	told = calls;
	sender_on_first_sent(s, ack);
}
