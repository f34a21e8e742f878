/* unit: shim */
/*
 * fuzz_image.c - hostile images of a known length. Whatever the bytes: nothing is read beyond them,
 * a length found lies inside them and does not depend on what follows, and a chosen entry lies in
 * its container and fits the device.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "image_scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
	if (!holds)
		abort();
}

static void check_select(const uint8_t *image, size_t bytes)
{
	static const int sms[] = {-1, 0, 75, 86, 90, 100, 103, 120, 121};

	for (size_t i = 0; i < sizeof(sms) / sizeof(sms[0]); i++) {
		long at = kbn_image_select(image, bytes, sms[i]);
		struct image_entry e;

		if (at < 0)
			continue;
		check(kbn_image_entry(image, bytes, (size_t)at, &e));
		check(e.kind == ENTRY_CUBIN || e.kind == ENTRY_PTX);
		check(kbn_image_fits(&e, sms[i]));
		check(e.offset + e.bytes <= bytes);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum kbn_image_kind kind = KBN_KIND_UNKNOWN, again = KBN_KIND_UNKNOWN;
	size_t bytes = 0, shorter = 0;
	uint8_t *exact = malloc(size ? size : 1);

	if (!exact)
		return 0;
	if (size)
		memcpy(exact, data, size);
	check_select(exact, size);
	if (kbn_image_extent(exact, size, &kind, &bytes) == 0) {
		uint8_t *cut = malloc(bytes ? bytes : 1);

		check(bytes > 0 && bytes <= size);
		kbn_image_sm(exact, bytes, kind);
		if (cut) {
			memcpy(cut, exact, bytes);
			check(kbn_image_extent(cut, bytes, &again, &shorter) == 0);
			check(again == kind && shorter == bytes);
		}
		free(cut);
	}
	free(exact);
	return 0;
}
