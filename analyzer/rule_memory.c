/*
 * rule_memory.c - what loads, stores, shared and local memory say. See advice_case.h; the formulas are explained in
 * analyzer/ADVICE.md.
 */
#include "advice_case.h"

#include <math.h>
#include <string.h>

#include "access_cost.h"
#include "count.h"

#define LANES 32.0

/* ------------------------------------------------------------------------------------- bandwidths */

/* Bytes per cycle out of the L1; NaN = not known. */
static double l1_rate(const struct advice_case *c)
{
	const struct arch *a = &c->hw->arch;
	const int bytes = a->l1_bytes_measured > 0 ? a->l1_bytes_measured : a->l1_bytes;

	return bytes > 0 ? bytes : NAN;
}

/* ------------------------------------------------------------------------------------- sites */

/* Sites of some kinds taken together. Of shared memory read wavefronts for sectors. */
struct sites {
	double total, excess; /* sectors of an average request, and of these not needed */
	double requests;      /* of the launch, 0 = not known */
	const struct metric_site *worst; /* NULL = of none are the lanes known */
};

static bool is_kind(const struct metric_site *s, const char *kind, const char *other)
{
	return s->kind && (!strcmp(s->kind, kind) || (other && !strcmp(s->kind, other)));
}

/*
 * Weighed by requests where all are known, else alike. An access whose lanes nobody knows counts as one without
 * excess, so that what is known of a few is not taken for all.
 */
static struct sites sites_of(const struct advice_case *c, const char *kind, const char *other,
			     double without)
{
	const struct metric_access *a = c->k->access;
	struct sites all = {0};
	bool are_counted = true;
	double weights = 0;

	for (size_t i = 0; a && i < a->sites_all; i++)
		if (is_kind(&a->sites[i], kind, other))
			are_counted &= quantity_known(&a->sites[i].requests);
	for (size_t i = 0; a && i < a->sites_all; i++) {
		const struct metric_site *s = &a->sites[i];
		const double weight = are_counted ? s->requests.value : 1;
		const bool is_known = quantity_known(&s->sectors_per_request) &&
				      quantity_known(&s->excess);

		if (!is_kind(s, kind, other))
			continue;
		weights += weight;
		all.total += weight * (is_known ? s->sectors_per_request.value : without);
		all.excess += weight * (is_known ? s->excess.value : 0);
		if (is_known && (!all.worst || s->excess.value > all.worst->excess.value))
			all.worst = s;
	}
	if (weights > 0) {
		all.total /= weights;
		all.excess /= weights;
		all.requests = are_counted ? weights : 0;
	}
	return all;
}

static void say_worst(struct advice_draft *d, const struct metric_site *s, const char *what)
{
	char each[TEXT_NUMBER], excess[TEXT_NUMBER];

	advice_evidence(d, "%s at 0x%llx%s%s%s: %s %s a request, %s more than needed%s%s", s->op,
			(unsigned long long)s->offset, s->line ? " (" : "", s->line ? s->line : "",
			s->line ? ")" : "", text_ratio(each, s->sectors_per_request.value), what,
			text_ratio(excess, s->excess.value), s->pattern ? ", " : "",
			s->pattern ? s->pattern : "");
}

/* Caches keep so much of what is fetched too much until a neighbour asks for it, at best; and of what is stored apart. */
#define CACHED_MOST   (2.0 / 3)
#define CACHED_STORES (1.0 / 3)

/* The share of the time that accesses may take: all of it, but where issuing the code takes longer. */
static double access_share(const struct advice_case *c, double cycles)
{
	const double partitions = c->hw->arch.partitions;
	double issue;

	if (!c->sass || !c->sass->trips_known || !(partitions > 0) || isnan(cycles))
		return 1;
	issue = c->sass->whole.issued / partitions;
	return issue > cycles ? cycles / issue : 1;
}

/* Sectors of an average request before and after, and which of them are the excess that costs. */
struct coalescing {
	double before, after,
		most; /* `most`: before, if those whose lanes are not known take many */
	const struct metric_site *site;
	bool is_l1;       /* neighbours use the excess: the L1 alone gives it more than once */
	bool is_l1_bound; /* the L1 takes longest, whoever uses the excess */
};

/* A unit that is busy so long is what the kernel waits for; so long, it may be; else it is not. */
#define L1_SETS  0.6
#define L1_LEAST 0.4

/* us that the L1 of an SM is busy with the accesses; NaN = not known. */
static double l1_us(const struct advice_case *c, const struct access_cost *cost)
{
	return cost->requests > 0 && c->warps > 0
		       ? advice_unit_us(c, cost->l1 * cost->requests / c->warps)
		       : NAN;
}

static bool coalescing_of(const struct advice_case *c, const struct access_cost *cost,
			  struct coalescing *out)
{
	const double shared = cost->excess - cost->wasted;

	if (access_cost_is_l1(cost, c->sass, c->hw) && !(l1_us(c, cost) < L1_LEAST * c->us) &&
	    !(c->class == CLASS_MEMORY && c->memory_pct >= ADVICE_NEAR_BANDWIDTH_PCT))
		*out = (struct coalescing){cost->total,           cost->total - cost->excess,
					   cost->total_most,      cost->worst,
					   shared > cost->wasted, true};
	else if (access_cost_wastes(cost))
		*out = (struct coalescing){cost->total - shared,
					   cost->total - cost->excess,
					   cost->total_most - shared,
					   cost->wasteful,
					   false,
					   false};
	else
		return false;
	return true;
}

/* What of the excess the neighbours use. */
static void say_neighbours(struct advice_draft *d, const struct access_cost *cost,
			   const struct coalescing *x)
{
	const double shared = cost->excess - cost->wasted;
	char of[TEXT_NUMBER], more[TEXT_NUMBER], all[TEXT_NUMBER];

	if (x->is_l1)
		advice_evidence(
			d,
			"neighbouring loads or later turns use the rest of the sectors: it costs the L1 requests and "
			"bandwidth, not DRAM");
	else if (shared > 0)
		advice_evidence(d, "neighbours use %s of %s sectors in excess: these are no waste",
				text_ratio(of, shared), text_ratio(all, cost->excess));
	if (cost->total_most > cost->total)
		advice_evidence(d, "%s sectors if accesses whose lanes are not known are scattered",
				text_ratio(more, x->most));
}

