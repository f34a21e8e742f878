/*
 * text.h - text for people and for JSON: formatted strings in an arena, UTF-8 that is always valid,
 * numbers with the digits that mean something. Knows no module above it.
 */
#ifndef KBN_TEXT_H
#define KBN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct arena;

/* printf into the arena; NULL when memory has run out. */
char *text_format(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * `bytes` as valid UTF-8 without control characters: every byte that is not part of a well-formed
 * sequence becomes U+FFFD. *changed (may be NULL) tells whether anything was replaced; then the text is
 * a copy in the arena, otherwise it is `bytes` itself. NULL when memory has run out.
 */
const char *text_utf8(struct arena *a, const char *bytes, bool *changed);

/* Lower-case hex of `n` bytes. NULL when memory has run out. */
char *text_hex(struct arena *a, const void *bytes, size_t n);

/* `one` when n is 1, else `many`. */
const char *text_plural(uint64_t n, const char *one, const char *many);

#define TEXT_NUMBER 32

/* "72,439". */
char *text_count(char out[TEXT_NUMBER], uint64_t n);
/* The same, "-" when negative. */
char *text_int(char out[TEXT_NUMBER], int64_t n);
/*
 * Rounding hides nothing in what follows: what is not zero never reads 0, what is not whole never reads
 * like what is ("<0.001", ">2.000", "16.00" beside "16", ">99.9%").
 */
/* A real with three or four significant digits: "0.612", "12.3", "1,234"; "-" when not known. */
char *text_real(char out[TEXT_NUMBER], double v);
/* A ratio that is read near whole numbers: "0.062", "1.001", "62.06", "2", ">2.000"; "-" when not known. */
char *text_ratio(char out[TEXT_NUMBER], double v);
/*
 * Percent with its sign, in at most 6 columns below 1,000: exact up to two decimals ("12.5%", "31.25%",
 * "100%"), else three digits of which two are decimals at most ("93.7%", "3.75%", "<0.01%"); "-" when
 * not known.
 */
char *text_pct(char out[TEXT_NUMBER], double pct);
/* A time given in us, with its unit: "0.612 us", "1.23 ms", "4.50 s"; "-" when not known. */
char *text_us(char out[TEXT_NUMBER], double us);
/* Bytes: "49 KB", "512 B", "4.3 GB"; "-" when negative. */
char *text_bytes(char out[TEXT_NUMBER], int64_t bytes);

/* Columns that UTF-8 text takes on a terminal, one per code point. */
size_t text_columns(const char *utf8);

/*
 * How far `typed` is from `meant`: letters to add, take away, change or swap with the next one; 0 when
 * `meant` begins with what was typed. TEXT_FAR or more is not a slip of the fingers.
 */
int text_distance(const char *typed, const char *meant);
#define TEXT_FAR 3

#define TEXT_LINE 1024 /* room for what is put together in one paragraph */

/*
 * A paragraph behind `lead`, broken at blanks to fit `columns`, with an indent as wide as `lead`; a
 * newline at the end. A word that is wider than the room for it is not broken.
 */
void text_wrapped(const char *lead, const char *utf8, int columns, FILE *out);

#endif
