// Which instruction sets the kernels are compiled for. Include before hwy/foreach_target.h in every file with kernels.
#pragma once

// Left out, by Highway's fixed target bits: everything better than plain AVX-512 (bits 0-7: its extras are of no use to
// kernels limited by memory) and SSSE3 (bit 12). Remaining on x86: AVX3, AVX2, SSE4 and the compiler's baseline.
#define HWY_DISABLED_TARGETS 0x10ff
