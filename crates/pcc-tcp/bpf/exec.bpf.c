/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Sees the TCP connections of a control group, and gives each the congestion control that was asked for. */
#include "kernel.h"

char LICENSE[] SEC("license") = "GPL";

#define SOL_TCP 6
#define TCP_CONGESTION 13

enum {
	BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB = 4,
	BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB = 5,
};

struct bpf_sock_ops {
	u32 op;
};

/* The congestion control's name. */
const volatile char controller[16];

/*
 * Both come right before the kernel would initialise the one that the connection has, with its segments' size and the
 * handshake's round-trip time known. A controller that isn't there any more can't be set; the connection keeps what it has.
 */
SEC("sockops")
int select_controller(struct bpf_sock_ops *ctx)
{
	if (ctx->op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB || ctx->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		bpf_setsockopt(ctx, SOL_TCP, TCP_CONGESTION, (void *)controller, sizeof(controller));
	return 1;
}
