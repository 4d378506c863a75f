/*
 * The site's loader: an EFI program that starts one kernel, with one command line, and only over the initramfs and config
 * archive whose hashes it holds. The firmware's Secure Boot checks a signature over the loader; the loader checks everything
 * else, so that one signature covers the whole Micro-OS although its parts come from different servers. A unified kernel image
 * cannot do that: it has the initramfs inside, and takes no second one (docs/decisions/081-the-sites-loader.md).
 *
 * The kernel bears no signature of the site: signed, the firmware would start it by itself, with any initramfs. So the loader
 * does not ask the firmware to start it but maps it and jumps (docs/decisions/130-no-signed-kernel.md).
 *
 * Sections that the build adds (micro-os/site-loader.ts): .linux the kernel, .cmdline its arguments, .pins the hashes, .sbat.
 * It has no writable globals and no pointers in constants: the code runs wherever the firmware puts it, without relocation.
 */
#include "efi.h"
#include "sha256.h"

/* One part of what the boot program hands over as initrd, in this order. */
typedef struct {
  u64 size;
  u8 sha256[32];
  char name[24];
} pin;

typedef struct {
  u64 count;
  pin pins[];
} pin_list;

typedef struct {
  const u8 *data;
  u64 size;
} bytes;

static const guid LOADED_IMAGE = {0x5b1b31a1, 0x9562, 0x11d2, {0x8e, 0x3f, 0x00, 0xa0, 0xc9, 0x69, 0x72, 0x3b}};
static const guid MEMORY_ATTRIBUTE = {0xf4560cf6, 0x40ec, 0x4b4a, {0xa1, 0x92, 0xbf, 0x1d, 0x57, 0xd0, 0xb1, 0x89}};
static const guid LOAD_FILE2 = {0x4006c0c1, 0xfcb3, 0x403e, {0x99, 0x6d, 0x4a, 0x6c, 0x87, 0x24, 0xe0, 0x6d}};

/* Where boot programs offer the initrd to a Linux kernel: a vendor media path with Linux' own GUID, then the end node. */
static const u8 INITRD_PATH[] = {0x04, 0x03, 20,   0,    0x27, 0xe4, 0x68, 0x55, 0xfc, 0x68, 0x3d, 0x4f,
                                 0xac, 0x74, 0xca, 0x55, 0x52, 0x31, 0xcc, 0x68, 0x7f, 0xff, 4,    0};

/* How much of an ignored argument is shown: a console line. */
#define LONGEST_SHOWN 60

static void print(system_table *system, const char *text) {
  char16 wide[2] = {0, 0};
  for (; *text; text++) {
    if (*text == '\n') system->console_out->output_string(system->console_out, u"\r");
    wide[0] = (u8)*text;
    system->console_out->output_string(system->console_out, wide);
  }
}

static void print_hash(system_table *system, const u8 hash[32]) {
  char text[65];
  for (int i = 0; i < 64; i++) {
    u8 digit = hash[i / 2] >> (i % 2 ? 0 : 4) & 15;
    text[i] = (char)(digit < 10 ? '0' + digit : 'a' + digit - 10);
  }
  text[64] = 0;
  print(system, text);
}

static status refuse(system_table *system, const pin *part, const char *what) {
  print(system, "\nKND_LOADER_REFUSED: ");
  print(system, part ? part->name : "the initrd");
  print(system, what);
  print(system, "\n");
  return SECURITY_VIOLATION;
}

static int is_named(const u8 *section, const char *name) {
  for (int i = 0; i < 8; i++) {
    if (section[i] != (u8)name[i]) return 0;
    if (!name[i]) return 1;
  }
  return 1;
}

static u32 word(const u8 *at) { return at[0] | at[1] << 8 | at[2] << 16 | (u32)at[3] << 24; }

/* A section of this program where the firmware has put it (Microsoft "PE Format", COFF header and section table). */
static bytes section(const loaded_image *self, const char *name) {
  const u8 *pe = self->image_base + word(self->image_base + 0x3c);
  u32 count = word(pe + 6) & 0xffff;
  const u8 *table = pe + 24 + (word(pe + 20) & 0xffff);
  for (u32 i = 0; i < count; i++, table += 40)
    if (is_named(table, name)) return (bytes){self->image_base + word(table + 12), word(table + 8)};
  return (bytes){0, 0};
}

/* What a kernel asks for its initrd. The first part is the protocol: a kernel hands us back its address. */
typedef struct {
  load_file2 protocol;
  bytes contents;
} initrd_provider;

static status EFIAPI give_initrd(load_file2 *self, const device_path *path, u8 boot_policy, u64 *size, void *buffer) {
  bytes contents = ((initrd_provider *)self)->contents;
  u64 room = buffer ? *size : 0;
  (void)path, (void)boot_policy;
  *size = contents.size;
  if (room < contents.size) return BUFFER_TOO_SMALL;
  for (u64 i = 0; i < contents.size; i++) ((u8 *)buffer)[i] = contents.data[i];
  return 0;
}

