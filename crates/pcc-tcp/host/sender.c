/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The sender as functions that Rust can call. */
#include <stddef.h>
#include "sender.h"

/* As asserted in src/ffi.rs too. */
#define RUST_HAS(what, bytes) _Static_assert(what == bytes, "struct ack is not what Rust takes it for")
RUST_HAS(sizeof(struct ack), 56);
RUST_HAS(offsetof(struct ack, now), 0);
RUST_HAS(offsetof(struct ack, next_send), 8);
RUST_HAS(offsetof(struct ack, bytes_sent), 16);
RUST_HAS(offsetof(struct ack, sent), 24);
RUST_HAS(offsetof(struct ack, in_flight), 28);
RUST_HAS(offsetof(struct ack, lost), 32);
RUST_HAS(offsetof(struct ack, mss), 36);
RUST_HAS(offsetof(struct ack, rtt), 40);
RUST_HAS(offsetof(struct ack, srtt), 48);

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
