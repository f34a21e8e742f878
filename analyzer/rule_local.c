/*
 * rule_local.c - what local memory says: spilled registers, arrays. See advice_case.h; the formulas are explained in
 * analyzer/ADVICE.md.
 */
#include "advice_case.h"

#include <math.h>

#include "access_cost.h"

#define LANES 32.0

/* ------------------------------------------------------------------------------------- local memory */

/* Bytes per cycle and SM from where what is spilled fits, and from the next memory nearer. */
static double spill_rate(const struct advice_case *c, double *nearer, const char **where)
{
	const double thread = c->k->resources.local_bytes;
	const double sm = c->resident * LANES * thread;
	const double smem =
		c->occupancy && c->occupancy->blocks_per_sm > 0
			? (double)c->occupancy->smem_per_block * c->occupancy->blocks_per_sm
			: 0;

	*nearer = advice_l1_rate(c);
	*where = "the L1";
	if (c->hw->arch.l1_kb > 0 && sm <= 1024.0 * c->hw->arch.l1_kb - smem)
		return advice_l1_rate(c);
	*where = "the L2";
	if (c->hw->l2_bytes > 0 && sm * c->sm_count <= (double)c->hw->l2_bytes)
		return advice_l2_rate(c);
	*nearer = advice_l2_rate(c);
	*where = "DRAM";
	return advice_dram_rate(c);
}

#define REGISTER_STEP 8 /* they are given out by so many a thread */

static void spill_conflict(const struct advice_case *c, struct advice_draft *d)
{
	const int registers = c->k->resources.registers + (c->k->resources.local_bytes + 3) / 4;
	struct occupancy o;

	if (c->k->resources.registers <= 0)
		return;
	if (registers > c->hw->arch.registers_per_thread)
		advice_conflict(
			d,
			"all of it in registers would take %d per thread, and there are at most %d: "
			"less must be live at a time",
			registers, c->hw->arch.registers_per_thread);
	else if (c->cliff && advice_occupancy(c, registers, c->cliff->smem_per_block_bytes, &o))
		advice_conflict(d, "all of it in registers takes %d per thread: %s", registers,
				advice_room(d, o.blocks_per_sm));
}

/* A thread has not yet all the registers that it, and a block of this size, can have. */
static bool more_registers(const struct advice_case *c)
{
	const int registers = c->k->resources.registers + REGISTER_STEP;
	struct occupancy o;

	return registers <= c->hw->arch.registers_per_thread &&
	       (!c->cliff || !advice_occupancy(c, registers, c->cliff->smem_per_block_bytes, &o) ||
		o.blocks_per_sm > 0);
}

/* Fewer of the instructions access arrays by chance: one that is printed, what functions put aside. */
#define ARRAY_LEAST  0.05
/* Stores go through the L1; the L2 takes them at that part of the rate at which it is read. */
#define STORE_RATE   0.5
/* As advice_gain_unit(): see there. */
#define LOCAL_SETS   0.6
#define LOCAL_HIDDEN 0.2

/* A word of each lane is side by side; where lanes have other indices each touches a sector of its own, of eight words. */
static double scattered(const struct advice_case *c)
{
	return fmin(ACCESS_SECTOR_BYTES / 4.0, fmax(1, c->k->resources.local_bytes / 4.0));
}

/* Cycles of an SM for the local memory of a warp: at best, at worst; and to issue what is left without it. */
struct local_cost {
	double least, most, rest, issue;
};

static struct local_cost local_cost(const struct advice_case *c, const struct metric_mix *m)
{
	const double partitions = c->hw->arch.partitions, stores = m->local_store_bytes;
	const double l2 = isnan(advice_l2_rate(c)) ? advice_l1_rate(c) : advice_l2_rate(c);
	const char *where;
	double nearer;
	const double rate = spill_rate(c, &nearer, &where);

	return (struct local_cost){
		.least = (m->local_bytes - stores) / nearer + stores / l2,
		.most = (m->local_bytes - stores) / rate + stores / (STORE_RATE * l2),
		.rest = (m->issued - m->local) / partitions,
		.issue = m->issued / partitions,
	};
}

static void gain_of_arrays(const struct advice_case *c, struct advice_draft *d,
			   const struct metric_mix *part)
{
	const struct local_cost all = local_cost(c, &c->sass->whole), turn = local_cost(c, part);
	const double us = c->us, most = advice_unit_us(c, fmax(all.most, all.issue));
	const double apart = advice_unit_us(c, fmax(all.most * scattered(c), all.issue));
	double rest = advice_unit_us(c, all.rest), set, may_set;

	if (!c->sass->trips_known || isnan(us) || isnan(most)) {
		advice_gain_ratio(d, fmin(1, 2 * turn.rest / fmax(turn.issue, turn.least)),
				  turn.rest / fmax(turn.issue, turn.most * scattered(c)));
		return;
	}
	if (c->memory_pct > 0) /* the bytes of the problem stay */
		rest = fmax(rest, us * c->memory_pct / 100);
	set = fmin(1, fmax(0, (most / us - LOCAL_HIDDEN) / (LOCAL_SETS - LOCAL_HIDDEN)));
	may_set = fmin(1, fmax(0, (apart / us - LOCAL_HIDDEN) / (LOCAL_SETS - LOCAL_HIDDEN)));
	/* Where the unit sets the time its latency does too: all but the rest goes at best. */
	advice_gain(d, 100 * ADVICE_UNIT_SURE * set * fmax(0, fmin(most, us) - rest) / us,
		    100 * fmax(0, fmin(apart, us) + may_set * fmax(0, us - apart) - rest) / us);
}

