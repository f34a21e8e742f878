/*
 * schema.c - see schema.h.
 *
 * The notation: {key:type, ...} an object with exactly these keys required, [type] an array, type? may
 * be null, "a|b" one of these words, {*:type} any keys, type^ a key that may be missing, and the names
 * of `words` below. Further keys are
 * always allowed: readers ignore what they do not know.
 */
#include "schema.h"

#include <assert.h>
#include <string.h>

#define Q_LABELS "\"measured|derived|estimated|reconstructed|unknown\""
#define Q_BY     "\"events|gated-events|cupti|driver|code|interpreter|user|counters|model\""
#define QUANTITY "{value:num?,low:num?,high:num?,label:" Q_LABELS ",by:" Q_BY ",why:str?}"
#define FINDING  "{id:str,text:str}"
#define ADVICE                                                                                    \
	"{id:str,title:str,gain_pct:[num]?,share_of_run_pct:num?,evidence:[str],conflicts:[str]," \
	"experiment:{change:str,expect:str,otherwise:str},source:str}"

#define OCCUPANCY                                                                                       \
	"{blocks_per_sm:int?,warps_per_sm:int?,max_warps_per_sm:int?,pct:num?,"                         \
	"limiter:\"registers|shared_memory|warps|blocks|barriers|cluster\"?,"                           \
	"limits:{registers:int?,shared_memory:int?,warps:int?,blocks:int?,barriers:int?,cluster:int?}," \
	"waves:num?,tail_waste_pct:num?,last_wave_pct:num?,enough_warps:bool?,enough_warps_at:int?,achieved_pct:Q}"
#define SMEM_CLIFF                                                                                            \
	"{smem_per_block_bytes:int,blocks_per_sm:int?,max_bytes_for:{1:int?,2:int?,3:int?},above_cliff:bool," \
	"published_cliff_bytes:int?,double_buffer_bytes:int,double_buffer_blocks_per_sm:int?}?"

#define RUN                                                                                                            \
	"{dir:str,command:[str],host:str?,pid:int?,rank:int?,world:int?,local_rank:int?,started:str?,duration_s:num?," \
	"end:\"exit|signal|killed|running\"?,exit_status:int?,signal:int?,driver:str?,cuda_driver_api:int?,env:{*:str},foreign_profiler:str?}"
#define PEAKS                                                                                                     \
	"{fp32_tflops:num?,fp64_tflops:num?,fp16_tflops:num?,fp64_tensor_tflops:num?,tf32_tensor_tflops:num?,"    \
	"fp16_tensor_tflops:num?,fp16_tensor_fp32acc_tflops:num?,bf16_tensor_tflops:num?,fp8_tensor_tflops:num?," \
	"fp4_tensor_tflops:num?,int8_tensor_tops:num?,int4_tensor_tops:num?}"
#define DEVICE                                                                                                \
	"{index:int,uuid:str,mig:str?,name:str,sm:str?,sm_count:int?,clock_mhz:int?,observed_clock_mhz:int?," \
	"dram_gbps:num?,l2_bytes:int?,smem_per_sm_bytes:int?,peaks:" PEAKS ","                                \
	"balances:{*:num?},"                                                                                  \
	"peaks_source:\"calibrated|table|attributes|profile|file\"?,calibrated:str?}"
#define ACCOUNTING                                                                                            \
	"{launches_seen:int,timed:int,sampled_out:int,untimeable:int,captured:int,failed:int,unfinished:int," \
	"filtered:int,dropped:int,overflow:int,graph_launches:int,graph_node_launches:int,copies:int?,sets:int?}"
#define TIMES \
	"{timed:int,total:Q,mean:num?,median:num?,p90:num?,min:num?,max:num?,first:num?,method:str?,uncertainty:num?}"
#define LOOP                                                                                                          \
	"{start:str,end:str,depth:int,trips:Q,compute_ops:int,compute_op:str?,load_ops:int,load_bytes_per_warp:int?," \
	"async_copies:int,barriers:int,ratio:num?,ratio_raw:num?,class:\"high|medium|low\"?,"                         \
	"async_copy:\"beneficial|neutral|detrimental|in use\"?,innermost:bool^,main:bool^,why:str?^}"
#define SASS                                                                                                         \
	"{instructions:int,undecoded:int,mix:{*:int},stalls:[{op:str,count:int,min:int,median:int,reducible:int?}]," \
	"loops:[" LOOP "]}?"
#define WORK                                                                                                       \
	"{flops:Q,tensor_flops:Q,warp_instructions:Q,executed:{*:int}?,global_load_bytes:Q,global_store_bytes:Q,"  \
	"sectors_per_request_load:Q,sectors_per_request_store:Q,excess_sectors:Q,shared_wavefronts_per_request:Q," \
	"atomics:Q,divergence_pct:Q,wasted_sectors:Q^}"
