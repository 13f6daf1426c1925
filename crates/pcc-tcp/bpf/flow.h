/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The state of a connection, and its key: what tells it apart from others. */
#pragma once

#include "kernel.h"
#include "reordering.h"
#include "sender.h"

struct flow {
	struct sender sender;
	struct reordering reordering;
	/* What is being handled. It isn't on the stack because that has 512 bytes for all functions together. */
	struct ack ack;
	/* When it got its controller, on the monotonic clock in ns. */
	u64 began;
};

/* The kernel puts 72 bytes before it, and some 8 more; what is more than 2048 bytes together takes 4096. */
_Static_assert(sizeof(struct flow) <= 2048 - 80, "the state of a connection takes twice the memory");

/* Its ends, with IPv4 addresses mapped into IPv6. Two connections that have them in common began at different times. */
struct connection {
	u64 began;
	__be32 local[4];
	__be32 remote[4];
	u16 local_port;
	u16 remote_port;
	u32 profile;
};

static inline void map_ipv4(__be32 *ipv6, __be32 ipv4)
{
	ipv6[0] = 0;
	ipv6[1] = 0;
	ipv6[2] = bpf_htonl(0xffff);
	ipv6[3] = ipv4;
}

static inline void copy_ipv6(__be32 *to, const struct in6_addr *from)
{
	for (u32 i = 0; i < 4; i++)
		to[i] = from->in6_u.u6_addr32[i];
}

static inline void read_connection(const struct sock *sk, const struct flow *flow, struct connection *connection)
{
	const struct sock_common *common = &sk->__sk_common;

	connection->began = flow->began;
	connection->profile = flow->sender.control.profile;
	connection->local_port = common->skc_num;
	connection->remote_port = bpf_ntohs(common->skc_dport);
	/* A kernel may have been built without IPv6. */
	if (common->skc_family == AF_INET6 && bpf_core_field_exists(common->skc_v6_daddr)) {
		copy_ipv6(connection->local, &common->skc_v6_rcv_saddr);
		copy_ipv6(connection->remote, &common->skc_v6_daddr);
	} else {
		map_ipv4(connection->local, common->skc_rcv_saddr);
		map_ipv4(connection->remote, common->skc_daddr);
	}
}
