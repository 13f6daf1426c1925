/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The sender: monitor, utility and rate control put together, with what protects the path whatever the rate control
 * does. It is told of acknowledgements, timeouts and beginnings, and says at which rate to pace.
 */
#pragma once

#include "monitor.h"
#include "rate_control.h"

/* The round-trip time that intervals are planned with before the first sample. */
#define INITIAL_RTT (SECOND / 10)
/* The silence that is tolerated before the first sample, and the shortest that makes a sender idle. */
#define INITIAL_SILENCE (3 * SECOND)
#define MIN_IDLE SECOND
/* Intervals with fewer packets, cut off by a change of rate, say nothing about loss or rate. */
#define MIN_PACKETS 10
/* Packets that may be in flight whatever the rate: bursts of segmentation offload and late acknowledgements. */
#define MIN_IN_FLIGHT_PACKETS 20
/* Packets in flight, as a multiple of rate * smoothed round-trip time. */
#define IN_FLIGHT 2
/* The intervals whose delivered rates count. */
#define DELIVERED 10

struct sender {
	struct control control;
	struct monitor monitor;
	/* The rate of the interval being sent. */
	u64 pacing;
	/* When an acknowledgement came last, or sending began. */
	u64 heard;
	/* When the silence began for which the rate was cut; 0 without one. */
	u64 silent_since;
	/* Intervals that began before the brake was pulled last don't pull it again. */
	u64 braked;
	/* The rates delivered in the last intervals. */
	u64 delivered[DELIVERED];
	u32 next_delivered;
	/* The interval that closed last, as the utility judged it. */
	struct plan closed;
	struct measurement result;
};

static inline void sender_begin_interval(struct sender *s, const struct ack *ack)
{
	u64 srtt = ack->srtt ? ack->srtt : INITIAL_RTT;
	struct path path = { .mtu = ack->mss, .rtt = s->monitor.last_mean_rtt ? s->monitor.last_mean_rtt : srtt };
	struct plan plan;

	control_plan(&s->control, &path, &plan);
	monitor_begin(&s->monitor, ack, &plan);
	s->pacing = plan.rate;
}

/* Begins with a sender of zeros. */
static inline void sender_init(struct sender *s, u32 profile, u64 seed, const struct ack *ack)
{
	s->heard = ack->now;
	control_init(&s->control, profile, seed);
	sender_begin_interval(s, ack);
}

/* What is in flight is useless from now on: begins an interval at the rate control's new rate. */
static inline void sender_realign(struct sender *s, const struct ack *ack)
{
	monitor_abandon(&s->monitor);
	sender_begin_interval(s, ack);
}

static inline void sender_cut(struct sender *s, const struct ack *ack, enum cut cut)
{
	control_cut(&s->control, cut);
	sender_realign(s, ack);
}

static inline void note_delivered(struct sender *s, u64 rate)
{
	u32 next = s->next_delivered < DELIVERED ? s->next_delivered : 0;

	s->delivered[next] = rate;
	s->next_delivered = next + 1;
}

static inline u64 largest_delivered(const struct sender *s)
{
	u64 largest = 0;

	for (u32 i = 0; i < DELIVERED; i++)
		largest = max_u64(largest, s->delivered[i]);
	return largest;
}

/* The rate to hold while something else limits the sender: a loss lowers it, because its intervals prove nothing. */
static inline u64 limited_ceiling(const struct sender *s, const struct measurement *result)
{
	u64 headroom = (u64)(result->loss > LIMITED_LOSS ? ONE : GUARDS.limited_rate);

	return max_u64(scale(largest_delivered(s), headroom), s->control.first_rate);
}

static inline void sender_on_result(struct sender *s, const struct ack *ack)
{
	struct measurement *result = &s->result;
	bool counts = result->packets_sent >= MIN_PACKETS, realign, starting;
	u64 ceiling;

	if (counts)
		note_delivered(s, throughput(result));
	if (counts && result->loss > GUARDS.brake_loss && result->start >= s->braked) {
		s->braked = ack->now;
		sender_cut(s, ack, CUT_LOSS);
		return;
	}
	ceiling = limited_ceiling(s, result);
	starting = s->control.phase == PHASE_STARTING;
	realign = control_on_result(&s->control, &s->closed, result);
	if (is_limited(result) && s->control.rate > ceiling) {
		control_limit(&s->control, ceiling);
		realign = true;
	}
	/* What start-up sent too fast is no reason to brake now. */
	if (starting && s->control.phase != PHASE_STARTING)
		s->braked = ack->now;
	if (realign)
		sender_realign(s, ack);
}

/*
 * An acknowledgement has been taken in. Returns whether it closed an interval; if it ends several, the next ones close
 * the others.
 */
static inline bool sender_on_ack(struct sender *s, const struct ack *ack)
{
	bool closed;

	s->heard = ack->now;
	s->silent_since = 0;
	monitor_on_ack(&s->monitor, ack);
	closed = monitor_close(&s->monitor, &s->closed, &s->result);
	if (closed)
		sender_on_result(s, ack);
	if (is_long_enough(&s->monitor, ack) && !monitor_is_full(&s->monitor))
		sender_begin_interval(s, ack);
	return closed;
}

/* Whether nothing has been heard for a round trip, as it is when the retransmission timer expires. */
static inline bool has_been_silent(const struct sender *s, const struct ack *ack)
{
	return ack->now >= s->heard + (ack->srtt ? ack->srtt : INITIAL_RTT);
}

/* Nothing has been acknowledged until the retransmission timer expired. */
static inline void sender_on_timeout(struct sender *s, const struct ack *ack)
{
	u64 srtt = ack->srtt ? ack->srtt : INITIAL_RTT;

	if (!s->silent_since)
		s->silent_since = s->heard;
	monitor_drop(&s->monitor);
	sender_cut(s, ack, ack->now - s->silent_since > GUARDS.restart_rtts * srtt ? CUT_RESTART : CUT_SILENCE);
}

/* Sending begins with nothing in flight. After a pause the rate is a guess; and an interval begins with its first packet. */
static inline void sender_on_first_sent(struct sender *s, const struct ack *ack)
{
	u64 silence = ack->srtt ? GUARDS.silence_rtts * ack->srtt : INITIAL_SILENCE;
	struct interval *interval = newest_interval(&s->monitor);

	if (ack->now > s->heard + max_u64(silence, MIN_IDLE))
		sender_cut(s, ack, CUT_RESTART);
	else if (interval->begin == ack->sent)
		interval->opened = departure(ack);
	s->heard = ack->now;
	s->silent_since = 0;
}

/* Segments that may be in flight. */
static inline u64 sender_window(const struct sender *s, const struct ack *ack)
{
	u64 rtt = IN_FLIGHT * (ack->srtt ? ack->srtt : INITIAL_SILENCE);

	return mul_div(s->pacing / 8, rtt / MICROSECOND, MEGA) / max_u64(ack->mss, 1) + MIN_IN_FLIGHT_PACKETS;
}
