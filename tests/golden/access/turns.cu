/*
 * turns.cu - loads of an inner loop that are the same in each turn of the loop around it, and what looks like them: for
 * lanes_again.h.
 */

/* Each of `many` reads the point of a thread again. */
extern "C" __global__ void each_turn(float *out, const float *in, int n, int many)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	float least = 1e30f;

	for (int c = 0; c < many; c++) {
		float far = 0.0f;

		for (int k = 0; k < n; k++) {
			float d = in[k * 4096 + i] - c;

			far += d * d;
		}
		least = fminf(least, far);
	}
	out[i] = least;
}

/* It goes on where the turn before ended. */
extern "C" __global__ void goes_on(float *out, const float *in, int n, int many)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	float least = 1e30f;

	for (int c = 0; c < many; c++) {
		float far = 0.0f;

		for (int k = 0; k < n; k++) {
			float d = in[(c * n + k) * 4096 + i] - c;

			far += d * d;
		}
		least = fminf(least, far);
	}
	out[i] = least;
}

/* What is read is written in each turn. */
extern "C" __global__ void writes(float *out, float *in, int n, int many)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	float far = 0.0f;

	for (int c = 0; c < many; c++) {
		for (int k = 0; k < n; k++) {
			float d = in[k * 4096 + i] - c;

			far += d * d;
		}
		in[i] = far;
	}
	out[i] = far;
}

/* Where a turn begins is read from memory. */
extern "C" __global__ void begins(float *out, const float *in, int n, int many)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	const int *list = (const int *)out;
	float far = 0.0f;

	for (int c = 0; c < many; c++) {
		const int first = list[c];

		for (int k = 0; k < n; k++) {
			float d = in[(first + k) * 4096 + i] - c;

			far += d * d;
		}
	}
	out[i] = far;
}

/* One word for all lanes, as an argument is. */
extern "C" __global__ void one_for_all(float *out, const float *in, int n, int many)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	float far = 0.0f;

	for (int c = 0; c < many; c++)
		for (int k = 0; k < n; k++) {
			float d = in[k] - c * i;

			far += d * d;
		}
	out[i] = far;
}

/* Rows of blocks that load the same and weigh it otherwise. */
extern "C" __global__ void alike(float *out, const float *in, int n, int many)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0.0f;

#pragma unroll
	for (int k = 0; k < 8; k++)
		sum += in[i + k] * (blockIdx.y + k);
	out[blockIdx.y * n + i] = sum;
}

/* Rows of blocks that load their own. */
extern "C" __global__ void own(float *out, const float *in, int n, int many)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0.0f;

#pragma unroll
	for (int k = 0; k < 8; k++)
		sum += in[blockIdx.y * 8192 + i + k];
	out[blockIdx.y * n + i] = sum;
}

/* Eight words of shared memory for each result, which neighbours want as well. */
extern "C" __global__ void shared_window(float *out, const float *in, int n, int many)
{
	__shared__ float s[4096];
	float sum = 0.0f;

	for (int k = threadIdx.x; k < 4096; k += 128)
		s[k] = in[k];
	__syncthreads();
	for (int r = 0; r < many; r++) {
#pragma unroll
		for (int k = 0; k < 8; k++)
			sum += s[threadIdx.x + 128 * r + k] * (k + 1.5f);
		sum *= 0.5f;
	}
	out[threadIdx.x] = sum;
}

/* Each thread its own words. */
extern "C" __global__ void shared_own(float *out, const float *in, int n, int many)
{
	__shared__ float s[4096];
	float sum = 0.0f;

	for (int k = threadIdx.x; k < 4096; k += 128)
		s[k] = in[k];
	__syncthreads();
	for (int r = 0; r < many; r++) {
#pragma unroll
		for (int k = 0; k < 8; k++)
			sum += s[threadIdx.x + 128 * (8 * r + k)] * (k + 1.5f);
		sum *= 0.5f;
	}
	out[threadIdx.x] = sum;
}
