/*
 * big_code.cu - eight megabytes of device image from one line: compiled once per value of BLOB it
 * gives as many different images as app_load wants.
 */
__device__ unsigned char blob[8 << 20] = {BLOB, 1};

extern "C" __global__ void touch(void)
{
	blob[0]++;
}
