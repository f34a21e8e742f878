/*
 * fuzz_fatbin.c - hostile files with device code. Whatever the bytes: the walk ends, entries lie within
 * the file, unpacking keeps to its budget and gives the size that it says, and what is chosen for a
 * device may run there.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cubin.h"
#include "fatbin.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t budget = 16 << 20;
	struct buf file = buf_of(data, size);
	struct fatbin_entry entry;
	struct fatbin_file f;
	struct err e = {0};
	size_t steps = 0;
	int rc;

	if (fatbin_file_open(&f, file, &e) < 0) {
		check(e.code != ERR_NONE);
		return 0;
	}
	/* Each step moves on by at least 8 bytes. */
	while ((rc = fatbin_file_next(&f, &entry, &e))) {
		if (rc > 0 && steps < 64)
			check_entry(&entry, data, size, &budget);
		check(++steps <= size / 8 + 2);
	}
	check_select(file);
	return 0;
}
