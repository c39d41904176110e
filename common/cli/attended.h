/* A run that a program attends: the service starts sbx as
 *   sbx attended EVENTS,MANIFEST,USER,NET COMMAND…
 * with descriptor numbers, -1 for none. EVENTS gets a line of JSON when the command starts,
 * {"event":"started","backend":…,"plan_digest":…,"evidence":[…]}, and the outcome object as the last one; sbx itself says nothing
 * on the command's streams then. MANIFEST is where a manifest is read from, as JSON. USER and NET are the network of a
 * session. Such an sbx ends with its parent. Not for people: no help names it. */
#ifndef SBX_CLI_ATTENDED_H
#define SBX_CLI_ATTENDED_H

#include "common/cli/command.h"

/* Takes the two words off; false after a message. */
bool sbx_attended_begin(struct sbx_cli *cli, int *argc, const char *const **argv) SBX_MUST_USE;

/* The manifest that was passed; untouched when there is none. */
enum sbx_code sbx_attended_manifest(struct sbx_cli *cli, struct sbx_str *out,
                                    struct sbx_err *err) SBX_MUST_USE;

/* From here on the start of the command is told. `prepared` stays. */
void sbx_attended_expect(const struct sbx_cli *cli, const struct sbx_prepared *prepared);

#endif
