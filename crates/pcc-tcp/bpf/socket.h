/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Between the kernel's socket and the sender: what the one tells, and what the other sets. */
#pragma once

#include "kernel.h"
#include "reordering.h"
#include "sender.h"

/* All but what an acknowledgement brought. */
static inline void read_socket(const struct tcp_sock *tp, struct ack *ack)
{
	*ack = (struct ack){
		.now = tp->tcp_clock_cache,
		.next_send = tp->tcp_wstamp_ns,
		.bytes_sent = tp->bytes_sent,
		.sent = tp->data_segs_out,
		.in_flight = tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out,
		.mss = tp->mss_cache,
		.srtt = (u64)(tp->srtt_us >> 3) * MICROSECOND,
	};
}

/* The kernel declares losses between acknowledgements, too: when the reordering timer of RACK (RFC 8985) expires. */
static inline void read_sample(const struct tcp_sock *tp, const struct rate_sample *sample, struct reordering *r,
			       struct ack *ack)
{
	ack->lost = reordering_discount(r, tp->lost, tp->dsack_dups);
	ack->rtt = sample->rtt_us > 0 ? (u64)sample->rtt_us * MICROSECOND : 0;
}

/* The pacer counts payload in bytes/s, as the sender does in bit/s. */
static inline void set_rate(struct sock *sk, const struct sender *s)
{
	sk->sk_pacing_rate = min_u64(s->pacing / 8, sk->sk_max_pacing_rate);
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

static inline void set_window(struct tcp_sock *tp, const struct sender *s, const struct ack *ack)
{
	tp->snd_cwnd = (u32)min_u64(sender_window(s, ack), tp->snd_cwnd_clamp);
}
