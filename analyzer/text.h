/*
 * text.h - text for people and for JSON: formatted strings in an arena, UTF-8 that is always valid,
 * numbers with the digits that mean something. Knows no module above it.
 */
#ifndef KBN_TEXT_H
#define KBN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
/* A real with three or four significant digits: "0.612", "12.3", "1,234"; "-" when not known. */
char *text_real(char out[TEXT_NUMBER], double v);
/* A ratio that is read near 1, with up to four digits: "0.062", "1.001", "62.06", "1,234"; "-" when not known. */
char *text_ratio(char out[TEXT_NUMBER], double v);
/* A time given in us, with its unit: "0.612 us", "1.23 ms", "4.50 s"; "-" when not known. */
char *text_us(char out[TEXT_NUMBER], double us);
/* Bytes: "49 KB", "512 B", "4.3 GB"; "-" when negative. */
char *text_bytes(char out[TEXT_NUMBER], int64_t bytes);

/* Columns that UTF-8 text takes on a terminal, one per code point. */
size_t text_columns(const char *utf8);

#endif
