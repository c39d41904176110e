/* Plans that boxes are kept ready for. A request is known by everything it says but its command; what its plan was made from
 * besides, files and what stands at paths, is looked at again each time. */
#include <stdlib.h>
#include <string.h>

#include "common/run/probe.h"
#include "common/service/internal.h"
#include "common/service/stamp.h"

#include "common/base/banned.h"

enum { KEYS_MAX = 128, JOBS_MAX = 8, RETIRED_MAX = 8 };
/* Building a box keeps the loop for milliseconds. Most runs are shorter than what is waited after a start. */
enum { TICK_MS = 2, START_MS = 50, PATIENCE_MS = 100 };
#define PLAN_ARENA_BYTES ((size_t)64 << 20)

struct key {
    char name[SBX_SHA256_HEX]; /* empty: unused */
    uint64_t used;
    struct sbx_plan_entry *entry; /* NULL: it cannot be warm */
    struct sbx_stamps stamps;
};

/* A request that is to be looked at. */
struct job {
    char name[SBX_SHA256_HEX];
    struct sbx_arena arena;
    struct sbx_wire_run_start asked;
};

struct sbx_plans {
    struct sbx_service *service;
    struct sbx_port_warm *warm;
    struct sbx_probe_cache probes;
    struct key keys[KEYS_MAX];
    struct sbx_plan_entry *entries;
    uint64_t clock;
    struct job jobs[JOBS_MAX];
    size_t job_count;
    uv_timer_t tick;
    uint64_t stirred_ms; /* 0: not since the last tick */
    bool is_short;       /* a run found no box: they are built without waiting for a pause */
    struct sbx_port_box *retired[RETIRED_MAX];
    size_t retired_count;
    bool is_closed;
};

/* ---- entries ---- */

static void drop_retired(struct sbx_plans *plans)
{
    while (plans->retired_count > 0) sbx_port_box_drop(plans->retired[--plans->retired_count]);
}

void sbx_plan_entry_drop(struct sbx_plan_entry *entry)
{
    if (--entry->users > 0) return;
    struct sbx_plan_entry **link = &entry->plans->entries;
    while (*link != entry) link = &(*link)->next;
    *link = entry->next;
    drop_retired(entry->plans); /* a plan stays while it has boxes */
    if (entry->base != entry)
        sbx_plan_entry_drop(entry->base);
    else if (entry->plans->warm != NULL)
        sbx_port_warm_forget(entry->plans->warm, &entry->prepared->plan);
    sbx_arena_release(&entry->arena);
    free(entry);
}

static void clear_key(struct key *key)
{
    if (key->entry != NULL) sbx_plan_entry_drop(key->entry);
    sbx_stamps_release(&key->stamps);
    *key = (struct key){0};
}

/* ---- making one ---- */

static void read_flags(const struct sbx_wire_run_start *asked, struct sbx_plan_entry *entry,
                       struct sbx_manifest *flags)
{
    struct sbx_arena *arena = &entry->arena;
    const char *time = sbx_arena_printf(arena, "%lldms", (long long)asked->timeout_ms);
    if (asked->mode.ptr != NULL)
        sbx_manifest_read_flag(arena, "--mode", SBX_KEY_MODE, asked->mode, &entry->findings, flags);
    if (asked->profile.ptr != NULL)
        sbx_manifest_read_flag(arena, "--profile", SBX_KEY_PROFILE, asked->profile,
                               &entry->findings, flags);
    if (asked->timeout_ms > 0 && time != NULL)
        sbx_manifest_read_flag(arena, "--timeout", SBX_KEY_TIMEOUT, sbx_str(time), &entry->findings,
                               flags);
}

static bool prepare(struct sbx_plans *plans, const struct sbx_wire_run_start *asked,
                    struct sbx_plan_entry *entry, struct sbx_stamps *stamps)
{
    static const char *const nothing[] = {NULL};
    struct sbx_err ignored = {0};
    struct sbx_manifest flags = {0};
    struct sbx_context context;
    entry->setup = SBX_NEW(&entry->arena, struct sbx_setup);
    entry->prepared = SBX_NEW(&entry->arena, struct sbx_prepared);
    if (entry->setup == NULL || entry->prepared == NULL ||
        sbx_os_context(&entry->arena, &context, &ignored) != SBX_OK ||
        !sbx_stamps_take(stamps, &context, asked->manifest_file.ptr, asked->manifest.ptr != NULL))
        return false;
    sbx_stamps_watch(stamps, &context);
    read_flags(asked, entry, &flags);
    struct sbx_setup_input input = {.arena = &entry->arena,
                                    .findings = &entry->findings,
                                    .manifest_named = asked->manifest_file.ptr,
                                    .manifest_text = asked->manifest,
                                    .flags = &flags};
    if (sbx_setup_read(&input, &context, entry->setup, &ignored) != SBX_OK) return false;
    struct sbx_prepare_input prepare = {
        .manifest = &entry->setup->manifest,
        .context = &entry->setup->context,
        .ceiling = &entry->setup->ceiling,
        .request = sbx_os_env(&entry->arena, "SBX_SANDBOX"),
        .opt_in = sbx_os_env(&entry->arena, "SBX_ALLOW_NO_SANDBOX"),
        .command = nothing,
        .probes = &plans->probes,
    };
    bool ok = sbx_prepare(&entry->arena, &prepare, &entry->findings, entry->prepared, &ignored) ==
                  SBX_OK &&
              sbx_plan_digest_begin(&entry->prepared->plan, &entry->begun) &&
              sbx_plan_digest_end(&entry->begun, nothing, entry->digest);
    sbx_stamps_watched(stamps, &entry->setup->context);
    return ok && !stamps->is_full;
}

