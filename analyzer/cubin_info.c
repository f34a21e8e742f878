/*
 * cubin_info.c - the attribute records of a cubin: registers, stack, bounds, parameters, branches,
 * spills. Input: a section of records. Output: the functions' fields, or an error with the offset.
 * Records of an unknown kind are passed over: every toolkit adds some.
 */
#include "cubin_read.h"

#include "arena.h"

/* .nv.info record codes that we read; others are skipped. */
enum {
	INFO_MAX_THREADS = 0x05,
	INFO_PARAM_CBANK = 0x0a,
	INFO_EXTERNS = 0x0f,
	INFO_REQNTID = 0x10,
	INFO_FRAME_SIZE = 0x11,
	INFO_MIN_STACK_SIZE = 0x12,
	INFO_KPARAM = 0x17,
	INFO_CBANK_PARAM_SIZE = 0x19,
	INFO_MAXREG_COUNT = 0x1b,
	INFO_EXITS = 0x1c,
	INFO_MAX_STACK_SIZE = 0x23,
	INFO_REGCOUNT = 0x2f,
	INFO_BRANCH_TARGETS = 0x34,
	INFO_CTA_PER_CLUSTER = 0x3d,
	INFO_EXPLICIT_CLUSTER = 0x3e,
	INFO_KPARAM_V2 = 0x45,
	INFO_SYSCALL_OFFSETS = 0x46,
	INFO_NUM_BARRIERS = 0x4c,
	INFO_ANNOTATIONS = 0x55,
	COMPAT_ARCH_SPECIFIC = 0x09, /* in .nv.compat */
};

#define ANNOTATION_SPILL 1u
#define MAX_PARAMS       4096u /* 32,764 bytes of parameters; each has at least 4 in practice */

struct info {
	uint8_t format, code;
	uint16_t value;     /* formats 2 and 3 */
	struct buf payload; /* format 4 */
};

/* The next record: 1, 0 at the end, -1 when it reaches past the end. */
static int next_info(struct buf *b, struct info *i, struct err *e)
{
	int64_t where = buf_where(b);

	if (buf_left(b) < 4)
		return 0;
	i->format = buf_u8(b);
	i->code = buf_u8(b);
	i->value = buf_u16(b);
	i->payload = (struct buf){0};
	if (i->format != 4)
		return 1;
	if (!buf_part(b, b->at, i->value, &i->payload))
		return err_set(e, ERR_CORRUPT, where,
			       "attribute record 0x%02x reaches past the end of its section",
			       i->code);
	buf_seek(b, b->at + i->value);
	return 1;
}

static struct cubin_function *function_of_symbol(struct reader *r, uint32_t symbol)
{
	return symbol < r->symbols_n && r->of_symbol[symbol]
		       ? &r->functions.at[r->of_symbol[symbol] - 1]
		       : NULL;
}

static struct cubin_part *part_of_symbol(struct reader *r, uint32_t symbol)
{
	return symbol < r->symbols_n && r->part_of_symbol[symbol]
		       ? &r->parts.at[r->part_of_symbol[symbol] - 1].p
		       : NULL;
}

/* Symbol index, then a value. */
int cubin_module_info(struct reader *r, const struct elf_section *s, struct err *e)
{
	struct buf b = s->data;
	struct info i;
	int rc;

	while ((rc = next_info(&b, &i, e)) > 0) {
		uint32_t symbol = buf_u32(&i.payload), value = buf_u32(&i.payload);
		struct cubin_function *f = function_of_symbol(r, symbol);
		struct cubin_part *p = part_of_symbol(r, symbol);

		if (!buf_ok(&i.payload))
			continue;
		if (p && i.code == INFO_FRAME_SIZE)
			p->frame_bytes = value;
		if (!f)
			continue;
		if (i.code == INFO_REGCOUNT)
			f->registers = value;
		else if (i.code == INFO_FRAME_SIZE)
			f->frame_bytes = value;
		else if ((i.code == INFO_MIN_STACK_SIZE || i.code == INFO_MAX_STACK_SIZE) &&
			 value > f->stack_bytes)
			f->stack_bytes = value;
	}
	return rc;
}

static int add_param(struct reader *r, uint32_t function, struct info *i, struct err *e)
{
	struct param *p = vec_add(&r->params);
	uint32_t word;

	if (!p)
		return cubin_no_memory(r, e);
	buf_u32(&i->payload); /* index, always 0 */
	p->function = function;
	p->ordinal = buf_u16(&i->payload);
	p->p.offset = buf_u16(&i->payload);
	word = buf_u32(&i->payload);
	/* Sizes above 16,383 bytes need the wide form: size in the low bits, marks of pointers above. */
	p->p.bytes = i->code == INFO_KPARAM_V2 ? word & 0xffffff : word >> 18;
	if (!buf_ok(&i->payload) || p->ordinal >= MAX_PARAMS)
		return err_set(e, ERR_CORRUPT, (int64_t)i->payload.origin,
			       "impossible parameter record");
	return 0;
}

static void read_triple(struct info *i, uint32_t out[3])
{
	for (int k = 0; k < 3; k++)
		out[k] = buf_u32(&i->payload);
}

