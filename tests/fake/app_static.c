/*
 * app_static.c - a static program without CUDA: the preload never reaches it.
 */
#include <stdio.h>

int main(void)
{
	puts("static");
	return 0;
}
