/*
 * sass_work.h - what an instruction has a memory or a tensor core do: which memory, how many bytes; the shape
 * and the types of a matrix product. From its row and its words alone (tables/sass_work.def): no value of a
 * register is known here, so what only a register says is 0 or SASS_UNKNOWN.
 */
#ifndef KBN_SASS_WORK_H
#define KBN_SASS_WORK_H

#include "sass_modifier.h"

enum sass_act {
	SASS_NOTHING,
	SASS_LOAD,
	SASS_STORE,
	SASS_ATOMIC,    /* with a result */
	SASS_REDUCTION, /* without one */
	SASS_COPY,      /* from one memory to another */
	SASS_PREFETCH,
	SASS_MBARRIER, /* on a barrier object in shared memory */
};

enum sass_space {
	SASS_REGISTERS,
	SASS_GENERIC, /* global, shared or local, by the address */
	SASS_GLOBAL,
	SASS_SHARED, /* with the cluster's */
	SASS_LOCAL,
	SASS_CONSTANT,
	SASS_TEXTURE,
	SASS_SURFACE,
	SASS_TENSOR,
	SASS_CACHE,  /* of a prefetch */
	SASS_WORDED, /* in the table only */
};

struct sass_access {
	uint8_t act;      /* enum sass_act */
	uint8_t from, to; /* enum sass_space; of an atomic both are the memory */
	bool is_async;   /* the warp goes on before it is done, and no scoreboard says when it is */
	bool is_uniform; /* once for the warp; else by each of its active threads */
	/* By a thread, or by the warp; 0 = not told by the instruction. As for LDSM: what a thread gets. */
	uint16_t bytes;
	/* Where the first and the second address begin in insn->operands; SASS_OPERANDS = there is none. */
	uint8_t address[2];
};

enum sass_type {
	SASS_UNKNOWN,
#define TYPE(name, modifier, bits) SASS_TYPE_##name,
#define NARROW(...)
#define ACCESS(...)
#define MMA(...)
#include "tables/sass_work.def"
#undef TYPE
#undef NARROW
#undef ACCESS
#undef MMA
	SASS_TYPES,
};

enum sass_who { SASS_WARP, SASS_WARPGROUP, SASS_BLOCK, SASS_BLOCK_PAIR };

struct sass_mma {
	uint8_t who;      /* enum sass_who: by whom one such instruction is issued together */
	uint16_t m, n, k; /* 0 = a register says it. With sparse A: of the whole A */
	uint8_t a, b, d;  /* enum sass_type; C has d's */
	bool is_sparse;   /* two of four of A are 0 and not stored */
	bool is_scaled;   /* blocks of A and B have a scale each */
	/*
	 * Multiplications and additions of one such instruction, 2 m n k; 0 = not known. Of the HMMA.884 of
	 * sm_70, which makes four products of a quarter of the warp each in two steps (F16) or four: its part.
	 */
	uint32_t operations;
};

/*
 * Fill *out from what sass_decode() filled and the words of sass_modifiers(). False, and *out zero: it
 * touches no memory, is no matrix product, or is not decoded.
 */
bool sass_access(const struct sass_insn *insn, const struct sass_modifiers *m,
		 struct sass_access *out);
bool sass_mma(const struct sass_insn *insn, const struct sass_modifiers *m, struct sass_mma *out);

/* "F16"; "unknown" of SASS_UNKNOWN. Bits of an element, 0 of SASS_UNKNOWN. */
const char *sass_type_name(enum sass_type type);
unsigned sass_type_bits(enum sass_type type);

#endif
