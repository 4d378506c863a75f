/*
 * The site's loader: an EFI program that starts one kernel, with one command line, and only over the initramfs and config
 * archive whose hashes it holds. The firmware's Secure Boot checks a signature over the loader; the loader checks everything
 * else, so that one signature covers the whole Micro-OS although its parts come from different servers. A unified kernel image
 * cannot do that: it has the initramfs inside, and takes no second one (docs/decisions/081-the-sites-loader.md).
 *
 * Sections that the build adds (micro-os/site-loader.ts): .linux the kernel, .cmdline its arguments, .pins the hashes.
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
static const guid LOAD_FILE2 = {0x4006c0c1, 0xfcb3, 0x403e, {0x99, 0x6d, 0x4a, 0x6c, 0x87, 0x24, 0xe0, 0x6d}};

/* Where boot programs offer the initrd to a Linux kernel: a vendor media path with Linux' own GUID, then the end node. */
static const u8 INITRD_PATH[] = {0x04, 0x03, 20,   0,    0x27, 0xe4, 0x68, 0x55, 0xfc, 0x68, 0x3d, 0x4f,
                                 0xac, 0x74, 0xca, 0x55, 0x52, 0x31, 0xcc, 0x68, 0x7f, 0xff, 4,    0};

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

/* A section of this program where the firmware has put it (Microsoft «PE Format», COFF header and section table). */
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

static int starts_with(const char16 *text, const char *prefix) {
  for (; *prefix; text++, prefix++)
    if (*text != (char16)*prefix) return 0;
  return 1;
}

/* What a boot script may add to the signed command line: who the machine is and when it did what. Nothing that decides. */
static int is_harmless(const char16 *argument, u64 length) {
  int known = starts_with(argument, "worker_id=") || starts_with(argument, "IP=") ||
              starts_with(argument, "hw_addr=") || starts_with(argument, "s_vmlinux_") ||
              starts_with(argument, "s_initramfs_") || starts_with(argument, "s_netconf_");
  for (u64 i = 0; i < length && known; i++) {
    char16 c = argument[i];
    known = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '=' ||
            c == ':' || c == '.' || c == '-';
  }
  return known;
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
    if (end > start && is_harmless(given + start, end - start)) {
      (*line)[at++] = ' ';
      for (u64 i = start; i < end; i++) (*line)[at++] = given[i];
    }
    start = end < given_length && given[end] == ' ' ? end + 1 : end;
  }
  (*line)[at++] = 0;
  *size = (u32)(at * sizeof(char16));
  return 0;
}

/* The kernel is signed too: the firmware checks it once more. A memory-mapped device path says where it lies. */
static status load_kernel(system_table *system, handle self, bytes kernel, handle *image) {
  u64 start = (u64)kernel.data, end = start + kernel.size - 1;
  u8 path[28] = {0x01, 0x03, 24, 0, LOADER_DATA, 0, 0, 0};
  for (int i = 0; i < 8; i++) path[8 + i] = (u8)(start >> i * 8), path[16 + i] = (u8)(end >> i * 8);
  path[24] = 0x7f, path[25] = 0xff, path[26] = 4;
  return system->boot->load_image(0, self, path, kernel.data, kernel.size, image);
}

/* 1 own sections  2 initrd  3 check it  4 kernel  5 command line  6 start, with the very bytes that were checked */
status EFIAPI efi_main(handle image, system_table *system) {
  loaded_image *self, *child;
  handle kernel, initrd_owner;
  load_file2 *unchecked;
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

  result = load_kernel(system, image, linux_image, &kernel);
  if (FAILED(result)) {
    print(system, "\nKND_LOADER_KERNEL: the firmware refused the kernel inside the loader\n");
    return result;
  }
  result = system->boot->handle_protocol(kernel, &LOADED_IMAGE, (void **)&child);
  if (FAILED(result)) return result;
  result = command_line(system, arguments, self, &child->load_options, &child->load_options_size);
  if (FAILED(result)) return result;
  result = system->boot->reinstall_protocol(initrd_owner, &LOAD_FILE2, unchecked, &checked.protocol);
  if (FAILED(result)) return result;
  print(system, "\nKindling: the Micro-OS is the one this site has signed\n");
  result = system->boot->start_image(kernel, 0, 0);
  system->boot->reinstall_protocol(initrd_owner, &LOAD_FILE2, &checked.protocol, unchecked);
  return result;
}
