/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* A list of the connections that have a controller, of all network namespaces. */
#include "flow.h"

char LICENSE[] SEC("license") = "GPL";

/* One connection. src/kernel/layout.rs has the same struct. */
struct entry {
	struct connection connection;
	u64 now;
	u64 pacing;
	u64 bytes_sent;
	u64 bytes_acked;
	u64 srtt;
	u64 min_rtt;
	u32 segments_sent;
	u32 segments_lost;
	u32 window;
	u32 phase;
	/* Of the interval that closed last. */
	fixed utility;
	struct measurement result;
};

/* Makes the compiler put it into the type information, so that the Rust side can be compared with it. */
const struct entry *described_entry;

SEC("iter/bpf_sk_storage_map")
int list(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	const struct flow *flow = ctx->value;
	struct sock *sk = ctx->sk;
	const struct tcp_sock *tp;
	struct entry entry;

	if (!sk || !flow)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	read_connection(sk, flow, &entry.connection);
	entry.now = bpf_ktime_get_ns();
	entry.pacing = 8 * (u64)sk->sk_pacing_rate;
	entry.bytes_sent = tp->bytes_sent;
	entry.bytes_acked = tp->bytes_acked;
	entry.srtt = (u64)(tp->srtt_us >> 3) * MICROSECOND;
	entry.min_rtt = flow->sender.monitor.min_rtt;
	entry.segments_sent = tp->data_segs_out;
	entry.segments_lost = tp->lost;
	entry.window = tp->snd_cwnd;
	entry.phase = flow->sender.control.phase;
	entry.result = flow->sender.result;
	entry.utility = utility(flow->sender.control.profile, &entry.result);
	bpf_seq_write(ctx->meta->seq, &entry, sizeof(entry));
	return 0;
}
