/* Host groups: lists a manifest opts into with "@name". Nothing here is allowed by default.
 *
 * A member is one exact host in normal form that a tool of that kind needs; never a shared platform
 * (a test says so). */
#include "common/egress/host_parts.h"

#include "common/base/banned.h"

static const char *const git_members[] = {
    "api.bitbucket.org",
    "api.github.com",
    "bitbucket.org",
    "codeberg.org",
    "codeload.github.com", /* archives */
    "dev.azure.com",
    "git.sr.ht",
    "github.com",
    "gitlab.com",
    "ssh.dev.azure.com",
    "ssh.github.com", /* SSH on 443 */
    NULL,
};

static const char *const llm_members[] = {
    "api.anthropic.com",
    "api.cerebras.ai",
    "api.cohere.com",
    "api.deepseek.com",
    "api.fireworks.ai",
    "api.groq.com",
    "api.mistral.ai",
    "api.moonshot.ai",
    "api.openai.com",
    "api.perplexity.ai",
    "api.together.xyz",
    "api.x.ai",
    "generativelanguage.googleapis.com",
    "openrouter.ai",
    "router.huggingface.co",
    NULL,
};

static const char *const registries_members[] = {
    "api.nuget.org",
    "crates.io",
    "files.pythonhosted.org",
    "hex.pm",
    "index.crates.io",
    "index.rubygems.org",
    "plugins.gradle.org",
    "proxy.golang.org",
    "pypi.org",
    "registry.yarnpkg.com",
    "repo.hex.pm",
    "repo.maven.apache.org",
    "repo.packagist.org",
    "repo1.maven.org",
    "rubygems.org",
    "static.crates.io",
    "sum.golang.org",
    NULL,
};

static const struct sbx_host_group groups[] = {
    {"git", "code hosting: fetch, push and the hosts' APIs (\"@git:22\" for SSH)", git_members},
    {"llm", "APIs of language-model providers", llm_members},
    {"registries", "package registries of programming languages", registries_members},
};

const struct sbx_host_group *sbx_host_group_at(size_t index)
{
    return index < SBX_COUNT(groups) ? &groups[index] : NULL;
}

const struct sbx_host_group *sbx_host_group_named(struct sbx_str name)
{
    for (size_t i = 0; i < SBX_COUNT(groups); i++) {
        if (sbx_str_is_nocase(name, groups[i].name)) {
            return &groups[i];
        }
    }
    return NULL;
}
