/*
 * fuzz_fatbin.c - hostile files with device code: fat binaries, host files, libraries. Whatever the
 * bytes: the walk ends, images lie within the file and in its order, unpacking keeps to its budget and
 * gives the size that it says, and what is chosen for a device may run there.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cubin.h"
#include "fatbin.h"
#include "image_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
	if (!holds)
		abort();
}

static void check_entry(const struct fatbin_entry *entry, const uint8_t *data, size_t size,
			uint64_t *budget)
{
	uint64_t before = *budget;
	struct err e = {0};
	struct cubin c;
	uint8_t *out;
	size_t bytes;

	check(entry->offset < size);
	check(!entry->payload.bytes || (entry->payload.data >= data &&
					entry->payload.data + entry->payload.bytes <= data + size));
	if (fatbin_unpack(entry, budget, &out, &bytes, &e) < 0) {
		check(*budget == before && e.code != ERR_NONE);
		return;
	}
	check(*budget == before - bytes);
	if (entry->kind == FATBIN_CUBIN && cubin_open(&c, buf_of(out, bytes), &e) == 0)
		cubin_close(&c);
	free(out);
}

static void check_select(struct buf file)
{
	static const uint32_t sms[] = {0, 75, 86, 90, 100, 103, 120, 121};

	for (size_t i = 0; i < sizeof(sms) / sizeof(sms[0]); i++) {
		struct fatbin_entry entry;
		struct err e = {0};

		if (fatbin_select(file, sms[i], &entry, &e) != 1)
			continue;
		check(entry.kind == FATBIN_CUBIN || entry.kind == FATBIN_PTX);
		check(entry.sm <= sms[i] && (!entry.is_arch_specific || entry.sm == sms[i]));
		check(entry.kind == FATBIN_PTX || entry.sm / 10 == sms[i] / 10);
	}
}

/* What the two ways of unpacking give is the same. */
static void check_image(struct image_file *f, const struct image *image, const uint8_t *data,
			size_t size, uint64_t *budget)
{
	struct err e = {0};
	struct buf bytes;

	check_entry(&image->entry, data, size, budget);
	check(image->kind == image->entry.kind && image->offset == image->entry.offset);
	check(!image->suffix || image->suffix == 'a' || image->suffix == 'f');
	check(strlen(image->member) < IMAGE_MEMBER_MAX);
	if (image->bytes > 16 << 20)
		return;
	if (image_bytes(f, image, &bytes, &e) < 0)
		check(e.code != ERR_NONE && !strncmp(e.text, "fuzz", 4));
	else
		check(!bytes.bytes || bytes.data[0] + bytes.data[bytes.bytes - 1] >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t budget = 16 << 20, last = 0;
	struct buf file = buf_of(data, size);
	struct image_file f;
	struct image image;
	struct err e = {0};
	size_t steps = 0, images = 0;
	int rc;

	if (image_file_of(&f, file, "fuzz", &e) < 0) {
		check(e.code != ERR_NONE && !strncmp(e.text, "fuzz: ", 6));
		return 0;
	}
	/* Each step moves on by at least 8 bytes, or by a member, or reports a table of sections. */
	while ((rc = image_file_next(&f, &image, &e))) {
		check(++steps <= size / 8 + size / 60 * 2 + 3);
		if (rc < 0) {
			check(e.code != ERR_NONE && !strncmp(e.text, "fuzz", 4));
			continue;
		}
		check(image.index == images++ && (image.offset >= last));
		last = image.offset;
		if (images < 64)
			check_image(&f, &image, data, size, &budget);
	}
	image_file_close(&f);
	check_select(file);
	return 0;
}
