// The `rain` command.
#include "tools/command.h"

int main(int argc, char** argv) { return rain::tools::run_command(argc, argv); }