#define MEMORY \
	"{l1_bytes:Q,l2_bytes:Q,dram_bytes:Q,dram_read_bytes:Q,dram_write_bytes:Q,l1_hit_pct:Q,l2_hit_pct:Q}"
#define SITE                                                                                                      \
	"{offset:str,line:str?,op:str,kind:\"load|store|shared|atomic|branch\",requests:Q,sectors_per_request:Q," \
	"excess:Q,pattern:str?,own_excess:Q^,sharers:str?^}"
#define STALLS                                                                                                      \
	"{long_scoreboard:Q,short_scoreboard:Q,barrier:Q,math_pipe_throttle:Q,lg_throttle:Q,mio_throttle:Q,wait:Q," \
	"not_selected:Q,branch:Q,other:Q}"
#define ROOFLINE                                                                                   \
	"{intensity:Q,balance:num?,precision:str?,side:\"memory|compute|unknown\",attained_pct:Q," \
	"sol_compute_pct:Q,sol_memory_pct:Q}"
#define BOTTLENECK                                                                                                \
	"{class:\"memory|compute|balanced|latency|launch|unknown\",larger:\"memory|compute\"?,launch_bound:bool," \
	"reasons:[" FINDING "],label:str}"
#define KERNEL                                                                                                                            \
	"{id:str,device:int,run_count:int,name:str,demangled:str,short_name:str,"                                                         \
	"code:{hash:str?,arch:str?,origin:\"library|module|linker|jit|file|none\",file:str?,debug_build:bool?,"                           \
	"why_missing:str?},launch:{grid:[int],block:[int],cluster:[int],dyn_smem_bytes:int,cooperative:bool,"                             \
	"pdl:bool},launches:int,graph_node_launches:int,time_us:" TIMES                                                                   \
	",problem:{kind:str,dims:{*:num},dtype:str?^}?,"                                                                                  \
	"effective_gflops:Q,effective_gbps:Q,resources:{registers:int?,registers_allocated:int?,static_smem_bytes:int?,local_bytes:int?," \
	"spill_instructions:int?,uses_syscalls:bool?},occupancy:" OCCUPANCY                                                               \
	",smem_cliff:" SMEM_CLIFF ",sass:" SASS ",no_sass:str?^,work:" WORK ","                                                           \
	"memory:" MEMORY ",sites:[" SITE "],stalls:" STALLS                                                                               \
	",ipc:Q,pipes:{fma:Q,alu:Q,fp64:Q,xu:Q,lsu:Q,tensor:Q},"                                                                          \
	"timeline:[{t_pct:num,sm_active_pct:Q,dram_pct:Q}]?,roofline:" ROOFLINE                                                           \
	",bottleneck:" BOTTLENECK ","                                                                                                     \
	"advice:[" ADVICE "],not_now:[{id:str,why:str}],traps:[" FINDING "],"                                                             \
	"origin:{stacks:[{count:int,frames:[str]}],python:[{count:int,frames:[str]}],nvtx:[{count:int,path:str}]}}"

#define VERDICT "\"improved|regressed|neutral|inconclusive\""

static const struct {
	const char *name, *shape;
} formats[] = {
	{"kbn-report/1",
	 "{schema:str,tool:{version:str},runs:[" RUN "],devices:[" DEVICE "],accounting:" ACCOUNTING
	 ","
	 "timing:{method:str,bias_us:num?,uncertainty_us:num?,self_overhead_pct:num?,gates:int,gate_deadlines:int},"
	 "totals:{kernel_time_us:Q,busy_pct:Q,gap_us:Q,copy_time_us:Q,copy_bytes:int?,copy_overlap_pct:Q},"
	 "kernels:[" KERNEL "],advice:[" ADVICE "],notes:[" FINDING "]}"},
	{"kbn-devices/1",
	 "{schema:str,architectures:[{sm:str,chips:str,reference_product:str?,warps_per_sm:int,blocks_per_sm:int,"
	 "smem_per_sm_kb:int,smem_configs_kb:[int],caveat:str?,sources:{limits:str,rates:str,tensor:str,cycles:str}}],"
	 "products:[{name:str,chip:str?,sm:str,class:\"datacenter|pro|geforce|capped|integrated\",sm_count:int,"
	 "boost_mhz:int,tensor_mhz:int,bus_bits:int,memory_mhz:int,dram_gbps:num,l2_bytes:int,watts:int,peaks:" PEAKS
	 ","
	 "published_cliff_bytes:int?,profile:bool,note:str?,source:str}]}"},
	{"kbn-sass/1",
	 "{schema:str,file:str,images:[{index:int,arch:str,kind:\"cubin\",hash:str,functions:[{name:str,name_hex:str^,bytes:int,"
	 "instructions:int,undecoded:int,mnemonics:{*:int}^,code:[{offset:int,mnemonic:str,text:str,encoding:str,"
	 "stall:int,yield:bool,wbar:int?,rbar:int?,wait:int,reuse:int,target:int?,line:str?}]^}]}]}"},
	{"kbn-diff/1",
	 "{schema:str,comparable:bool,why_not:[str],verdict:" VERDICT ",run_change_pct:Q,"
	 "kernels:[{match:\"code|name|added|removed\",base:str?,new:str?,short_name:str,base_us:num?,new_us:num?,"
	 "change_pct:num?,noise_pct:num?,share_pct:num?,effect_pct:num?,verdict:" VERDICT
	 ",because:[str]}]}"},
	{"kbn-occupancy/1", "{schema:str,occupancy:" OCCUPANCY ",smem_cliff:" SMEM_CLIFF "}"},
};
#define FORMATS (sizeof(formats) / sizeof(*formats))

