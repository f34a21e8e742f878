/*
 * wrap_resolve.c - cuGetProcAddress, cuGetExportTable, and the entry point for injection.
 *
 * The driver is asked first, with the caller's own arguments; then exactly the function that it
 * returned is swapped for its wrapper. A function that cannot be told for certain goes out as it
 * is: a wrapper of another ABI would be a silent change of meaning. No look-up starts anything, they
 * come before cuInit.
 */
#include <errno.h>
#include <string.h>

#include "hook.h"
#include "log.h"
#include "resolve.h"
#include "state.h"
#include "writer.h"

#define MAX_TABLES 32

/* What came up before there was a log is told when it opens. */
enum { SILENT, PENDING, TOLD };

static _Atomic uint8_t unwrapped[KBN_ROWS];
static CUuuid tables[MAX_TABLES];
static _Atomic uint8_t table_state[MAX_TABLES];
static _Atomic uint32_t table_count;

static bool tell(_Atomic uint8_t *state)
{
	uint8_t pending = PENDING;

	return kbn_recording() && atomic_compare_exchange_strong(state, &pending, TOLD);
}

static void tell_unwrapped(unsigned row)
{
	if (tell(&unwrapped[row]))
		kbn_log_note(KBN_NOTE_UNWRAPPED, 0, kbn_hooks[row].base);
}

static void tell_table(unsigned i)
{
	const unsigned char *b = (const unsigned char *)tables[i].bytes;
	static const char hex[] = "0123456789abcdef";
	char text[40], *t = text;

	if (!tell(&table_state[i]))
		return;
	for (int k = 0; k < 16; k++) {
		if (k == 4 || k == 6 || k == 8 || k == 10)
			*t++ = '-';
		*t++ = hex[b[k] >> 4];
		*t++ = hex[b[k] & 15];
	}
	*t = 0;
	kbn_log_note(KBN_NOTE_EXPORT_TABLE, 0, text);
}

void kbn_resolve_tell(void)
{
	for (unsigned i = 0; i < kbn_hook_count; i++)
		tell_unwrapped(i);
	for (unsigned i = 0; i < atomic_load(&table_count) && i < MAX_TABLES; i++)
		tell_table(i);
}

/* ------------------------------------------------------------------------------ cuGetProcAddress */

void *kbn_substitute(const char *symbol, void *p, int version, cuuint64_t flags)
{
	const struct kbn_hook *h;
	uint8_t silent = SILENT;

	if (!symbol || !*symbol || !p || !kbn_ready())
		return p;
	h = kbn_hook_of_pointer(p, symbol);
	if (!h) {
		h = kbn_hook_of_version(symbol, version, flags);
		if (!h || h->wrapper == p)
			return p;
		/* Only a function that has no other address yet can be the one meant by the name. */
		if (kbn_hook_real(h) || !kbn_hook_adopt(h, p)) {
			atomic_compare_exchange_strong(&unwrapped[h - kbn_hooks], &silent, PENDING);
			tell_unwrapped((unsigned)(h - kbn_hooks));
			return p;
		}
	}
	return h->group == KBN_GROUP_copy && !kbn_copies_wanted() ? p : h->wrapper;
}

static void swap(const char *symbol, void **pfn, int version, cuuint64_t flags, CUresult result)
{
	const int saved_errno = errno;

	if (result == CUDA_SUCCESS && pfn)
		*pfn = kbn_substitute(symbol, *pfn, version, flags);
	errno = saved_errno;
}

KBN_WRAP(cuGetProcAddress)(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
	CUresult result;

	if (!kbn_enter())
		return KBN_PASS(cuGetProcAddress, symbol, pfn, version, flags);
	result = KBN_REAL(cuGetProcAddress, symbol, pfn, version, flags);
	swap(symbol, pfn, version, flags, result);
	kbn_leave();
	return result;
}

KBN_WRAP(cuGetProcAddress_v2)
(const char *symbol, void **pfn, int version, cuuint64_t flags,
 CUdriverProcAddressQueryResult *status)
{
	CUresult result;

	if (!kbn_enter())
		return KBN_PASS(cuGetProcAddress_v2, symbol, pfn, version, flags, status);
	result = KBN_REAL(cuGetProcAddress_v2, symbol, pfn, version, flags, status);
	swap(symbol, pfn, version, flags, result);
	kbn_leave();
	return result;
}

/* ------------------------------------------------------------------------------ cuGetExportTable */

static void note_table(const CUuuid *id)
{
	const uint32_t n = atomic_load(&table_count);
	uint32_t at;

	for (uint32_t i = 0; i < n && i < MAX_TABLES; i++)
		if (!memcmp(&tables[i], id, sizeof(*id)))
			return;
	at = atomic_fetch_add(&table_count, 1);
	if (at >= MAX_TABLES) {
		atomic_store(&table_count, MAX_TABLES);
		return;
	}
	tables[at] = *id;
	atomic_store(&table_state[at], PENDING);
	tell_table(at);
}

/* Private tables of the driver: passed through; their layout is nobody's business, some are checked. */
KBN_WRAP(cuGetExportTable)(const void **table, const CUuuid *id)
{
	CUresult result;
	int saved_errno;

	if (!kbn_enter())
		return KBN_PASS(cuGetExportTable, table, id);
	result = KBN_REAL(cuGetExportTable, table, id);
	saved_errno = errno;
	if (result == CUDA_SUCCESS && id)
		note_table(id);
	errno = saved_errno;
	kbn_leave();
	return result;
}

/* ------------------------------------------------------------------------------------- injection */

/*
 * The driver calls this when CUDA_INJECTION64_PATH names us. Preloaded as well, there is nothing to
 * do. Otherwise it is too late for programs that have bound their symbols: only callers that look
 * functions up from now on in the global scope come through us, which is said and no more.
 */
__attribute__((visibility("default"))) int InitializeInjection(void);

int InitializeInjection(void)
{
	if (!kbn_preloaded())
		kbn_say("loaded by CUDA_INJECTION64_PATH: launches are not seen this way, use LD_PRELOAD",
			NULL);
	return 1;
}
