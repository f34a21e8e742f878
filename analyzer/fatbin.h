/*
 * fatbin.h - fat binaries: containers of code for several architectures. Input: bytes. Output: one
 * entry after another, still packed; unpacked on request. Nothing is held but the place in the input.
 * Leaves the inside of a cubin to cubin.c and finding containers in files to image_file.c. The format is not documented by the vendor; what is known
 * of it was found by dissecting files, so that anything unexpected is an error of that one container.
 */
#ifndef KBN_FATBIN_H
#define KBN_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"

#define FATBIN_MAGIC         0xba55ed50u
#define FATBIN_WRAPPER_MAGIC 0x466243b1u

/* Most bytes that one entry may unpack to; the largest seen in the wild is 134 MB. */
#define FATBIN_ENTRY_MAX (1ull << 30)

enum fatbin_kind {
	FATBIN_PTX = 1,
	FATBIN_CUBIN = 2,
	FATBIN_LTO = 8
}; /* others are kept as they are */
enum fatbin_packing { FATBIN_STORED, FATBIN_LZ4, FATBIN_ZSTD };

struct fatbin_entry {
	uint64_t offset;         /* of the entry in the input */
	uint16_t kind;           /* enum fatbin_kind or a number that we do not know */
	uint16_t major, minor;   /* PTX version; of cubins the ELF ABI */
	uint32_t sm;             /* 90; of PTX its target */
	bool is_arch_specific;   /* sm_90a: runs on exactly that SM */
	bool is_family_specific; /* sm_100f: runs on its family */
	bool is_debug;
	enum fatbin_packing packing;
	struct buf payload; /* packed bytes; stored ones may end in padding */
	uint64_t bytes;     /* unpacked size */
};

/* One or several containers in a row, with zeros or other matter between them. */
struct fatbin {
	struct buf data;   /* cursor: next entry, or where to look for the next container */
	size_t end;        /* of the current container; cursor >= end: between containers */
	bool is_truncated; /* the current container promises more than there is */
	bool is_scan; /* of a file that holds other things too: only a whole container head counts,
			 and ELF files between the containers are told, see FATBIN_MET_ELF */
};

/* Begin with the containers in `data`, which must start with one (after a wrapper, if any). */
int fatbin_open(struct fatbin *f, struct buf data, struct err *e);

/*
 * The next entry: 1; 0 at the end; -1 when the container is damaged here. After -1 a further call
 * goes on with the next container. In a scan also FATBIN_MET_ELF: an ELF file begins at the cursor
 * f->data.at; the caller moves the cursor behind it, or behind its first bytes, and calls again.
 */
#define FATBIN_MET_ELF 2
int fatbin_next(struct fatbin *f, struct fatbin_entry *entry, struct err *e);

/*
 * The unpacked bytes in memory of their own (free()). `budget` is what may still be unpacked in all
 * and shrinks by *bytes; ERR_LIMIT when the entry claims more, or more than FATBIN_ENTRY_MAX.
 * Link-time intermediate code bears such marks without being packed: it is copied as it is.
 */
int fatbin_unpack(const struct fatbin_entry *entry, uint64_t *budget, uint8_t **out, size_t *bytes,
		  struct err *e);

/* Memory that one unpacking after another uses; begins as zeros, free(data) at the end. */
struct fatbin_room {
	uint8_t *data;
	size_t bytes;
};

/*
 * The unpacked bytes as a view whose offsets begin at 0: into the input where they are stored as they
 * are, else into `room`, which grows to the largest entry. The next call with this room ends the view.
 */
int fatbin_view(const struct fatbin_entry *entry, struct fatbin_room *room, struct buf *out,
		struct err *e);

/*
 * What a device runs of these containers: 1 and the entry, 0 when nothing fits. SM as in 90.
 * Cubins of the same major with the highest minor not above it, `a` only on its own SM, `f` within its
 * family, of equal ones a before f before plain; else the PTX with the highest target not above.
 */
int fatbin_select(struct buf data, uint32_t sm, struct fatbin_entry *entry, struct err *e);

/* How well an entry fits a device by that rule: 0 = not at all, else the higher the better. */
uint32_t fatbin_fitness(const struct fatbin_entry *entry, uint32_t sm);

#endif
