import { markdownTable } from '../formats/markdown-table.ts';

/** One folder of the repository: what lives there, and which folders its files may import. */
export interface Folder {
  name: string;
  holds: string;
  /** Folders further down the table only, so that no two folders can import each other. */
  mayImport: readonly string[];
}

const ROOMS = ['net', 'formats', 'system', 'protocol'];
const NODE = ['agent', 'actions', ...ROOMS];
const BUILDS = ['ipxe', 'initrd', ...ROOMS];
const PRODUCTS = ['orchestrator-stub', 'console', 'netboot', 'site', 'images', 'standalone', ...BUILDS];

/**
 * The layout of the code, from the top down: imports point down only. docs/reference/layout.md is made from this table, and
 * test/layout judges every import by it.
 */
export const FOLDERS: readonly Folder[] = [
  {
    name: 'test',
    holds: 'Mirrors the tree; `test/wire` and `test/provisioning` test several parts together',
    mayImport: ['bench', 'demo', 'release', 'setup', 'lab', 'cli', 'simulator', ...PRODUCTS, ...NODE],
  },
  {
    name: 'bench',
    holds: 'Kindling and its peers, measured in one run',
    mayImport: ['demo', 'setup', 'lab', 'cli', 'simulator', ...PRODUCTS, ...NODE],
  },
  {
    name: 'demo',
    holds: '`npm run demo`: a virtual machine becomes a running node',
    mayImport: ['setup', 'lab', 'cli', 'simulator', ...PRODUCTS],
  },
  {
    name: 'release',
    holds: '`npm run release`: the program as one file, its packages, and the proof of what is in them',
    mayImport: ['setup', 'cli', ...PRODUCTS, ...NODE],
  },
  {
    name: 'setup',
    holds: 'What the npm commands do before they start; generated code and pages',
    mayImport: ['cli', ...PRODUCTS, ...NODE],
  },
  {
    name: 'lab',
    holds: 'Virtual machines, their networks, and the images they are given',
    mayImport: ['cli', ...PRODUCTS, ...NODE],
  },
  {
    name: 'cli',
    holds: 'The program `kindling`: one table of commands, one file or folder per command',
    mayImport: ['simulator', ...PRODUCTS],
  },
  {
    name: 'simulator',
    holds: 'Agents without machines: everything is real but inventory and actions',
    mayImport: NODE,
  },
  {
    name: 'orchestrator-stub',
    holds: 'The orchestrator: gRPC, HTTP, nodes, workflows, store, credentials, events',
    mayImport: ['site', 'console', ...ROOMS],
  },
  {
    name: 'netboot',
    holds: 'DHCP, TFTP, the doctor, and the mirror of a remote orchestrator',
    mayImport: ['ipxe', ...ROOMS],
  },
  {
    name: 'site',
    holds: 'What belongs to one site: CA, keys, config archive, signed boot files',
    mayImport: ['standalone', ...BUILDS],
  },
  {
    name: 'images',
    holds: 'Disk images: index, verify, compare, extract, free space',
    mayImport: ROOMS,
  },
  {
    name: 'standalone',
    holds: 'Config file → validated → cloud-init; the USB installer',
    mayImport: ['initrd', ...ROOMS],
  },
  {
    name: 'console',
    holds: 'The page that `kindling serve` shows in a browser: floor, node, import; built by esbuild',
    mayImport: ['protocol'],
  },
  {
    name: 'ipxe',
    holds: 'Boot scripts; the iPXE binaries, from Debian or built from source',
    mayImport: ['initrd', ...ROOMS],
  },
  {
    name: 'initrd',
    holds: 'Builds the executable of the agent and the Micro-OS',
    mayImport: ROOMS,
  },
  {
    name: 'agent',
    holds: 'The program on the node; `main.ts` is its table of commands',
    mayImport: ['actions', ...ROOMS],
  },
  {
    name: 'actions',
    holds: 'Contract, process boundary, one folder per action, disk engine, image writer',
    mayImport: ROOMS,
  },
  {
    name: 'net',
    holds: 'HTTP client and server, proxies, retry, redaction',
    mayImport: ['formats', 'system', 'protocol'],
  },
  {
    name: 'formats',
    holds: 'File and disk formats: partition tables, signatures, image manifest, cpio, ELF, EFI',
    mayImport: ['system', 'protocol'],
  },
  {
    name: 'system',
    holds: 'Run a program, wait, worker threads, FFI, progress lines, closest name',
    mayImport: ['protocol'],
  },
  {
    name: 'protocol',
    holds: 'Words that two sides speak: messages, DHCP and TFTP packets, error codes',
    mayImport: [],
  },
];

/** docs/reference/layout.md */
export function layoutPage(): string {
  const rows = FOLDERS.map(({ name, holds, mayImport }) => [
    `\`${name}/\``,
    holds,
    mayImport.length === FOLDERS.length - 1 - FOLDERS.findIndex((folder) => folder.name === name)
      ? mayImport.length === 0
        ? 'nothing'
        : 'everything below'
      : mayImport.map((folder) => `\`${folder}\``).join(', '),
  ]);
  const header = ['folder', 'what lives there', 'may import'];
  return `# Folders, and what each may import

This page is made from \`setup/folders.ts\`. Imports point down this table only; types count too. A unit
test (\`test/layout\`) judges every static and dynamic import, and every \`new URL\` of a file.
[How the code is laid out](../explanation/how-the-code-is-laid-out.md) says why.

${markdownTable(header, rows)}
`;
}
