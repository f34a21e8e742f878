/*
 * fuzz_replay.c - a plain main for a fuzz target: runs it once on each file given, and on each file
 * of each directory given, so that inputs once found are ordinary tests that need no fuzzer.
 * Exit status 1 when there was no input at all. Prints the input before it runs it, when -v is given.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int verbose;
static unsigned long inputs;

static int run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = NULL;
	struct stat st;
	size_t bytes = 0;

	if (!f || fstat(fileno(f), &st) < 0) {
		perror(path);
		return -1;
	}
	/* exactly as large as the input, so that a sanitizer sees one byte too far */
	data = malloc(st.st_size ? (size_t)st.st_size : 1);
	if (data)
		bytes = fread(data, 1, (size_t)st.st_size, f);
	fclose(f);
	if (verbose)
		fprintf(stderr, "%s (%zu bytes)\n", path, bytes);
	LLVMFuzzerTestOneInput(data, bytes);
	free(data);
	inputs++;
	return 0;
}

static int run_path(const char *path)
{
	struct dirent *entry;
	struct stat st;
	char inner[4096];
	int rc = 0;
	DIR *d;

	if (stat(path, &st) < 0) {
		perror(path);
		return -1;
	}
	if (!S_ISDIR(st.st_mode))
		return run_file(path);
	d = opendir(path);
	if (!d) {
		perror(path);
		return -1;
	}
	while ((entry = readdir(d))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
		rc |= run_path(inner);
	}
	closedir(d);
	return rc;
}

int main(int argc, char **argv)
{
	int rc = 0;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-v"))
			verbose = 1;
		else
			rc |= run_path(argv[i]);
	}
	printf("%lu inputs\n", inputs);
	return rc || !inputs;
}
