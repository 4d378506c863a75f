import { createPublicKey, X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { programDigest } from '../../initrd/micro-os/program-digest.ts';
import { readUkiSections } from '../../initrd/micro-os/uki.ts';
import { parseEfiVariables } from '../../lab/qemu/efi-variables.ts';
import { enrollSiteKeys } from '../../lab/qemu/enroll-keys.ts';
import { startStub } from '../../orchestrator-stub/serve.ts';
import { encodePublicKey } from '../../protocol/public-key.ts';
import { openDocument } from '../../protocol/signed-document.ts';
import { BOOT_DOMAIN, BOOT_LIST_NAME } from '../../protocol/site-files.ts';
import { openArchiveKeys } from '../../site/archive-key.ts';
import { issueCertificate } from '../../site/issue-certificate.ts';
import { signKernelAsBefore } from './kernel-signed-before.ts';
import { makeSmallBootParts } from './small-boot-parts.ts';

const CLI = join(import.meta.dirname, '../../cli/main.ts');
const folder = mkdtempSync(join(tmpdir(), 'kindling-site-'));
const state = join(folder, 'state');
const stack = join(state, 'tink-stack');
const at = (name: string) => join(stack, name);
const key = (name: string) => join(state, 'secure-boot', name);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const buildSite = (...args: string[]) =>
  execa(process.execPath, [CLI, 'build', 'site', '--state', state, ...args]);
const isSignedBy = async (certificate: string, file: string) =>
  (await execa('sbverify', ['--cert', certificate, file], { reject: false })).exitCode === 0;

beforeAll(async () => {
  const { microOsFolder } = makeSmallBootParts(join(folder, 'parts'));
  await buildSite(
    ...['--url', 'http://10.0.0.1:8080/tink-stack', '--server', 'https://10.0.0.1:8443'],
    ...[
      '--micro-os',
      microOsFolder,
      '--micro-os-url',
      'https://cdn.example/kindling/',
      '--env',
      'EXTRA_HOSTS=10.0.0.9 a',
    ],
    ...['--http-proxy', 'http://proxy.example:3128', '--proxy-bypass', '10.0.0.0/8'],
  );
});

describe('kindling build site', () => {
  it('signs iPXE, loader and unified image with the site’s db key', async () => {
    for (const name of [
      'ipxe.efi',
      'snponly.efi',
      'signed_ipxe.efi',
      'loader-x86_64.efi',
      'kindling-x86_64.efi',
    ])
      expect(await isSignedBy(key('db.crt'), at(name)), name).toBe(true);
  });

  it('S-04: signs no kernel, neither the published one nor those inside loader and unified image', async () => {
    expect(await isSignedBy(key('db.crt'), at('vmlinuz-x86_64'))).toBe(false);
    for (const name of ['loader-x86_64.efi', 'kindling-x86_64.efi']) {
      const inside = readUkiSections(readFileSync(at(name))).find((one) => one.name === '.linux');
      writeFileSync(join(folder, 'inside.efi'), inside?.contents ?? '');
      expect(await isSignedBy(key('db.crt'), join(folder, 'inside.efi')), name).toBe(false);
    }
  });

  it('S-04: revokes the kernel that an older version has signed and published', async () => {
    const program = await signKernelAsBefore(state);
    // What the signature says of the program is what firmware compares with dbx.
    const digest = Buffer.from(programDigest(program), 'hex');
    expect(program.subarray(program.length - 3000).includes(digest)).toBe(true);
    await buildSite();
    expect(await isSignedBy(key('db.crt'), at('vmlinuz-x86_64'))).toBe(false);
    for (const name of ['keys/dbx.esl', 'keys/dbx.auth'])
      expect(readFileSync(at(name)).includes(digest), name).toBe(true);
    await buildSite();
    expect(readFileSync(at('keys/dbx.esl')).includes(digest)).toBe(true);
  });

  it('takes kernel and initramfs from anywhere, loader and archive from beside the script', () => {
    const script = readFileSync(at('boot.ipxe'), 'utf8');
    expect(script).toContain('set kernel_url https://cdn.example/kindling/vmlinuz-x86_64\n');
    expect(script).toContain('set initramfs_url https://cdn.example/kindling/initramfs-x86_64\n');
    expect(script).toContain('set loader_url loader-x86_64.efi\n');
    expect(script).toContain(' http_proxy=http://proxy.example:3128 ');
    expect(readFileSync(at('config-archive.cpio'), 'utf8')).toContain('EXTRA_HOSTS=10.0.0.9 a\n');
    const loader = readFileSync(at('loader-x86_64.efi'), 'latin1');
    expect(loader).toMatch(/kindling\.server=https:\/\/10\.0\.0\.1:8443 kindling\.site_key=[\w-]{43}\0/);
    expect(loader).not.toContain('worker_id=$');
  });

  it('keeps the private keys to its owner, and out of what is served', () => {
    const served = readdirSync(stack, { recursive: true, encoding: 'utf8' });
    expect(served.filter((name) => name.endsWith('.key'))).toEqual([]);
    for (const name of served.filter((one) => !one.endsWith('keys')))
      expect(readFileSync(at(name), 'latin1')).not.toContain('PRIVATE KEY');
  });

  it('lists every file it serves, signed', () => {
    const trusted = openArchiveKeys(state).map((one) => encodePublicKey(createPublicKey(one)));
    const opened = openDocument(BOOT_DOMAIN, readFileSync(at(BOOT_LIST_NAME), 'utf8'), trusted);
    if (opened.kind !== 'genuine') throw new Error(opened.kind);
    const { files } = opened.value as { files: Record<string, unknown> };
    const served = readdirSync(stack, { recursive: true, encoding: 'utf8' });
    expect(Object.keys(files).sort()).toEqual(
      served.filter((name) => name !== 'keys' && name !== BOOT_LIST_NAME).sort(),
    );
  });

  it('makes enrollment files that firmware would accept: KEK signed by PK, db by KEK', async () => {
    for (const [name, signer, guid] of [
      ['PK', 'PK', '61dfe48bca93d211aa0d00e098032b8c'],
      ['KEK', 'PK', '61dfe48bca93d211aa0d00e098032b8c'],
      ['db', 'KEK', 'cbb219d73a3d9645a3bcdad00e67656f'],
      ['dbx', 'KEK', 'cbb219d73a3d9645a3bcdad00e67656f'],
    ] as const) {
      const auth = readFileSync(at(`keys/${name}.auth`));
      const list = readFileSync(at(`keys/${name}.esl`));
      const time = auth.subarray(0, 16);
      const signature = auth.subarray(40, 16 + auth.readUInt32LE(16));
      expect(auth.subarray(16 + auth.readUInt32LE(16))).toEqual(list);
      // Back into the envelope that openssl expects: a ContentInfo around the SignedData.
      const size = (bytes: number) => Buffer.from([0x82, bytes >> 8, bytes & 0xff]);
      const oid = Buffer.from('06092a864886f70d010702', 'hex');
      const inner = Buffer.concat([Buffer.from([0xa0]), size(signature.length), signature]);
      const whole = Buffer.concat([Buffer.from([0x30]), size(oid.length + inner.length), oid, inner]);
      writeFileSync(join(folder, 'signature'), whole);
      const attributes = Buffer.from([name === 'dbx' ? 0x67 : 0x27, 0, 0, 0]); // dbx is added to, not replaced
      const signed = [Buffer.from(name, 'utf16le'), Buffer.from(guid, 'hex'), attributes, time, list];
      writeFileSync(join(folder, 'signed'), Buffer.concat(signed));
      await execa('openssl', [
        ...['cms', '-verify', '-binary', '-inform', 'DER', '-in', join(folder, 'signature')],
        ...[
          '-content',
          join(folder, 'signed'),
          '-CAfile',
          key(`${signer}.crt`),
          '-purpose',
          'any',
          '-out',
          '/dev/null',
        ],
      ]);
      if (name !== 'dbx')
        expect(list.subarray(44)).toEqual(new X509Certificate(readFileSync(key(`${name}.crt`))).raw);
    }
  });

  it('makes signatures that an iPXE with image trust can verify against the site’s CA', async () => {
    for (const name of [
      'boot.ipxe',
      'vmlinuz-x86_64',
      'loader-x86_64.efi',
      'initramfs-x86_64',
      'config-archive.cpio',
    ])
      await execa('openssl', [
        ...['cms', '-verify', '-binary', '-inform', 'DER', '-in', at(`${name}.sig`), '-content', at(name)],
        ...['-CAfile', join(state, 'site-ca.crt'), '-purpose', 'any', '-out', '/dev/null'],
      ]);
  });

  it('has its keys enrolled by the harness as OVMF keeps them', () => {
    const store = join(folder, 'vars.fd');
    enrollSiteKeys(at('keys'), store);
    const variables = parseEfiVariables(readFileSync(store));
    for (const name of ['PK', 'KEK', 'db', 'dbx'])
      expect(variables.find((one) => one.name === name)?.data).toEqual(readFileSync(at(`keys/${name}.esl`)));
  });

  it('takes the certificate of a vendor into db beside the site’s own, and keeps it', async () => {
    const { certificate } = await issueCertificate({
      subject: 'CN=Vendor',
      days: 1,
      keyBits: 2048,
      purpose: 'firmware',
    });
    const [file, { raw }] = [join(folder, 'vendor.der'), new X509Certificate(certificate)];
    writeFileSync(file, raw);
    await buildSite('--vendor-certificate', file);
    await buildSite();
    const own = new X509Certificate(readFileSync(key('db.crt'))).raw;
    for (const name of ['db.esl', 'db.auth'])
      for (const enrolled of [own, raw])
        expect(readFileSync(at(`keys/${name}`)).includes(enrolled), name).toBe(true);
    expect(readFileSync(at('keys/KEK.esl')).includes(raw)).toBe(false);

    const refused = await execa(
      process.execPath,
      [CLI, 'build', 'site', '--state', state, '--vendor-certificate', at('boot.ipxe')],
      { reject: false },
    );
    expect(refused.exitCode).toBe(2);
    expect(refused.stderr).toContain('boot.ipxe is no certificate');
  });

  it('says what is missing the first time, and what is wrong', async () => {
    const run = async (...args: string[]) =>
      execa(process.execPath, [CLI, 'build', 'site', '--state', join(folder, 'empty'), ...args], {
        reject: false,
      });
    expect((await run()).stderr).toContain('needs --url and --server');
    expect((await run('--url', 'ftp://x', '--server', 'https://x')).stderr).toContain(
      '--url ftp://x is not an address',
    );
    expect((await run('--url', 'http://x', '--server', 'https://x', '--env', 'A')).stderr).toContain(
      'not NAME=VALUE',
    );
    expect((await run('--rotate', 'everything')).exitCode).toBe(2);
  });
});

describe('a rotation', () => {
  it('of the CA: nodes that know only the old one and nodes that know both reach the running server', async () => {
    const stub = await startStub({ stateFolder: state, host: '127.0.0.1', port: 0 });
    try {
      const port = Number(new URL(stub.urls.http).port);
      const before = stub.ca;
      const oldServer = readFileSync(join(state, 'server.crt'), 'utf8');
      await buildSite('--rotate', 'tls');
      await expect.poll(() => presented(port, before), { timeout: 10_000 }).not.toBe(fingerprint(oldServer));
      const renewed = fingerprint(readFileSync(join(state, 'server.crt'), 'utf8'));
      const archive = readFileSync(at('config-archive.cpio'), 'utf8');
      const fresh = readFileSync(join(state, 'site-ca.crt'), 'utf8');
      for (const ca of [before.trim(), fresh.trim()]) expect(archive).toContain(ca);
      for (const trusted of [before, fresh, `${fresh}${before}`])
        expect(await presented(port, trusted)).toBe(renewed);

      // An iPXE that was built before the rotation has only the old CA inside.
      await execa('openssl', [
        ...[
          'cms',
          '-verify',
          '-binary',
          '-inform',
          'DER',
          '-in',
          at('boot.ipxe.sig'),
          '-content',
          at('boot.ipxe'),
        ],
        ...['-CAfile', join(state, 'site-ca.previous.crt'), '-purpose', 'any', '-out', '/dev/null'],
      ]);

      await buildSite('--end-overlap', 'tls');
      expect(readFileSync(at('config-archive.cpio'), 'utf8')).not.toContain(before.trim());
    } finally {
      await stub.close();
    }
  });

  it('of the Secure Boot key: everything bears both signatures until the overlap ends', async () => {
    await buildSite('--rotate', 'secure-boot');
    for (const name of ['ipxe.efi', 'loader-x86_64.efi'])
      for (const certificate of ['db.crt', 'db.previous.crt'])
        expect(await isSignedBy(key(certificate), at(name))).toBe(true);
    const old = readFileSync(key('db.previous.crt'));
    await buildSite('--end-overlap', 'secure-boot');
    writeFileSync(join(folder, 'old.crt'), old);
    expect(await isSignedBy(join(folder, 'old.crt'), at('loader-x86_64.efi'))).toBe(false);
    const { raw } = new X509Certificate(old);
    expect(readFileSync(at('keys/db.esl')).includes(raw)).toBe(false);
    expect(readFileSync(at('keys/dbx.esl')).includes(raw), 'S-15: a retired key is retired everywhere').toBe(
      true,
    );
  });
});

/** Connects as a node that trusts only these CAs would; gives the fingerprint of the certificate it was shown. */
function presented(port: number, ca: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', ca: splitPem(ca) }, () => {
    resolve(socket.getPeerCertificate().fingerprint256);
    socket.destroy();
  });
  socket.on('error', reject);
  return promise;
}

function splitPem(pem: string): string[] {
  return pem.split(/(?<=-----END CERTIFICATE-----)/).filter((one) => one.includes('BEGIN'));
}

function fingerprint(pem: string): string {
  return new X509Certificate(pem).fingerprint256;
}
