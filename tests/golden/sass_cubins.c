/*
 * sass_cubins.c - takes cubins of an architecture out of a library, as files, for programs that want to
 * load them one by one.
 * usage: sass_cubins sm_XX DIR MOST FILE > list
 * Output: at most MOST cubins, spread over the file: DIR/N.cubin, and for each kernel one line "N threads static-shared-bytes name", where threads is
 * what the kernel may be launched with: its block or launch bounds, 256 where it has none. Kernels that can only be
 * launched as a cluster are left out.
 */
#include "golden/tool.h"

static unsigned sm, seen, all, most, written;
static const char *dir;

static bool store(const struct cubin *c)
{
	char path[4096];
	FILE *out;
	bool good;

	snprintf(path, sizeof(path), "%s/%u.cubin", dir, written);
	out = fopen(path, "wb");
	good = out && fwrite(c->file.data, 1, c->file.bytes, out) == c->file.bytes;
	if (out && fclose(out) != 0)
		good = false;
	if (!good)
		perror(path);
	return good;
}

static uint64_t volume(const uint32_t v[3])
{
	return (uint64_t)v[0] * (v[1] ? v[1] : 1) * (v[2] ? v[2] : 1);
}

static bool count(const struct image *image, const struct cubin *c)
{
	(void)image;
	all += c->sm == sm && c->functions_n;
	return true;
}

static bool visit(const struct image *image, const struct cubin *c)
{
	const uint64_t before = (uint64_t)seen * most / (all ? all : 1);

	(void)image;
	if (c->sm != sm || !c->functions_n)
		return true;
	if (all > most && (uint64_t)++seen * most / all == before)
		return true;
	if (!store(c))
		return false;
	for (size_t i = 0; i < c->functions_n; i++) {
		const struct cubin_function *f = &c->functions[i];
		uint64_t threads = volume(f->block) ? volume(f->block) : volume(f->max_threads);

		if (f->is_kernel && !f->needs_cluster && !f->cluster[0])
			printf("%u %llu %u %s\n", written,
			       threads ? (unsigned long long)threads : 256ull, f->static_smem_bytes,
			       f->name);
	}
	written++;
	return true;
}

int main(int argc, char **argv)
{
	if (argc != 5 || strncmp(argv[1], "sm_", 3) != 0) {
		fprintf(stderr, "usage: sass_cubins sm_XX DIR MOST FILE\n");
		return 2;
	}
	sm = (unsigned)atoi(argv[1] + 3);
	dir = argv[2];
	most = (unsigned)atoi(argv[3]);
	return tool_each_cubin(argv[4], count) || tool_each_cubin(argv[4], visit);
}
