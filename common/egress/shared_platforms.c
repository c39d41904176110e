/* Shared platforms: one host or one domain with many tenants who do not trust each other. Whoever
 * may reach all of it may hand data to anybody, so only one tenant's exact host can be allowed.
 *
 * To add a row: the apex in normal form, its category, where you learned it. Rows may nest; the
 * longest one counts. A host whose tenants differ only by path (a paste site) has no exact host
 * below it, so nothing there can be allowed in advance. */
#include <string.h>

#include "common/egress/host_parts.h"

#include "common/base/banned.h"

#define SEED "FerroxLabs/wayland-core crates/wcore-agent/src/egress/classify.rs"
#define SUFFIX "publicsuffix.org, private section"
#define OURS "sbx"

static const struct sbx_shared_platform platforms[] = {
    /* Sites whose pages anybody writes. */
    {"raw.githubusercontent.com", "code", SEED},
    {"gist.github.com", "code", SEED},
    {"gist.githubusercontent.com", "code", SEED},
    {"githubusercontent.com", "code", SEED},
    {"github.io", "code", SEED},
    {"gitlab.io", "code", SEED},
    {"codesandbox.io", "code", OURS},
    {"stackblitz.io", "code", OURS},

    {"pastebin.com", "paste", SEED},
    {"paste.ee", "paste", SEED},
    {"ghostbin.com", "paste", SEED},
    {"hastebin.com", "paste", SEED},
    {"termbin.com", "paste", SEED},
    {"dpaste.com", "paste", OURS},
    {"rentry.co", "paste", OURS},
    {"justpaste.it", "paste", OURS},
    {"controlc.com", "paste", OURS},

    {"transfer.sh", "file-drop", OURS},
    {"file.io", "file-drop", OURS},
    {"0x0.st", "file-drop", OURS},
    {"temp.sh", "file-drop", OURS},
    {"catbox.moe", "file-drop", OURS},
    {"gofile.io", "file-drop", OURS},

    /* Buckets are hosts, or paths of one host; a presigned URL reaches any of them. */
    {"amazonaws.com", "object-storage", SEED},
    {"s3.amazonaws.com", "object-storage", SUFFIX},
    {"blob.core.windows.net", "object-storage", SEED},
    {"storage.googleapis.com", "object-storage", SEED},
    {"r2.cloudflarestorage.com", "object-storage", SEED},
    {"digitaloceanspaces.com", "object-storage", SEED},
    {"file.core.windows.net", "object-storage", OURS},
    {"backblazeb2.com", "object-storage", OURS},
    {"wasabisys.com", "object-storage", OURS},
    {"aliyuncs.com", "object-storage", OURS},
    {"myqcloud.com", "object-storage", OURS},

    {"cloudfront.net", "cdn", SUFFIX},
    {"azureedge.net", "cdn", OURS},
    {"fastly.net", "cdn", OURS},

    {"ngrok.io", "tunnel", SEED},
    {"ngrok-free.app", "tunnel", SEED},
    {"ngrok.app", "tunnel", SEED},
    {"trycloudflare.com", "tunnel", SEED},
    {"ngrok.dev", "tunnel", OURS},
    {"loca.lt", "tunnel", OURS},
    {"serveo.net", "tunnel", OURS},
    {"localhost.run", "tunnel", OURS},
    {"lhr.life", "tunnel", OURS},
    {"tunnelmole.net", "tunnel", OURS},
    {"devtunnels.ms", "tunnel", OURS},

    /* Anybody's program behind a host name that costs nothing. */
    {"workers.dev", "serverless", SEED},
    {"vercel.app", "serverless", SEED},
    {"netlify.app", "serverless", SEED},
    {"pages.dev", "serverless", SEED},
    {"onrender.com", "serverless", SEED},
    {"herokuapp.com", "serverless", SEED},
    {"glitch.me", "serverless", SEED},
    {"repl.co", "serverless", SEED},
    {"replit.dev", "serverless", SEED},
    {"azurewebsites.net", "serverless", SUFFIX},
    {"azurestaticapps.net", "serverless", SUFFIX},
    {"cloudfunctions.net", "serverless", SUFFIX},
    {"run.app", "serverless", SUFFIX},
    {"web.app", "serverless", SUFFIX},
    {"firebaseapp.com", "serverless", SUFFIX},
    {"firebaseio.com", "serverless", OURS},
    {"appspot.com", "serverless", SUFFIX},
    {"supabase.co", "serverless", SUFFIX},
    {"fly.dev", "serverless", SUFFIX},
    {"railway.app", "serverless", OURS},
    {"deno.dev", "serverless", SUFFIX},
    {"script.google.com", "serverless", OURS},

    /* Messages to a channel that the sender chooses. */
    {"hooks.slack.com", "webhook", OURS},
    {"api.telegram.org", "webhook", OURS},

    /* Made to record who calls and with what. */
    {"requestbin.com", "canary", SEED},
    {"requestbin.net", "canary", SEED},
    {"pipedream.net", "canary", SEED},
    {"webhook.site", "canary", SEED},
    {"beeceptor.com", "canary", SEED},
    {"burpcollaborator.net", "canary", SEED},
    {"oast.fun", "canary", SEED},
    {"oast.live", "canary", SEED},
    {"oast.pro", "canary", SEED},
    {"oast.site", "canary", SEED},
    {"oastify.com", "canary", SEED},
    {"interact.sh", "canary", SEED},
    {"canarytokens.com", "canary", SEED},
    {"oast.me", "canary", OURS},
    {"oast.online", "canary", OURS},
    {"dnslog.cn", "canary", OURS},
    {"ceye.io", "canary", OURS},
    {"requestcatcher.com", "canary", OURS},
    {"hookbin.com", "canary", OURS},
    {"canarytokens.org", "canary", OURS},
};

const struct sbx_shared_platform *sbx_shared_platform_at(size_t index)
{
    return index < SBX_COUNT(platforms) ? &platforms[index] : NULL;
}

const struct sbx_shared_platform *sbx_shared_platform_over(const char *name)
{
    const struct sbx_shared_platform *best = NULL;
    for (size_t i = 0; i < SBX_COUNT(platforms); i++) {
        bool longer = best == NULL || strlen(platforms[i].apex) > strlen(best->apex);
        if (longer && sbx_host_name_is_under(name, platforms[i].apex)) {
            best = &platforms[i];
        }
    }
    return best;
}

const struct sbx_shared_platform *sbx_shared_platform_below(const char *name)
{
    for (size_t i = 0; i < SBX_COUNT(platforms); i++) {
        bool same = strcmp(platforms[i].apex, name) == 0;
        if (!same && sbx_host_name_is_under(platforms[i].apex, name)) {
            return &platforms[i];
        }
    }
    return NULL;
}

const struct sbx_shared_platform *sbx_shared_platform_of(struct sbx_str host)
{
    struct sbx_host read;
    if (sbx_host_read(host, &read) != SBX_FLAW_NONE || read.is_address) {
        return NULL;
    }
    return sbx_shared_platform_over(read.text);
}
