/*
 * test_demangle.c - full and short names of kernels, and names made to break a demangler.
 */
#include "demangle.h"

#include "arena.h"
#include "kbn_test.h"

static struct arena *arena;

static int make_arena(void **state)
{
	(void)state;
	arena = arena_new();
	return arena ? 0 : -1;
}

static int drop_arena(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

static void test_names(void **state)
{
	static const struct {
		const char *name, *full, *brief;
	} cases[] = {
		{"ampere_sgemm_128x64_tn", NULL, "ampere_sgemm_128x64_tn"},
		{"triton_poi_fused_add_0d1d", NULL, "triton_poi_fused_add_0d1d"},
		{"", NULL, ""},
		{"_Z", NULL, "_Z"},
		{"_Znot a name", NULL, "_Znot a name"},
		{"_RNvCs1234_7mycrate3foo", NULL,
		 "_RNvCs1234_7mycrate3foo"}, /* Rust is left alone */
		{"_Z3addPf", "add(float*)", "add"},
		{"_Z3fooIiEvT_", "void foo<int>(int)", "foo"},
		{"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_",
		 "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int, "
		 "at::native::FillFunctor<float>, std::array<char*, 1ul>)",
		 "vectorized_elementwise_kernel"},
		{"_ZN12_GLOBAL__N_16kernelEPf", "(anonymous namespace)::kernel(float*)", "kernel"},
		{"_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const",
		 "main::{lambda#1}"},
		{"_ZZN3app3runIiEEvT_ENKUliE0_clEi",
		 "app::run<int>(int)::{lambda(int)#2}::operator()(int) const", "run::{lambda#2}"},
		{"_ZN3appltIiEEbT_S1_", "bool app::operator< <int>(int, int)", "operator<"},
		{"_ZN3foolsIiEEvT_", "void foo::operator<< <int>(int)", "operator<<"},
		{"_ZN3fooclEi", "foo::operator()(int)", "foo::operator()"},
		{"_ZN3fooclIiEEvT_", "void foo::operator()<int>(int)", "foo::operator()"},
		{"_ZN3foocvT_IiEEv", "foo::operator int<int>()", "operator int"},
		{"_ZN3fooC1Ev", "foo::foo()", "foo"},
		{"_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastIZZZNS0_23direct_copy_kernel_cudaERNS_"
		 "18TensorIteratorBaseEENKUlvE1_clEvENKUlvE5_clEvEUlfE_EEvS5_RKT_EUliE_EEviT1_",
		 NULL, "elementwise_kernel"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (cases[i].full)
			assert_string_equal(demangle_full(arena, cases[i].name), cases[i].full);
		else if (strncmp(cases[i].name, "_ZN", 3))
			assert_string_equal(demangle_full(arena, cases[i].name), cases[i].name);
		assert_string_equal(demangle_short(arena, cases[i].name), cases[i].brief);
	}
}

/* `head`, then `part` n times, then `tail`. */
static char *repeated(const char *head, const char *part, size_t n, const char *tail)
{
	char *name = malloc(strlen(head) + strlen(part) * n + strlen(tail) + 1),
	     *p = stpcpy(name, head);

	while (n--)
		p = stpcpy(p, part);
	strcpy(p, tail);
	return name;
}

/* Generated names are long; they must come out as well as short ones. */
static void test_long(void **state)
{
	char *name = repeated("_ZN7cutlass6deviceI", "N4cute5tupleIJiifEEE", 500, "EEvT_");

	(void)state;
	assert_true(strlen(name) > 8000 && strlen(name) < 16384);
	assert_int_equal(strncmp(demangle_full(arena, name),
				 "void cutlass::device<cute::tuple<int, int, float>", 40),
			 0);
	assert_string_equal(demangle_short(arena, name), "device");
	free(name);

	/* too long to demangle: the full name is itself, the short one what it spells */
	name = repeated("_ZN7cutlass6deviceI", "N4cute5tupleIJiifEEE", 5000, "EEvT_");
	assert_int_equal(strlen(name), 100024);
	assert_string_equal(demangle_full(arena, name), name);
	assert_string_equal(demangle_short(arena, name), "device");
	free(name);
}

/* Deep nesting, exponential output, cut names: an answer within the test's time, and no crash. */
static void test_hostile(void **state)
{
	char *pointers = repeated("_Z1f", "P", 16000, "i"),
	     *templates = repeated("_Z1f", "1aI", 5000, ""),
	     *doubling = repeated(
		     "_Z1fI1aIS_S_E",
		     "1aIS0_S0_E1aIS1_S1_E1aIS2_S2_E1aIS3_S3_E1aIS4_S4_E1aIS5_S5_E1aIS6_S6_E"
		     "1aIS7_S7_E1aIS8_S8_E1aIS9_S9_E1aISA_SA_E1aISB_SB_E1aISC_SC_E1aISD_SD_E1aISE_SE_E"
		     "1aISF_SF_E1aISG_SG_E1aISH_SH_E1aISI_SI_E1aISJ_SJ_E1aISK_SK_E1aISL_SL_E",
		     2, "Evv"),
	     *parameters = repeated("_Z1fIiEv", "T_", 8000, ""),
	     *nothing = repeated("_Z", "9", 100000, "");
	char *all[] = {pointers, templates, doubling, parameters, nothing};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		assert_non_null(demangle_full(arena, all[i]));
		assert_non_null(demangle_short(arena, all[i]));
		assert_true(strlen(demangle_full(arena, all[i])) <= 1u << 20);
		free(all[i]);
	}
	for (size_t n = 0; n < 100; n++) {
		char cut[128] =
			"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_";

		cut[n] = '\0';
		assert_non_null(demangle_full(arena, cut));
		assert_non_null(demangle_short(arena, cut));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, make_arena, drop_arena);
}
