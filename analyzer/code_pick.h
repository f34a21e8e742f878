/*
 * code_pick.h - which code a device runs of a file, and which kernels in it have a wanted name.
 * Input: any file with device code (image_file.h). Output: the kernels by name, then the cubins of those
 * that are taken. Leaves what they need to launch_limits.c, and their analysis to the layers above.
 */
#ifndef KBN_CODE_PICK_H
#define KBN_CODE_PICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cubin.h"
#include "err.h"
#include "names.h"
#include "vec.h"

struct arena;

struct code_pick_kernel {
	const char *name; /* mangled */
	bool is_wanted;   /* has the name that was asked for */
	uint32_t sm;      /* of the code */
	char suffix;      /* 'a', 'f', 0 */
	uint32_t fitness; /* of the code for the device */
	uint64_t code;    /* hash of its instructions and resources */
	size_t image;     /* index in the file */
	/* of those that code_pick_load() took */
	const uint8_t *bytes; /* the cubin, in the arena */
	size_t bytes_n;
	const struct cubin_function *function; /* lives as long as `cubins` */
};

struct code_pick {
	/* what is asked for */
	const char *path;
	struct names_filter *filter; /* NULL = every name */
	uint32_t device;             /* SM of the device, 0 = not said */
	uint32_t arch;               /* code for this architecture, 0 = for the device */
	char suffix;                 /* and with this suffix, 0 = any */
	struct arena *arena;         /* of the names and cubins */
	/* what was found */
	VEC(struct code_pick_kernel) kernels; /* by name */
	size_t wanted;                        /* of them */
	size_t again;       /* wanted ones that the file has once more: same name, same code */
	uint32_t sm;        /* code for this architecture was looked for */
	uint32_t others[8]; /* the wanted ones have code for these too, ascending */
	size_t others_n;
	bool has_ptx;    /* that the device could compile */
	uint32_t any_sm; /* the newest that the file has code for, 0 = none */
	VEC(struct cubin *) cubins;
};

/*
 * Read the file and fill `kernels`: of each name what the device runs, by the rule of fatbin_select().
 * Without device and arch the newest architecture that a wanted kernel has code for, and that the hardware
 * table knows, is taken. A name stands there once for each
 * different code (instructions or resources) that the file has for it.
 */
int code_pick_scan(struct code_pick *p, struct err *e);

/* Read the cubins of all wanted kernels. */
int code_pick_load(struct code_pick *p, struct err *e);

void code_pick_close(struct code_pick *p);

#endif
