/* Files that become part of the program. Their paths come from CMake. */

/* The bytes [offset, offset + count) of a file, between two symbols; count -1: to its end. */
#define EMBED(name, file, range)     \
  __asm__(                           \
      ".section .rodata\n"           \
      ".balign 64\n"                 \
      ".globl " #name "\n" #name     \
      ":\n"                          \
      ".incbin \"" file "\"" range   \
      "\n"                           \
      ".globl " #name "_end\n" #name \
      "_end:\n"                      \
      ".byte 0\n"                    \
      ".previous\n")

EMBED(model, EDGE_MODEL, "");
/* A star: number 4 of the test images, which follow the 128 bytes of a NumPy header. */
EMBED(picture, EDGE_PICTURES, ", 128 + 4 * 3 * 32 * 32, 3 * 32 * 32");

/* ISO C wants a declaration that is not assembly. */
extern const unsigned char model[];
