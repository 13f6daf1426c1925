/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* PCC as congestion controls of Linux: the sender behind the kernel's callbacks. */
#include "socket.h"
#include "watch.h"

char LICENSE[] SEC("license") = "GPL";

/* Kernels before 6.10 give cong_control two arguments instead of four. */
const volatile bool two_arguments;

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct flow);
} pcc_flows SEC(".maps");

static inline struct flow *flow_of(struct sock *sk)
{
	return bpf_sk_storage_get(&pcc_flows, sk, 0, 0);
}

/* Segments that a connection may have in flight for which there is no memory: nothing will change that. */
#define WINDOW_WITHOUT_MEMORY 100

static inline void begin(struct sock *sk, u32 profile)
{
	struct flow *flow = bpf_sk_storage_get(&pcc_flows, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	u32 seed = bpf_get_prandom_u32();

	if (!flow) {
		tp->snd_cwnd = WINDOW_WITHOUT_MEMORY;
		return;
	}
	read_socket(tp, &flow->ack);
	flow->began = bpf_ktime_get_ns();
	reordering_begin(&flow->reordering, tp->lost, tp->dsack_dups);
	sender_init(&flow->sender, profile, seed, &flow->ack);
	set_rate(sk, &flow->sender);
	tell_event(sk, flow, KIND_INIT, seed);
}

#define SOCKET(ctx) ((struct sock *)(ctx)[0])

SEC("struct_ops")
int begin_vivace(u64 *ctx)
{
	begin(SOCKET(ctx), VIVACE_LATENCY);
	return 0;
}

SEC("struct_ops")
int begin_vivaceloss(u64 *ctx)
{
	begin(SOCKET(ctx), VIVACE_LOSS);
	return 0;
}

SEC("struct_ops")
int begin_allegro(u64 *ctx)
{
	begin(SOCKET(ctx), ALLEGRO_2015);
	return 0;
}

/* Every load from the context must be at a fixed offset, so that the compiler must not make one of these two. */
static inline const struct rate_sample *sample_of(u64 *ctx)
{
	u64 sample;

	if (two_arguments) {
		sample = ctx[1];
		barrier_var(sample);
	} else {
		sample = ctx[3];
	}
	return (const struct rate_sample *)sample;
}

SEC("struct_ops")
int on_ack(u64 *ctx)
{
	struct sock *sk = SOCKET(ctx);
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *flow = flow_of(sk);
	bool closed;

	/* Also for the handshake, before there is a controller. */
	if (!flow)
		return 0;
	read_socket(tp, &flow->ack);
	read_sample(tp, sample_of(ctx), &flow->reordering, &flow->ack);
	closed = sender_on_ack(&flow->sender, &flow->ack);
	set_rate(sk, &flow->sender);
	set_window(tp, &flow->sender, &flow->ack);
	tell_event(sk, flow, KIND_ACK, 0);
	if (closed) {
		reordering_age(&flow->reordering);
		tell_interval(sk, flow);
	}
	return 0;
}

/*
 * The kernel is in this state each time that the retransmission timer expires, where it keeps a window of one segment; and
 * when segments have to be sent again because they were too large for the path, which says nothing about its rate.
 */
SEC("struct_ops")
int on_state(u64 *ctx)
{
	struct sock *sk = SOCKET(ctx);
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *flow = flow_of(sk);

	if (!flow || (u8)ctx[1] != TCP_CA_Loss)
		return 0;
	read_socket(tp, &flow->ack);
	reordering_begin(&flow->reordering, tp->lost, tp->dsack_dups);
	if (!has_been_silent(&flow->sender, &flow->ack))
		return 0;
	sender_on_timeout(&flow->sender, &flow->ack);
	set_rate(sk, &flow->sender);
	tell_event(sk, flow, KIND_TIMEOUT, 0);
	return 0;
}

/* Nothing is in flight, also when all is lost; only with nothing outstanding does sending begin anew. */
static inline void start(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *flow = flow_of(sk);

	if (!flow || tp->packets_out)
		return;
	read_socket(tp, &flow->ack);
	reordering_begin(&flow->reordering, tp->lost, tp->dsack_dups);
	sender_on_first_sent(&flow->sender, &flow->ack);
	set_rate(sk, &flow->sender);
	tell_event(sk, flow, KIND_FIRST_SENT, 0);
}

SEC("struct_ops")
int on_event(u64 *ctx)
{
	if ((u32)ctx[1] == CA_EVENT_TX_START)
		start(SOCKET(ctx));
	return 0;
}

/* Kernels that have it don't tell on_event. */
SEC("struct_ops")
int on_start(u64 *ctx)
{
	start(SOCKET(ctx));
	return 0;
}

/* A connection that changes to another controller gives its memory back; one that ends does so by itself. */
SEC("struct_ops")
int end(u64 *ctx)
{
	bpf_sk_storage_delete(&pcc_flows, SOCKET(ctx));
	return 0;
}

/* The kernel asks for a window after a loss, and after taking that back; ours follows from the rate. */
SEC("struct_ops")
u32 slow_start_threshold(u64 *ctx)
{
	return 0x7fffffff;
}

SEC("struct_ops")
u32 window(u64 *ctx)
{
	return ((struct tcp_sock *)SOCKET(ctx))->snd_cwnd;
}

#define CONTROLLER(controller, init_program)				\
	SEC(".struct_ops.link")						\
	struct tcp_congestion_ops controller = {			\
		.init = (void *)init_program,				\
		.cong_control = (void *)on_ack,				\
		.set_state = (void *)on_state,				\
		.cwnd_event = (void *)on_event,				\
		.cwnd_event_tx_start = (void *)on_start,		\
		.release = (void *)end,					\
		.ssthresh = (void *)slow_start_threshold,		\
		.undo_cwnd = (void *)window,				\
		.flags = TCP_CONG_NON_RESTRICTED,			\
		.name = #controller,					\
	}

CONTROLLER(pcc_vivace, begin_vivace);
CONTROLLER(pcc_vivaceloss, begin_vivaceloss);
CONTROLLER(pcc_allegro, begin_allegro);
