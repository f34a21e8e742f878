/*
 * lanes_site.c - from the addresses of a warp's lanes to sectors and wavefronts.
 *
 * Global memory moves sectors of 32 bytes: a request takes as many as its lanes touch. Shared memory has 32
 * banks of four bytes: a request takes as many wavefronts as one bank has different words to give; lanes with
 * 8 bytes go by halves of the warp, with 16 by quarters, and LDSM by the eight rows of a matrix (CUDA C++
 * Programming Guide, compute capability 5.x, and the 64- and 128-bit rules of 3.x that later parts keep). Loads go
 * two parts at a time where each lane has the address of its neighbour, or each that of the next but one: LDS.128
 * then takes two wavefronts for four, never one (NVIDIA forum, "Unexpected shared memory bank conflict", on 7.x;
 * Nsight Compute says the same on an H200).
 */
#include <stdio.h>

#include "lanes_step.h"

#define BYTES_MOST 32u /* by one lane */

/* What is known of a request's addresses: one offset a lane, all from an unknown start of known alignment. */
struct request {
	int64_t at[LANES];
	uint32_t lanes;
	unsigned bytes;
};

static unsigned count(uint32_t lanes)
{
	return (unsigned)__builtin_popcount(lanes);
}

/* Different ones among n numbers, which are sorted. */
static unsigned different(int64_t *a, unsigned n)
{
	unsigned out = 0;

	for (unsigned i = 1; i < n; i++)
		for (unsigned k = i; k && a[k - 1] > a[k]; k--) {
			const int64_t t = a[k];

			a[k] = a[k - 1];
			a[k - 1] = t;
		}
	for (unsigned i = 0; i < n; i++)
		out += !i || a[i] != a[i - 1];
	return out;
}

/* Units of so many bytes, a power of two, that the lanes touch when the first byte of all is at `start`. */
static unsigned units(const struct request *r, int64_t start, unsigned unit)
{
	const int shift = __builtin_ctz(unit);
	int64_t a[LANES * 2];
	unsigned n = 0;

	for (unsigned i = 0; i < LANES; i++) {
		if (!(r->lanes >> i & 1))
			continue;
		a[n++] = (r->at[i] + start) >> shift;
		if (r->bytes > 1)
			a[n++] = (r->at[i] + start + r->bytes - 1) >> shift;
	}
	return different(a, n);
}

/* Sectors when lanes of 8 and 16 bytes go by halves and quarters of the warp, and each part has its own. */
static unsigned units_apart(const struct request *r, int64_t start)
{
	const unsigned parts = r->bytes <= 4 ? 1 : r->bytes / 4, size = LANES / parts;
	unsigned sum = 0;

	for (unsigned k = 0; k < parts; k++) {
		struct request part = *r;

		part.lanes &= (size < LANES ? (1u << size) - 1 : LANES_ALL) << (k * size);
		sum += part.lanes ? units(&part, start, LANES_SECTOR) : 0;
	}
	return sum;
}

static unsigned addresses(const struct request *r)
{
	int64_t a[LANES];
	unsigned n = 0;

	for (unsigned i = 0; i < LANES; i++)
		if (r->lanes >> i & 1)
			a[n++] = r->at[i];
	return different(a, n);
}

/* Bytes that some lane accesses, each once. */
static unsigned different_bytes(const struct request *r)
{
	int64_t a[LANES];
	unsigned n = 0, sum = 0;

	for (unsigned i = 0; i < LANES; i++)
		if (r->lanes >> i & 1)
			a[n++] = r->at[i];
	different(a, n);
	for (unsigned i = 0; i < n; i++)
		sum += i + 1 < n && a[i + 1] - a[i] < (int64_t)r->bytes
			       ? (unsigned)(a[i + 1] - a[i])
			       : r->bytes;
	return sum;
}

