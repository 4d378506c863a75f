import { gunzipSync } from 'node:zlib';
import { isMap, isSeq, parseDocument } from 'yaml';
import { shellQuote } from '../../system/shell-quote.ts';

export interface CustomConfig {
  name: string;
  content: string;
}

/** Custom configs on their way to the node: one file, and the command that takes it apart there. */
export interface PackedConfigs {
  text: string;
  splitCommand: string;
}

/**
 * Custom configs travel in one file, one after another with this between them
 * (docs/background/emf.md#microvisor-template).
 */
const UNIT_SEPARATOR = '\x1f';
const FOLDER = '/etc/cloud/cloud.cfg.d';
const FILES_SCRIPT = '/etc/cloud/write-files.sh';

/**
 * Packs a profile's custom configs, sorted by name; on the node they become 00_infra.cfg, 01_infra.cfg, …
 *
 * A standalone node's root is sealed before its first boot, so cloud-init could not write files there any more: they are written
 * while the node is provisioned, and taken out of the configs. EMF downloads yq for that on the node; here the server, which
 * knows the configs, writes the script.
 */
export function packCustomConfigs(configs: readonly CustomConfig[], isStandalone: boolean): PackedConfigs {
  const sorted = configs.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map(({ content }) => content);
  const taken = isStandalone
    ? sorted.map(takeFiles)
    : sorted.map((content) => ({ content, files: [] as WrittenFile[] }));
  const files = taken.flatMap((each) => each.files);
  const sections = taken.map(({ content }) => content);
  const place =
    files.length === 0
      ? 'sprintf("%02d_infra.cfg", n++)'
      : `(n < ${sections.length} ? sprintf("%02d_infra.cfg", n++) : "${FILES_SCRIPT}")`;
  const split = `cd ${FOLDER} && awk 'BEGIN { RS = "\\x1f"; n = 0 } { printf "%s", $0 > ${place} }' custom.cfg && rm custom.cfg`;
  return {
    text: [...sections, ...(files.length === 0 ? [] : [writeScript(files)])].join(UNIT_SEPARATOR),
    splitCommand: files.length === 0 ? split : `${split} && sh ${FILES_SCRIPT} && rm ${FILES_SCRIPT}`,
  };
}

interface WrittenFile {
  path: string;
  content: Buffer;
  owner: string;
  permissions: string;
  isAppended: boolean;
}

/** Takes `write_files` out of a cloud-config. Whatever is no cloud-config with files in it stays as it is. */
function takeFiles(content: string): { content: string; files: WrittenFile[] } {
  const untouched = { content, files: [] };
  if (!content.startsWith('#cloud-config')) return untouched;
  const document = parseDocument(content);
  const entries: unknown = isMap(document.contents) ? document.get('write_files') : undefined;
  if (document.errors.length > 0 || !isSeq(entries)) return untouched;
  const files = (entries.toJSON() as unknown[]).map(readFile);
  if (files.some((file) => file === undefined)) return untouched; // cloud-init itself complains about it
  document.delete('write_files');
  const isEmpty = isMap(document.contents) && document.contents.items.length === 0;
  return {
    content: isEmpty ? '#cloud-config\n' : document.toString({ lineWidth: 0 }),
    files: files.filter((file) => file !== undefined),
  };
}

/** One entry of write_files, with cloud-init's defaults. */
function readFile(entry: unknown): WrittenFile | undefined {
  if (typeof entry !== 'object' || entry === null) return undefined;
  const {
    path,
    content = '',
    encoding = '',
    owner = 'root:root',
    permissions = '0644',
    append,
  } = entry as Record<string, unknown>;
  if (typeof path !== 'string' || !path.startsWith('/')) return undefined;
  return {
    path,
    content: decode(String(content), String(encoding)),
    owner: String(owner),
    permissions: String(permissions),
    isAppended: append === true,
  };
}

function decode(content: string, encoding: string): Buffer {
  const words = encoding.toLowerCase().split('+');
  const isBase64 = words.some((word) => word === 'b64' || word === 'base64');
  const bytes = Buffer.from(content, isBase64 ? 'base64' : 'utf8');
  return words.some((word) => word === 'gz' || word === 'gzip') ? gunzipSync(bytes) : bytes;
}

/** Base64 in lines: no content can end the text, and the script holds no separator. */
function writeScript(files: readonly WrittenFile[]): string {
  const commands = files.map(({ path, content, owner, permissions, isAppended }) => {
    const target = shellQuote(path);
    const lines = content.toString('base64').replace(/.{76}/g, '$&\n');
    return [
      `mkdir -p "$(dirname ${target})"`,
      `base64 -d ${isAppended ? '>>' : '>'} ${target} <<'END_OF_FILE'\n${lines}\nEND_OF_FILE`,
      `chmod ${shellQuote(permissions)} ${target}`,
      `chown ${shellQuote(owner)} ${target} || true # the user may come with the first boot`,
    ].join('\n');
  });
  return `set -e\n${commands.join('\n')}\n`;
}
