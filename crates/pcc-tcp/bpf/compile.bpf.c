/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The core as a BPF object, to see that it compiles for BPF: tests/bpf.rs. No verifier has seen it. */
#include "sender.h"

#define SEC(name) __attribute__((section(name), used))

char LICENSE[] SEC("license") = "GPL";

struct sender sender;
struct ack ack;

SEC("socket")
int on_ack(void *context)
{
	sender_on_ack(&sender, &ack);
	return 0;
}

SEC("socket")
int on_timeout(void *context)
{
	sender_on_timeout(&sender, &ack);
	return 0;
}

SEC("socket")
int on_first_sent(void *context)
{
	sender_on_first_sent(&sender, &ack);
	return (int)sender_window(&sender, &ack);
}

SEC("socket")
int init(void *context)
{
	sender_init(&sender, VIVACE_LATENCY, 1, &ack);
	return 0;
}
