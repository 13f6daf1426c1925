/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What a watcher in user space gets to see, while there is one. src/kernel/layout.rs has the same structs. */
#pragma once

#include "flow.h"

/* Who watches. A watcher puts off `until` again and again, so that one that was killed costs nothing for long. */
struct watcher {
	/* A number for the layout of all that is shared, made from the source. */
	u32 layout;
	u32 pid;
	/* On the monotonic clock in ns. */
	u64 until;
	/* Whether it wants every event, not only intervals. */
	u32 events;
	u32 unused;
};

struct watcher watcher SEC(".data.watcher") = { .layout = LAYOUT };

/* Records that were dropped because the ring buffer was full. */
u64 dropped SEC(".data.dropped");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} pcc_records SEC(".maps");

enum kind { KIND_INTERVAL, KIND_INIT, KIND_ACK, KIND_TIMEOUT, KIND_FIRST_SENT };

/* An interval closed. */
struct interval_record {
	u32 kind;
	/* The phase that its result led to. */
	u32 phase;
	struct connection connection;
	u64 now;
	/* The pacing rate that follows. */
	u64 pacing;
	fixed utility;
	struct plan plan;
	struct measurement result;
};

/* The sender was told something. With the seed and all events its rates can be computed again. */
struct event_record {
	u32 kind;
	u32 seed;
	struct connection connection;
	/* The pacing rate that followed. */
	u64 pacing;
	struct ack ack;
};

/* Makes the compiler put the structs into the type information, so that the Rust side can be compared with them. */
const struct interval_record *described_interval;
const struct event_record *described_event;

static inline void *reserve(u64 size)
{
	void *record = bpf_ringbuf_reserve(&pcc_records, size, 0);

	if (!record)
		__sync_fetch_and_add(&dropped, 1);
	return record;
}

static inline bool is_watched(const struct flow *flow)
{
	return flow->ack.now < watcher.until;
}

static inline void tell_event(const struct sock *sk, const struct flow *flow, enum kind kind, u32 seed)
{
	struct event_record *record;

	if (!is_watched(flow) || !watcher.events)
		return;
	record = reserve(sizeof(*record));
	if (!record)
		return;
	record->kind = kind;
	record->seed = seed;
	record->pacing = flow->sender.pacing;
	record->ack = flow->ack;
	read_connection(sk, flow, &record->connection);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static inline void tell_interval(const struct sock *sk, const struct flow *flow)
{
	const struct sender *s = &flow->sender;
	struct interval_record *record;

	if (!is_watched(flow))
		return;
	record = reserve(sizeof(*record));
	if (!record)
		return;
	record->kind = KIND_INTERVAL;
	record->phase = s->control.phase;
	record->now = flow->ack.now;
	record->pacing = s->pacing;
	record->utility = utility(s->control.profile, &s->result);
	record->plan = s->closed;
	record->result = s->result;
	read_connection(sk, flow, &record->connection);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}
