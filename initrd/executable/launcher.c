/*
 * The launcher: the front of the file `kindling-agent`.
 *
 * An initramfs has no C library, but Node is linked against one. This program makes Node run anyway, from one
 * file: behind its own few kilobytes that file carries Node, the dynamic linker (ld.so) and the shared libraries,
 * laid out by pack.ts so that the kernel can map them where they lie. Nothing is unpacked, no second program is
 * started, no environment variable is needed, and /proc/self/exe (process.execPath) stays this one file.
 *
 *   1 open this very file           5 give each library a file of its own (memfd)
 *   2 check that it is whole        6 tell ld.so where Node lies (auxiliary vector)
 *   3 map Node                      7 jump into ld.so, which finds the libraries and starts Node
 *   4 map ld.so
 *
 * Everything clever is decided at build time and written into `payload` below; here it is only carried out.
 * The program stands alone: no C library, only system calls of x86-64 Linux (man 2 syscall).
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { MAX_MAPPINGS = 48, MAX_LIBRARIES = 16 };

/* One piece of address space. A piece without file contents is zeros: untouched memory of a program. */
struct mapping {
  uint64_t address; /* where it must be; for ld.so: relative to where ld.so is put */
  uint64_t size;
  uint64_t file_offset; /* 0: no contents */
  uint64_t protection;
};

/* A shared library. ld.so opens it under the name that stands at `path`, memory of Node that pack.ts has set aside
 * and filled with "/proc/self/fd/"; the number is known only here. */
struct library {
  uint64_t file_offset;
  uint64_t size;
  uint64_t checksum;
  uint64_t path_number; /* address of the place for the number */
};

/* Filled in by pack.ts, which finds it by its first field. */
static volatile struct {
  char marker[16];
  uint64_t table_checksum; /* over everything after it */
  uint64_t file_size;
  uint64_t node_entry, node_headers, node_header_count;
  uint64_t linker_entry, linker_span; /* linker_span: address space ld.so takes */
  uint64_t node_mappings, linker_mappings, libraries;
  struct mapping mapping[MAX_MAPPINGS]; /* first those of Node, then those of ld.so */
  struct library library[MAX_LIBRARIES];
} payload = {.marker = "KINDLING-PAYLOAD"};

static long system_call(long number, long a, long b, long c, long d, long e, long f) {
  register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}
#define CALL(number, a, b, c) system_call(number, (long)(a), (long)(b), (long)(c), 0, 0, 0)

static void say(const char *text) {
  long length = 0;
  while (text[length]) length++;
  CALL(SYS_write, 2, text, length);
}

static void fail(const char *reason) {
  say("KND_EXECUTABLE_BROKEN: kindling-agent cannot start: ");
  say(reason);
  say("\n");
  for (;;) CALL(SYS_exit_group, 127, 0, 0);
}

/* FNV-1a over 64-bit words: finds damage, not malice (that is what the signature of the Micro-OS is for). */
static uint64_t checksum(const volatile void *data, uint64_t size) {
  const volatile uint64_t *word = data;
  uint64_t sum = 0xcbf29ce484222325;
  for (uint64_t i = 0; i < size / 8; i++) sum = (sum ^ word[i]) * 0x100000001b3;
  return sum;
}

static long open_myself(void) {
  long file = CALL(SYS_open, "/proc/self/exe", O_RDONLY | O_CLOEXEC, 0);
  if (file >= 0) return file;
  /* No /proc yet: this may be the first process of a bare initramfs. ld.so and Node need it too. */
  CALL(SYS_mkdir, "/proc", 0555, 0);
  system_call(SYS_mount, (long)"proc", (long)"/proc", (long)"proc", 0, 0, 0);
  file = CALL(SYS_open, "/proc/self/exe", O_RDONLY | O_CLOEXEC, 0);
  if (file < 0) fail("it needs /proc, and could not mount it");
  return file;
}

static void check_whole(long file) {
  const volatile char *after = (const volatile char *)&payload.file_size;
  uint64_t size = (uint64_t)((const volatile char *)&payload + sizeof payload - after);
  if (payload.file_size == 0) fail("it carries no payload (the launcher alone was started)");
  if (checksum(after, size) != payload.table_checksum) fail("its table of contents is damaged");
  if ((uint64_t)CALL(SYS_lseek, file, 0, 2 /* SEEK_END */) != payload.file_size) fail("the file is cut off or has grown");
}