/* What the boot program loaded for the kernel: all initrds, one after the other. iPXE gives them once only. */
static status read_initrd(system_table *system, handle *owner, load_file2 **file, bytes *initrd) {
  const device_path *path = (const device_path *)INITRD_PATH;
  void *buffer;
  u64 size = 0;
  status result = system->boot->locate_device_path(&LOAD_FILE2, &path, owner);
  if (FAILED(result)) return result;
  result = system->boot->handle_protocol(*owner, &LOAD_FILE2, (void **)file);
  if (FAILED(result)) return result;
  result = (*file)->load_file(*file, path, 0, &size, 0);
  if (result != BUFFER_TOO_SMALL) return FAILED(result) ? result : NOT_FOUND;
  result = system->boot->allocate_pool(LOADER_DATA, size, &buffer);
  if (FAILED(result)) return result;
  result = (*file)->load_file(*file, path, 0, &size, buffer);
  *initrd = (bytes){buffer, size};
  return result;
}

/* Every pinned part, in order, nothing but zeros (padding, which the kernel skips too) between and after. */
static status check(system_table *system, bytes initrd, const pin_list *list) {
  u64 at = 0;
  for (u64 i = 0; i < list->count; i++) {
    const pin *part = &list->pins[i];
    while (at < initrd.size && !initrd.data[at]) at++;
    if (initrd.size - at < part->size) return refuse(system, part, " is missing or cut off");
    u8 digest[32];
    sha256(initrd.data + at, part->size, digest);
    for (int byte = 0; byte < 32; byte++) {
      if (digest[byte] == part->sha256[byte]) continue;
      print(system, "\nKND_LOADER_REFUSED: signed is sha256 ");
      print_hash(system, part->sha256);
      print(system, "\n                    but loaded was ");
      print_hash(system, digest);
      return refuse(system, part, " is not the one this site has signed");
    }
    at += part->size;
  }
  for (; at < initrd.size; at++)
    if (initrd.data[at]) return refuse(system, 0, " holds more than this site has signed");
  return 0;
}

static int starts_with(const char16 *text, u64 length, const char *prefix) {
  for (u64 i = 0; prefix[i]; i++)
    if (i == length || text[i] != (char16)prefix[i]) return 0;
  return 1;
}

/* What a boot script may add to the signed command line: who the machine is and when it did what. Nothing that decides. */
static int is_harmless(const char16 *argument, u64 length) {
  int known = starts_with(argument, length, "worker_id=") || starts_with(argument, length, "IP=") ||
              starts_with(argument, length, "hw_addr=") || starts_with(argument, length, "s_vmlinux_") ||
              starts_with(argument, length, "s_initramfs_") || starts_with(argument, length, "s_netconf_");
  for (u64 i = 0; i < length && known; i++) {
    char16 c = argument[i];
    known = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '=' ||
            c == ':' || c == '.' || c == '-';
  }
  return known;
}

/* Whether the signed command line has this very argument; a boot script repeats them all, for machines without the loader. */
static int is_signed(bytes own, const char16 *argument, u64 length) {
  for (u64 start = 0; start < own.size && own.data[start];) {
    u64 end = start, same = 0;
    while (end < own.size && own.data[end] && own.data[end] != ' ') end++;
    while (same < length && start + same < end && argument[same] == own.data[start + same]) same++;
    if (same == length && start + same == end) return 1;
    start = end < own.size && own.data[end] == ' ' ? end + 1 : end;
  }
  return 0;
}

static void say_ignored(system_table *system, const char16 *argument, u64 length) {
  char text[LONGEST_SHOWN + 1];
  u64 at = 0;
  for (; at < length && at < LONGEST_SHOWN; at++)
    text[at] = argument[at] > ' ' && argument[at] < 127 ? (char)argument[at] : '?';
  text[at] = 0;
  print(system, "\nKND_LOADER_IGNORED: ");
  print(system, text);
  print(system, " is no argument that this site has signed\n");
}

/* The signed arguments, then the harmless ones of the script; UTF-16, as a kernel takes them. */
static status command_line(system_table *system, bytes own, const loaded_image *self, char16 **line, u32 *size) {
  const char16 *given = self->load_options;
  u64 given_length = given ? self->load_options_size / 2 : 0, at = 0;
  status result =
      system->boot->allocate_pool(LOADER_DATA, (own.size + given_length + 2) * sizeof(char16), (void **)line);
  if (FAILED(result)) return result;
  for (u64 i = 0; i < own.size && own.data[i]; i++) (*line)[at++] = own.data[i];
  for (u64 start = 0; start < given_length && given[start];) {
    u64 end = start;
    while (end < given_length && given[end] && given[end] != ' ') end++;
    const char16 *argument = given + start;
    u64 length = end - start;
    if (length && is_harmless(argument, length)) {
      (*line)[at++] = ' ';
      for (u64 i = start; i < end; i++) (*line)[at++] = given[i];
    } else if (length && start && !starts_with(argument, length, "initrd=") && !is_signed(own, argument, length))
      say_ignored(system, argument, length); /* the very first word is the loader's own name; the kernel has no use for initrd= */
    start = end < given_length && given[end] == ' ' ? end + 1 : end;
  }
  (*line)[at++] = 0;
  *size = (u32)(at * sizeof(char16));
  return 0;
}

