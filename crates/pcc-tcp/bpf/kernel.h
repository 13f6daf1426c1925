/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The members of the kernel's types that we use. The loader finds their offsets in the running kernel (CO-RE). */
#pragma once

#include "fixed.h"

/* Names that the helpers' declarations ask for. */
typedef u8 __u8;
typedef unsigned short u16;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s32 __s32;
typedef s64 __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;

enum bpf_map_type {
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_RINGBUF = 27,
};

#define BPF_F_NO_PREALLOC 1
#define BPF_SK_STORAGE_GET_F_CREATE 1
#define BPF_RB_NO_WAKEUP 1

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr {
	union {
		__be32 u6_addr32[4];
	} in6_u;
};

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	u32 sk_pacing_status;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
};

struct tcp_sock {
	/* Segments of data and their bytes, with every transmission. */
	u32 data_segs_out;
	u64 bytes_sent;
	u64 bytes_acked;
	/* Segments declared lost so far. */
	u32 lost;
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 mss_cache;
	u32 snd_cwnd;
	u32 snd_cwnd_clamp;
	/* Eight times the smoothed round-trip time, in us. */
	u32 srtt_us;
	/* When the pacer lets the next segment go, and the time of the event that is being handled, both in ns. */
	u64 tcp_wstamp_ns;
	u64 tcp_clock_cache;
	/* Segments that the receiver got twice. */
	u32 dsack_dups;
};

struct rate_sample {
	long rtt_us;
};

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__bpf_sk_storage_map {
	struct bpf_iter_meta *meta;
	struct sock *sk;
	void *value;
};

#pragma clang attribute pop

#define AF_INET6 10

enum sk_pacing { SK_PACING_NONE, SK_PACING_NEEDED };

enum { TCP_CA_Loss = 4 };

enum { CA_EVENT_TX_START = 0 };

/* Every user may select it, and every network namespace. */
#define TCP_CONG_NON_RESTRICTED 1

struct tcp_congestion_ops {
	void (*init)(struct sock *);
	u32 (*ssthresh)(struct sock *);
	u32 (*undo_cwnd)(struct sock *);
	void (*cong_control)(struct sock *);
	void (*set_state)(struct sock *, __u8);
	void (*cwnd_event)(struct sock *, u32);
	void (*cwnd_event_tx_start)(struct sock *);
	void (*release)(struct sock *);
	u32 flags;
	char name[16];
};