/* The most different words that one bank has to give to some lanes. */
static unsigned worst_bank(const struct request *r, uint32_t lanes)
{
	int64_t words[LANES * (BYTES_MOST / 4 + 1)];
	unsigned of_bank[LANES_BANKS] = {0}, n = 0, worst = 0;

	for (unsigned i = 0; i < LANES; i++)
		for (int64_t w = r->at[i] >> 2;
		     lanes >> i & 1 && w <= (r->at[i] + r->bytes - 1) >> 2; w++)
			words[n++] = w;
	different(words, n);
	for (unsigned i = 0; i < n; i++) {
		unsigned *count_of = &of_bank[(uint64_t)words[i] & (LANES_BANKS - 1)];

		if (i && words[i] == words[i - 1])
			continue;
		if (++*count_of > worst)
			worst = *count_of;
	}
	return worst;
}

/* Whether each active lane and its neighbour at that distance have one address, where both are active. */
static bool are_paired(const struct request *r, unsigned distance)
{
	for (unsigned i = 0; i < LANES; i++) {
		const unsigned k = i ^ distance;

		if ((r->lanes >> i & 1) && (r->lanes >> k & 1) && r->at[i] != r->at[k])
			return false;
	}
	return true;
}

/*
 * What a wavefront brings is a register of each lane, so 8 bytes take two and 16 four. Where neighbours want the same,
 * two registers of half of the lanes fit into one. *needed is what that alone takes, whatever the banks.
 */
static unsigned wavefronts(const struct request *r, unsigned matrices, bool is_load,
			   unsigned *needed)
{
	unsigned parts = matrices ? matrices : r->bytes <= 4 ? 1 : r->bytes / 4;
	unsigned size = matrices ? 8 : LANES / parts, sum = 0;

	if (!matrices && parts > 1 && is_load && (are_paired(r, 1) || are_paired(r, 2))) {
		parts /= 2;
		size *= 2;
	}
	*needed = 0;
	for (unsigned k = 0; k < parts && k * size < LANES; k++) {
		const uint32_t some = (size < 32 ? (1u << size) - 1 : LANES_ALL) << (k * size);

		*needed += (r->lanes & some) != 0;
		if (r->lanes & some)
			sum += worst_bank(r, r->lanes & some);
	}
	return sum;
}

/* ------------------------------------------------------------------------------------- words */

/* The distance of neighbouring lanes, where it is one; false = it is not. */
static bool stride_of(const struct request *r, int64_t *stride)
{
	int last = -1;
	bool has = false;

	for (int i = 0; i < (int)LANES; i++) {
		if (!(r->lanes >> i & 1))
			continue;
		if (last >= 0) {
			const int64_t d = (r->at[i] - r->at[last]) / (i - last);

			if (d * (i - last) != r->at[i] - r->at[last] || (has && d != *stride))
				return false;
			*stride = d;
			has = true;
		}
		last = i;
	}
	return has;
}

static void describe(const struct request *r, unsigned worst, struct lanes_site *out)
{
	int64_t stride;

	if (count(r->lanes) == 1)
		snprintf(out->pattern, sizeof(out->pattern), "one lane%s",
			 out->is_everywhere ? ", one address of all warps" : "");
	else if (out->addresses == 1)
		snprintf(out->pattern, sizeof(out->pattern), "all lanes one address%s",
			 out->is_everywhere ? ", that of all warps" : "");
	else if (worst > 1 && r->bytes <= 4 && worst == worst_bank(r, r->lanes))
		snprintf(out->pattern, sizeof(out->pattern), "%u words of one bank", worst);
	else if (stride_of(r, &stride))
		snprintf(out->pattern, sizeof(out->pattern), "lane stride %lld B",
			 (long long)stride);
	else
		snprintf(out->pattern, sizeof(out->pattern), "%u different addresses",
			 out->addresses);
}

/* ------------------------------------------------------------------------------------- addresses */

