// Compiled alone with -ffreestanding -fno-exceptions -fno-rtti, and with clang for -target bpf: every program
// must stay free of the hosted library, so that it can move into a kernel hook. It is compiled, not run.
#include "dataplane/budget.h"
#include "dataplane/jsq.h"
#include "dataplane/rain.h"
#include "dataplane/rain_paper.h"
#include "dataplane/random.h"
#include "dataplane/round_robin.h"
#include "dataplane/soft_memory.h"

template class rain::dataplane::RainProgram<rain::dataplane::SoftMemory, 2>;
template class rain::dataplane::RainProgram<rain::dataplane::SoftMemory, 4>;
template class rain::dataplane::RainProgram<rain::dataplane::SoftMemory, 8>;
template class rain::dataplane::RainPaperProgram<rain::dataplane::SoftMemory>;
template class rain::dataplane::RandomProgram<rain::dataplane::SoftMemory>;
template class rain::dataplane::RoundRobinProgram<rain::dataplane::SoftMemory>;
template class rain::dataplane::JsqProgram<rain::dataplane::SoftMemory>;
