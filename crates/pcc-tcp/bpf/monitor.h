/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Monitor intervals as the kernel can see them: ranges of segments sent.
 *
 * Segments count up with every transmission. Those that are neither acknowledged nor lost are in flight, so that
 * sent - in_flight of them have an outcome. The outcomes that an acknowledgement brings go to the oldest segments
 * without one, losses first. An interval is known once as many segments have an outcome as were sent until its end.
 */
#pragma once

#include "measurement.h"
#include "regression.h"

/* Intervals in flight; must be a power of 2. With more, the newest one goes on. */
#define INTERVALS 8
/* The receiver holds acknowledgements back for up to a millisecond: a smaller growth of the round-trip time counts as none. */
#define RTT_NOISE 1200000ULL
/* The longest time that a rate is taken over: with it no product overflows. */
#define MAX_DURATION (18 * SECOND)

/* What the kernel knows when an acknowledgement has been taken in. Times are in ns. */
struct ack {
	u64 now;
	/* When the pacer lets the next segment go, if that is later. */
	u64 next_send;
	u64 bytes_sent;
	/* Segments; they wrap around. */
	u32 sent;
	u32 in_flight;
	/* Segments that it declared lost. */
	u32 lost;
	/* Bytes of a full segment. */
	u32 mss;
	/* The newest segment's round-trip time, 0 if it has none; and the smoothed one, 0 before the first sample. */
	u64 rtt;
	u64 srtt;
};

struct interval {
	struct plan plan;
	/* When its first segment left, and that of the next interval; the latter is 0 while it is sent. */
	u64 opened;
	u64 closed;
	u64 bytes_before;
	u64 bytes;
	/* Its segments: the first, and the first of the next interval. */
	u32 begin;
	u32 end;
	u32 lost;
	struct regression rtts;
};

struct monitor {
	/* A ring: the oldest one's index, and how many there are. The newest is being sent. */
	struct interval intervals[INTERVALS];
	u32 first;
	u32 count;
	/* Segments with an outcome. */
	u32 resolved;
	u64 min_rtt;
	/* Of the interval that closed last. */
	u64 last_mean_rtt;
};

/* Whether a position has reached a mark, where segments wrap around. */
static inline bool reached(u32 position, u32 mark)
{
	return (s32)(position - mark) >= 0;
}

static inline u64 departure(const struct ack *ack)
{
	return max_u64(ack->now, ack->next_send);
}

static inline struct interval *nth_interval(struct monitor *m, u32 n)
{
	return &m->intervals[(m->first + n) % INTERVALS];
}

static inline struct interval *newest_interval(struct monitor *m)
{
	return nth_interval(m, m->count - 1);
}

static inline bool monitor_is_full(const struct monitor *m)
{
	return m->count == INTERVALS;
}

/* Ends the interval being sent and begins the next; when there are too many, that takes the place of the newest. */
static inline void monitor_begin(struct monitor *m, const struct ack *ack, const struct plan *plan)
{
	struct interval *interval = newest_interval(m);

	if (m->count && !monitor_is_full(m) && ack->sent != interval->begin) {
		interval->closed = departure(ack);
		interval->end = ack->sent;
		interval->bytes = ack->bytes_sent - interval->bytes_before;
		m->count++;
	} else if (!m->count) {
		m->count = 1;
	}
	interval = newest_interval(m);
	*interval = (struct interval){
		.plan = *plan,
		.opened = departure(ack),
		.bytes_before = ack->bytes_sent,
		.begin = ack->sent,
	};
}

/* Makes all intervals useless to the controller: the rate changes at once. */
static inline void monitor_abandon(struct monitor *m)
{
	for (u32 i = 0; i < INTERVALS; i++)
		m->intervals[i].plan.role = ROLE_HOLD;
}

/* Drops every interval; a new one has to begin. */
static inline void monitor_drop(struct monitor *m)
{
	m->count = 0;
}

/* Whether the interval being sent has been sent long enough. */
static inline bool is_long_enough(struct monitor *m, const struct ack *ack)
{
	const struct interval *interval = newest_interval(m);
	u32 packets = ack->sent - interval->begin;

	return packets >= interval->plan.max_packets ||
	       (packets >= interval->plan.min_packets && departure(ack) >= interval->opened + interval->plan.length);
}

/* Gives the outcomes that came to the oldest segments without one, losses first. */
static inline void attribute_losses(struct monitor *m, const struct ack *ack)
{
	u32 position = m->resolved, lost = ack->lost;

	for (u32 i = 0; lost && i < INTERVALS && i < m->count; i++) {
		struct interval *interval = nth_interval(m, i);
		u32 end = i + 1 < m->count ? interval->end : ack->sent;
		u32 take;

		/* Segments before the interval belong to none. */
		if (!reached(position, interval->begin)) {
			take = (u32)min_u64(lost, interval->begin - position);
			position += take;
			lost -= take;
		}
		if (reached(position, end))
			continue;
		take = (u32)min_u64(lost, end - position);
		interval->lost += take;
		position += take;
		lost -= take;
	}
}

/* A sample belongs to the interval in which its segment was sent. */
static inline void attribute_rtt(struct monitor *m, const struct ack *ack)
{
	u64 sent = ack->now - min_u64(ack->rtt, ack->now);

	if (!ack->rtt)
		return;
	if (!m->min_rtt || ack->rtt < m->min_rtt)
		m->min_rtt = ack->rtt;
	for (u32 i = 0; i < INTERVALS && i < m->count; i++) {
		struct interval *interval = nth_interval(m, i);
		bool last = i + 1 == m->count;

		if (sent >= interval->opened && (last || sent < interval->closed)) {
			regression_add(&interval->rtts, sent - interval->opened, ack->rtt);
			break;
		}
	}
}

static inline void monitor_on_ack(struct monitor *m, const struct ack *ack)
{
	attribute_losses(m, ack);
	attribute_rtt(m, ack);
	m->resolved = ack->sent - ack->in_flight;
}

/* The trend of the round-trip time over an interval. A falling one is no trend, because queues drain in start-up too. */
static inline void measure_rtt(struct monitor *m, const struct interval *interval, u64 duration,
			       struct measurement *result)
{
	fixed gradient = regression_gradient(&interval->rtts, &result->rtt_fit);

	if (interval->rtts.samples)
		m->last_mean_rtt = regression_mean(&interval->rtts);
	result->rtt = m->last_mean_rtt;
	result->min_rtt = m->min_rtt;
	gradient = gradient < 0 ? 0 : (fixed)min_u64((u64)gradient, MAX_GRADIENT);
	result->rtt_gradient = scale(duration, (u64)gradient) < RTT_NOISE ? 0 : gradient;
}

/* Closes the oldest interval if its result is known, with its plan. */
static inline bool monitor_close(struct monitor *m, struct plan *plan, struct measurement *result)
{
	struct interval *interval = nth_interval(m, 0);
	u64 duration;

	if (m->count < 2 || !reached(m->resolved, interval->end))
		return false;
	m->first = (m->first + 1) % INTERVALS;
	m->count--;
	duration = clamp_u64(interval->closed - interval->opened, 1, MAX_DURATION);
	*plan = interval->plan;
	result->start = interval->opened;
	result->rate = mul_div(8 * interval->bytes, SECOND, duration);
	result->target = plan->rate;
	result->packets_sent = interval->end - interval->begin;
	result->packets_lost = (u32)min_u64(interval->lost, result->packets_sent);
	result->loss = ratio(result->packets_lost, result->packets_sent);
	measure_rtt(m, interval, duration, result);
	return true;
}