static bool is_descriptor(const struct sass_insn *insn, unsigned first)
{
	const struct sass_operand *o = &insn->operands[first];

	return o->kind == SASS_UREG && o->regs == 2 && first + 1 < insn->operands_n &&
	       insn->operands[first + 1].index == o->index &&
	       insn->operands[first + 1].kind == SASS_REG;
}

uint32_t lanes_address(struct lanes_run *run, const struct lanes_state *s,
		       const struct lanes_access *a, unsigned which, bool is_64, uint32_t *reasons)
{
	const struct sass_insn *insn = &run->c->g->insns[a->insn];
	const unsigned first = a->access.address[which];
	struct lanes_values *v = &run->v;
	uint32_t sum = 0;

	if (first >= SASS_OPERANDS)
		return LANES_NONE;
	for (unsigned i = first + is_descriptor(insn, first);
	     i < insn->operands_n && insn->operands[i].index == insn->operands[first].index; i++) {
		const struct sass_operand *o = &insn->operands[i];
		const uint8_t kind = o->kind == SASS_UREG ? LANES_ARG_UREG : LANES_ARG_REG;
		uint32_t term;

		if (o->kind == SASS_IMMEDIATE) {
			term = lanes_form(v, (uint64_t)o->value, 0, 0, false);
		} else if (o->kind != SASS_REG && o->kind != SASS_UREG) {
			return LANES_NONE;
		} else {
			const uint32_t low = lanes_read_reg(s, kind, o->reg, 0);
			const uint32_t high = o->regs == 2 ? lanes_read_reg(s, kind, o->reg, 1) : 0;

			term = o->regs == 2 ? lanes_pair(v, low, high)
			       : is_64      ? lanes_extend(v, low, false)
					    : lanes_sum(v, low);
			if (term == LANES_NONE)
				*reasons |= lanes_reasons(v, low) |
					    (o->regs == 2 ? lanes_reasons(v, high) : 0);
			if (o->kind == SASS_REG)
				term = lanes_scale(v, term, a->scale[which]);
		}
		sum = lanes_add(v, sum, term);
		if (sum == LANES_NONE)
			return sum;
	}
	return is_64 ? sum : lanes_lower(v, sum);
}

/* ------------------------------------------------------------------------------------- figures */

/* Where the shared part of an address may begin, as far as its sectors depend on it. */
static void measure_sectors(const struct lanes_run *run, uint32_t form, const struct request *r,
			    struct lanes_site *out)
{
	uint64_t start, likely;
	const uint64_t modulus = lanes_alignment(&run->v, form, LANES_SECTOR, false, &start);
	const bool is_power = !(r->bytes & (r->bytes - 1));
	bool has_value = false;

	lanes_alignment(&run->v, form, LANES_SECTOR, true, &likely);
	out->low = UINT16_MAX;
	for (uint64_t at = start; at < LANES_SECTOR; at += modulus) {
		unsigned n;

		/* an address that is no multiple of the size would be an error */
		if (is_power && (at + (uint64_t)r->at[__builtin_ctz(r->lanes)]) & (r->bytes - 1))
			continue;
		n = units(r, (int64_t)at, LANES_SECTOR);
		if (!has_value || at == likely)
			out->value = (uint16_t)n;
		has_value = true;
		out->low = n < out->low ? (uint16_t)n : out->low;
		out->high = n > out->high ? (uint16_t)n : out->high;
	}
	if (has_value && out->is_copy) {
		const unsigned apart = units_apart(r, (int64_t)likely);

		out->high = apart > out->high ? (uint16_t)apart : out->high;
	}
	lanes_alignment(&run->v, form, LANES_LINE, true, &likely);
	out->lines = (uint16_t)units(r, (int64_t)likely, LANES_LINE);
	out->is_known = has_value;
	out->reasons |= has_value ? 0 : LANES_ALIGNED;
	out->ideal = (uint16_t)((different_bytes(r) + LANES_SECTOR - 1) / LANES_SECTOR);
	out->is_assumed |= out->low != out->high;
	if (out->low != out->high)
		out->reasons |= lanes_form_reasons(&run->v, form);
}

