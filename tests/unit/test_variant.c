/*
 * test_variant.c - kernels of one short name told apart: by one argument, by several, by detail, by
 * number; and those that need nothing.
 */
#include "kbn_test.h"

#include "arena.h"
#include "demangle.h"
#include "variant.h"

/* Mangled names and what must stand behind their short names, in any order of the list. */
static void expect(size_t n, const char *const names[][2])
{
	struct arena *arena = arena_new();
	struct variant *list = arena_array(arena, n, sizeof(*list));

	for (size_t turn = 0; turn < n; turn++) {
		for (size_t i = 0; i < n; i++) {
			const char *name = names[(i + turn) % n][0];

			list[i] = (struct variant){name, demangle_full(arena, name),
						   demangle_short(arena, name), NULL};
		}
		assert_int_equal(variants_find(arena, list, n), 0);
		for (size_t i = 0; i < n; i++)
			assert_string_equal(list[i].text, names[(i + turn) % n][1]);
	}
	arena_free(arena);
}
#define EXPECT(...)                                                   \
	do {                                                          \
		static const char *const names_[][2] = {__VA_ARGS__}; \
		expect(sizeof(names_) / sizeof(*names_), names_);     \
	} while (0)

static void one_argument(void **state)
{
	(void)state;
	EXPECT({"_Z9ffma_peakILi1EEvPfPKfi", "<1>"}, {"_Z9ffma_peakILi8EEvPfPKfi", "<8>"},
	       {"_Z9ffma_peakILi8EEvPfPKfi", "<8>"}, /* another shape of the same */
	       {"other", ""});
	/* what is equal in all stays away: fill<4, float>, fill<4, half> */
	EXPECT({"_Z4fillILi4EfEvPT0_", "<float>"}, {"_Z4fillILi4EdEvPT0_", "<double>"});
	/* k<4, a::FillFunctor<float> > and k<4, a::AddFunctor<float> > */
	EXPECT({"_Z1kILi4EN1a11FillFunctorIfEEEvT0_", "<FillFunctor>"},
	       {"_Z1kILi4EN1a10AddFunctorIfEEEvT0_", "<AddFunctor>"});
}

static void several_arguments(void **state)
{
	(void)state;
	EXPECT({"_Z4fillILi4EfEvPT0_", "<4, float>"}, {"_Z4fillILi2EfEvPT0_", "<2, float>"},
	       {"_Z4fillILi4EdEvPT0_", "<4, double>"});
}

/* Only the two that share a functor show what it is made of. */
static void more_detail(void **state)
{
	(void)state;
	EXPECT({"_Z1kIN1a4FillIfEEEvT_", "<Fill<float>>"},
	       {"_Z1kIN1a4FillIdEEEvT_", "<Fill<double>>"}, {"_Z1kIN1a3AddIfEEEvT_", "<Add>"});
	EXPECT({"_Z1kIN1a4FillEEvT_", "<a::Fill>"}, {"_Z1kIN1b4FillEEvT_", "<b::Fill>"});
}

static void numbers(void **state)
{
	(void)state;
	/* overloads, and one name in two namespaces */
	EXPECT({"_Z1ki", " #2"}, {"_Z1kf", " #1"});
	EXPECT({"_ZN1a1kEi", " #1"}, {"_ZN1b1kEi", " #2"});
	/* with and without arguments */
	EXPECT({"_Z1ki", "<>"}, {"_Z1kILi1EEvi", "<1>"});
}

static void nothing_to_tell(void **state)
{
	(void)state;
	EXPECT({"_Z9ffma_peakILi1EEvPfPKfi", ""}, {"_Z9ffma_peakILi1EEvPfPKfi", ""});
	EXPECT({"gemm", ""}, {"_Z4fillILi4EfEvPT0_", ""}, {"", ""});
	assert_int_equal(variants_find(NULL, NULL, 0), 0);
}

/* Long arguments are cut, and two that are equal up to there do not become one. */
static void long_arguments(void **state)
{
	struct arena *arena = arena_new();
	struct variant list[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		const char *name =
			i ? "_Z1kIN1a60xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx1EEvT_"
			  : "_Z1kIN1a60xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx0EEvT_";

		list[i] = (struct variant){name, demangle_full(arena, name),
					   demangle_short(arena, name), NULL};
		assert_non_null(strstr(list[i].demangled, "a::xxx"));
	}
	assert_int_equal(variants_find(arena, list, 2), 0);
	assert_true(strcmp(list[0].text, list[1].text) != 0);
	for (int i = 0; i < 2; i++)
		assert_true(strlen(list[i].text) <= VARIANT_COLUMNS);
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_argument),    cmocka_unit_test(several_arguments),
		cmocka_unit_test(more_detail),     cmocka_unit_test(numbers),
		cmocka_unit_test(nothing_to_tell), cmocka_unit_test(long_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