/*
 * The share of the time that the accesses may take. Where nobody knows how many there are each of the code counts, as
 * often as what is issued.
 */
static double coalescing_share(const struct advice_case *c, const struct access_cost *cost,
			       const struct coalescing *x)
{
	const struct metric_mix *m = c->sass ? &c->sass->whole : NULL;
	const double cycles = x->is_l1_bound ? cost->l1
					     : x->before * ACCESS_SECTOR_BYTES / advice_l2_rate(c);

	if (cost->requests > 0)
		return c->warps > 0 ? access_share(c, cycles * cost->requests / c->warps) : 1;
	return m && m->loads + m->stores > 0 ? access_share(c, cycles * (m->loads + m->stores)) : 1;
}

static void coalescing_gain(const struct advice_case *c, struct advice_draft *d,
			    const struct access_cost *cost, const struct coalescing *x)
{
	const double share = coalescing_share(c, cost, x), l1 = l1_us(c, cost);
	const double excess = x->before - x->after;
	/* of stores the L1 keeps nothing, and a sector that is written in part is read before it is written */
	const double stored = x->is_l1_bound ? 0 : cost->stored,
		     partly = x->is_l1_bound ? 0 : cost->partly;
	const double kept = CACHED_MOST * (excess - stored) + CACHED_STORES * stored;
	double low;

	advice_gain_ratio(d, 1 - share * (excess - kept) / (x->most - kept),
			  1 - share * (1 - x->after / (x->before + partly)));
	if (!x->is_l1_bound || !(l1 >= L1_SETS * c->us))
		return;
	/* The L1 sets the time: what it does less is saved, wherever the excess comes from. */
	low = d->item.gain_low_pct * fmin(1, l1 / c->us);
	advice_gain_unit(d, l1, l1 * cost->l1_ideal / cost->l1);
	low = fmax(low, d->item.gain_low_pct);
	advice_gain_unit(d, l1, l1 * cost->l1_least / cost->l1);
	d->item.gain_low_pct = low;
}

enum advice_outcome rule_coalesce(const struct advice_case *c, struct advice_draft *d)
{
	struct access_cost cost;
	struct coalescing x;
	char total[TEXT_NUMBER], ideal[TEXT_NUMBER], pct[TEXT_NUMBER];
	double l1;

	access_cost_read(c->k->access, c->sass, &c->hw->arch, &cost);
	l1 = l1_us(c, &cost);
	if (!coalescing_of(c, &cost, &x))
		return ADVICE_SILENT;
	text_ratio(total, x.before);
	text_ratio(ideal, x.after);
	if (c->class == CLASS_COMPUTE)
		return advice_against(d, "%s sectors a request where %s would do, but %s", total,
				      ideal, advice_saturation(c));
	advice_evidence(d, "%s sectors of 32 bytes in an average request, %s would do", total,
			ideal);
	say_worst(d, x.site, "sectors");
	say_neighbours(d, &cost, &x);
	if (!x.is_l1 && quantity_known(&c->k->access->wasted_sectors))
		advice_evidence(d, "%s of all sectors are excess that nobody uses",
				text_pct(total, 100 * (x.before - x.after) / x.before));
	if (x.is_l1_bound && l1 > 0 && !isnan(c->us))
		advice_evidence(
			d,
			"%s cycles of the L1 for each, a line of 128 bytes in one: it is busy for %s of the time",
			text_ratio(total, cost.l1), text_pct(pct, fmin(100, 100 * l1 / c->us)));
	coalescing_gain(c, d, &cost, &x);
	advice_conflict(d,
			"a re-layout costs a pass over the data unless its producer writes it so; "
			"transposing through shared memory needs a tile of it");
	advice_try(
		d,
		"let lane i access word i: exchange loop and thread index, structures of arrays, "
		"or a transpose through a shared tile; then 16 bytes per lane",
		advice_text(d, "sectors per request fall from %s to %s",
			    text_ratio(total, cost.total), text_ratio(ideal, x.after)),
		x.is_l1 ? "the L1 was not busy: time was spent elsewhere"
			: "the caches delivered the excess: time was spent elsewhere");
	return ADVICE_GIVEN;
}

enum advice_outcome rule_bank_conflicts(const struct advice_case *c, struct advice_draft *d)
{
	const struct sites s = sites_of(c, "shared", NULL, 1);
	/* of a warp: those that are counted, else what is on its way through the code */
	const double shared = s.requests > 0 && c->warps > 0 ? s.requests / c->warps
			      : c->sass                      ? c->sass->whole.shared
							     : 0;
	const double before = shared * s.total, after = shared * (s.total - s.excess);
	char total[TEXT_NUMBER], ideal[TEXT_NUMBER], share_text[TEXT_NUMBER];
	double share;
	bool is_counted;

