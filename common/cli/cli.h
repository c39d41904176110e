/* The command line. */
#ifndef SBX_CLI_CLI_H
#define SBX_CLI_CLI_H

/* argv is strict UTF-8. Returns the process's exit status (a Windows status has 32 bits; cast). */
int sbx_cli_main(int argc, const char *const *argv);

#endif
