import { createHash, type KeyObject } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { createGzip } from 'node:zlib';
import { pack } from 'tar-stream';
import { BATCH_DOMAIN, BATCH_LIST_PATH, type BatchList } from '../../protocol/shipping-record.ts';
import { sealDocument } from '../../protocol/signed-document.ts';
import { labelOf } from './label.ts';
import { labelsHtml } from './label-html.ts';
import { recordsCsv } from './record-csv.ts';
import type { RecordWithLog } from './records.ts';

export interface BatchOptions {
  site: string;
  /** Where the pages of the nodes are, for the codes on the labels. */
  origin: string;
  keys: readonly KeyObject[];
  now: Date;
}

/**
 * A batch as one file (tar, gzip): per node its signed record and its log, a table of all, their labels, and the signed list of
 * these files with their digests.
 */
export async function packBatch(records: readonly RecordWithLog[], options: BatchOptions): Promise<Buffer> {
  const plain = records.map(({ signed }) => signed.record);
  const files: [path: string, text: string][] = [
    ...records.flatMap(({ signed, log }): [string, string][] => [
      [`nodes/${signed.record.node.id}/record.json`, recordText(signed)],
      [`nodes/${signed.record.node.id}/log.jsonl`, log],
    ]),
    ['records.csv', recordsCsv(plain)],
    ['labels.html', labelsHtml(plain.map((record) => labelOf(record, options.origin)))],
  ];
  const list: BatchList = {
    madeAt: options.now.toISOString(),
    site: options.site,
    nodes: records.length,
    files: Object.fromEntries(files.map(([path, text]) => [path, sha256(text)])),
  };
  const archive = pack();
  const packed = buffer(archive.pipe(createGzip()));
  const mtime = options.now;
  archive.entry({ name: BATCH_LIST_PATH, mtime }, sealDocument(BATCH_DOMAIN, list, options.keys));
  for (const [name, text] of files) archive.entry({ name, mtime }, text);
  archive.finalize();
  return packed;
}

/** A record as files have it. */
function recordText(signed: unknown): string {
  return `${JSON.stringify(signed, null, 2)}\n`;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
