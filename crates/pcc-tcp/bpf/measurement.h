/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Monitor intervals: their plans and their results. */
#pragma once

#include "fixed.h"

enum role { ROLE_START, ROLE_PROBE, ROLE_MOVE, ROLE_HOLD };

/* An interval to send: at which rate, for how long, and why. */
struct plan {
	u64 rate;
	/* In ns. */
	u64 length;
	u32 min_packets;
	u32 max_packets;
	u8 role;
	/* Of a probe: its place in the round, and whether it is above the base rate. */
	u8 index;
	u8 faster;
};

/* The result of an interval, which the utility judges. */
struct measurement {
	/* When its first packet was sent. */
	u64 start;
	/* The rate that was achieved, and the one that was asked for. */
	u64 rate;
	u64 target;
	u32 packets_sent;
	u32 packets_lost;
	fixed loss;
	/* In ns. */
	u64 rtt;
	u64 min_rtt;
	/* Seconds per second, up to MAX_GRADIENT. */
	fixed rtt_gradient;
	/* The share of the round-trip times' variance that the trend explains. */
	fixed rtt_fit;
};

/* The trend of a sender that is nine times too fast. */
#define MAX_GRADIENT (8 * ONE)
/* An interval that couldn't be sent as asked for says nothing about the rate, unless it lost more than this. */
#define LIMITED_LOSS (ONE / 20)

static inline u64 throughput(const struct measurement *m)
{
	return scale(m->rate, (u64)(ONE - m->loss));
}

/* An interval that reached less than four fifths of its target was limited by something other than the path. */
static inline bool is_limited(const struct measurement *m)
{
	return m->rate * 5 < m->target * 4;
}
