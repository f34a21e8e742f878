/*
 * app_spin.cu - kernels of about 0.6 (empty), 1, 2, 5, 20 and 200 us, each launched many times,
 * back to back or with a host gap. usage: app_spin GAP_US LAUNCHES. Each duration is a kernel of its own
 * (template argument), so that a profiler keeps them apart by name.
 */
#include <cstring>

#include "app.h"

__global__ void spin_empty(void)
{
}

template <int TENTHS> __global__ void spin(long long cycles)
{
	long long start = clock64();

	while (clock64() - start < cycles)
		;
}

typedef void (*spinner)(long long);

static const struct {
	spinner kernel;
	double us;
} rows[] = {
	{spin<10>, 0.5}, {spin<20>, 1.35}, {spin<50>, 4.2}, {spin<200>, 19.2}, {spin<2000>, 199.0}};

int main(int argc, char **argv)
{
	double gap = argc > 1 ? std::atof(argv[1]) : 0;
	int launches = argc > 2 ? std::atoi(argv[2]) : 400, khz, total = 0;

	CHECK(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
	for (int i = 0; i < 200; i++) { /* raise the clocks; a kernel of its own */
		spin<1><<<1, 1>>>((long long)khz * 100 / 1000);
		total++;
	}
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < launches; i++) {
		spin_empty<<<1, 1>>>();
		total++;
		if (gap > 0)
			app_wait_us(gap);
	}
	CHECK(cudaDeviceSynchronize());
	for (auto &r : rows) {
		for (int i = 0; i < launches; i++) {
			r.kernel<<<1, 1>>>((long long)(r.us * khz / 1000.0));
			total++;
			if (gap > 0)
				app_wait_us(gap + r.us);
		}
		CHECK(cudaDeviceSynchronize());
	}
	std::printf("launches %d\n", total);
	return 0;
}
