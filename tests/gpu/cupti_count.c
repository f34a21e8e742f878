/*
 * cupti_count.c - the independent count: CUPTI driver callbacks on every launch function, counted
 * at their return. At exit writes one line "launches N failed N graph_launches N" per process that
 * launched anything. Injected through CUDA_INJECTION64_PATH.
 */
#include <stdatomic.h>
#include <stdint.h>

#include "cupti_inject.h"

#define DOMAIN_DRIVER 1
#define SITE_EXIT     1

struct callback_data {
	int site;
	const char *function;
	const void *params;
	const int *result;
};

/* Callback ids of the driver domain; part of CUPTI's interface, never reused. */
static const struct {
	uint32_t id;
	int is_graph;
} hooks[] = {
	{115, 0}, /* cuLaunch */
	{116, 0}, /* cuLaunchGrid */
	{117, 0}, /* cuLaunchGridAsync */
	{307, 0}, /* cuLaunchKernel */
	{442, 0}, /* cuLaunchKernel_ptsz */
	{477, 0}, /* cuLaunchCooperativeKernel */
	{478, 0}, /* cuLaunchCooperativeKernel_ptsz */
	{652, 0}, /* cuLaunchKernelEx */
	{653, 0}, /* cuLaunchKernelEx_ptsz */
	{514, 1}, /* cuGraphLaunch */
	{515, 1}, /* cuGraphLaunch_ptsz */
};
#define N_HOOKS (sizeof(hooks) / sizeof(hooks[0]))

static _Atomic uint64_t launches, failed, graph_launches;

static void on_call(void *user, int domain, uint32_t id, const struct callback_data *d)
{
	(void)user;
	if (domain != DOMAIN_DRIVER || d->site != SITE_EXIT)
		return;
	for (size_t i = 0; i < N_HOOKS; i++) {
		if (hooks[i].id != id)
			continue;
		if (hooks[i].is_graph) {
			graph_launches += *d->result == 0;
		} else {
			launches++;
			failed += *d->result != 0;
		}
	}
}

static void on_exit_write(void)
{
	FILE *f;

	if (launches == 0 && graph_launches == 0)
		return;
	f = cupti_result_file();
	if (!f)
		return;
	fprintf(f, "launches %llu failed %llu graph_launches %llu\n", (unsigned long long)launches,
		(unsigned long long)failed, (unsigned long long)graph_launches);
	fclose(f);
}

int InitializeInjection(void);

/* Called by the driver inside cuInit. */
int InitializeInjection(void)
{
	static int done;
	int (*subscribe)(void **, void (*)(void *, int, uint32_t, const struct callback_data *),
			 void *);
	int (*enable)(uint32_t, void *, int, uint32_t);
	void *lib, *subscriber;

	if (done++)
		return 1;
	lib = cupti_library();
	if (!lib)
		return 1;
	*(void **)&subscribe = dlsym(lib, "cuptiSubscribe");
	*(void **)&enable = dlsym(lib, "cuptiEnableCallback");
	if (!subscribe || !enable || subscribe(&subscriber, on_call, NULL) != 0) {
		fprintf(stderr, "tests/gpu: CUPTI is taken\n");
		return 1;
	}
	for (size_t i = 0; i < N_HOOKS; i++)
		enable(1, subscriber, DOMAIN_DRIVER, hooks[i].id);
	atexit(on_exit_write);
	return 1;
}
