/*
 * sampler.c - where the timed launches of a shape lie, and what they may cost. Input: counts, times,
 * kbn_settings.budget_ppm. Output: yes or no, and a number of launches until the next question.
 * Asked for one launch in many: a launch between two questions does not come here.
 */
#include "sampler.h"

#include <stdatomic.h>
#include <stddef.h>

#include "state.h"

#define ONE_BY_ONE 4u  /* launches until which each one is timed */
#define STEP_MAX   20u /* longest step while launches are few */
#define SPACING    64u /* later: a step is 1/64 of the launches so far */
#define SKIP_MAX   4096u
#define DEARER     8u /* samples after which one more is charged once more */
#define PRICE_MAX  (KBN_CREDIT_MAX / 2)

/* What a shape with fewer samples than this may leave the purse in debt. */
static const struct {
	uint32_t samples;
	int64_t debt_ns;
} loans[] = {{3, KBN_DEBT + KBN_DEBT_FIRST}, {9, KBN_DEBT}, {32, KBN_DEBT / 2}};

/* All that was charged; grows also by budget that went unused. */
static _Atomic int64_t spent;

void kbn_sampler_restart(void)
{
	atomic_store(&spent, 0);
}

int64_t kbn_sampler_credit(uint64_t now_ns)
{
	int64_t earned = (int64_t)(now_ns / 1000 * kbn_settings.budget_ppm / 1000);
	int64_t was = atomic_load_explicit(&spent, memory_order_relaxed);

	while (earned - was > KBN_CREDIT_MAX)
		if (atomic_compare_exchange_weak(&spent, &was, earned - KBN_CREDIT_MAX))
			return KBN_CREDIT_MAX;
	return earned - was;
}

static int64_t charge(uint32_t sampled, uint64_t ns)
{
	return (int64_t)(ns * (1 + sampled / DEARER));
}

bool kbn_sampler_wants(uint32_t sampled, uint32_t cost_ns, uint64_t now_ns)
{
	int64_t credit = kbn_sampler_credit(now_ns), price = charge(sampled, cost_ns);

	for (size_t i = 0; i < sizeof(loans) / sizeof(loans[0]); i++)
		if (sampled < loans[i].samples && credit - (int64_t)cost_ns >= -loans[i].debt_ns)
			return true;
	return credit >= (price < PRICE_MAX ? price : PRICE_MAX);
}

void kbn_sampler_pay(uint32_t sampled, uint64_t ns)
{
	atomic_fetch_add(&spent, charge(sampled, ns));
}

/* From half of `even` to three halves. */
static uint32_t around(uint32_t even, uint32_t random)
{
	return even / 2 + random % (even + 1);
}

static uint32_t even_skip(uint64_t launch)
{
	uint64_t near = launch / 2 < STEP_MAX ? launch / 2 : STEP_MAX, far = launch / SPACING;
	uint64_t step = near > far ? near : far;

	return step ? (uint32_t)(step < SKIP_MAX ? step : SKIP_MAX) - 1 : 0;
}

uint32_t kbn_sampler_skip(uint64_t launch, uint32_t random)
{
	return launch < ONE_BY_ONE ? 0 : around(even_skip(launch), random);
}

/* No money: come again soon while launches are few, else at the next place but for half a step. */
uint32_t kbn_sampler_skip_refused(uint64_t launch, uint32_t random)
{
	return 4 + around(even_skip(launch) / 2, random);
}
