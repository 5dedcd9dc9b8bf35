// exp from IEEE basic operations alone. The C library's differs in the last bit between versions and CPUs (it
// picks fused multiply-add at run time), and one bit is enough for two machines to draw different workloads
// from one seed. Compiled without contraction of a * b + c; see CMakeLists.txt.
#pragma once

namespace rain::workload {

/// e to the power of x, for x in [-700, 700] (clamped to it); relative error below 1e-13.
double exact_exp(double x);

}  // namespace rain::workload