/* Is this the offset of an instruction of the function? */
static bool is_in_code(const struct reader *r, uint32_t function, uint32_t offset)
{
	uint32_t unit = r->c->sm >= 70 ? 16 : 8; /* bytes of an instruction */

	return offset < r->functions.at[function].code.bytes && offset % unit == 0;
}

static int outside(const struct info *i, const char *what, struct err *e)
{
	return err_set(e, ERR_CORRUPT, (int64_t)i->payload.origin,
		       "%s at no instruction of the function", what);
}

/* Pairs of a kind and an offset. A length has 16 bits: more than 8,191 need a second record. */
static int add_spills(struct reader *r, uint32_t function, struct info *i, struct err *e)
{
	while (buf_left(&i->payload) >= 8) {
		uint32_t kind = buf_u32(&i->payload), offset = buf_u32(&i->payload);
		struct spill *s;

		if (kind != ANNOTATION_SPILL)
			continue;
		if (!is_in_code(r, function, offset))
			return outside(i, "mark of a spill", e);
		s = vec_add(&r->spills);
		if (!s)
			return cubin_no_memory(r, e);
		*s = (struct spill){function, offset};
	}
	return 0;
}

/* For each branch its offset, a word that is zero, the number of its targets, and these. */
static int add_branches(struct reader *r, uint32_t function, struct info *i, struct err *e)
{
	while (buf_left(&i->payload) >= 12) {
		struct branch *b = vec_add(&r->branches);
		uint32_t *targets;

		if (!b)
			return cubin_no_memory(r, e);
		b->function = function;
		b->b.offset = buf_u32(&i->payload);
		buf_u32(&i->payload);
		b->b.targets_n = buf_u32(&i->payload);
		if (b->b.targets_n > buf_left(&i->payload) / 4)
			return err_set(e, ERR_CORRUPT, (int64_t)i->payload.origin,
				       "indirect branch has more targets than its record");
		if (!is_in_code(r, function, b->b.offset))
			return outside(i, "indirect branch", e);
		targets = arena_array(r->c->arena, b->b.targets_n, sizeof(*targets));
		if (!targets)
			return cubin_no_memory(r, e);
		b->b.targets = targets;
		for (uint32_t k = 0; k < b->b.targets_n; k++) {
			targets[k] = buf_u32(&i->payload);
			if (!is_in_code(r, function, targets[k]))
				return outside(i, "target of an indirect branch", e);
		}
	}
	return 0;
}

int cubin_function_info(struct reader *r, uint32_t function, const struct elf_section *s,
			struct err *e)
{
	struct cubin_function *f = &r->functions.at[function];
	struct buf b = s->data;
	struct info i;
	uint32_t word;
	int rc;

	while ((rc = next_info(&b, &i, e)) > 0) {
		switch (i.code) {
		case INFO_MAX_THREADS: read_triple(&i, f->max_threads); break;
		case INFO_REQNTID: read_triple(&i, f->block); break;
		case INFO_CTA_PER_CLUSTER: read_triple(&i, f->cluster); break;
		case INFO_EXPLICIT_CLUSTER: f->needs_cluster = true; break;
		case INFO_MAXREG_COUNT: f->max_registers = i.value < 255 ? i.value : 0; break;
		case INFO_NUM_BARRIERS:
			f->barriers = i.format == 2 ? i.value & 0xff : i.value;
			break;
		case INFO_CBANK_PARAM_SIZE: f->param_bytes = i.value; break;
		/* a linked cubin has no other symbol without a definition than those of the driver */
		case INFO_EXTERNS:
			f->uses_syscalls |= !r->c->is_relocatable && i.payload.bytes > 0;
			break;
		case INFO_SYSCALL_OFFSETS: f->uses_syscalls |= i.payload.bytes > 0; break;
		case INFO_EXITS: f->exits = i.payload; break;
		case INFO_BRANCH_TARGETS:
			if (add_branches(r, function, &i, e) < 0)
				return -1;
			break;
		case INFO_ANNOTATIONS:
			f->has_annotations = true;
			if (add_spills(r, function, &i, e) < 0)
				return -1;
			break;
		case INFO_PARAM_CBANK:
			buf_u32(&i.payload); /* symbol of the bank */
			word = buf_u32(&i.payload);
			f->param_base = word & 0xffff;
			if (word >> 16)
				f->param_bytes = word >> 16;
			break;
		case INFO_KPARAM:
		case INFO_KPARAM_V2:
			if (add_param(r, function, &i, e) < 0)
				return -1;
			break;
		default: break;
		}
	}
	return rc;
}

/* `a` targets cannot be told from the header. Where the command line says more, that is taken. */
int cubin_compat(struct reader *r, const struct elf_section *s, struct err *e)
{
	struct buf b = s->data;
	struct info i;
	int rc;

	while ((rc = next_info(&b, &i, e)) > 0) {
		if (i.format == 2 && i.code == COMPAT_ARCH_SPECIFIC)
			r->c->suffix = (i.value & 0xff) == 1 ? 'a' : r->c->suffix;
	}
	return rc;
}