static void map(long file, uint64_t base, const volatile struct mapping *piece, long placement) {
  long contents = piece->file_offset ? MAP_PRIVATE : MAP_PRIVATE | MAP_ANONYMOUS;
  long address = (long)(base + piece->address);
  long got = system_call(SYS_mmap, address, (long)piece->size, (long)piece->protection, contents | placement,
                         piece->file_offset ? file : -1, (long)piece->file_offset);
  if (got != address) fail("a part of it could not be mapped (too little memory?)");
}

/* Node has fixed addresses; nothing else can be there yet, and NOREPLACE makes sure. */
static void map_node(long file) {
  for (uint64_t i = 0; i < payload.node_mappings; i++) map(file, 0, &payload.mapping[i], MAP_FIXED_NOREPLACE);
}

/* ld.so can be anywhere: the kernel chooses a free span, the pieces then go inside it. */
static uint64_t map_linker(long file) {
  long base = system_call(SYS_mmap, 0, (long)payload.linker_span, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base < 0 && base > -4096) fail("there is no address space for ld.so");
  for (uint64_t i = 0; i < payload.linker_mappings; i++)
    map(file, (uint64_t)base, &payload.mapping[payload.node_mappings + i], MAP_FIXED);
  return (uint64_t)base;
}

static void write_number(char *at, long number) {
  char digits[20];
  int count = 0;
  do digits[count++] = (char)('0' + number % 10);
  while (number /= 10);
  while (count) *at++ = digits[--count];
  *at = 0;
}

static void provide_library(long file, const volatile struct library *library) {
  long memory = CALL(SYS_memfd_create, "kindling-library", 1 /* MFD_CLOEXEC */, 0);
  if (memory < 0) fail("memfd_create is not allowed here (Linux 3.17 or newer, vm.memfd_noexec=0)");
  long from = (long)library->file_offset;
  for (uint64_t left = library->size; left;) {
    long sent = system_call(SYS_sendfile, memory, file, (long)&from, (long)left, 0, 0);
    if (sent <= 0) fail("a library could not be copied (too little memory?)");
    left -= (uint64_t)sent;
  }
  long view = system_call(SYS_mmap, 0, (long)library->size, PROT_READ, MAP_SHARED, memory, 0);
  if (view < 0 && view > -4096) fail("a library could not be mapped (too little memory?)");
  if (checksum((void *)view, library->size) != library->checksum) fail("a library inside it is damaged");
  CALL(SYS_munmap, view, library->size, 0);
  write_number((char *)library->path_number, memory);
}

/* The kernel described this launcher to the program it starts; ld.so must see Node instead. */
static void describe_node(Elf64_auxv_t *vector, uint64_t linker_base) {
  for (Elf64_auxv_t *entry = vector; entry->a_type != AT_NULL; entry++) {
    if (entry->a_type == AT_PHDR) entry->a_un.a_val = payload.node_headers;
    if (entry->a_type == AT_PHNUM) entry->a_un.a_val = payload.node_header_count;
    if (entry->a_type == AT_ENTRY) entry->a_un.a_val = payload.node_entry;
    if (entry->a_type == AT_BASE) entry->a_un.a_val = linker_base;
  }
}

/* `stack` is as the kernel left it: argc, argv…, 0, envp…, 0, auxiliary vector. */
__attribute__((noreturn, used)) void launch(uint64_t *stack) {
  char **environment = (char **)(stack + 1 + stack[0] + 1);
  while (*environment) environment++;
  Elf64_auxv_t *vector = (Elf64_auxv_t *)(environment + 1);

  long file = open_myself();
  check_whole(file);
  map_node(file);
  uint64_t linker_base = map_linker(file);
  for (uint64_t i = 0; i < payload.libraries; i++) provide_library(file, &payload.library[i]);
  CALL(SYS_close, file, 0, 0);
  describe_node(vector, linker_base);

  __asm__ volatile("mov %0, %%rsp\n xor %%edx, %%edx\n xor %%ebp, %%ebp\n jmp *%1"
                   :
                   : "r"(stack), "r"(linker_base + payload.linker_entry)
                   : "memory");
  __builtin_unreachable();
}

__asm__(".globl _start\n_start:\n xor %ebp, %ebp\n mov %rsp, %rdi\n and $-16, %rsp\n call launch\n");