/* In shared memory, a column for each thread. */
static void array_conflict(const struct advice_case *c, struct advice_draft *d)
{
	struct occupancy o;
	double bytes;

	spill_conflict(c, d);
	if (!c->cliff || !c->occupancy)
		return;
	bytes = (double)c->occupancy->warps_per_block * LANES * c->k->resources.local_bytes;
	if (bytes + (double)c->cliff->smem_per_block_bytes < 1 << 20 &&
	    advice_occupancy(c, c->k->resources.registers,
			     c->cliff->smem_per_block_bytes + (int64_t)bytes, &o))
		advice_conflict(d, "in shared memory it takes %.0f bytes per block: %s", bytes,
				advice_room(d, o.blocks_per_sm));
}

/* Local memory without a spill: an array that is indexed at run time, or whose address is taken. */
static enum advice_outcome local_arrays(const struct advice_case *c, struct advice_draft *d)
{
	const struct metric_mix *m = &c->sass->whole;
	const struct metric_mix *part = c->hot && c->sass->hot.local > 0 ? &c->sass->hot : m;
	const char *where;
	double nearer;

	if (part->local < ARRAY_LEAST * part->issued || c->k->resources.uses_syscalls == 1)
		return ADVICE_SILENT;
	if (c->class == CLASS_COMPUTE ||
	    (c->class == CLASS_MEMORY && c->memory_pct >= ADVICE_NEAR_BANDWIDTH_PCT))
		return advice_against(d, "%.0f of %.0f instructions access local memory, but %s",
				      part->local, part->issued, advice_saturation(c));
	advice_evidence(
		d, "%d bytes of local memory per thread%s", c->k->resources.local_bytes,
		c->k->resources.spill_instructions == 0
			? ", and no instruction spills a register: arrays indexed at run time"
			: ": arrays indexed at run time, or spilled registers");
	advice_evidence(d, "%.0f of %.0f instructions %s access local memory", part->local,
			part->issued,
			part == m ? "on the way through" : "in a turn of the hottest loop");
	if (!isnan(spill_rate(c, &nearer, &where)) && !isnan(c->resident))
		advice_evidence(
			d,
			"on an SM %.0f warps hold %.0f KB of it: that is in %s, and stores go through to the L2",
			c->resident, c->resident * LANES * c->k->resources.local_bytes / 1024,
			where);
	advice_stalls(d, advice_stall(c, long_scoreboard), "long scoreboard");
	gain_of_arrays(c, d, part);
	array_conflict(c, d);
	advice_try(
		d,
		"let every index be a constant: unroll its loop, move values by selects or fminf and fmaxf in place "
		"of an index; or keep the array in shared memory, a column for each thread",
		"no LDL and STL, 0 bytes of local memory, less time",
		"an index is still unknown to the compiler, or the address of the array leaves the function: use shared memory");
	return ADVICE_GIVEN;
}

enum advice_outcome rule_spills(const struct advice_case *c, struct advice_draft *d)
{
	const int spills = c->k->resources.spill_instructions;
	const struct metric_mix *m = c->sass ? &c->sass->whole : NULL;
	const struct metric_mix *part = c->sass && c->hot && c->sass->hot.local > 0 ? &c->sass->hot
										    : m;
	const double partitions = c->hw->arch.partitions;
	double rate, nearer, slow, fast, issue, low;
	const char *where;

	if (!m || c->k->resources.local_bytes <= 0 || !(m->local > 0) || !(partitions > 0))
		return ADVICE_SILENT;
	if (spills <= 0)
		return local_arrays(c, d);
	rate = spill_rate(c, &nearer, &where);
	advice_evidence(d, "%d instructions spill registers, %d bytes per thread", spills,
			c->k->resources.local_bytes);
	advice_evidence(d, "%.0f of %.0f instructions %s access local memory", part->local,
			part->issued,
			part == m ? "on the way through" : "in a turn of the hottest loop");
	if (!isnan(rate) && !isnan(c->resident))
		advice_evidence(d, "on an SM %.0f warps hold %.0f KB of it: that is in %s",
				c->resident,
				c->resident * LANES * c->k->resources.local_bytes / 1024, where);
	slow = m->local_bytes / rate;
	fast = m->local_bytes / nearer;
	if (c->sass->trips_known && advice_gain_unit(d, advice_unit_us(c, fast), 0)) {
		low = d->item.gain_low_pct;
		advice_gain_unit(d, advice_unit_us(c, slow), 0);
		d->item.gain_low_pct = low;
	} else {
		/* By instructions: what is left issues the rest of the loop, before it moved the spills too. */
		issue = part->issued / partitions;
		slow = fmax(issue, isnan(rate) ? 0 : part->local_bytes / rate);
		fast = fmax(issue, isnan(nearer) ? 0 : part->local_bytes / nearer);
		advice_gain_ratio(d, fmin(1, 2 * (part->issued - part->local) / partitions / fast),
				  (part->issued - part->local) / partitions / slow);
	}
	spill_conflict(c, d);
	advice_try(
		d,
		more_registers(c)
			? "allow more registers (__launch_bounds__, -maxrregcount), keep fewer values live, or split the kernel"
			: "keep fewer values live (a smaller tile, less unrolling), or split the kernel: a thread has all the registers that it can have",
		"no LDL and STL, 0 spill bytes, less time",
		more_registers(c)
			? "fewer warps cost more than the spills did: a limit between the two"
			: "what a smaller tile loads more often costs more than the spills did");
	return ADVICE_GIVEN;
}
