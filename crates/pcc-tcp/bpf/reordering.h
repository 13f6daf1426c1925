/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Losses that were none: segments that came later than the kernel waits for, and were sent again in vain. The receiver
 * reports them by duplicate SACKs (RFC 2883), a round trip after their interval was judged. In return, one later loss
 * isn't counted for each.
 */
#pragma once

#include "fixed.h"

struct reordering {
	/* Losses and duplicate SACKs so far; they wrap around. */
	u32 lost;
	u32 dsacks;
	/* Losses that a duplicate SACK may yet take back. */
	u32 suspects;
	/* Losses that were taken back: so many later ones are not to be counted. */
	u32 credit;
};

/* Sending begins anew: forgets what was before, and counts losses from now on. */
static inline void reordering_begin(struct reordering *r, u32 lost, u32 dsacks)
{
	*r = (struct reordering){ .lost = lost, .dsacks = dsacks };
}

/* How many of the losses since the call before count. */
static inline u32 reordering_discount(struct reordering *r, u32 lost, u32 dsacks)
{
	u32 more = lost - r->lost;
	/* A duplicate SACK without a suspect is for a probe of the kernel's, which was not lost either. */
	u32 innocent = (u32)min_u64(dsacks - r->dsacks, r->suspects);
	u32 discount;

	r->lost = lost;
	r->dsacks = dsacks;
	r->suspects -= innocent;
	r->credit += innocent;
	discount = (u32)min_u64(more, r->credit);
	r->credit -= discount;
	r->suspects += more;
	return more - discount;
}

/* An interval has passed: what was long ago says less about now. */
static inline void reordering_age(struct reordering *r)
{
	r->suspects -= r->suspects / 4;
	r->credit -= r->credit / 4;
}