const char *const schema_names[] = {"kbn-report/1", "kbn-devices/1",   "kbn-sass/1",
				    "kbn-diff/1",   "kbn-occupancy/1", NULL};
_Static_assert(sizeof(schema_names) / sizeof(*schema_names) == FORMATS + 1, "one name per format");

static json_t *type_of(const char **at);

/* The text from *at to the first of `ends`, without moving past it. */
static json_t *word(const char **at, const char *ends)
{
	size_t n = strcspn(*at, ends);
	json_t *s = json_stringn(*at, n);

	*at += n;
	return s;
}

static void eat(const char **at, char c)
{
	assert(**at == c);
	(*at)++;
}

static json_t *object_type(const char **at)
{
	json_t *o = json_pack("{s:s}", "type", "object"), *properties = json_object(),
	       *required = json_array();

	while (**at != '}') {
		json_t *key = word(at, ":"), *type;

		eat(at, ':');
		type = type_of(at);
		if (strcmp(json_string_value(key), "*") == 0) {
			json_object_set_new(o, "additionalProperties", type);
			json_decref(key);
		} else {
			json_object_set_new(properties, json_string_value(key), type);
			if (**at != '^')
				json_array_append(required, key);
			json_decref(key);
		}
		if (**at == '^')
			eat(at, '^');
		if (**at == ',')
			eat(at, ',');
	}
	eat(at, '}');
	json_object_set_new(o, "required", required);
	json_object_set_new(o, "properties", properties);
	return o;
}

static json_t *enum_type(const char **at)
{
	json_t *list = json_array();

	while (**at != '"') {
		json_array_append_new(list, word(at, "|\""));
		if (**at == '|')
			eat(at, '|');
	}
	eat(at, '"');
	return json_pack("{s:o}", "enum", list);
}

static json_t *named_type(const char **at)
{
	static const struct {
		const char *name, *type;
	} words[] = {
		{"str", "string"},
		{"int", "integer"},
		{"num", "number"},
		{"bool", "boolean"},
	};

	if (**at == 'Q') {
		eat(at, 'Q');
		return json_pack("{s:s}", "$ref", "#/$defs/quantity");
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strncmp(*at, words[i].name, strlen(words[i].name)) == 0) {
			*at += strlen(words[i].name);
			return json_pack("{s:s}", "type", words[i].type);
		}
	assert(!"a type that the notation has");
	return NULL;
}

static json_t *type_of(const char **at)
{
	json_t *t;

	switch (**at) {
	case '{':
		eat(at, '{');
		t = object_type(at);
		break;
	case '[':
		eat(at, '[');
		t = json_pack("{s:s,s:o}", "type", "array", "items", type_of(at));
		eat(at, ']');
		break;
	case '"':
		eat(at, '"');
		t = enum_type(at);
		break;
	default: t = named_type(at);
	}
	if (**at == '?') {
		eat(at, '?');
		t = json_pack("{s:[o,{s:s}]}", "anyOf", t, "type", "null");
	}
	return t;
}

json_t *schema_make(const char *name)
{
	for (size_t i = 0; i < FORMATS; i++) {
		const char *at = formats[i].shape, *q = QUANTITY;
		json_t *o;

		if (strcmp(formats[i].name, name) != 0)
			continue;
		o = json_pack("{s:s,s:s}", "$schema",
			      "https://json-schema.org/draft/2020-12/schema", "title", name);
		json_object_set_new(o, "$defs", json_pack("{s:o}", "quantity", type_of(&q)));
		json_object_update_new(o, type_of(&at));
		assert(*at == '\0');
		/* The first key names the format, and only this one. */
		json_object_set_new(json_object_get(json_object_get(o, "properties"), "schema"),
				    "const", json_string(name));
		return o;
	}
	return NULL;
}
