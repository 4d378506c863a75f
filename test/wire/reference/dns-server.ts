import { createSocket, type Socket } from 'node:dgram';

const HEADER_BYTES = 12;
const TYPE_A = 1;

/** A DNS server (RFC 1035) that says 127.0.0.1 to every question for an IPv4 address, and "there is none" to the others. */
export interface DnsServer {
  address: string;
  start(): Promise<void>;
  stop(): void;
}

/** On an address of its own on loopback, because resolvers ask port 53 only. It is down until it is started. */
export function createDnsServer(): DnsServer {
  const byte = () => 1 + Math.floor(Math.random() * 254);
  const address = `127.${byte()}.${byte()}.${byte()}`;
  let socket: Socket | undefined;
  return {
    address,
    async start() {
      const server = createSocket('udp4', (query, { port, address: from }) => {
        server.send(answer(query), port, from);
      });
      socket = server;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      server.once('error', reject);
      server.bind(53, address, resolve);
      await promise;
    },
    stop: () => socket?.close(),
  };
}

function answer(query: Buffer): Buffer {
  const questionEnd = query.indexOf(0, HEADER_BYTES) + 5; // the name's last byte, type, class
  const isAboutIpv4 = query.readUInt16BE(questionEnd - 4) === TYPE_A;
  const header = Buffer.from(query.subarray(0, HEADER_BYTES));
  header.writeUInt16BE(0x8180, 2); // an answer, recursion available, no error
  header.writeUInt16BE(isAboutIpv4 ? 1 : 0, 6);
  header.writeUInt32BE(0, 8); // neither authority nor additional records
  const question = query.subarray(HEADER_BYTES, questionEnd);
  // A pointer to the question's name, type A, class IN, to be forgotten at once, four bytes: 127.0.0.1
  const record = Buffer.from('c00c000100010000000000047f000001', 'hex');
  return Buffer.concat([header, question, ...(isAboutIpv4 ? [record] : [])]);
}
