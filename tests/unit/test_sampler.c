/* unit: shim */
/*
 * test_sampler.c - the places of samples within the launches of a shape, and the purse, at times
 * that this file makes up.
 */
#include "kbn_test.h"

#include "sampler.h"
#include "state.h"

#define COST   6000u /* ns of one sample */
#define MINUTE 60000000000u

static int setup(void **state)
{
	(void)state;
	kbn_settings.budget_ppm = 10000;
	kbn_sampler_restart();
	return 0;
}

static uint32_t next(uint32_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 17;
	*random ^= *random << 5;
	return *random;
}

struct places {
	unsigned all, late, first; /* late: in the second half; first: before launch 5 */
	uint64_t longest;          /* launches between two samples */
};

/* A shape of `launches` launches whose every sample is granted. */
static struct places place(uint64_t launches, uint32_t seed)
{
	struct places p = {0};

	for (uint64_t at = 0; at < launches;) {
		uint32_t skip = kbn_sampler_skip(at, next(&seed));

		p.all++;
		p.late += at >= launches / 2;
		p.first += at < 5;
		p.longest = skip > p.longest ? skip : p.longest;
		at += 1 + (uint64_t)skip;
	}
	return p;
}

static void test_places(void **state)
{
	unsigned all = 0, late = 0;

	(void)state;
	for (uint32_t seed = 1; seed <= 500; seed++) {
		struct places p = place(20, seed);

		assert_in_range(p.all, 7, 13);
		assert_int_equal(p.first, 5);
		p = place(400, seed);
		assert_in_range(p.all, 20, 40);
		assert_true(p.late * 4 >= p.all);
		all += p.all;
		late += p.late;
	}
	assert_true(late * 3 >= all); /* of all seeds together */
	assert_in_range(all / 500, 24, 32);
}

static void test_places_of_long_runs(void **state)
{
	struct places p = place(100000, 7);

	(void)state;
	assert_in_range(p.all, 200, 500);
	assert_true(p.late >= 30); /* 64 ln 2 */
	assert_true(p.longest <= 100000 / 64 * 3 / 2);
	p = place(100000000, 7);
	assert_true(p.longest <= 4096 * 3 / 2);
	assert_true(p.late >= 100000000 / 2 / 4096 * 9 / 10);
}

static void test_refused_come_again(void **state)
{
	uint32_t random = 1;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		assert_in_range(kbn_sampler_skip_refused(0, next(&random)), 1, 8);
		assert_in_range(kbn_sampler_skip_refused(50, next(&random)), 1, 24);
		assert_in_range(kbn_sampler_skip_refused(64000, next(&random)), 100, 800);
		assert_in_range(kbn_sampler_skip_refused(UINT64_MAX, next(&random)), 500, 4096);
	}
}

/* As many samples as are granted to a shape that has `sampled` already, nobody earning anything. */
static unsigned borrow(uint32_t sampled)
{
	unsigned n = 0;

	while (n < 100000 && kbn_sampler_wants(sampled, COST, 0)) {
		kbn_sampler_pay(sampled, COST);
		n++;
	}
	return n;
}

static void test_debt_is_bounded_for_the_process(void **state)
{
	(void)state;
	assert_int_equal(borrow(32), 0);
	/* The n-th costs 1 + n / 8 times as much: 4 at 31, 2 at 8, 1 below. */
	assert_int_equal(borrow(31), (KBN_DEBT / 2 - COST) / (4 * COST) + 1);
	assert_int_equal(borrow(9), 0);
	assert_int_equal(borrow(8), (KBN_DEBT / 2 - 3 * COST) / (2 * COST) + 1);
	assert_true(kbn_sampler_credit(0) >= -KBN_DEBT);
	assert_int_equal(borrow(3), 0);
	assert_int_equal(borrow(2), KBN_DEBT_FIRST / COST); /* new shapes still get theirs */
	assert_true(kbn_sampler_credit(0) >= -(KBN_DEBT + KBN_DEBT_FIRST));
	assert_int_equal(borrow(0), 0);
	/* Paid back by time alone: 18 ms are 1% of 1.8 s. */
	assert_false(kbn_sampler_wants(40, COST, 1790000000));
	assert_true(kbn_sampler_wants(40, COST, 1810000000));
}

