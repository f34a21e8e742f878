/*
 * app_direct.c - a program linked with the driver: one case per part of the interface.
 *
 * Usage: app_direct CASE. Prints result codes; launches exactly what the case says, so that the
 * driver's own counts are the truth that the recording is compared with.
 */
#include "client_program.h"

#include <sys/mman.h>
#include <time.h>

static void basic(void)
{
	uint64_t a = 7, b = 8;
	void *params[] = {&a, &b};

	start();
	for (int i = 0; i < 200; i++)
		OK(launch2(NULL));
	for (int i = 0; i < 30; i++)
		OK(cuLaunchKernel(k20, 132, 2, 1, 32, 8, 1, 1024, NULL, params, NULL));
	for (int i = 0; i < 10; i++)
		OK(launch0(NULL, 1 + (unsigned)i % 3));
	DO(cuCtxSynchronize());
	DO(cuModuleUnload(module));
	DO(cuDevicePrimaryCtxRelease_v2(0));
}

static void run_module(CUmodule m, const char *name, unsigned params)
{
	uint64_t value[4] = {5, 6, 7, 8};
	void *list[8] = {value, value, value, value};
	CUfunction f = NULL;

	if (DO(cuModuleGetFunction(&f, m, name)))
		return;
	OK(cuLaunchKernel(f, 4, 1, 1, 64, 1, 1, 0, NULL, params ? list : NULL, NULL));
	OK(cuLaunchKernel(f, 4, 1, 1, 64, 1, 1, 0, NULL, params ? list : NULL, NULL));
}

static void write_file(const char *path, const struct make_buffer *b)
{
	FILE *f = fopen(path, "w");

	if (f) {
		fwrite(b->at, 1, b->bytes, f);
		fclose(f);
	}
}

/* Every way to load a module. */
static void modules(void)
{
	static const struct make_kernel other[] = {{.name = "other_7us", .params = 1}};
	static const struct make_kernel third[] = {{.name = "third_8us", .params = 2}};
	static const struct make_kernel file[] = {{.name = "file_9us"}};
	struct make_buffer c90 = make_cubin(90, other, 1, 256), c80 = make_cubin(80, other, 1, 128);
	struct make_buffer c90b = make_cubin(90, third, 1, 256), cf = make_cubin(90, file, 1, 256);
	const struct make_entry entries[] = {
		{2, 80, 0, c80.at, c80.bytes},
		{1, 80, 0, client_ptx, sizeof(client_ptx)},
		{2, 90, 0, c90.at, c90.bytes},
	};
	const struct make_entry ptx_only[] = {{1, 80, 0, client_ptx, sizeof(client_ptx)}};
	const struct make_entry packed[] = {{2, 90, 0x8000, "\x28\xb5\x2f\xfd opaque", 11}};
	struct make_buffer fat = make_container(entries, 3), fat_ptx = make_container(ptx_only, 1);
	struct make_buffer fat_packed = make_container(packed, 1);
	struct make_wrapper wrapper = make_wrapper(fat.at);
	CUjit_option options[] = {CU_JIT_MAX_REGISTERS, CU_JIT_OPTIMIZATION_LEVEL};
	void *values[] = {(void *)64, (void *)3};
	CUmodule m = NULL;

	start();
	DO(cuModuleLoadData(&m, &wrapper));
	run_module(m, "other_7us", 1);
	DO(cuModuleUnload(m));
	DO(cuModuleLoadFatBinary(&m, fat.at));
	run_module(m, "other_7us", 1);
	DO(cuModuleLoadDataEx(&m, client_ptx, 2, options, values));
	run_module(m, "ptx_none_6us", 0);
	run_module(m, "ptx_4us", 4);
	DO(cuModuleLoadData(&m, fat_ptx.at));
	run_module(m, "ptx_none_6us", 0);
	DO(cuModuleLoadData(&m, fat_packed.at));
	run_module(m, "packed_2us", 0);
	write_file("module.cubin", &cf);
	DO(cuModuleLoad(&m, "module.cubin"));
	run_module(m, "file_9us", 0);
	DO(cuModuleLoad(&m, "missing.cubin"));
	DO(cuModuleLoadData(&m, c90b.at));
	run_module(m, "third_8us", 2);
	run_module(m, "missing", 0);
	DO(cuModuleLoadData(&m, c80.at));
	DO(cuModuleLoadData(&m, "not an image at all"));
	DO(cuModuleLoadData(&m, NULL));
	DO(cuCtxSynchronize());
}

