/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The constants that define a controller. Names and meanings are those of the Rust core, which has their sources. */
#pragma once

#include "fixed.h"

struct rate_bounds {
	u64 min;
	u64 max;
};

struct start_config {
	u64 rate;
	u32 packets_per_rtt;
	u32 await_results;
	u32 ignored_losses;
	fixed ignored_gradient;
	/* Start-up ends at this fraction of the rate that arrived, if that is above the last good rate. */
	fixed exit_arrived;
};

struct least_step {
	u64 rate;
	fixed most;
};

struct step_config {
	fixed theta;
	fixed boundary;
	fixed boundary_growth;
	struct least_step min_change;
};

struct loss_significance {
	fixed z;
	fixed standing_queue;
	fixed max_loss;
};

struct vivace_config {
	struct start_config start;
	fixed probe_step;
	struct least_step min_probe_step;
	struct step_config step;
	fixed moves_above;
	fixed gradient_quantum;
	fixed min_fit;
	fixed pool_loss_below;
	struct loss_significance loss_significance;
	u32 min_packets;
	u32 max_packets;
	struct rate_bounds bounds;
};

struct allegro_config {
	struct start_config start;
	fixed min_step;
	fixed max_step;
	u32 pairs;
	fixed interval_rtts_from;
	fixed interval_rtts_to;
	u32 min_packets;
	struct rate_bounds bounds;
};

/* The utility x^exponent - latency * x * gradient - loss * x * L. */
struct vivace_utility_config {
	fixed exponent;
	fixed latency;
	fixed loss;
	fixed small_loss_up_to;
	fixed small_loss_weight;
};

struct safe_utility_config {
	fixed alpha;
};

struct guards {
	fixed brake_loss;
	u32 silence_rtts;
	u32 restart_rtts;
	fixed limited_rate;
};
