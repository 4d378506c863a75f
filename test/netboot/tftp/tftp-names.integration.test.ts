import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { TftpFolder } from '../../../netboot/tftp/tftp-folder.ts';
import { rounds, testIntegers } from '../../seeds/seeds.ts';

const ROUNDS = 100;
const NAMES_PER_ROUND = 1000;
const PARTS = ['..', '.', '', '\\', '%2e%2e', '\0', 'etc', 'passwd', 'leak', 'ipxe.efi', '52:54:00:00:00:01'];

const root = mkdtempSync(join(tmpdir(), 'kindling-tftp-'));
const content = Buffer.from('the only file');
writeFileSync(join(root, 'ipxe.efi'), content);
symlinkSync('/etc/passwd', join(root, 'leak'));
afterAll(() => rmSync(root, { recursive: true }));

it('TFTP gives the files of its folder or nothing, whatever name is asked for (100,000 seeded)', async () => {
  const random = testIntegers(7);
  const name = () => Array.from({ length: 1 + random(6) }, () => PARTS[random(PARTS.length)]).join('/');
  const folder = new TftpFolder(root);
  let found = 0;
  for (let round = 0; round < rounds(ROUNDS); round += 1) {
    const names = Array.from({ length: NAMES_PER_ROUND }, name);
    const answers = await Promise.all(names.map((one) => folder.read(one)));
    for (const answer of answers.filter((one) => one !== undefined)) {
      found += 1;
      expect(answer).toEqual(content);
    }
  }
  expect(found).toBeGreaterThan(1000);
});
