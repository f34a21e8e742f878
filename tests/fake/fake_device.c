/*
 * fake_device.c - the devices: names, sizes and attributes, one H200 unless FAKE_* say otherwise.
 */
#include "fake_cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fake_device fake_devices[FAKE_DEVICES_MAX];
int fake_device_count;

/* Values as one H200 gave them; -1 = follows from the device's own fields. */
static const struct {
	int attribute, value;
} attributes[] = {
	{1, 1024},                               /* threads per block */
	{2, 1024},       {3, 1024},  {4, 64},    /* block x, y, z */
	{5, 0x7fffffff}, {6, 65535}, {7, 65535}, /* grid x, y, z */
	{8, 49152},                              /* shared memory per block */
	{9, 65536},                              /* constant memory */
	{10, 32},                                /* warp size */
	{12, 65536},                             /* registers per block */
	{13, 1980000},                           /* clock kHz */
	{15, 1},                                 /* overlap */
	{16, -1},                                /* SM count */
	{18, 0},                                 /* integrated */
	{31, 1},                                 /* concurrent kernels */
	{36, 3201000},                           /* memory clock kHz */
	{37, 6016},                              /* bus width */
	{38, 62914560},                          /* L2 bytes */
	{39, 2048},                              /* threads per SM */
	{40, 3},                                 /* copy engines */
	{41, 1},                                 /* unified addressing */
	{75, -1},        {76, -1},               /* compute capability */
	{81, 233472},                            /* shared memory per SM */
	{82, 65536},                             /* registers per SM */
	{83, 1},                                 /* managed memory */
	{92, 1},                                 /* 64-bit stream memory operations */
	{94, 1},                                 /* wait-value NOR */
	{95, 1},                                 /* cooperative launch */
	{97, 232448},                            /* shared memory per block, opt-in */
	{106, 32},                               /* blocks per SM */
	{111, 1024},                             /* reserved shared memory per block */
	{120, 1},                                /* cluster launch */
	{122, 1},        {123, 1},               /* stream memory operations, version 2 */
};

static int option(const char *name, int fallback)
{
	const char *value = fake_option(name);

	return value ? atoi(value) : fallback;
}

void fake_device_init(void)
{
	const char *name = fake_option("FAKE_NAME");

	fake_device_count = option("FAKE_DEVICES", 1);
	if (fake_device_count < 0 || fake_device_count > FAKE_DEVICES_MAX)
		fake_device_count = FAKE_DEVICES_MAX;
	for (int i = 0; i < fake_device_count; i++) {
		struct fake_device *d = &fake_devices[i];

		d->ordinal = i;
		d->sm = option("FAKE_SM", 90);
		d->sm_count = option("FAKE_SM_COUNT", 132);
		d->total_bytes = 141ull << 30;
		snprintf(d->name, sizeof(d->name), "%s", name ? name : "kbn stand-in H200-like");
		for (int k = 0; k < 16; k++)
			d->uuid[k] = (unsigned char)(0xf0 + i + k * 7);
	}
}

int fake_device_number(const struct fake_device *device)
{
	return device->ordinal;
}

int fake_device_attribute(int attribute, int device, int *value)
{
	const struct fake_device *d = &fake_devices[device];
	char name[32];

	snprintf(name, sizeof(name), "FAKE_ATTR_%d", attribute);
	if (fake_option(name)) {
		*value = option(name, 0);
		return 0;
	}
	if (attribute == 16)
		*value = d->sm_count;
	else if (attribute == 75)
		*value = d->sm / 10;
	else if (attribute == 76)
		*value = d->sm % 10;
	else {
		if (attribute < 1 || attribute > 150)
			return 1;
		*value = 0;
		for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
			if (attributes[i].attribute == attribute)
				*value = attributes[i].value;
	}
	return 0;
}

static bool bad(CUdevice device)
{
	return device < 0 || device >= fake_device_count;
}

FAKE_API(cuDeviceGetCount, int *count)
{
	FAKE_BEGIN(cuDeviceGetCount);
	*count = fake_device_count;
	FAKE_END(0, "-> %d", *count);
}

FAKE_API(cuDeviceGet, CUdevice *device, int ordinal)
{
	FAKE_BEGIN(cuDeviceGet);
	if (bad(ordinal))
		FAKE_END(101, "%d", ordinal);
	*device = ordinal;
	FAKE_END(0, "%d", ordinal);
}

FAKE_API(cuDeviceGetName, char *name, int length, CUdevice device)
{
	FAKE_BEGIN(cuDeviceGetName);
	if (bad(device))
		FAKE_END(101, "%d", device);
	snprintf(name, (size_t)length, "%s", fake_devices[device].name);
	FAKE_END(0, "%d", device);
}

FAKE_API(cuDeviceGetUuid, CUuuid *uuid, CUdevice device)
{
	FAKE_BEGIN(cuDeviceGetUuid);
	if (bad(device))
		FAKE_END(101, "%d", device);
	memcpy(uuid, fake_devices[device].uuid, 16);
	FAKE_END(0, "%d", device);
}

FAKE_API(cuDeviceGetUuid_v2, CUuuid *uuid, CUdevice device)
{
	FAKE_BEGIN(cuDeviceGetUuid_v2);
	if (bad(device))
		FAKE_END(101, "%d", device);
	memcpy(uuid, fake_devices[device].uuid, 16);
	FAKE_END(0, "%d", device);
}

FAKE_API(cuDeviceTotalMem_v2, size_t *bytes, CUdevice device)
{
	FAKE_BEGIN(cuDeviceTotalMem_v2);
	if (bad(device))
		FAKE_END(101, "%d", device);
	*bytes = fake_devices[device].total_bytes;
	FAKE_END(0, "%d", device);
}

FAKE_API(cuDeviceGetAttribute, int *value, CUdevice_attribute attribute, CUdevice device)
{
	FAKE_BEGIN(cuDeviceGetAttribute);
	int result = bad(device) ? 101 : fake_device_attribute((int)attribute, device, value);

	FAKE_END(result, "%d %d", (int)attribute, device);
}

FAKE_API(cuDeviceComputeCapability, int *major, int *minor, CUdevice device)
{
	FAKE_BEGIN(cuDeviceComputeCapability);
	if (bad(device))
		FAKE_END(101, "%d", device);
	*major = fake_devices[device].sm / 10;
	*minor = fake_devices[device].sm % 10;
	FAKE_END(0, "%d", device);
}

FAKE_API(cuDeviceGetPCIBusId, char *id, int length, CUdevice device)
{
	FAKE_BEGIN(cuDeviceGetPCIBusId);
	if (bad(device))
		FAKE_END(101, "%d", device);
	snprintf(id, (size_t)length, "0000:%02x:00.0", device + 1);
	FAKE_END(0, "%d", device);
}