/* Two loads of the same bytes, unload between, handle reuse with another kernel behind it. */
static void reload(void)
{
	static const struct make_kernel first[] = {{.name = "first_2us"}};
	static const struct make_kernel second[] = {{.name = "second_3us"}};
	struct make_buffer a = make_cubin(90, first, 1, 128), b = make_cubin(90, second, 1, 128);
	CUmodule m;
	CUfunction f;

	start();
	for (int i = 0; i < 20; i++) {
		OK(cuModuleLoadData(&m, i & 1 ? b.at : a.at));
		OK(cuModuleGetFunction(&f, m, i & 1 ? "second_3us" : "first_2us"));
		for (int k = 0; k <= i; k++)
			OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
		OK(cuCtxSynchronize());
		OK(cuModuleUnload(m));
	}
	DO(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
}

static long resident_kb(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f && fscanf(f, "%*d %ld", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Programs that load, launch and unload the same code at every step, by both interfaces. */
static void load_loop(void)
{
	long rounds = client_number("ROUNDS", 6000);
	static const struct make_kernel one[] = {{.name = "again_2us"}};
	struct make_buffer image = make_cubin(90, one, 1, 20000);
	CUmodule m;
	CUlibrary l;
	CUkernel k;
	CUfunction f;

	start();
	for (long i = 0; i < rounds; i++) {
		if (i & 1) {
			OK(cuModuleLoadData(&m, image.at));
			OK(cuModuleGetFunction(&f, m, "again_2us"));
			OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
			OK(cuModuleUnload(m));
		} else {
			OK(cuLibraryLoadData(&l, image.at, NULL, NULL, 0, NULL, NULL, 0));
			OK(cuLibraryGetKernel(&k, l, "again_2us"));
			OK(cuLaunchKernel((CUfunction)k, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
			OK(cuLibraryUnload(l));
		}
	}
	DO(cuCtxSynchronize());
}

/* A launch that can only fail, over and over. */
static void null_kernel(void)
{
	long before;

	start();
	for (int i = 0; i < 100; i++)
		cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	before = resident_kb();
	for (int i = 0; i < 100000; i++)
		cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	printf("memory grows: %d\n", resident_kb() - before > 2048);
}

/* The library interface, and its kernels given to launches as functions. */
static void library(void)
{
	struct make_buffer image = client_cubin();
	struct make_entry entry = {2, 90, 0, image.at, image.bytes};
	struct make_buffer fat = make_container(&entry, 1);
	struct make_wrapper wrapper = make_wrapper(fat.at);
	uint64_t a = 1;
	void *params[] = {&a, &a, &a};
	CUlibrary lib = NULL, file = NULL;
	CUkernel k = NULL, list[16] = {0};
	CUfunction f = NULL;
	CUmodule m = NULL;
	unsigned n = 0;
	int value = 0;

	start();
	DO(cuLibraryLoadData(&lib, &wrapper, NULL, NULL, 0, NULL, NULL, 0));
	DO(cuLibraryGetKernel(&k, lib, "k_2us"));
	/* As a kernel, before anything asked for a function. */
	for (int i = 0; i < 12; i++)
		OK(cuLaunchKernel((CUfunction)(void *)k, 3, 1, 1, 96, 1, 1, 0, NULL, params, NULL));
	DO(cuKernelGetFunction(&f, k));
	for (int i = 0; i < 5; i++)
		OK(cuLaunchKernel(f, 3, 1, 1, 96, 1, 1, 0, NULL, params, NULL));
	DO(cuLibraryGetKernelCount(&n, lib));
	printf("kernels %u\n", n);
	DO(cuLibraryEnumerateKernels(list, n, lib));
	/* A kernel known from the enumeration only: 2 is "k_none_5us". */
	OK(cuLaunchKernel((CUfunction)(void *)list[2], 9, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	DO(cuLibraryGetModule(&m, lib));
	DO(cuModuleGetFunction(&f, m, "k_20us"));
	OK(cuLaunchKernel(f, 2, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	DO(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, k, 0));
	printf("registers %d\n", value);
	write_file("library.cubin", &image);
	DO(cuLibraryLoadFromFile(&file, "library.cubin", NULL, NULL, 0, NULL, NULL, 0));
	DO(cuLibraryGetKernel(&k, file, "k_none_5us"));
	OK(cuLaunchKernel((CUfunction)(void *)k, 5, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	DO(cuLibraryGetKernel(&k, lib, "missing"));
	DO(cuCtxSynchronize());
	DO(cuLibraryUnload(lib));
	DO(cuLibraryUnload(file));
	DO(cuLibraryLoadData(&lib, "nonsense", NULL, NULL, 0, NULL, NULL, 0));
}

static void linker(void)
{
	CUlinkState state = NULL;
	void *out = NULL;
	size_t bytes = 0;
	CUmodule m = NULL;
	struct make_buffer image = client_cubin();

	start();
	DO(cuLinkCreate_v2(0, NULL, NULL, &state));
	DO(cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)client_ptx,
			    sizeof(client_ptx), "text", 0, NULL, NULL));
	DO(cuLinkAddData_v2(state, CU_JIT_INPUT_CUBIN, image.at, image.bytes, "cubin", 0, NULL,
			    NULL));
	DO(cuLinkComplete(state, &out, &bytes));
	DO(cuModuleLoadData(&m, out));
	DO(cuLinkDestroy(state));
	run_module(m, "ptx_none_6us", 0);
	run_module(m, "k_none_5us", 0);
	DO(cuLinkCreate(0, NULL, NULL, &state));
	DO(cuLinkAddData(state, CU_JIT_INPUT_CUBIN, image.at, image.bytes, NULL, 0, NULL, NULL));
	write_file("link.cubin", &image);
	DO(cuLinkAddFile(state, CU_JIT_INPUT_CUBIN, "link.cubin", 0, NULL, NULL));
	DO(cuLinkComplete(state, &out, &bytes));
	DO(cuLinkDestroy(state));
	DO(cuCtxSynchronize());
}

static void streams(void)
{
	CUstream s[4];
	unsigned flags = 9;

	start();
	DO(cuStreamCreate(&s[0], CU_STREAM_DEFAULT));
	DO(cuStreamCreate(&s[1], CU_STREAM_NON_BLOCKING));
	DO(cuStreamCreateWithPriority(&s[2], CU_STREAM_NON_BLOCKING, -1));
	for (int i = 0; i < 40; i++) {
		OK(launch2(s[i % 3]));
		OK(launch2(NULL));
		OK(launch2(CU_STREAM_LEGACY));
		OK(launch2(CU_STREAM_PER_THREAD));
	}
	DO(cuStreamGetFlags(s[1], &flags));
	printf("flags %u\n", flags);
	DO(cuStreamSynchronize(s[0]));
	DO(cuStreamSynchronize(NULL));
	DO(cuStreamQuery(s[0]));
	DO(cuStreamDestroy_v2(s[0]));
	DO(cuStreamDestroy(s[1]));
	/* The handle comes back with other properties. */
	DO(cuStreamCreate(&s[3], CU_STREAM_DEFAULT));
	for (int i = 0; i < 10; i++)
		OK(launch2(s[3]));
	DO(cuStreamSynchronize(s[3]));
	DO(launch2((CUstream)(uintptr_t)0x1234560));
	DO(cuCtxSynchronize());
}

/* A program built for per-thread default streams binds these names. */
static void ptsz(void)
{
	uint64_t a = 1;
	void *params[] = {&a, &a, &a};
	CUlaunchConfig config = {.gridDimX = 2,
				 .gridDimY = 1,
				 .gridDimZ = 1,
				 .blockDimX = 32,
				 .blockDimY = 1,
				 .blockDimZ = 1};

	start();
	for (int i = 0; i < 25; i++) {
		OK(cuLaunchKernel_ptsz(k2, 8, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
		OK(cuLaunchKernelEx_ptsz(&config, none, NULL, NULL));
		OK(cuLaunchCooperativeKernel_ptsz(none, 4, 1, 1, 32, 1, 1, 0, NULL, NULL));
	}
	DO(cuStreamSynchronize_ptsz(NULL));
	DO(cuCtxSynchronize());
}

/* A primary context that is reset and comes back under the same handle. */
static void resets(void)
{
	struct make_buffer image = client_cubin();

	DO(cuInit(0));
	for (int i = 0; i < 40; i++) {
		CUcontext c;
		CUstream s;

		OK(cuDevicePrimaryCtxRetain(&c, 0));
		OK(cuCtxSetCurrent(c));
		OK(cuModuleLoadData(&module, image.at));
		OK(cuModuleGetFunction(&k2, module, "k_2us"));
		OK(cuStreamCreate(&s, i & 1));
		for (int k = 0; k < 20; k++)
			OK(launch2(k & 1 ? s : NULL));
		if (i % 3 == 0)
			OK(cuDevicePrimaryCtxReset_v2(0));
		OK(cuDevicePrimaryCtxRelease_v2(0));
	}
	printf("done\n");
}

/* Created contexts side by side, destroyed with work under way. */
static void contexts(void)
{
	struct make_buffer image = client_cubin();
	CUcontext c[3];
	CUmodule m[3];
	CUfunction f[3];
	CUlibrary lib;
	CUkernel k;
	CUstream s[3];
	uint64_t a = 1;
	void *params[] = {&a, &a, &a};

	DO(cuInit(0));
	DO(cuCtxCreate_v2(&c[0], 0, 0));
	DO(cuCtxCreate_v4(&c[1], NULL, 0, 0));
	DO(cuCtxCreate_v3(&c[2], NULL, 0, 0, 0));
	for (int i = 0; i < 3; i++) {
		OK(cuCtxSetCurrent(c[i]));
		OK(cuModuleLoadData(&m[i], image.at));
		OK(cuModuleGetFunction(&f[i], m[i], "k_2us"));
	}
	for (int i = 0; i < 90; i++) {
		OK(cuCtxPushCurrent_v2(c[i % 3]));
		OK(cuLaunchKernel(f[i % 3], 2, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
		OK(cuCtxPopCurrent_v2(NULL));
	}
	/* One handle that is at home in every context. */
	OK(cuLibraryLoadData(&lib, image.at, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernel(&k, lib, "k_20us"));
	for (int i = 0; i < 30; i++) {
		OK(cuCtxPushCurrent_v2(c[i % 3 ? 2 : 0]));
		OK(cuLaunchKernel((CUfunction)k, 7, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
		OK(cuCtxPopCurrent_v2(NULL));
	}
	/* The same into streams of two contexts. */
	for (int i = 0; i < 3; i++) {
		OK(cuCtxSetCurrent(c[i]));
		OK(cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
	}
	for (int i = 0; i < 40; i++) {
		OK(cuCtxPushCurrent_v2(c[i % 4 ? 2 : 0]));
		OK(cuLaunchKernel((CUfunction)k, 7, 1, 1, 32, 1, 1, 0, s[i % 4 ? 2 : 0], params,
				  NULL));
		OK(cuCtxPopCurrent_v2(NULL));
	}
	/* A function of one context in another. */
	DO(cuCtxPushCurrent_v2(c[0]));
	DO(cuLaunchKernel(f[1], 2, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	DO(cuCtxDestroy_v2(c[1]));
	DO(cuLaunchKernel(f[0], 2, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	DO(cuCtxDestroy(c[0]));
	DO(cuCtxSetCurrent(c[2]));
	DO(cuCtxSynchronize());
	DO(cuCtxDestroy_v2(c[2]));
	DO(cuCtxDestroy_v2(c[2]));
}

/* A second context in a process that had one, whose kernel works in both. */
static void second_context(void)
{
	struct make_buffer image = client_cubin();
	CUcontext primary, other;
	CUlibrary lib;
	CUkernel k;
	uint64_t a = 1;
	void *params[] = {&a, &a, &a};

	DO(cuInit(0));
	DO(cuDevicePrimaryCtxRetain(&primary, 0));
	DO(cuCtxSetCurrent(primary));
	OK(cuLibraryLoadData(&lib, image.at, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernel(&k, lib, "k_20us"));
	for (int i = 0; i < 40; i++)
		OK(cuLaunchKernel((CUfunction)k, 7, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	DO(cuCtxCreate_v2(&other, 0, 0));
	for (int i = 0; i < 50; i++) {
		OK(cuCtxPushCurrent_v2(i % 5 ? other : primary));
		OK(cuLaunchKernel((CUfunction)k, 7, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
		OK(cuCtxPopCurrent_v2(NULL));
	}
	DO(cuCtxDestroy_v2(other));
	DO(cuCtxSetCurrent(primary));
	for (int i = 0; i < 7; i++)
		OK(cuLaunchKernel((CUfunction)k, 7, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	DO(cuCtxSynchronize());
	DO(cuDevicePrimaryCtxRelease_v2(0));
}

/* A function of one context while another is current: refused, each time. */
static void wrong_context(void)
{
	CUcontext other;
	int refused = 0;

	start();
	DO(cuCtxCreate_v2(&other, 0, 0));
	DO(cuCtxSetCurrent(context));
	for (int i = 0; i < 20; i++)
		OK(launch2(NULL));
	DO(cuCtxSetCurrent(other));
	for (int i = 0; i < 200; i++)
		refused += launch2(NULL) != 0;
	printf("refused %d\n", refused);
	DO(cuCtxSetCurrent(context));
	for (int i = 0; i < 2000; i++)
		OK(launch2(NULL));
	DO(cuCtxSynchronize());
}

/*
 * Launches that differ in one thing only from one that comes again and again: each is a shape of its
 * own, whatever was launched just before.
 */
static void almost_alike(void)
{
	static const unsigned change[][7] = {{8, 2, 3, 32, 2, 2, 0}, {9, 2, 3, 32, 2, 2, 0},
					     {8, 3, 3, 32, 2, 2, 0}, {8, 2, 4, 32, 2, 2, 0},
					     {8, 2, 3, 64, 2, 2, 0}, {8, 2, 3, 32, 3, 2, 0},
					     {8, 2, 3, 32, 2, 3, 0}, {8, 2, 3, 32, 2, 2, 16}};
	CUlaunchAttribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
				     .value.clusterDim = {2, 1, 1}};
	CUlaunchConfig config = {8, 2, 3, 32, 2, 2, 0, NULL, NULL, 0};

	start();
	for (int round = 0; round < 60; round++) {
		for (int i = 0; i < 8; i++) {
			const unsigned *v = change[i];

			OK(cuLaunchKernel(none, v[0], v[1], v[2], v[3], v[4], v[5], v[6], NULL,
					  NULL, NULL));
			OK(cuLaunchKernel(none, 8, 2, 3, 32, 2, 2, 0, NULL, NULL, NULL));
		}
		OK(cuLaunchCooperativeKernel(none, 8, 2, 3, 32, 2, 2, 0, NULL, NULL));
		config.attrs = NULL;
		config.numAttrs = 0;
		OK(cuLaunchKernelEx(&config, none, NULL, NULL));
		config.attrs = &cluster;
		config.numAttrs = 1;
		OK(cuLaunchKernelEx(&config, none, NULL, NULL));
	}
	DO(cuCtxSynchronize());
}

static void green(void)
{
	CUdevResource all, part[2];
	CUdevResourceDesc desc;
	CUgreenCtx ctx;
	CUcontext c;
	CUstream s;
	unsigned groups = 1;

	start();
	DO(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
	DO(cuDevSmResourceSplitByCount(part, &groups, &all, NULL, 0, 32));
	DO(cuDevResourceGenerateDesc(&desc, part, 1));
	DO(cuGreenCtxCreate(&ctx, desc, 0, 1));
	DO(cuGreenCtxStreamCreate(&s, ctx, CU_STREAM_NON_BLOCKING, 0));
	DO(cuCtxFromGreenCtx(&c, ctx));
	for (int i = 0; i < 30; i++) {
		OK(launch2(s));
		OK(launch2(NULL));
	}
	DO(cuStreamSynchronize(s));
	DO(cuStreamDestroy_v2(s));
	DO(cuGreenCtxDestroy(ctx));
	DO(cuCtxSynchronize());
}

/* Attributes of every kind, known and unknown. */
static void attributes(void)
{
	CUlaunchAttribute list[4] = {0};
	CUlaunchConfig config = {.gridDimX = 8,
				 .gridDimY = 1,
				 .gridDimZ = 1,
				 .blockDimX = 32,
				 .blockDimY = 1,
				 .blockDimZ = 1,
				 .attrs = list,
				 .numAttrs = 1};
	CUstream s, pdl;
	CUlaunchAttribute *attrs = list;

	start();
	DO(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	DO(cuStreamCreate(&pdl, CU_STREAM_NON_BLOCKING));
	config.hStream = s;
	attrs[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
	attrs[0].value.clusterDim.x = 4;
	attrs[0].value.clusterDim.y = attrs[0].value.clusterDim.z = 1;
	for (int i = 0; i < 20; i++)
		OK(cuLaunchKernelEx(&config, none, NULL, NULL));
	attrs[0].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
	attrs[0].value.cooperative = 1;
	for (int i = 0; i < 20; i++)
		OK(cuLaunchKernelEx(&config, none, NULL, NULL));
	attrs[0].id = (CUlaunchAttributeID)901;
	for (int i = 0; i < 20; i++)
		OK(cuLaunchKernelEx(&config, none, NULL, NULL));
	attrs[0].id = (CUlaunchAttributeID)555;
	DO(cuLaunchKernelEx(&config, none, NULL, NULL));
	config.numAttrs = 0;
	config.attrs = NULL;
	for (int i = 0; i < 20; i++)
		OK(cuLaunchKernelEx(&config, none, NULL, NULL));
	/* Overlap with the neighbours: nothing may come between. */
	config.hStream = pdl;
	config.attrs = list;
	config.numAttrs = 2;
	memset(list, 0, sizeof(list));
	attrs[1].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
	attrs[1].value.programmaticStreamSerializationAllowed = 1;
	for (int i = 0; i < 30; i++) {
		OK(cuLaunchKernelEx(&config, none, NULL, NULL));
		OK(launch2(pdl));
	}
	DO(cuLaunchCooperativeKernel(none, 16, 1, 1, 32, 1, 1, 0, s, NULL));
	DO(cuLaunchCooperativeKernel(none, 60000, 1, 1, 32, 1, 1, 0, s, NULL));
	DO(cuCtxSynchronize());
}

static void multi_device(void)
{
	CUDA_LAUNCH_PARAMS_v1 list[2] = {
		{.gridDimX = 2,
		 .gridDimY = 1,
		 .gridDimZ = 1,
		 .blockDimX = 32,
		 .blockDimY = 1,
		 .blockDimZ = 1},
		{.gridDimX = 2,
		 .gridDimY = 1,
		 .gridDimZ = 1,
		 .blockDimX = 32,
		 .blockDimY = 1,
		 .blockDimZ = 1},
	};

	start();
	for (int i = 0; i < 2; i++) {
		list[i].function = none;
		OK(cuStreamCreate(&list[i].hStream, CU_STREAM_NON_BLOCKING));
	}
	DO(cuLaunchCooperativeKernelMultiDevice(list, 2, 0));
	DO(cuCtxSynchronize());
}

/* The interface of the first versions. */
static void old(void)
{
	uint64_t a[3] = {1, 2, 3};

	start();
	DO(cuFuncSetBlockShape(k2, 64, 2, 1));
	DO(cuFuncSetSharedSize(k2, 512));
	DO(cuParamSetSize(k2, sizeof(a)));
	DO(cuParamSetv(k2, 0, a, sizeof(a)));
	DO(cuLaunch(k2));
	DO(cuLaunchGrid(k2, 3, 2));
	DO(cuLaunchGridAsync(k2, 3, 2, NULL));
	DO(cuCtxSynchronize());
}

/* Arguments whose last byte is the last readable one. */
static void parameters(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *map =
		mmap(NULL, 10 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *end = map + 9 * page, *packed;
	void *params[3], *wide[1], *extra[6];
	CUfunction k_wide, ptx;
	CUmodule m;
	CUdeviceptr device = 0;
	size_t bytes = 24;

	mprotect(end, page, PROT_NONE);
	start();
	DO(cuModuleGetFunction(&k_wide, module, "k_wide_3us"));
	DO(cuMemAlloc_v2(&device, 1 << 20));
	for (int i = 0; i < 3; i++) {
		params[i] = end - 8;
		memcpy(params[i], &device, 8);
	}
	for (int i = 0; i < 20; i++)
		OK(cuLaunchKernel(k2, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	wide[0] = end - 32764;
	memset(wide[0], 0x5a, 32764);
	for (int i = 0; i < 10; i++)
		OK(cuLaunchKernel(k_wide, 1, 1, 1, 32, 1, 1, 0, NULL, wide, NULL));
	/* A packed buffer, whole and short of its last argument. */
	packed = end - 24;
	memset(packed, 1, 24);
	extra[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
	extra[1] = packed;
	extra[2] = CU_LAUNCH_PARAM_BUFFER_SIZE;
	extra[3] = &bytes;
	extra[4] = CU_LAUNCH_PARAM_END;
	for (int i = 0; i < 10; i++)
		OK(cuLaunchKernel(k2, 2, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
	bytes = 16;
	extra[1] = end - 16;
	DO(cuLaunchKernel(k2, 3, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
	/* An unknown key, and both ways at once: the driver refuses, we must not read. */
	extra[0] = (void *)0x77;
	DO(cuLaunchKernel(k2, 4, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
	DO(cuLaunchKernel(k2, 5, 1, 1, 32, 1, 1, 0, NULL, params, extra));
	DO(cuLaunchKernel(k2, 6, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	/* Small and large arguments by their own sizes: 8, 4 and 24 bytes. */
	DO(cuModuleLoadData(&m, client_ptx));
	DO(cuModuleGetFunction(&ptx, m, "ptx_4us"));
	params[0] = end - 8;
	params[1] = end - 4;
	params[2] = end - 24;
	for (int i = 0; i < 10; i++)
		OK(cuLaunchKernel(ptx, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	DO(cuMemFree_v2(device));
	DO(cuCtxSynchronize());
}

static void failing(void)
{
	start();
	DO(launch2(NULL));
	DO(cuLaunchKernel(none, 0, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	DO(cuLaunchKernel(none, 1, 1, 1, 2048, 1, 1, 0, NULL, NULL, NULL));
	DO(cuLaunchKernel(none, 1, 1, 1, 32, 1, 1, 1 << 20, NULL, NULL, NULL));
	DO(cuLaunchKernel(NULL, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	DO(cuLaunchKernel((CUfunction)(uintptr_t)0x4242420, 1, 1, 1, 32, 1, 1, 0, NULL, NULL,
			  NULL));
	for (int i = 0; i < 5; i++)
		DO(cuLaunchKernel(none, 1, 70000, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	DO(launch2(NULL));
	DO(cuCtxSynchronize());
}

/* A kernel that ends its context. */
static void sticky(void)
{
	CUfunction fault;
	uint64_t a = 0;
	void *params[] = {&a};

	start();
	DO(cuModuleGetFunction(&fault, module, "k_fault_1us"));
	for (int i = 0; i < 20; i++)
		OK(launch2(NULL));
	DO(cuCtxSynchronize());
	DO(cuLaunchKernel(fault, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	DO(launch2(NULL));
	usleep(20000);
	DO(cuCtxSynchronize());
	DO(launch2(NULL));
	DO(cuCtxSynchronize());
	usleep(80000);
	for (int i = 0; i < 30; i++)
		DO(launch2(NULL));
}

static void memory(void)
{
	CUdeviceptr a = 0, b = 0;
	uint32_t in[64], out[64] = {0};
	void *host = NULL;

	start();
	for (unsigned i = 0; i < 64; i++)
		in[i] = i * 3;
	DO(cuMemAlloc_v2(&a, sizeof(in)));
	DO(cuMemAlloc_v2(&b, sizeof(in)));
	DO(cuMemcpyHtoD_v2(a, in, sizeof(in)));
	DO(cuMemcpyDtoD_v2(b, a, sizeof(in)));
	DO(cuMemsetD32_v2(b, 9, 4));
	DO(cuMemsetD8Async(b, 1, 4, NULL));
	DO(cuMemcpyDtoDAsync_v2(a, b, 64, NULL));
	DO(cuMemcpyDtoH_v2(out, b, sizeof(out)));
	for (int i = 0; i < 8; i++)
		printf("%u ", out[i]);
	printf("\n");
	DO(cuMemAllocHost_v2(&host, 4096));
	DO(cuMemcpyDtoHAsync_v2(host, a, 64, CU_STREAM_PER_THREAD));
	DO(cuCtxSynchronize());
	DO(cuMemFreeHost(host));
	DO(cuMemFree_v2(a));
	DO(cuMemFree_v2(b));
	DO(cuMemFree_v2(b));
	DO(cuMemcpyDtoH_v2(out, b, sizeof(out)));
}

static void profiler(void)
{
	start();
	for (int i = 0; i < 5; i++)
		OK(launch2(NULL));
	DO(cuProfilerStart());
	for (int i = 0; i < 7; i++)
		OK(launch2(NULL));
	DO(cuProfilerStop());
	for (int i = 0; i < 11; i++)
		OK(launch2(NULL));
	DO(cuCtxSynchronize());
}

/* The program's own events next to ours. */
static void events(void)
{
	CUevent a, b;
	float ms = -1;

	start();
	DO(cuEventCreate(&a, 0));
	DO(cuEventCreate(&b, 0));
	DO(cuEventElapsedTime(&ms, a, b));
	DO(cuEventRecord(a, NULL));
	for (int i = 0; i < 50; i++)
		OK(launch2(NULL));
	DO(cuEventRecord(b, NULL));
	DO(cuEventSynchronize(b));
	DO(cuEventQuery(b));
	DO(cuEventElapsedTime(&ms, a, b));
	printf("plausible %d\n", ms > 0.1f && ms < 1000.f);
	DO(cuEventDestroy_v2(a));
	DO(cuEventDestroy_v2(b));
	DO(cuEventQuery(b));
}

/* No device: the driver is there, the program copes. */
static void no_device(void)
{
	int n = -1;

	DO(cuInit(0));
	DO(cuDeviceGetCount(&n));
}

static void twice(void)
{
	start();
	DO(cuInit(0));
	DO(cuInit(0));
	DO(cuInit(7));
	DO(launch2(NULL));
	DO(cuCtxSynchronize());
}

/* Kernels of known length on an idle stream and on a busy one, for the clock. */
static void times(void)
{
	CUfunction k200;
	uint64_t a = 1;
	void *params[] = {&a, &a, &a};

	start();
	DO(cuModuleGetFunction(&k200, module, "k_200us"));
	for (int i = 0; i < 60; i++) {
		OK(launch2(NULL));
		OK(cuLaunchKernel(k20, 10, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
		OK(cuLaunchKernel(k200, 10, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
		usleep(300);
	}
	DO(cuCtxSynchronize());
}

static const struct client_case cases[] = {
	{"basic", basic},
	{"modules", modules},
	{"reload", reload},
	{"library", library},
	{"linker", linker},
	{"streams", streams},
	{"ptsz", ptsz},
	{"resets", resets},
	{"contexts", contexts},
	{"second_context", second_context},
	{"wrong_context", wrong_context},
	{"almost_alike", almost_alike},
	{"green", green},
	{"attributes", attributes},
	{"multi_device", multi_device},
	{"old", old},
	{"parameters", parameters},
	{"failing", failing},
	{"sticky", sticky},
	{"memory", memory},
	{"profiler", profiler},
	{"events", events},
	{"no_device", no_device},
	{"twice", twice},
	{"times", times},
	{"load_loop", load_loop},
	{"null_kernel", null_kernel},
};

int main(int argc, char **argv)
{
	return client_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