/* Equal plans use the same boxes. */
static bool keep(struct sbx_plans *plans, struct sbx_plan_entry *entry)
{
    entry->base = entry;
    for (struct sbx_plan_entry *other = plans->entries; other != NULL; other = other->next) {
        if (other->base != other || strcmp(other->digest, entry->digest) != 0) continue;
        entry->base = other;
        other->users++;
        return true;
    }
    return sbx_port_warm_keep(plans->warm, &entry->prepared->plan);
}

static struct sbx_plan_entry *make_entry(struct sbx_plans *plans,
                                         const struct sbx_wire_run_start *asked,
                                         struct sbx_stamps *stamps)
{
    AUTO_WORDS variables;
    struct sbx_plan_entry *entry = (struct sbx_plan_entry *)calloc(1, sizeof *entry);
    sbx_words_init(&variables);
    if (entry == NULL) return NULL;
    entry->plans = plans;
    entry->users = 1;
    sbx_arena_init(&entry->arena, PLAN_ARENA_BYTES);
    sbx_findings_init(&entry->findings, &entry->arena);
    bool is_clear =
        asked->cwd.ptr != NULL && (asked->mode.ptr == NULL || asked->profile.ptr == NULL);
    bool ok = is_clear && sbx_words_variables(&variables, asked);
    if (ok) {
        struct sbx_os_whom whom = {asked->cwd.ptr, variables.items};
        sbx_os_caller(&whom);
        ok = prepare(plans, asked, entry, stamps);
        sbx_os_caller(NULL);
    }
    if (ok) ok = keep(plans, entry);
    if (!ok) {
        sbx_arena_release(&entry->arena);
        free(entry);
        return NULL;
    }
    entry->next = plans->entries;
    plans->entries = entry;
    return entry;
}

/* ---- requests that are known ---- */

static void name_request(const struct sbx_wire_run_start *asked, char out[SBX_SHA256_HEX])
{
    struct sbx_sha256 hash;
    const struct sbx_str parts[] = {
        asked->cwd,      {asked->env.first, asked->env.len},
        asked->manifest, asked->manifest_file,
        asked->mode,     asked->profile,
        asked->sandbox,
    };
    sbx_sha256_init(&hash);
    for (size_t i = 0; i < SBX_COUNT(parts); i++) {
        const uint64_t head[] = {parts[i].ptr != NULL, parts[i].len};
        sbx_sha256_add(&hash, head, sizeof head);
        if (parts[i].ptr != NULL) sbx_sha256_add(&hash, parts[i].ptr, parts[i].len);
    }
    const int64_t tail[] = {asked->timeout_ms, asked->allow_no_sandbox};
    sbx_sha256_add(&hash, tail, sizeof tail);
    sbx_sha256_end_hex(&hash, out);
}

static struct key *find_key(struct sbx_plans *plans, const char *name)
{
    for (size_t i = 0; i < KEYS_MAX; i++)
        if (strcmp(plans->keys[i].name, name) == 0) return &plans->keys[i];
    return NULL;
}

static struct key *free_key(struct sbx_plans *plans)
{
    struct key *oldest = &plans->keys[0];
    for (size_t i = 1; i < KEYS_MAX; i++)
        if (plans->keys[i].used < oldest->used) oldest = &plans->keys[i];
    clear_key(oldest);
    return oldest;
}

static void copy_str(struct sbx_arena *arena, struct sbx_str *text)
{
    if (text->ptr == NULL) return;
    text->ptr = sbx_arena_copy(arena, text->ptr, text->len);
}

/* What is needed of it later, when its line is gone. */
static void queue_job(struct sbx_plans *plans, const struct sbx_wire_run_start *asked,
                      const char *name)
{
    if (plans->job_count == JOBS_MAX) return;
    for (size_t i = 0; i < plans->job_count; i++)
        if (strcmp(plans->jobs[i].name, name) == 0) return;
    struct job *job = &plans->jobs[plans->job_count++];
    memcpy(job->name, name, sizeof job->name);
    sbx_arena_init(&job->arena, 16u << 20);
    job->asked = *asked;
    struct sbx_str env = {asked->env.first, asked->env.len};
    struct sbx_str *const parts[] = {&job->asked.cwd,
                                     &job->asked.manifest,
                                     &job->asked.manifest_file,
                                     &job->asked.mode,
                                     &job->asked.profile,
                                     &job->asked.sandbox,
                                     &env};
    for (size_t i = 0; i < SBX_COUNT(parts); i++) copy_str(&job->arena, parts[i]);
    job->asked.env.first = env.ptr;
    job->asked.argv = (struct sbx_wire_texts){0};
}

