/*
 * sass_text.h - an instruction as text, in NVIDIA's notation.
 */
#ifndef KBN_SASS_TEXT_H
#define KBN_SASS_TEXT_H

#include "sass.h"

#define SASS_TEXT_MAX 256u

/*
 * The whole text, guard included, without the final semicolon; of one that is not decoded what is known
 * of it. At most SASS_TEXT_MAX - 1 characters. Its length.
 */
size_t sass_text(int sm, const struct sass_insn *insn, char out[SASS_TEXT_MAX]);

/* The dotted mnemonic alone: LDG.E.128. */
size_t sass_mnemonic(int sm, const struct sass_insn *insn, char out[SASS_TEXT_MAX]);

#endif
