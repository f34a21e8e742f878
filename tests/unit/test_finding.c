/*
 * test_finding.c - the table of statements: ids that can be looked up and are never doubled, and an
 * explanation for each, of which none is cut when it is shown.
 */
#include "kbn_test.h"

#include "finding.h"
#include "text.h"

static void each_is_explained(void **state)
{
	(void)state;
	for (size_t i = 0; i < FINDING_N; i++) {
		const struct finding_row *row = &finding_rows[i];

		assert_int_equal(strlen(row->id), 8);
		assert_int_equal(strncmp(row->id, "KBN-", 4), 0);
		assert_non_null(strchr("NRT", row->id[4]));
		assert_int_equal(strspn(row->id + 5, "0123456789"), 3);
		assert_true(*row->text && strlen(row->text) < TEXT_LINE);
		assert_true(*row->why && strlen(row->why) < TEXT_LINE);
		assert_true(*row->advice && strlen(row->advice) < TEXT_LINE);
		for (size_t k = 0; k < i; k++) {
			assert_string_not_equal(row->id, finding_rows[k].id);
			assert_string_not_equal(row->text, finding_rows[k].text);
		}
		/* in order within their kind */
		if (i && finding_rows[i - 1].id[4] == row->id[4])
			assert_true(strcmp(finding_rows[i - 1].id, row->id) < 0);
	}
}

/* An id that the explanation of another one names is there. */
static void what_they_refer_to_is_there(void **state)
{
	(void)state;
	for (size_t i = 0; i < FINDING_N; i++) {
		const char *const texts[] = {finding_rows[i].why, finding_rows[i].advice};

		for (size_t k = 0; k < 2; k++)
			for (const char *at = texts[k]; (at = strstr(at, "KBN-")); at += 4) {
				char id[9];

				snprintf(id, sizeof(id), "%.8s", at);
				if (!finding_find(id))
					fail_msg("%s names %s", finding_rows[i].id, id);
			}
	}
}

static void found_as_people_type_them(void **state)
{
	(void)state;
	assert_ptr_equal(finding_find("KBN-N010"), &finding_rows[FINDING_SIMULATED]);
	assert_ptr_equal(finding_find("kbn-n010"), &finding_rows[FINDING_SIMULATED]);
	assert_ptr_equal(finding_find("N010"), &finding_rows[FINDING_SIMULATED]);
	assert_ptr_equal(finding_find("T006"), &finding_rows[FINDING_ABOVE_CLIFF]);
	assert_null(finding_find("KBN-N098"));
	assert_null(finding_find("KBN-"));
	assert_null(finding_find(""));
	assert_null(finding_find("KBN-N01"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_explained),
		cmocka_unit_test(what_they_refer_to_is_there),
		cmocka_unit_test(found_as_people_type_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
