/*
 * client.h - what the test clients share: printing every result, images, a table of cases.
 *
 * A client prints only what must be equal with and without the recorder: result codes, contents,
 * never addresses or times.
 */
#ifndef KBN_CLIENT_H
#define KBN_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kbn_cuda.h"
#include "make_cubin.h"

/* Print and give back a result: DO(cuInit(0)). Only the name of the function is shown. */
#define DO(call)                                                           \
	__extension__({                                                    \
		int do_ = (int)(call);                                     \
		printf("%.*s %d\n", (int)strcspn(#call, "("), #call, do_); \
		do_;                                                       \
	})
/* The same for calls that are made often: shown only when they fail. */
#define OK(call)                                                                          \
	__extension__({                                                                   \
		int ok_ = (int)(call);                                                    \
		if (ok_)                                                                  \
			printf("%.*s FAILED %d\n", (int)strcspn(#call, "("), #call, ok_); \
		ok_;                                                                      \
	})

struct client_case {
	const char *name;
	void (*run)(void);
};

static inline int client_main(const struct client_case *cases, size_t n, int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; i < n; i++)
		if (argc > 1 && strcmp(cases[i].name, argv[1]) == 0) {
			cases[i].run();
			return 0;
		}
	for (size_t i = 0; i < n; i++)
		printf("%s\n", cases[i].name);
	return argc > 1 ? 2 : 0;
}

/* A number from the environment. */
static inline long client_number(const char *name, long fallback)
{
	const char *value = getenv(name);

	return value && *value ? atol(value) : fallback;
}

/* The image that most cases use. */
static const struct make_kernel client_kernels[] = {
	{.name = "k_2us", .params = 3, .registers = 24},
	{.name = "k_20us", .params = 2, .registers = 40, .smem = 4096},
	{.name = "k_none_5us", .registers = 16},
	{.name = "k_wide_3us", .big = 32764, .registers = 32},
	{.name = "k_hang", .params = 1},
	{.name = "k_fault_1us", .params = 1},
	{.name = "k_200us", .params = 1},
};
#define CLIENT_KERNELS (sizeof(client_kernels) / sizeof(client_kernels[0]))

static inline struct make_buffer client_cubin(void)
{
	return make_cubin(90, client_kernels, CLIENT_KERNELS, 512);
}

static const char client_ptx[]
	__attribute__((unused)) = ".version 8.0\n.target sm_80\n.address_size 64\n"
				  ".visible .entry ptx_4us(\n\t.param .u64 p0,\n\t.param .u32 p1,\n"
				  "\t.param .align 8 .b8 p2[24]\n)\n{\n\tret;\n}\n"
				  ".visible .entry ptx_none_6us()\n{\n\tret;\n}\n";

#endif