static void copy(u8 *to, const u8 *from, u64 size) {
  for (u64 i = 0; i < size; i++) to[i] = from[i];
}

/*
 * The kernel, laid out in memory as its PE headers say (Microsoft "PE Format": optional header PE32+, section table). It needs no
 * relocation, Linux moves itself. Where the firmware forbids running what is writable, the pages are made executable.
 */
static status map_kernel(system_table *system, bytes kernel, bytes *mapped, entry_point *start) {
  if (kernel.size < 0x40) return LOAD_ERROR;
  u64 pe = word(kernel.data + 0x3c);
  if (pe > kernel.size || kernel.size - pe < 24 + 240 || word(kernel.data + pe) != 0x4550) return LOAD_ERROR;
  const u8 *optional = kernel.data + pe + 24;
  u64 entry = word(optional + 16), size = word(optional + 56), headers = word(optional + 60);
  u64 count = word(kernel.data + pe + 6) & 0xffff;
  u64 table = pe + 24 + (word(kernel.data + pe + 20) & 0xffff);
  if (table + count * 40 > kernel.size || headers > kernel.size || headers > size || entry >= size) return LOAD_ERROR;

  u64 pages = (size + 4095) / 4096, base;
  status result = system->boot->allocate_pages(ANY_PAGES, LOADER_CODE, pages, &base);
  if (FAILED(result)) return result;
  u8 *memory = (u8 *)base;
  for (u64 i = 0; i < pages * 4096; i++) memory[i] = 0;
  copy(memory, kernel.data, headers);
  for (u64 i = 0; i < count; i++) {
    const u8 *section = kernel.data + table + i * 40;
    u64 room = word(section + 8), address = word(section + 12), length = word(section + 16), from = word(section + 20);
    if (length > room) length = room;
    if (address + room > size || from + length > kernel.size) return LOAD_ERROR;
    copy(memory + address, kernel.data + from, length);
  }
  memory_attributes *protection;
  if (!FAILED(system->boot->locate_protocol(&MEMORY_ATTRIBUTE, 0, (void **)&protection)))
    protection->clear(protection, base, pages * 4096, NOT_WRITABLE | NOT_EXECUTABLE);
  *mapped = (bytes){memory, size};
  *start = (entry_point)(memory + entry);
  return 0;
}

/* 1 own sections  2 initrd  3 check it  4 kernel  5 command line  6 start, with the very bytes that were checked */
status EFIAPI efi_main(handle image, system_table *system) {
  loaded_image *self;
  handle initrd_owner;
  load_file2 *unchecked;
  bytes kernel;
  entry_point start_kernel;
  initrd_provider checked = {{give_initrd}, {0, 0}};
  status result = system->boot->handle_protocol(image, &LOADED_IMAGE, (void **)&self);
  if (FAILED(result)) return result;
  bytes linux_image = section(self, ".linux"), arguments = section(self, ".cmdline"), pins = section(self, ".pins");
  if (!linux_image.data || !arguments.data || !pins.data) return LOAD_ERROR;

  result = read_initrd(system, &initrd_owner, &unchecked, &checked.contents);
  if (FAILED(result)) {
    refuse(system, 0, " was not handed over by the boot program");
    return result;
  }
  result = check(system, checked.contents, (const pin_list *)pins.data);
  if (FAILED(result)) {
    system->boot->free_pool((void *)checked.contents.data);
    return result;
  }

  result = map_kernel(system, linux_image, &kernel, &start_kernel);
  if (FAILED(result)) {
    print(system, "\nKND_LOADER_KERNEL: the kernel inside the loader could not be laid out in memory\n");
    return result;
  }
  result = command_line(system, arguments, self, &self->load_options, &self->load_options_size);
  if (FAILED(result)) return result;
  result = system->boot->reinstall_protocol(initrd_owner, &LOAD_FILE2, unchecked, &checked.protocol);
  if (FAILED(result)) return result;
  print(system, "\nKindling: the Micro-OS is the one this site has signed\n");
  /* From here on this image is the kernel: it finds its arguments and its own place here, and its Exit ends us. */
  self->image_base = (u8 *)kernel.data;
  self->image_size = kernel.size;
  result = start_kernel(image, system);
  system->boot->reinstall_protocol(initrd_owner, &LOAD_FILE2, &checked.protocol, unchecked);
  return result;
}
