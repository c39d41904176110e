/* What may be a path in a complaint. */
#ifndef SBX_RUN_COMPLAINT_NAMES_H
#define SBX_RUN_COMPLAINT_NAMES_H

#include "common/run/complaint.h"

/* Fills names and name_count; class, error and intent are set already. */
void sbx_complaint_names(enum sbx_path_rules rules, struct sbx_str line, struct sbx_complaint *io);

#endif
