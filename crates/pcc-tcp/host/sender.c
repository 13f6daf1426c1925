/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The sender as functions that Rust can call. */
#include "sender.h"

/* As asserted in src/ffi.rs too. */
_Static_assert(sizeof(struct ack) == 56, "struct ack is not what Rust takes it for");

u64 pcc_sender_size(void)
{
	return sizeof(struct sender);
}

void pcc_sender_init(struct sender *s, u32 profile, u64 seed, const struct ack *ack)
{
	sender_init(s, profile, seed, ack);
}

void pcc_sender_on_ack(struct sender *s, const struct ack *ack)
{
	sender_on_ack(s, ack);
}

void pcc_sender_on_timeout(struct sender *s, const struct ack *ack)
{
	sender_on_timeout(s, ack);
}

void pcc_sender_on_first_sent(struct sender *s, const struct ack *ack)
{
	sender_on_first_sent(s, ack);
}

u64 pcc_sender_rate(const struct sender *s)
{
	return s->pacing;
}

u64 pcc_sender_window(const struct sender *s, const struct ack *ack)
{
	return sender_window(s, ack);
}