	if (!s.worst || s.worst->excess.value < ACCESS_EXCESS_LEAST_WORST ||
	    s.excess < ACCESS_EXCESS_LEAST * s.total || !(shared > 0))
		return ADVICE_SILENT;
	if (c->class == CLASS_COMPUTE ||
	    (c->class == CLASS_MEMORY && c->memory_pct >= ADVICE_NEAR_BANDWIDTH_PCT))
		return advice_against(d, "%s wavefronts a request where %s would do, but %s",
				      text_ratio(total, s.total),
				      text_ratio(ideal, s.total - s.excess), advice_saturation(c));
	advice_evidence(d, "%s wavefronts in an average request to shared memory, %s would do",
			text_ratio(total, s.total), text_ratio(ideal, s.total - s.excess));
	say_worst(d, s.worst, "wavefronts");
	share = access_share(c, before);
	is_counted = s.requests > 0 || (c->sass && c->sass->trips_known);
	if (is_counted && !isnan(c->us) && !isnan(advice_unit_us(c, before)))
		advice_evidence(d, "shared memory is busy for %s of the time",
				text_pct(share_text,
					 fmin(100, 100 * advice_unit_us(c, before) / c->us)));
	/* One wavefront a cycle: the time of the unit where it is known, else its share by instructions. */
	if (!is_counted ||
	    !advice_gain_unit(d, advice_unit_us(c, before), advice_unit_us(c, after)))
		advice_gain_ratio(d, 1 - 0.6 * share * s.excess / s.total,
				  1 - share * s.excess / s.total);
	advice_stalls(d, advice_stall(c, mio_throttle), "MIO throttle");
	advice_conflict(d, "padding takes shared memory: one word per row of a tile");
	if (c->cliff && c->cliff->to_cliff_bytes >= 0)
		advice_conflict(d, "%lld bytes may be added before %s",
				(long long)c->cliff->to_cliff_bytes,
				c->cliff->blocks_per_sm > 1 ? "an SM holds one block fewer"
							    : "the kernel cannot be launched");
	advice_try(d,
		   "pad each row by one word, or swizzle: exchange columns by the row's low bits",
		   advice_text(d, "wavefronts per request fall from %s to %s",
			       text_ratio(total, s.total), text_ratio(ideal, s.total - s.excess)),
		   "shared memory was hidden under other waits");
	return ADVICE_GIVEN;
}

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

	*nearer = l1_rate(c);
	*where = "the L1";
	if (c->hw->arch.l1_kb > 0 && sm <= 1024.0 * c->hw->arch.l1_kb - smem)
		return l1_rate(c);
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
#define LOCAL_SURE   0.75

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
	const double l2 = isnan(advice_l2_rate(c)) ? l1_rate(c) : advice_l2_rate(c);
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
	advice_gain(d, 100 * LOCAL_SURE * set * fmax(0, fmin(most, us) - rest) / us,
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

/* ------------------------------------------------------------------------------------- atomics */

/*
 * Cycles from one lane's operation to the next at one address, measured on an H200, whose L2 has a clock of its own:
 * 1.46 for integers (1.1 to 1.8 in other runs) and for compare and swap, 3.49 for FP32 and pairs of FP16.
 */
struct atomic_cost {
	double least, most;
};
static const struct atomic_cost of_integers = {1.25, 1.6}, of_floats = {3.1, 3.9},
				of_doubles = {1.25, 3.9};

static const struct atomic_cost *cost_of(const struct metric_site *s)
{
	const char *op = s->op ? s->op : "";

	if (strstr(op, ".F64"))
		return &of_doubles;
	return strstr(op, ".F32") || strstr(op, ".F16") || strstr(op, ".BF16") ? &of_floats
									       : &of_integers;
}

/* Requests that are proved, 0 = none: in other code one thread may do it now and then, as one that fetches work does. */
static double proved(const struct metric_site *s)
{
	const struct quantity *q = &s->requests;

	return !quantity_known(q) ? 0 : isnan(q->low) ? q->value : q->low;
}

/* The atomic of all warps on one address that is done most often, NULL = none. */
static const struct metric_site *contended(const struct advice_case *c)
{
	const struct metric_access *a = c->k->access;
	const struct metric_site *most = NULL;

	for (size_t i = 0; a && i < a->sites_all; i++)
		if (is_kind(&a->sites[i], "atomic", NULL) && a->sites[i].is_everywhere &&
		    proved(&a->sites[i]) > (most ? proved(most) : 0))
			most = &a->sites[i];
	return most;
}

static void try_to_reduce(const struct advice_case *c, struct advice_draft *d, double requests)
{
	advice_conflict(
		d,
		"a reduction in the block needs shuffles, a barrier and %d words of shared memory",
		c->occupancy->warps_per_block);
	advice_try(
		d,
		"add up within the warp (shuffles, __reduce_add_sync), then within the block, and let one thread do the atomic",
		advice_text(d, "%.0f atomics in place of %.0f requests, less time", c->blocks,
			    requests),
		"the atomics were hidden: the time is in the loads");
}

static enum advice_outcome one_address(const struct advice_case *c, struct advice_draft *d,
				       const struct metric_site *s)
{
	const struct atomic_cost *cost = cost_of(s);
	const double requests = proved(s), lanes = s->lanes > 0 ? s->lanes : 1,
		     us = requests * lanes / c->clock_mhz;
	double after, low;
	char n[TEXT_NUMBER], each[TEXT_NUMBER];

	/* One lane's per block is what is left of it; a kernel that does that already is not meant. */
	if (requests < 2 * c->blocks)
		return ADVICE_SILENT;
	after = c->blocks / c->clock_mhz;
	advice_evidence(d, "%s at 0x%llx%s%s%s: all warps of the launch on one address", s->op,
			(unsigned long long)s->offset, s->line ? " (" : "", s->line ? s->line : "",
			s->line ? ")" : "");
	advice_evidence(d, "%s requests, %s for each block%s", text_count(n, (uint64_t)requests),
			text_ratio(each, requests / c->blocks),
			lanes > 1 ? advice_text(d, ", of %.0f lanes: one after another", lanes)
				  : "");
	if (advice_gain_unit(d, cost->least * us, cost->least * after)) {
		low = d->item.gain_low_pct;
		advice_gain_unit(d, cost->most * us, cost->most * after);
		d->item.gain_low_pct = low;
	} else {
		advice_gain_ratio(d, 0.8, 1.0 / c->occupancy->warps_per_block);
	}
	try_to_reduce(c, d, requests);
	return ADVICE_GIVEN;
}

/*
 * What the L2 does in a cycle at addresses that are spread, measured on an H200: sectors, where lanes have one each; and
 * operations of lanes side by side.
 */
#define ATOMIC_SECTORS     43.0
#define ATOMIC_LANES       126.0
/* Cycles of a request to shared memory, all lanes at one word (the same measurement; 8.5 at random ones). */
#define ATOMIC_SHARED_MOST 36.5
/* Longer than either by the first factor, than both together by the second: nothing else can be what takes the time. */
#define ATOMIC_EXCESS      2.0
#define ATOMIC_SUM         1.5

/* us that everything but the atomics takes at most: issue, sectors, loads one after another. NaN = not known. */
static double others_us(const struct advice_case *c)
{
	const struct metric_mix *m = &c->sass->whole;
	const struct occupancy *o = c->occupancy;
	struct access_cost cost;
	double issue, sectors, waits;

	access_cost_read(c->k->access, c->sass, &c->hw->arch, &cost);
	if (!c->sass->trips_known || !(c->hw->arch.partitions > 0) || !(o->waves > 0) ||
	    (m->loads + m->stores > 0 && !(cost.requests > 0)))
		return NAN;
	issue = advice_unit_us(c, m->issued / c->hw->arch.partitions);
	sectors = cost.requests > 0
			  ? advice_unit_us(c, cost.requests / c->warps * cost.total_most *
						      ACCESS_SECTOR_BYTES / ADVICE_REACHED /
						      advice_dram_rate(c))
			  : 0;
	/* each of its loads after the other, in every wave */
	waits = ceil(o->waves) * (m->loads + 1) * ADVICE_DRAM_MOST / c->clock_mhz;
	return fmax(issue, sectors) + waits + ADVICE_FIXED_MOST_US;
}

/* Cycles of the whole GPU for the atomics of a kernel, were their addresses spread. */
static double atomics_spread(const struct advice_case *c, double lanes)
{
	const struct metric_access *a = c->k->access;
	double sectors = 0;

	for (size_t i = 0; i < a->sites_all; i++) {
		const struct metric_site *s = &a->sites[i];

		if (is_kind(s, "atomic", NULL))
			sectors += quantity_known(&s->requests)
					   ? s->requests.value *
						     (quantity_known(&s->sectors_per_request)
							      ? s->sectors_per_request.value
							      : fmax(1, s->lanes))
					   : 0;
	}
	return fmax(sectors / ATOMIC_SECTORS, lanes / ATOMIC_LANES);
}

/* Atomics of which it is not known that all meet at one address, in a kernel whose time nothing else explains. */
static enum advice_outcome few_addresses(const struct advice_case *c, struct advice_draft *d)
{
	const struct metric_access *a = c->k->access;
	double lanes, spread, others, shared;
	char n[TEXT_NUMBER], us[TEXT_NUMBER], rest[TEXT_NUMBER], all[TEXT_NUMBER];
	const struct metric_site *site = NULL;

	for (size_t i = 0; a && i < a->sites_all; i++)
		if (is_kind(&a->sites[i], "atomic", NULL) &&
		    proved(&a->sites[i]) > (site ? proved(site) : 0))
			site = &a->sites[i];
	if (!site || !c->sass || isnan(c->us) || !quantity_known(&a->atomics))
		return ADVICE_SILENT;
	lanes = a->atomics.value;
	spread = atomics_spread(c, lanes) / c->clock_mhz;
	others = others_us(c);
	if (!(c->us > ATOMIC_EXCESS * fmax(spread, others)) ||
	    !(c->us > ATOMIC_SUM * (spread + others)))
		return ADVICE_SILENT;
	shared = advice_unit_us(c, lanes / LANES / c->warps);
	advice_evidence(d, "%s at 0x%llx%s%s%s: %s operations%s%s", site->op,
			(unsigned long long)site->offset, site->line ? " (" : "",
			site->line ? site->line : "", site->line ? ")" : "",
			text_count(n, (uint64_t)lanes), site->pattern ? ", of a warp at " : "",
			site->pattern ? site->pattern
			: !quantity_known(&site->sectors_per_request)
				? " at addresses that memory decides"
				: "");
	advice_evidence(
		d,
		"spread over many addresses they take %s, all else at most %s; the kernel takes %s: they meet at few addresses",
		text_us(us, spread), text_us(rest, others), text_us(all, c->us));
	advice_gain(d, 100 * (1 - fmin(1, (spread + others + ATOMIC_SHARED_MOST * shared) / c->us)),
		    100 * (1 - fmin(1, ADVICE_FIXED_LEAST_US / c->us)));
	advice_conflict(
		d,
		"a copy of the words for each block takes shared memory, and is added up at its end");
	advice_try(
		d,
		"give each block, or each warp, a copy in shared memory, and add that to global memory at the end",
		advice_text(d, "fewer than %.0f operations on global memory, less time", lanes),
		"the words are too many for shared memory: sort, or reduce equal ones within the warp (__match_any_sync)");
	return ADVICE_GIVEN;
}

enum advice_outcome rule_atomics(const struct advice_case *c, struct advice_draft *d)
{
	const struct metric_site *s = contended(c);

	if (isnan(c->warps) || !c->occupancy || c->occupancy->warps_per_block < 2)
		return ADVICE_SILENT;
	return s && one_address(c, d, s) == ADVICE_GIVEN ? ADVICE_GIVEN : few_addresses(c, d);
}

/* ------------------------------------------------------------------------------------- latency of loads */

#define CHAIN_LEAST 4.0 /* loads in one chain outside of loops that are worth a word */
#define CHAINS      8.0 /* that a thread could follow at once */
/* Sectors here and there, more than the L2 holds, come at that part of DRAM's bandwidth: 0.49 measured on an H200. */
#define SCATTERED   0.5

/*
 * Loads of one chain in a turn. One that begins anew with each turn is as long as all together: the turn's end
 * waits for it, as instructions are issued in order.
 */
static double turn_chain(const struct metric_loop *l)
{
	return l->chain_loads >= CHAIN_LEAST ? fmax(l->chain_loads, l->recurrence_loads)
					     : l->recurrence_loads;
}

/* Loads of one chain that a warp follows in all, and of all chains; false = there is none. */
static bool load_chain(const struct advice_case *c, double *chain, double *all, bool *is_counted)
{
	const struct metric_sass *s = c->sass;
	const struct metric_loop *l = c->hot;

	if (!s)
		return false;
	if (l && turn_chain(l) >= 1 && l->turn_loads < 2 * turn_chain(l)) {
		*is_counted = l->trips > 0 && l->depth == 1;
		*chain = turn_chain(l) * (*is_counted ? (double)l->trips : 1);
		*all = l->turn_loads * (*is_counted ? (double)l->trips : 1);
		return true;
	}
	*is_counted = true;
	*chain = s->straight_loads;
	*all = s->straight_all_loads;
	return (!l || s->hot.loads == 0) && s->straight_loads >= CHAIN_LEAST &&
	       s->straight_all_loads < 2 * s->straight_loads;
}

/* A load whose address is just there takes so many cycles at most: DRAM, and pages that no table is at hand for. */
#define CHAINED_MOST (1.5 * ADVICE_DRAM_MOST)

/* Of all the time what a chain may take: it is followed once for each wave of blocks. */
static double chain_us(const struct advice_case *c, double chain)
{
	const double waves = c->occupancy && c->occupancy->waves > 1 ? ceil(c->occupancy->waves)
								     : 1;
	const double us = chain * CHAINED_MOST * waves / c->clock_mhz;

	return isnan(us) ? INFINITY : us;
}

/* Whether the data is known to be more than the L2 holds. */
static bool is_beyond_l2(const struct advice_case *c)
{
	return c->k->work_known && c->hw->l2_bytes > 0 && c->k->work.bytes > c->hw->l2_bytes;
}

static bool fits_l1(const struct advice_case *c)
{
	return c->k->work_known && c->k->work.bytes > 0 &&
	       c->k->work.bytes <= c->hw->arch.l1_kb * 1024.0 * c->sm_count;
}

/*
 * Whether the L1 gives what the chain loads, or much of it: the data fits there, or a load takes less than the latency of
 * the L2.
 */
static bool is_of_l1(const struct advice_case *c, double chain)
{
	const double waves = c->occupancy && c->occupancy->waves > 1 ? ceil(c->occupancy->waves)
								     : 1;

	return fits_l1(c) || c->us * c->clock_mhz / (chain * waves) < ADVICE_L2_LEAST;
}

/* Bytes per cycle and SM out of the nearest memory that may hold what a chain loads. */
static double nearest_rate(const struct advice_case *c, double chain)
{
	if (is_beyond_l2(c))
		return advice_dram_rate(c);
	return is_of_l1(c, chain) && l1_rate(c) > 0 ? l1_rate(c) : advice_l2_rate(c);
}

/* And at worst, of that bandwidth what such loads reach. */
static double farthest_rate(const struct advice_case *c, double bytes)
{
	if (c->k->work_known && c->fits_l2)
		return ADVICE_REACHED * advice_l2_rate(c);
	return advice_dram_rate(c) *
	       (c->warps * bytes > (double)c->hw->l2_bytes ? SCATTERED : ADVICE_REACHED);
}

enum advice_outcome rule_dependent_loads(const struct advice_case *c, struct advice_draft *d)
{
	double chain, all, bytes, best = 1 / CHAINS, worst = 0.5, each, share;
	bool is_counted;
	char us[TEXT_NUMBER];

	if (!load_chain(c, &chain, &all, &is_counted) || isnan(c->resident))
		return ADVICE_SILENT;
	if (c->class == CLASS_MEMORY || c->class == CLASS_COMPUTE)
		return advice_against(d, "loads wait for loads, but %s: other warps cover it",
				      advice_saturation(c));
	/* Where the addresses come from memory each lane fetches a sector of its own; a cache line at best serves four. */
	bytes = LANES * ACCESS_SECTOR_BYTES;
	if (is_counted && !isnan(c->us)) {
		each = advice_unit_us(c, all * bytes);
		best = fmax(best, each / nearest_rate(c, chain) / ADVICE_REACHED / c->us);
		worst = fmax(worst, each / farthest_rate(c, all * bytes) / c->us);
		share = fmin(1, chain_us(c, chain) / c->us);
		best = 1 - share * (1 - best);
		worst = 1 - share * (1 - fmin(1, worst));
	} else {
		/* Little: what the resident warps have in flight, of what each memory delivers in its latency. */
		best = fmax(best, c->resident * bytes / ADVICE_L2_MOST / advice_l2_rate(c));
		worst = fmax(worst, c->resident * bytes / ADVICE_DRAM_LEAST / advice_dram_rate(c));
	}
	if (isnan(best) || isnan(worst) || best >= 1)
		return ADVICE_SILENT;
	if (is_counted)
		advice_evidence(
			d, "a chain of %.0f loads, each of whose address the one before brings",
			chain);
	else if (c->hot->recurrence_loads >= 1)
		advice_evidence(
			d,
			"in each turn of the hottest loop the address comes from the turn before");
	else
		advice_evidence(
			d,
			"in a turn of the hottest loop %.0f loads follow one another: each brings the address of the next",
			chain);
	advice_evidence(d, "%.0f of %.0f loads%s are in that chain: %s in flight per thread", chain,
			all, is_counted ? "" : " of a turn",
			all < 2 * chain ? "one load" : "few loads");
	if (is_counted && !isnan(c->us))
		advice_evidence(d, "%s for each load of the chain, if the kernel does nothing else",
				text_us(us, c->us / chain));
	if (is_counted && !isnan(c->us) && !is_beyond_l2(c) && is_of_l1(c, chain))
		advice_evidence(
			d, "the L1 gives much of it: %s",
			fits_l1(c)
				? "an SM's share of the data fits there"
				: advice_text(d,
					      "that is less than the %.0f cycles that the L2 takes",
					      ADVICE_L2_LEAST));
	advice_gain_ratio(d, fmin(1, worst), best);
	advice_stalls(d, advice_stall(c, long_scoreboard), "long scoreboard");
	advice_conflict(d, "each chain more takes registers for its address and value");
	advice_try(
		d,
		"let a thread follow several chains (2, 4, 8), or replace pointers by an array that can be read in order",
		"time falls nearly by the number of chains, until the memory is busy",
		"the memory is busy already: make the data smaller, or sort the accesses");
	return ADVICE_GIVEN;
}

/* What a warp moves and executes in a turn. */
struct stream_turn {
	double bytes, issued;
	double chain; /* times that it waits for loads, at least once */
};

/*
 * Code that streams: loads that wait for nothing but their turn, and little else. `sure` is what every warp does; on
 * a way that nobody knows who takes lies the rest of `all`.
 */
struct stream {
	const struct metric_mix *m;
	bool is_whole; /* no loop: the kernel is the turn, and the next block of its SM the next one */
	struct stream_turn sure, all;
	double resident, warps; /* on an SM, and of one scheduler */
};

#define STREAM_WAVES 2.0

static bool has_loops(const struct metric_sass *s)
{
	for (size_t i = 0; i < s->loops_n; i++)
		if (!s->loops[i].is_rare)
			return true;
	return false;
}

/* Of the code outside of loops what all warps surely do; false = not known, or it is all of it. */
static bool sure_turn(const struct advice_case *c, struct stream_turn *out)
{
	const struct metric_access *a = c->k->access;
	double bytes = 0, loads = 0, least;
	bool is_all = true;

	for (size_t i = 0; a && i < a->sites_all; i++) {
		const struct metric_site *s = &a->sites[i];
		const bool is_load = is_kind(s, "load", NULL);
		double most = s->lane_bytes * LANES;

		if (!is_load && !is_kind(s, "store", NULL))
			continue;
		if (!quantity_known(&s->requests)) {
			is_all = false;
			continue;
		}
		if (quantity_known(&s->sectors_per_request))
			most = fmin(most, s->sectors_per_request.value * ACCESS_SECTOR_BYTES);
		bytes += most * s->requests.value / c->warps;
		loads += is_load && s->requests.value > 0;
	}
	least = a && a->warp_instructions.low > 0 ? a->warp_instructions.low / c->warps : 0;
	if (is_all || !(bytes > 0) || !(loads > 0))
		return false;
	*out = (struct stream_turn){bytes, least, fmin(out->chain, loads)};
	return true;
}

/* The hottest loop; where there is none the whole kernel. */
static bool stream_of(const struct advice_case *c, struct stream *out)
{
	const struct metric_sass *s = c->sass;
	const struct metric_mix *m = !s ? NULL : c->hot ? &s->hot : &s->whole;
	const double partitions = c->hw->arch.partitions;

	if (!m || !(m->loads > 0) || !(m->load_bytes > 0) || m->copies > 0 || m->shared > 0 ||
	    m->barriers > 0 || m->products > 0 || m->local > 0 || m->atomics > 0 ||
	    isnan(c->resident) || !(partitions > 0))
		return false;
	if (c->hot ? c->hot->recurrence_loads > 0 : has_loops(s))
		return false;
	/* All that a grid moves may be in flight at once. */
	if (!c->hot && !(c->occupancy && c->occupancy->waves >= STREAM_WAVES))
		return false;
	*out = (struct stream){.m = m,
			       .is_whole = !c->hot,
			       .all = {m->load_bytes + m->store_bytes, m->issued, 1},
			       .resident = c->resident,
			       .warps = fmax(1, c->resident / partitions)};
	/* Issued in order, a load behind the use of another one waits for it, whether or not it needs it. */
	out->all.chain = fmax(1, out->is_whole ? fmax(s->straight_loads, s->straight_waits)
					       : c->hot->load_waits);
	out->sure = out->all;
	/* Were all of it executed by all warps, it would take longer than the kernel does: few of them take that way. */
	if (out->is_whole && sure_turn(c, &out->sure) &&
	    advice_unit_us(c, m->issued / partitions) > c->us)
		out->all = out->sure;
	return !isnan(out->all.chain);
}

/* Cycles in which a scheduler issues a turn for all its warps. */
static double issue_of(const struct stream *s, const struct stream_turn *t)
{
	return s->warps * t->issued;
}

/*
 * What the resident warps move in a turn, of what a memory delivers meanwhile. A turn takes the latency of its loads and
 * the time in which a scheduler issues it for all its warps.
 */
static double in_flight(const struct stream *s, const struct stream_turn *t, double latency,
			double rate)
{
	return s->resident * t->bytes / (t->chain * latency + issue_of(s, t)) / rate;
}

/* At best: blocks of a kernel without loops start one by one, so that while one waits all others issue. */
static double in_flight_best(const struct stream *s, const struct stream_turn *t, double latency,
			     double rate)
{
	const double wait = t->chain * latency;
	const double turn = s->is_whole ? fmax(wait + t->issued, issue_of(s, t))
					: wait + issue_of(s, t);

	return s->resident * t->bytes / turn / rate;
}

static double least_of_turn(const struct advice_case *c, const struct stream *s,
			    const struct stream_turn *t)
{
	return fmin(in_flight(s, t, ADVICE_DRAM_MOST, advice_dram_rate(c)),
		    in_flight(s, t, ADVICE_L2_MOST, advice_l2_rate(c)));
}

static double flight_least(const struct advice_case *c, const struct stream *s)
{
	return fmin(least_of_turn(c, s, &s->sure), least_of_turn(c, s, &s->all));
}

static double most_of_turn(const struct advice_case *c, const struct stream *s,
			   const struct stream_turn *t)
{
	return fmax(in_flight_best(s, t, ADVICE_DRAM_LEAST, advice_dram_rate(c)),
		    in_flight_best(s, t, ADVICE_L2_LEAST, advice_l2_rate(c)));
}

static double flight_most(const struct advice_case *c, const struct stream *s)
{
	return fmax(most_of_turn(c, s, &s->sure), most_of_turn(c, s, &s->all));
}

/* Of the bandwidth that the bytes in flight allow, a kernel that waits for them reaches at least so much. */
#define FLIGHT_REACHED 0.5

/* Percent of the bandwidth, of the L2 where the data lies there, that the bytes in flight allow at least. */
static double allowed_pct(const struct advice_case *c, const struct stream *s)
{
	const double latency = c->fits_l2 ? ADVICE_L2_MOST : ADVICE_DRAM_MOST;
	const double rate = c->fits_l2 ? advice_l2_rate(c) : advice_dram_rate(c);

	return 100 * fmin(1, fmin(in_flight(s, &s->sure, latency, rate),
				  in_flight(s, &s->all, latency, rate)));
}

static bool waits_elsewhere(const struct advice_case *c, const struct stream *s)
{
	const double sms = fmin(1, c->blocks / c->sm_count);

	return c->us > 2 * ADVICE_FIXED_MOST_US &&
	       c->memory_pct < FLIGHT_REACHED * allowed_pct(c, s) * sms;
}

/* Of the bandwidth by data sheet the best streams reach so much (an H200: 90.5%). */
#define STREAMS_MOST_PCT 92.0

/* Whether too few bytes in flight are what it waits for, as far as is known; the share of the bandwidth that they allow. */
static bool lacks_bytes(const struct advice_case *c, const struct stream *s, double *least,
			double *most)
{
	*least = flight_least(c, s);
	*most = flight_most(c, s);
	return !isnan(*least) && !isnan(*most) && *least < ADVICE_REACHED &&
	       issue_of(s, &s->sure) <= ADVICE_DRAM_MOST &&
	       /* Whether it is enough depends on the latency, and no time says that something is missing. */
	       !(s->is_whole && *most >= 1 && isnan(c->memory_pct));
}

double advice_warps_wanted(const struct advice_case *c)
{
	double least, most, latency;
	struct stream s;

	if (!stream_of(c, &s) || !lacks_bytes(c, &s, &least, &most) || most >= 1 ||
	    waits_elsewhere(c, &s) || c->memory_pct >= ADVICE_NEAR_BANDWIDTH_PCT)
		return NAN;
	latency = s.sure.chain * ADVICE_DRAM_MOST;
	return fmin(c->hw->arch.warps_per_sm,
		    ceil(latency * advice_dram_rate(c) / fmax(s.sure.bytes, s.all.bytes)));
}

/* Of the code outside of loops nobody counts bytes: a load brings so many to a warp at most. */
#define LOAD_MOST (16 * LANES)

/* Bytes that a warp has in flight at most, in whatever code: what it loads between two waits. NaN = not known. */
static double flight_of_warp(const struct metric_sass *s)
{
	double most = s->straight_all_loads > 0
			      ? LOAD_MOST * s->straight_all_loads / fmax(1, s->straight_waits)
			      : 0;

	if (isnan(s->straight_all_loads) || isnan(s->straight_waits))
		return NAN;
	for (size_t i = 0; i < s->loops_n; i++) {
		const struct metric_loop *l = &s->loops[i];

		if (l->is_rare || (l->load_ops == 0 && l->async_copies == 0))
			continue;
		if (l->async_copies > 0 || l->load_bytes_per_warp < 0 ||
		    (l->is_innermost && isnan(l->load_waits)))
			return NAN;
		most = fmax(most, (double)l->load_bytes_per_warp /
					  (l->is_innermost ? fmax(1, l->load_waits) : 1));
	}
	return most;
}

double advice_flight(const struct advice_case *c, double *wanted)
{
	const double each = c->sass && !c->sass->has_products ? flight_of_warp(c->sass) : NAN;
	const double least =
		fmin(ADVICE_DRAM_LEAST * advice_dram_rate(c), ADVICE_L2_LEAST * advice_l2_rate(c));
	struct access_cost cost;

	if (!(each > 0) || !(c->resident * each < least))
		return NAN;
	access_cost_read(c->k->access, c->sass, &c->hw->arch, &cost);
	if (access_cost_wastes(&cost))
		return NAN;
	*wanted =
		fmin(c->hw->arch.warps_per_sm, ceil(ADVICE_DRAM_MOST * advice_dram_rate(c) / each));
	return c->resident * each;
}

/* What would have to be in flight: more than is, of the memory that is farther from it. */
static void say_wanted(const struct advice_case *c, const struct stream *s, struct advice_draft *d)
{
	const struct stream_turn *t = &s->sure;
	const double has = s->resident * t->bytes;
	const double wants = ADVICE_DRAM_MOST * advice_dram_rate(c);
	const bool is_l2 = in_flight(s, t, ADVICE_L2_MOST, advice_l2_rate(c)) <
			   in_flight(s, t, ADVICE_DRAM_MOST, advice_dram_rate(c));
	const double latency = is_l2 ? ADVICE_L2_MOST : ADVICE_DRAM_MOST;
	const double turn = t->chain * latency + issue_of(s, t);
	char text[TEXT_NUMBER];

	if (has < wants) {
		advice_evidence(
			d,
			"DRAM at a latency of %.0f cycles needs %s per SM in flight to be busy (bandwidth x latency)",
			ADVICE_DRAM_MOST, text_bytes(text, (int64_t)wants));
		return;
	}
	advice_evidence(
		d,
		"%s delivers %s to an SM in the %.0f cycles that a turn takes (a latency of %.0f, and issue for all warps)",
		is_l2 ? "the L2" : "DRAM",
		text_bytes(text,
			   (int64_t)(turn * (is_l2 ? advice_l2_rate(c) : advice_dram_rate(c)))),
		turn, t->chain * latency);
}

/* Much of the code is for some warps. */
static bool is_part(const struct stream *s)
{
	return s->sure.bytes < s->m->load_bytes + s->m->store_bytes;
}

bool advice_is_partly_sure(const struct advice_case *c)
{
	struct stream s;

	return stream_of(c, &s) && is_part(&s);
}

static void say_in_flight(const struct advice_case *c, struct advice_draft *d,
			  const struct stream *s)
{
	const double bytes = s->sure.bytes;
	char has[TEXT_NUMBER];

	text_bytes(has, (int64_t)(c->resident * bytes));
	if (is_part(s))
		advice_evidence(
			d,
			"a warp surely moves %.0f bytes, the rest of the code %s; %.0f warps on an SM: %s in flight",
			bytes,
			s->all.bytes > bytes ? "those that come there"
					     : "few of them, or it would take longer to issue",
			c->resident, has);
	else if (s->is_whole)
		advice_evidence(d,
				"a warp moves %.0f bytes in all; %.0f warps on an SM: %s in flight",
				bytes, c->resident, has);
	else
		advice_evidence(
			d,
			"a turn of the hottest loop moves %.0f bytes per warp; %.0f warps on an SM: %s in flight",
			bytes, c->resident, has);
	if (!s->is_whole && s->sure.chain > 1)
		advice_evidence(
			d,
			"but not at once: in a turn a warp waits %.0f times for loads, as it uses one before it issues the next",
			s->sure.chain);
	say_wanted(c, s, d);
}

enum advice_outcome rule_bytes_in_flight(const struct advice_case *c, struct advice_draft *d)
{
	struct stream s;
	struct occupancy o;
	double least, most;
	char pct[TEXT_NUMBER], allowed[TEXT_NUMBER];

	if (!stream_of(c, &s) || c->class == CLASS_COMPUTE || c->class == CLASS_BALANCED ||
	    !lacks_bytes(c, &s, &least, &most))
		return ADVICE_SILENT;
	if (c->class == CLASS_MEMORY && c->memory_pct >= ADVICE_NEAR_BANDWIDTH_PCT)
		return advice_against(d, "%.0f bytes %s are few, but %s", s.sure.bytes,
				      s.is_whole ? "a warp" : "a turn and warp",
				      advice_saturation(c));
	if (waits_elsewhere(c, &s))
		return advice_against(
			d,
			"%.0f bytes %s allow %s or more of the bandwidth%s, but it is at %s: the kernel waits for something else",
			s.sure.bytes, s.is_whole ? "a warp" : "a turn and warp",
			text_pct(allowed, allowed_pct(c, &s)), c->fits_l2 ? " of the L2" : "",
			text_pct(pct, c->memory_pct));
	say_in_flight(c, d, &s);
	if (!isnan(c->memory_pct))
		advice_evidence(d, "memory at %s of its peak", text_pct(pct, c->memory_pct));
	if (c->occupancy && c->occupancy->limiter == LIMIT_BLOCKS)
		advice_evidence(
			d,
			"an SM holds at most %d blocks of any size: larger ones bring more than %d of its %d warps",
			c->hw->arch.blocks_per_sm, c->occupancy->warps_per_sm,
			c->hw->arch.warps_per_sm);
	advice_stalls(d, advice_stall(c, long_scoreboard), "long scoreboard");
	/* What DRAM delivers of data that no cache holds is measured, and what it can deliver at best. */
	if (is_beyond_l2(c) && c->memory_pct > 0)
		least = c->memory_pct / STREAMS_MOST_PCT;
	advice_gain_ratio(d, fmin(1, fmax(most, least)), fmin(1, least));
	advice_conflict(d,
			"values in flight take registers: 4 per thread for each load of 16 bytes");
	if (c->cliff && c->occupancy && c->occupancy->limiter == LIMIT_REGISTERS &&
	    advice_occupancy(c, c->k->resources.registers + 4, c->cliff->smem_per_block_bytes, &o))
		advice_conflict(d, "registers limit the warps already: with 4 more %s",
				advice_room(d, o.blocks_per_sm));
	advice_try(
		d,
		s.is_whole
			? "16 bytes per lane (float4, uint4), several elements per thread whose loads come first, more warps"
		: s.sure.chain > 1
			? "load several elements into registers before the first is used or anything is stored (__restrict__ lets the compiler do so), more warps"
			: "16 bytes per lane (float4), several independent loads per turn (unroll by 4), more warps",
		"bandwidth rises with the bytes in flight, up to the peak",
		s.is_whole ? "the memory is busy already, or the kernel waits for something else"
			   : "the memory is busy already, or the loop waits for something else");
	return ADVICE_GIVEN;
}

/* ------------------------------------------------------------------------------------- at the limit */

enum advice_outcome rule_fuse(const struct advice_case *c, struct advice_draft *d)
{
	const struct roofline *r = &c->k->roofline;
	char pct[TEXT_NUMBER], intensity[TEXT_NUMBER], balance[TEXT_NUMBER];
	struct occupancy o;
	struct stream s;

	if (c->class == CLASS_COMPUTE || c->class == CLASS_LATENCY || !c->k->work_known ||
	    !(c->dram_pct >= ADVICE_NEAR_BANDWIDTH_PCT) || !quantity_known(&r->intensity) ||
	    !(r->intensity.value == 0 || r->intensity.value < r->balance))
		return ADVICE_SILENT;
	/* The L2 can do more than DRAM: its limit is reached only where bytes enough are known to be in flight. */
	if (c->fits_l2 && !(stream_of(c, &s) && flight_least(c, &s) >= ADVICE_REACHED))
		return ADVICE_SILENT;
	advice_evidence(d, "%s of the DRAM bandwidth: %s", text_pct(pct, c->dram_pct),
			c->fits_l2 ? "near the limit, or above it by the L2, which the data fits"
				   : "near the limit");
	advice_evidence(d, "intensity %s FLOP/B%s%s",
			r->intensity.value == 0 ? "0" : text_ratio(intensity, r->intensity.value),
			isnan(r->balance) ? "" : ", balance ",
			isnan(r->balance) ? "" : text_ratio(balance, r->balance));
	/* One of at least two streams less, or half of the bytes. */
	advice_gain(d, 25, 50);
	if (c->cliff && c->k->resources.registers > 0 &&
	    advice_occupancy(c, c->k->resources.registers + 16, c->cliff->smem_per_block_bytes, &o))
		advice_conflict(d, "fused code needs the registers of both: with 16 more %s",
				advice_room(d, o.blocks_per_sm));
	advice_conflict(
		d,
		"what the neighbour shares between threads needs shared memory and barriers, and a fused sum rounds in another order");
	advice_conflict(
		d,
		"a smaller type: FP16 keeps 11 bits (about 1e-3 of the value), BF16 8 (about 4e-3); the result must tolerate that");
	advice_try(
		d,
		"compute the neighbour's result where the value is in a register, so that it is not written and read again; or store it in half the bytes",
		"bytes of the two together fall by a third to a half, time with them",
		"the neighbour found the data in the L2: nothing was saved");
	return ADVICE_GIVEN;
}