static void test_credit_is_capped(void **state)
{
	(void)state;
	assert_int_equal(kbn_sampler_credit(100 * (uint64_t)MINUTE), KBN_CREDIT_MAX);
	kbn_sampler_pay(0, KBN_CREDIT_MAX);
	assert_int_equal(kbn_sampler_credit(100 * (uint64_t)MINUTE), 0);
	assert_int_equal(kbn_sampler_credit(100 * (uint64_t)MINUTE + 1000000), 10000);
	/* A year at full budget does not overflow. */
	kbn_settings.budget_ppm = 1000000;
	assert_int_equal(kbn_sampler_credit(525600 * (uint64_t)MINUTE), KBN_CREDIT_MAX);
}

/* However dear a sample is, the purse can hold what it takes to buy one. */
static void test_dear_samples_are_not_impossible(void **state)
{
	(void)state;
	assert_true(kbn_sampler_wants(1000, 10 * KBN_CREDIT_MAX, MINUTE));
	kbn_sampler_pay(1000, 10 * KBN_CREDIT_MAX);
	assert_false(kbn_sampler_wants(1000, 10 * KBN_CREDIT_MAX, MINUTE + 1000000000));
}

static void test_shapes_with_few_samples_come_first(void **state)
{
	const uint64_t now = 300000; /* 3 us of budget */

	(void)state;
	assert_true(kbn_sampler_wants(40, 400, now));
	assert_false(kbn_sampler_wants(64, 400, now));
	assert_true(kbn_sampler_wants(31, COST, now));
}

struct steady {
	uint64_t now;
	uint64_t skip[100], ran[100];
	uint32_t sampled[100], random;
	uint64_t cost; /* ns spent */
};

/* One round over a hundred shapes, a launch every 4 us. */
static void round_of(struct steady *s)
{
	for (int i = 0; i < 100; i++) {
		s->now += 4000;
		if (s->skip[i]) {
			s->skip[i]--;
		} else if (!kbn_sampler_wants(s->sampled[i], COST, s->now)) {
			s->skip[i] = kbn_sampler_skip_refused(s->ran[i], next(&s->random));
		} else {
			kbn_sampler_pay(s->sampled[i]++, COST);
			s->cost += COST;
			s->now += COST;
			s->skip[i] = kbn_sampler_skip(s->ran[i], next(&s->random));
		}
		s->ran[i]++;
	}
}

static uint32_t least(const struct steady *s)
{
	uint32_t n = UINT32_MAX;

	for (int i = 0; i < 100; i++)
		n = s->sampled[i] < n ? s->sampled[i] : n;
	return n;
}

static void test_steady_program_costs_less_and_less(void **state)
{
	static struct steady s;
	uint64_t from, cost;

	(void)state;
	s = (struct steady){.random = 3};
	while (s.now < MINUTE && s.now < 1000000000)
		round_of(&s);
	/* The first second: debt, the first budget, and not more. */
	assert_true(s.cost <= KBN_DEBT + KBN_DEBT_FIRST + s.now / 100 + COST);
	assert_true(least(&s) >= 3);
	while (s.now < 10 * (uint64_t)MINUTE && least(&s) <= 100)
		round_of(&s);
	assert_true(least(&s) > 100);
	assert_true(s.cost <= KBN_DEBT + s.now / 100);
	from = s.now;
	cost = s.cost;
	while (s.now < from + MINUTE)
		round_of(&s);
	assert_true(s.cost - cost < MINUTE / 1000 * 3);
	assert_true(s.cost - cost > MINUTE / 10000); /* and it goes on */
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup(f, setup)
	const struct CMUnitTest tests[] = {
		CASE(test_places),
		CASE(test_places_of_long_runs),
		CASE(test_refused_come_again),
		CASE(test_debt_is_bounded_for_the_process),
		CASE(test_credit_is_capped),
		CASE(test_dear_samples_are_not_impossible),
		CASE(test_shapes_with_few_samples_come_first),
		CASE(test_steady_program_costs_less_and_less),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