static void measure_wavefronts(const struct request *r, unsigned matrices, bool is_load,
			       struct lanes_site *out)
{
	unsigned needed;

	out->value = (uint16_t)wavefronts(r, matrices, is_load, &needed);
	out->high = out->value;
	out->low = out->value;
	out->ideal = (uint16_t)needed;
	out->is_known = true;
}

static bool is_fixed(const struct lanes_symbol *s, const void *ctx)
{
	(void)ctx;
	return s->kind != LANES_CONSTANT;
}

#define PARENTS_MOST 4u /* loops around each other */

struct among {
	const struct lanes_values *v;
	unsigned left;
};

/* The number of the block, or something that nobody knows, which may come from there. */
static bool may_be_of_block(const struct lanes_symbol *s, const void *ctx)
{
	const struct among *x = ctx;
	const struct among next = {x->v, x->left - 1};

	if (s->kind == LANES_POSITION)
		return s->key < 3;
	if (s->kind == LANES_MADE)
		return true;
	if (s->kind != LANES_JOINED)
		return false;
	/* what a loop goes on from, by a number */
	return s->parent == LANES_NONE || s->step_known != 1 || s->is_reentered || !x->left ||
	       lanes_any(x->v, s->parent, may_be_of_block, &next);
}

void lanes_measure(struct lanes_run *run, const struct lanes_state *s, const struct lanes_access *a,
		   bool is_second, struct lanes_site *out)
{
	const bool is_global = !out->is_shared && out->kind != LANES_SHARED;
	const struct lanes_form *f;
	struct request r = {.lanes = out->lanes, .bytes = a->access.bytes};
	uint32_t form;

	/* LDGSTS names shared memory first */
	const unsigned which = a->access.act == SASS_COPY ? !is_second : 0;

	if (a->matrices) {
		const unsigned rows = 8u * a->matrices;

		r.lanes &= rows < 32 ? (1u << rows) - 1 : LANES_ALL;
		r.bytes = 16;
	}
	out->bytes = (uint16_t)r.bytes;
	if (!r.lanes || !r.bytes || r.bytes > BYTES_MOST)
		return;
	form = lanes_address(run, s, a, which, is_global, &out->reasons);
	if (form == LANES_NONE) {
		out->reasons |= out->reasons ? 0 : LANES_OPERATION;
		return;
	}
	f = &run->v.forms.at[form];
	out->form = form;
	out->bytes = (uint8_t)r.bytes;
	memcpy(r.at, run->v.patterns.at[f->pattern].at, sizeof(r.at));
	out->is_assumed = f->is_assumed;
	out->addresses = (uint16_t)addresses(&r);
	out->is_everywhere = run->warp.is_any && out->addresses == 1 &&
			     !lanes_any(&run->v, form, is_fixed, NULL);
	out->is_of_all_blocks =
		run->warp.is_any &&
		!lanes_any(&run->v, form, may_be_of_block, &(struct among){&run->v, PARENTS_MOST});
	if (is_global) {
		measure_sectors(run, form, &r, out);
	} else {
		uint64_t start;

		/* banks repeat every 128 bytes, and any start that is a word only turns them around */
		if (lanes_alignment(&run->v, form, LANES_BANKS * 4, false, &start) < 4 &&
		    r.bytes < 4)
			out->is_assumed = true;
		for (unsigned i = 0; i < LANES; i++)
			r.at[i] += (int64_t)start;
		measure_wavefronts(&r, a->matrices, a->access.act == SASS_LOAD, out);
	}
	if (is_second) {
		/* a copy writes as its data arrive: seen on an H200 are up to one wavefront a lane */
		out->high = (uint16_t)(out->value > count(r.lanes) ? out->value : count(r.lanes));
		out->is_assumed = true;
	}
	if (out->is_known)
		describe(&r, is_global ? 0 : out->value, out);
}
