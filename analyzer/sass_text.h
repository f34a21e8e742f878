/*
 * sass_text.h - an instruction as text, in the notation of NVIDIA's disassembler (nvdisasm). For what
 * sass_decode() filled, with the same architecture.
 */
#ifndef KBN_SASS_TEXT_H
#define KBN_SASS_TEXT_H

#include "sass.h"

#define SASS_TEXT_MAX 256u

/*
 * The whole text, guard included, without the final semicolon: "@!P0 LDG.E.64 R4, [R2.64+0x10]". Of one
 * that is not decoded what is known of it ("UNKNOWN" without a row; ".?" for a field's value without a
 * name). Cut at SASS_TEXT_MAX - 1 characters, always ended with a NUL. Its length.
 */
size_t sass_text(int sm, const struct sass_insn *insn, char out[SASS_TEXT_MAX]);

/* The dotted mnemonic alone, that is the operation and its modifiers: LDG.E.128. The same otherwise. */
size_t sass_mnemonic(int sm, const struct sass_insn *insn, char out[SASS_TEXT_MAX]);

#endif
