/**
 * Boots many machines at once from one namespace, as firmware and iPXE would: DHCP, iPXE over TFTP, DHCP again, script, kernel and
 * initramfs over HTTP. `node boot-clients-program.ts '[{"mac":…,"address":…}]'`; prints one JSON object per machine.
 */
import { createHash } from 'node:crypto';
import { get } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { DhcpClients } from '../../lab/pxe/boot-client.ts';
import { fetchByTftp } from '../../lab/pxe/tftp-client.ts';
import { DhcpOption } from '../../protocol/dhcp/options.ts';
import type { DhcpPacket } from '../../protocol/dhcp/packet.ts';

interface Client {
  mac: string;
  address: string;
}

using dhcp = await DhcpClients.open('eth0');

/** The way of one machine; gives hashes of what it got. */
async function bootOne({ mac, address }: Client) {
  const firmware = await dhcp.boot(mac);
  if (firmware.ack.yourAddress !== address) throw new Error(`${mac} was given ${firmware.ack.yourAddress}`);
  // OVMF asks for the size first and hangs up, then for the file itself.
  const loader = await fetchByTftp(bootFile(firmware.ack), {
    address: firmware.ack.nextServerAddress,
    from: address,
    port: 69,
    options: { blksize: '1468', windowsize: '4' },
  });
  const ipxe = await dhcp.boot(mac, 'kindling');
  const scriptUrl = bootFile(ipxe.ack);
  const script = await download(scriptUrl, address);
  const [kernel, initramfs] = await Promise.all(
    ['kernel_url', 'initramfs_url'].map((name) =>
      download(new URL(setting(script.toString(), name), scriptUrl).href, address),
    ),
  );
  return {
    mac,
    tries: firmware.tries + ipxe.tries,
    loader: hash(loader.content),
    kernel: hash(kernel),
    initramfs: hash(initramfs),
  };
}

function bootFile(ack: DhcpPacket): string {
  return (
    ack.bootFile || (ack.options.get(DhcpOption.bootFileName)?.toString('latin1').replace(/\0+$/, '') ?? '')
  );
}

function setting(script: string, name: string): string {
  const [, value] = new RegExp(`^set ${name} (.+)$`, 'm').exec(script) ?? [];
  if (!value) throw new Error(`the script sets no ${name}`);
  return value;
}

async function download(url: string, localAddress: string): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  get(url, { localAddress, agent: false }, (response) => {
    if (response.statusCode !== 200) reject(new Error(`${url}: ${response.statusCode}`));
    buffer(response).then(resolve, reject);
  }).on('error', reject);
  return promise;
}

function hash(content: Buffer | undefined): string {
  return createHash('sha256')
    .update(content ?? '')
    .digest('hex');
}

const clients = JSON.parse(process.argv[2] ?? '[]') as Client[];
const results = await Promise.all(
  clients.map((client) =>
    bootOne(client).catch((thrown: unknown) => ({ mac: client.mac, error: String(thrown) })),
  ),
);
for (const result of results) console.log(JSON.stringify(result));
