/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Written by tests/constants.rs from the profiles of the Rust core, which have the sources. Rates in bit/s. */
#pragma once

#include "config.h"

static const struct vivace_config VIVACE = {
	.start = {
		.rate = 1600000,
		.packets_per_rtt = 10,
		.await_results = 1,
		.ignored_losses = 50,
		.ignored_gradient = 214748365, /* 0.2 */
		.exit_arrived = 1020054733, /* 0.95 */
	},
	.probe_step = 53687091, /* 0.05 */
	.min_probe_step = {
		.rate = 500000,
		.most = 214748365, /* 0.2 */
	},
	.step = {
		.theta = 1073741824, /* 1 */
		.boundary = 53687091, /* 0.05 */
		.boundary_growth = 64424509, /* 0.06 */
		.min_change = {
			.rate = 500000,
			.most = 214748365, /* 0.2 */
		},
	},
	.moves_above = 107374182, /* 0.1 */
	.gradient_quantum = 21474836, /* 0.02 */
	.min_fit = 268435456, /* 0.25 */
	.pool_loss_below = 10737418, /* 0.01 */
	.loss_significance = {
		.z = 2147483648, /* 2 */
		.standing_queue = 53687091, /* 0.05 */
		.max_loss = 53687091, /* 0.05 */
	},
	.min_packets = 10,
	.max_packets = 3000,
	.bounds = {
		.min = 64000,
		.max = 100000000000,
	},
};

static const struct allegro_config ALLEGRO = {
	.start = {
		.rate = 2000000,
		.packets_per_rtt = 10,
		.await_results = 0,
		.ignored_losses = 0,
		.ignored_gradient = 0, /* 0 */
		.exit_arrived = 0, /* 0 */
	},
	.min_step = 10737418, /* 0.01 */
	.max_step = 53687091, /* 0.05 */
	.pairs = 2,
	.interval_rtts_from = 1825361101, /* 1.7 */
	.interval_rtts_to = 2362232013, /* 2.2 */
	.min_packets = 10,
	.bounds = {
		.min = 64000,
		.max = 100000000000,
	},
};

static const struct vivace_utility_config VIVACE_LATENCY_UTILITY = {
	.exponent = 966367642, /* 0.9 */
	.latency = 966367641600, /* 900 */
	.loss = 12186969702, /* 11.35 */
	.small_loss_up_to = 32212255, /* 0.03 */
	.small_loss_weight = 1073741824, /* 1 */
};

static const struct vivace_utility_config VIVACE_LOSS_UTILITY = {
	.exponent = 966367642, /* 0.9 */
	.latency = 0, /* 0 */
	.loss = 12186969702, /* 11.35 */
	.small_loss_up_to = 32212255, /* 0.03 */
	.small_loss_weight = 1073741824, /* 1 */
};

static const struct safe_utility_config SAFE_UTILITY = {
	.alpha = 107374182400, /* 100 */
};

static const struct guards GUARDS = {
	.brake_loss = 536870912, /* 0.5 */
	.silence_rtts = 4,
	.restart_rtts = 10,
	.limited_rate = 2147483648, /* 2 */
};
