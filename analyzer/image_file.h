/*
 * image_file.h - the device code in any file: one image (cubin, PTX, link-time code) after another.
 * Input: a path, or bytes. A file may be a cubin, a fat binary with or without its wrapper, a host ELF
 * file (executable, shared object, relocatable) or a static library of such files.
 * Output: where each image is and for what it was built; its bytes when asked for.
 * Holds a mapping of the file and the largest image unpacked so far, never the file in memory.
 * Leaves the inside of images to cubin.c, and which of them a device runs to fatbin_select().
 */
#ifndef KBN_IMAGE_FILE_H
#define KBN_IMAGE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"
#include "fatbin.h"
#include "vec.h"

#define IMAGE_MEMBER_MAX 128u /* with its NUL; longer names of members are cut */

struct image {
	size_t index;       /* in the file, from 0 */
	uint16_t kind;      /* enum fatbin_kind, or a number that we do not know */
	uint32_t sm;        /* 90; 0 = not stated */
	char suffix;        /* 'a' or 'f' as in sm_90a and sm_100f, 0 = none */
	uint64_t offset;    /* in the file: of the entry, or of a cubin that stands alone */
	uint64_t bytes;     /* unpacked */
	const char *member; /* of a static library, until the next image; "" = no library */
	struct fatbin_entry entry;
};

/* A stretch of a file and how it is read. */
struct image_region {
	struct buf data;
	enum {
		REGION_CUBIN,      /* is one */
		REGION_CONTAINERS, /* holds fat binaries and filling: a wrong head is an error */
		REGION_SCAN,       /* may hold fat binaries and cubins anywhere */
	} how;
};

struct image_file {
	const char *path; /* for errors; of the caller */
	struct buf file;
	void *map;       /* NULL: the bytes are the caller's */
	size_t released; /* bytes of the map that are behind us */
	size_t images;   /* given so far */
	bool is_library;
	uint64_t next_member; /* offset of its header */
	struct buf long_names;
	char member[IMAGE_MEMBER_MAX];
	VEC(struct image_region) regions; /* of the file or member, in the order of their offsets */
	size_t region;                    /* next of them */
	struct err pending;               /* a fault that the next call reports */
	bool is_walking;
	struct fatbin walk; /* of the region before `region` */
	struct fatbin_room room;
};

/*
 * Map a file. ERR_FORMAT when it is of none of the kinds above; a host file or library without device
 * code is no error: it has no images. The path must outlive `f`. Somebody who cuts the file off while
 * it is read ends the process with SIGBUS, as with every mapped file: see cmd_fail_when_cut().
 */
int image_file_open(struct image_file *f, const char *path, struct err *e);

/* The same over bytes that the caller keeps; `name` is for errors. */
int image_file_of(struct image_file *f, struct buf file, const char *name, struct err *e);

/*
 * The next image: 1; 0 at the end; -1 when the file is damaged here. After -1 a further call goes on
 * behind the damage. Errors begin with the name of the file and have the offset in it.
 *
 * In host files the sections named .nv_fatbin and __nv_relfatbin must hold fat binaries and nothing
 * else. All the rest is searched too: mathematics libraries keep most of their fat binaries elsewhere,
 * and profilers' libraries have cubins that stand alone. The wrappers in .nvFatBinSegment say nothing
 * more: their pointers are relocated when the file is loaded.
 */
int image_file_next(struct image_file *f, struct image *image, struct err *e);

/*
 * The bytes of an image, unpacked, as a view whose offsets begin at 0. It lasts until the next call
 * of this function or of image_file_close(). PTX may end in zeros.
 */
int image_bytes(struct image_file *f, const struct image *image, struct buf *out, struct err *e);

/* Put file, image and its offset in front of an error that was found within the bytes of an image. */
int image_fail(const struct image_file *f, const struct image *image, struct err *e);

void image_file_close(struct image_file *f);

#endif