static void do_job(struct sbx_plans *plans)
{
    struct job job = plans->jobs[0];
    memmove(&plans->jobs[0], &plans->jobs[1], --plans->job_count * sizeof job);
    struct key *key = find_key(plans, job.name);
    if (key != NULL)
        clear_key(key);
    else
        key = free_key(plans);
    memcpy(key->name, job.name, sizeof key->name);
    key->used = ++plans->clock;
    key->entry = make_entry(plans, &job.asked, &key->stamps);
    sbx_arena_release(&job.arena);
}

/* ---- when there is time ---- */

static void on_tick(uv_timer_t *timer)
{
    struct sbx_plans *plans = (struct sbx_plans *)timer->data;
    unsigned next = TICK_MS;
    plans->stirred_ms = 0;
    drop_retired(plans);
    if (plans->job_count > 0)
        do_job(plans);
    else
        next = sbx_port_warm_tend(plans->warm);
    if (next == 0 || next > TICK_MS) plans->is_short = false; /* all are built, or none can be */
    uv_update_time(timer->loop);
    if (next > 0) (void)uv_timer_start(timer, on_tick, next, 0);
}

/* Not while something happens, but not for ever. */
static void stir(struct sbx_plans *plans, unsigned wait_ms)
{
    uv_loop_t *loop = plans->service->loop;
    uv_update_time(loop); /* what this turn of the loop took already is no pause */
    uint64_t now = uv_now(loop);
    if (plans->stirred_ms == 0) plans->stirred_ms = now + 1;
    if (plans->is_short && uv_is_active((uv_handle_t *)&plans->tick)) return;
    if (now - plans->stirred_ms + 1 < PATIENCE_MS)
        (void)uv_timer_start(&plans->tick, on_tick, wait_ms, 0);
}

/* ---- what runs ask ---- */

struct sbx_plan_entry *sbx_plans_find(struct sbx_plans *plans,
                                      const struct sbx_wire_run_start *asked)
{
    char name[SBX_SHA256_HEX];
    if (plans->is_closed) return NULL;
    name_request(asked, name);
    struct key *key = find_key(plans, name);
    if (key == NULL || !sbx_stamps_hold(&key->stamps)) {
        queue_job(plans, asked, name);
        stir(plans, TICK_MS);
        return NULL;
    }
    stir(plans, START_MS);
    key->used = ++plans->clock;
    if (key->entry != NULL) key->entry->users++;
    return key->entry;
}

struct sbx_port_warm *sbx_plans_warm(struct sbx_plans *plans)
{
    return plans->warm;
}

void sbx_plans_stir(struct sbx_plans *plans)
{
    if (plans == NULL || plans->is_closed) return;
    stir(plans, TICK_MS);
}

void sbx_plans_missed(struct sbx_plans *plans)
{
    plans->is_short = true;
    (void)uv_timer_start(&plans->tick, on_tick, TICK_MS, 0);
}

void sbx_plans_retire(struct sbx_plans *plans, struct sbx_port_box *box)
{
    if (box == NULL) return;
    if (plans == NULL || plans->is_closed || plans->retired_count == RETIRED_MAX)
        sbx_port_box_drop(box);
    else
        plans->retired[plans->retired_count++] = box;
}

struct sbx_plans *sbx_plans_new(struct sbx_service *service)
{
    struct sbx_port_warm *warm = sbx_port_warm_open(service->loop, service->limits.warm);
    if (warm == NULL) return NULL;
    struct sbx_plans *plans = (struct sbx_plans *)calloc(1, sizeof *plans);
    if (plans == NULL) {
        sbx_port_warm_close(warm);
        return NULL;
    }
    plans->service = service;
    plans->warm = warm;
    sbx_probe_cache_init(&plans->probes);
    (void)uv_timer_init(service->loop, &plans->tick);
    plans->tick.data = plans;
    return plans;
}

void sbx_plans_close(struct sbx_plans *plans)
{
    if (plans == NULL || plans->is_closed) return;
    plans->is_closed = true;
    uv_close((uv_handle_t *)&plans->tick, NULL);
    drop_retired(plans);
    sbx_port_warm_close(plans->warm);
    plans->warm = NULL;
}

void sbx_plans_free(struct sbx_plans *plans)
{
    if (plans == NULL) return;
    for (size_t i = 0; i < KEYS_MAX; i++) clear_key(&plans->keys[i]);
    for (size_t i = 0; i < plans->job_count; i++) sbx_arena_release(&plans->jobs[i].arena);
    sbx_probe_cache_release(&plans->probes);
    free(plans);
}
