/*
 * app_doors.c - a program that is not linked with the driver: every other way to its functions.
 *
 * Usage: app_doors CASE [folder of the plug-ins in PLUGINS]. Prints what the loader answered, as
 * names and yes/no, and launches through what it got.
 */
#include "client.h"

#include <dlfcn.h>

const char *shared_name(void);
const char *shared_name(void)
{
	return "program";
}

static void *driver;

/* The functions a small program needs, found in some way. */
struct api {
	__typeof__(cuInit) *init;
	__typeof__(cuDevicePrimaryCtxRetain) *retain;
	__typeof__(cuCtxSetCurrent) *set;
	__typeof__(cuModuleLoadData) *load;
	__typeof__(cuModuleGetFunction) *function;
	__typeof__(cuLaunchKernel) *launch;
	__typeof__(cuLaunchKernelEx) *launch_ex;
	__typeof__(cuCtxSynchronize) *synchronize;
};

static const char *const api_names[] = {
	"cuInit",           "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent",
	"cuModuleLoadData", "cuModuleGetFunction",      "cuLaunchKernel",
	"cuLaunchKernelEx", "cuCtxSynchronize",
};

static void run(const struct api *a, int launches)
{
	struct make_buffer image = client_cubin();
	CUlaunchConfig config = {.gridDimX = 2,
				 .gridDimY = 1,
				 .gridDimZ = 1,
				 .blockDimX = 32,
				 .blockDimY = 1,
				 .blockDimZ = 1};
	CUcontext c;
	CUmodule m;
	CUfunction f;

	DO(a->init(0));
	DO(a->retain(&c, 0));
	DO(a->set(c));
	DO(a->load(&m, image.at));
	DO(a->function(&f, m, "k_none_5us"));
	for (int i = 0; i < launches; i++)
		OK(a->launch(f, 4, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
	for (int i = 0; i < launches; i++)
		OK(a->launch_ex(&config, f, NULL, NULL));
	DO(a->synchronize());
}

static bool from_dlsym(struct api *a, void *handle, const char *suffix)
{
	void **slot = (void **)a;
	char name[80];

	for (size_t i = 0; i < sizeof(api_names) / sizeof(api_names[0]); i++) {
		bool launch = strncmp(api_names[i], "cuLaunch", 8) == 0;

		snprintf(name, sizeof(name), "%s%s", api_names[i], launch ? suffix : "");
		slot[i] = dlsym(handle, name);
		printf("%s %s\n", name, slot[i] ? "found" : "missing");
		if (!slot[i])
			return false;
	}
	return true;
}

static void open_driver(int flags)
{
	driver = dlopen("libcuda.so.1", flags);
	printf("driver %s\n", driver ? "open" : "missing");
}

static void base_names(void)
{
	struct api a;

	open_driver(RTLD_NOW);
	if (from_dlsym(&a, driver, ""))
		run(&a, 60);
}

static void suffixed_names(void)
{
	struct api a;

	open_driver(RTLD_LAZY | RTLD_GLOBAL);
	if (from_dlsym(&a, driver, "_ptsz"))
		run(&a, 60);
	printf("%d %d\n", dlsym(driver, "cuMemAlloc_v2") != NULL,
	       dlsym(driver, "cuMemAlloc_v3") != NULL);
	printf("%d\n", dlsym(driver, "cuCtxCreate_v2") == dlsym(driver, "cuCtxCreate_v4"));
}

static const char *whose(void *at)
{
	Dl_info info;

	return at && dladdr(at, &info) && info.dli_sname ? info.dli_sname : "?";
}

typedef __typeof__(cuGetProcAddress_v2) get_v2;
typedef __typeof__(cuGetProcAddress) get_v1;

static bool from_get(struct api *a, get_v2 *get, int flags)
{
	void **slot = (void **)a;

	for (size_t i = 0; i < sizeof(api_names) / sizeof(api_names[0]); i++) {
		slot[i] = NULL;
		/* 12.0: in 13.0 cuCtxSynchronize takes an argument. */
		if (get(api_names[i], &slot[i], 12000, (cuuint64_t)flags, NULL) || !slot[i])
			return false;
	}
	return true;
}

static const struct {
	const char *symbol, *base;
	int version;
	const char *abi;
} names[] = {
#define FAKE_NAME(symbol, base, version, abi) {#symbol, #base, version, #abi},
#include "names.def"
#undef FAKE_NAME
};

/* The way of the CUDA runtime: one dlsym, then everything by base name, version and flags. */
static void runtime(void)
{
	get_v2 *get, *again = NULL;
	struct api a;
	CUuuid id = {{0x6b, (char)0xd5, (char)0xfb, 0x6c}};
	const void *table = NULL;
	void *pfn = (void *)&id;
	void *export_table = NULL;

	open_driver(RTLD_NOW);
	get = (get_v2 *)dlsym(driver, "cuGetProcAddress_v2");
	DO(get("", &pfn, 0, 0, NULL));
	printf("empty %d\n", pfn == NULL);
	/* Every name, in its own version, in both stream ABIs. What it is called must stay. */
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (unsigned flags = 0; flags <= 2; flags++) {
			pfn = NULL;
			int code = (int)get(names[i].base, &pfn, names[i].version, flags, NULL);

			printf("%s %d %u: %d %s\n", names[i].base, names[i].version, flags, code,
			       pfn ? whose(pfn) : "NULL");
		}
	DO(get("cuGetProcAddress", (void **)&again, 12000, 0, NULL));
	printf("again %s\n", whose((void *)again));
	DO(get("cuLaunchKernel", &pfn, 99999, 0, NULL));
	DO(get("cuLaunchKernelNew", &pfn, 13000, 0, NULL));
	DO(get("cuGetExportTable", &export_table, 3000, 0, NULL));
	DO(((__typeof__(cuGetExportTable) *)export_table)(&table, &id));
	printf("table %zu\n", table ? (size_t) * (const uintptr_t *)table : 0);
	if (from_get(&a, again, 0))
		run(&a, 60);
	if (from_get(&a, get, 2))
		run(&a, 60);
}

/* A runtime of the 11.x series: its code goes through a private table, its launches do not. */
static void private_table(void)
{
	int (*load)(CUfunction *, const void *, const char *);
	struct make_buffer image = client_cubin();
	CUuuid id = {{0x6b, (char)0xd5, (char)0xfb, 0x6c}};
	const uintptr_t *table = NULL;
	struct api a;
	CUcontext c;
	CUfunction f = NULL;
	get_v1 *get;
	void *pfn = NULL;

	open_driver(RTLD_NOW);
	get = (get_v1 *)dlsym(driver, "cuGetProcAddress");
	DO(get("cuGetExportTable", &pfn, 11030, 0));
	if (!from_dlsym(&a, driver, ""))
		return;
	DO(((__typeof__(cuGetExportTable) *)pfn)((const void **)&table, &id));
	DO(a.init(0));
	DO(a.retain(&c, 0));
	DO(a.set(c));
	memcpy(&load, &table[1], sizeof(load));
	DO(load(&f, image.at, "k_none_5us"));
	for (int i = 0; i < 40; i++)
		OK(a.launch(f, 4, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
	DO(a.synchronize());
}

/* The first form, without a status. */
static void runtime_v1(void)
{
	static const int versions[] = {2000, 4000, 7000, 11030, 11060, 12000, 13000};
	get_v1 *get;
	void *pfn;

	open_driver(RTLD_NOW);
	get = (get_v1 *)dlsym(driver, "cuGetProcAddress");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i += 3)
		for (size_t v = 0; v < sizeof(versions) / sizeof(versions[0]); v++) {
			pfn = NULL;
			int code = (int)get(names[i].base, &pfn, versions[v], 2);

			printf("%s %d: %d %s\n", names[i].base, versions[v], code,
			       pfn ? whose(pfn) : "NULL");
		}
}

/* Probes for CUDA through the pseudo handles must find what they find without us. */
static void pseudo(void)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY);

	printf("before: default %d next %d\n", dlsym(RTLD_DEFAULT, "cuInit") != NULL,
	       dlsym(RTLD_NEXT, "cuInit") != NULL);
	open_driver(RTLD_LAZY | RTLD_LOCAL);
	printf("local: default %d next %d\n", dlsym(RTLD_DEFAULT, "cuInit") != NULL,
	       dlsym(RTLD_NEXT, "cuInit") != NULL);
	open_driver(RTLD_LAZY | RTLD_GLOBAL);
	printf("global: default %d\n", dlsym(RTLD_DEFAULT, "cuInit") != NULL);
	printf("unknown: default %d\n", dlsym(RTLD_DEFAULT, "cuNoSuch") != NULL);
	printf("name: %s\n", whose(dlsym(RTLD_DEFAULT, "cuLaunchKernel")));
	printf("memcpy: %d %d\n", dlsym(RTLD_NEXT, "memcpy") == dlsym(libc, "memcpy"),
	       dlsym(RTLD_DEFAULT, "memcpy") == dlsym(libc, "memcpy"));
	printf("versions: %d %d\n", dlvsym(libc, "memcpy", "GLIBC_2.2.5") == dlsym(libc, "memcpy"),
	       dlvsym(driver, "cuInit", "GLIBC_2.2.5") != NULL);
	printf("dlsym itself: %d\n", dlsym(RTLD_NEXT, "dlsym") != NULL);
	printf("handle: %d\n", dlsym(libc, "cuInit") != NULL);
}

static void say_error(const char *where)
{
	const char *text = dlerror();

	printf("%s: %s\n", where, text ? text : "none");
}

/* What dlerror says must be the program's own doing. */
static void errors(void)
{
	struct api a;

	say_error("start");
	dlsym(RTLD_DEFAULT, "no_such_symbol");
	say_error("default");
	dlsym(RTLD_NEXT, "no_such_symbol");
	say_error("next");
	dlsym(RTLD_DEFAULT, "cuNoSuchFunction");
	say_error("cu default");
	dlopen("/no/such/library.so", RTLD_NOW);
	open_driver(RTLD_NOW);
	dlsym(driver, "cuInit");
	say_error("kept from dlopen");
	dlsym(driver, "cuNoSuchFunction");
	say_error("cu handle");
	dlvsym(driver, "cuLaunchKernel", "NO_1");
	say_error("version");
	dlsym(driver, "no_such_symbol");
	dlsym(driver, "cuLaunchKernel");
	say_error("kept from dlsym");
	dlsym(driver, "cuLaunchKernel_v7");
	if (from_dlsym(&a, driver, "")) {
		dlsym(driver, "no_such_symbol");
		run(&a, 5);
	}
	say_error("kept through a run");
	say_error("end");
}

/* How programs ask for CUDA where there is none: by dlerror, not by the pointer. */
static void absent(void)
{
	void *self = dlopen(NULL, RTLD_NOW);
	void *const handles[] = {RTLD_DEFAULT, RTLD_NEXT, self};
	static const char *const asked[] = {"cuInit", "cuLaunchKernel", "cuNoSuch", "malloc"};

	for (size_t h = 0; h < 3; h++)
		for (size_t i = 0; i < 4; i++) {
			void *p;

			dlerror();
			p = dlsym(handles[h], asked[i]);
			printf("%zu %s %d, error %d\n", h, asked[i], p != NULL, dlerror() != NULL);
			p = dlvsym(handles[h], asked[i], "NONE_1");
			printf("%zu %s version %d, error %d\n", h, asked[i], p != NULL,
			       dlerror() != NULL);
		}
}

static void *plugin(const char *name, int flags)
{
	const char *folder = getenv("PLUGINS");
	char path[4096];
	void *handle;

	snprintf(path, sizeof(path), "%s/%s", folder ? folder : ".", name);
	handle = dlopen(path, flags);
	printf("%s %s\n", name, handle ? "open" : dlerror());
	return handle;
}

static void run_plugin(const char *name, int flags)
{
	void *handle = plugin(name, flags);
	void *entry = handle ? dlsym(handle, "plugin_run") : NULL;
	void (*go)(void);

	if (!entry)
		return;
	memcpy(&go, &entry, sizeof(go));
	go();
}

/* Its constructor waits for a thread, under the loader's lock. */
static void plugin_joins(void)
{
	open_driver(RTLD_NOW);
	plugin("plugin_joins.so", RTLD_NOW);
}

static void plugin_local(void)
{
	run_plugin("plugin_local.so", RTLD_NOW | RTLD_LOCAL);
}

static void plugin_direct(void)
{
	run_plugin("plugin_direct.so", RTLD_NOW | RTLD_LOCAL);
}

static void plugin_deepbind(void)
{
	run_plugin("plugin_direct.so", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
}

static void plugin_runpath(void)
{
	run_plugin("plugin_runpath.so", RTLD_NOW | RTLD_LOCAL);
}

static void next(void)
{
	void *first = dlsym(RTLD_DEFAULT, "first_next"),
	     *second = dlsym(RTLD_DEFAULT, "second_next");
	const char *(*name)(void);

	printf("mine %s\n", shared_name());
	if (!first || !second)
		return;
	memcpy(&name, &first, sizeof(name));
	printf("first sees %s\n", name());
	memcpy(&name, &second, sizeof(name));
	printf("second sees %s\n", name());
}

static const struct client_case cases[] = {
	{"base_names", base_names},
	{"suffixed_names", suffixed_names},
	{"runtime", runtime},
	{"runtime_v1", runtime_v1},
	{"private_table", private_table},
	{"pseudo", pseudo},
	{"errors", errors},
	{"absent", absent},
	{"plugin_joins", plugin_joins},
	{"plugin_local", plugin_local},
	{"plugin_direct", plugin_direct},
	{"plugin_deepbind", plugin_deepbind},
	{"plugin_runpath", plugin_runpath},
	{"next", next},
};

int main(int argc, char **argv)
{
	return client_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
