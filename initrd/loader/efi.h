/*
 * The few parts of UEFI that the loader uses. Clauses: UEFI 2.10, 4.3 (system table), 4.4 (boot services), 9.1 (loaded image),
 * 10.3 (device paths), 13.2 (load file 2), 12.4 (text output), 37.3 (memory attributes). Fields nobody reads are only counted.
 */
#pragma once

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef __CHAR16_TYPE__ char16;
typedef u64 status;
typedef void *handle;
#define EFIAPI __attribute__((ms_abi))

#define FAILED(result) ((result) >> 63)
#define LOAD_ERROR (1ull << 63 | 1)
#define BUFFER_TOO_SMALL (1ull << 63 | 5)
#define NOT_FOUND (1ull << 63 | 14)
#define SECURITY_VIOLATION (1ull << 63 | 26)
#define ANY_PAGES 0
#define LOADER_CODE 1
#define LOADER_DATA 2
#define NOT_EXECUTABLE 0x4000
#define NOT_WRITABLE 0x20000

typedef struct {
  u32 a;
  unsigned short b, c;
  u8 d[8];
} guid;

typedef struct text_output {
  void *reset;
  status(EFIAPI *output_string)(struct text_output *, const char16 *);
} text_output;

typedef struct {
  u8 type, subtype;
  u8 length[2];
} device_path;

typedef struct {
  u8 header[24];
  void *before_allocate_pages[2];
  status(EFIAPI *allocate_pages)(u32 how, u32 memory_type, u64 pages, u64 *address);
  void *before_allocate_pool[2];
  status(EFIAPI *allocate_pool)(u32 memory_type, u64 size, void **buffer);
  status(EFIAPI *free_pool)(void *buffer);
  void *before_reinstall_protocol[7];
  status(EFIAPI *reinstall_protocol)(handle, const guid *, void *old, void *new);
  void *uninstall_protocol;
  status(EFIAPI *handle_protocol)(handle, const guid *, void **interface);
  void *before_locate_device_path[3];
  status(EFIAPI *locate_device_path)(const guid *, const device_path **, handle *);
  void *before_locate_protocol[16];
  status(EFIAPI *locate_protocol)(const guid *, void *registration, void **interface);
} boot_services;

typedef struct {
  u8 header[24];
  void *firmware_vendor;
  u64 firmware_revision;
  void *console_in[2];
  handle console_out_handle;
  text_output *console_out;
  void *standard_error[2];
  void *runtime_services;
  boot_services *boot;
} system_table;

/* How every EFI program starts; a Linux kernel is one. */
typedef status(EFIAPI *entry_point)(handle image, system_table *system);

typedef struct memory_attributes {
  void *get, *set;
  status(EFIAPI *clear)(struct memory_attributes *, u64 base, u64 length, u64 attributes);
} memory_attributes;

typedef struct {
  u64 revision;
  handle parent;
  void *system_table, *device, *file_path, *reserved;
  u32 load_options_size;
  char16 *load_options;
  u8 *image_base;
  u64 image_size;
} loaded_image;

typedef struct load_file2 {
  status(EFIAPI *load_file)(struct load_file2 *, const device_path *, u8 boot_policy, u64 *size, void *buffer);
} load_file2;
